/** What every verb of the registry works with. */
import type { Plugin } from '../admission/plugin.ts'
import type { Caches } from '../cache/caches.ts'
import type { Store } from '../storage/store.ts'
import type { Ledger } from './ledger.ts'
import type { Turns } from './turns.ts'

export type Deps = {
  readonly store: Store
  readonly caches: Caches
  readonly turns: Turns
  readonly plugins: readonly Plugin[]
  readonly ledger: Ledger
  readonly newUid: () => string
  /** A few random characters that end a generated name. */
  readonly randomSuffix: () => string
  /** Signs continue tokens. */
  readonly tokenKey: Uint8Array
}
