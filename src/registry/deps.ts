/** What every verb of the registry works with. */
import type { Plugin } from '../admission/plugin.ts'
import type { Caches } from '../cache/caches.ts'
import type { Access } from '../schema/access.ts'
import type { ComponentHealth } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import type { Store } from '../storage/store.ts'
import type { Ledger } from './allocations.ts'
import type { Turns } from './contention.ts'

export type Deps = {
  readonly store: Store
  readonly caches: Caches
  readonly turns: Turns
  readonly plugins: readonly Plugin[]
  readonly ledger: Ledger
  /** A resource that is served, for kinds whose objects are messages to others. */
  readonly find?: ((group: string, version: string, plural: string) => Resource | undefined) | undefined
  /** The parts of the server and how they are. */
  readonly parts?: (() => readonly ComponentHealth[]) | undefined
  /** Answers kinds that ask about access; without it they are refused. */
  readonly access?: Access | undefined
  readonly newUid: () => string
  /** A few random characters that end a generated name. */
  readonly randomSuffix: () => string
  /** Signs continue tokens. */
  readonly tokenKey: Uint8Array
}
