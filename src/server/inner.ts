/** What the parts of the server that go on beside requests work with. */
import type { Caches } from '../cache/caches.ts'
import type { Log } from '../http/observability/log.ts'
import type { Registry } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { User } from '../schema/user.ts'
import type { Store } from '../storage/store.ts'
import type { Config } from './config.ts'

export type Inner = {
  readonly store: Store
  readonly caches: Caches
  readonly catalog: Catalog
  /** Asked for after the registry has been made, which some of the parts are needed for. */
  readonly registry: () => Registry
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  readonly log: Log
  /** Ends all that goes on beside requests. */
  readonly signal: AbortSignal
}

/** The server itself, and its controllers, as they are known in every cluster. */
export const SERVER: User = { name: 'system:apiserver', groups: ['system:masters'] }
export const CONTROLLER: User = { name: 'system:kube-controller-manager', groups: ['system:masters'] }

/** The API as one of these users calls it; `manager` comes to own what is written. */
export const clientFor = (
  { registry, caches, gate, now }: Pick<Inner, 'registry' | 'caches' | 'gate' | 'now'>,
  { user, manager, groupDomain }: { readonly user: User; readonly manager: string } & Pick<Config, 'groupDomain'>,
): LocalClient => new LocalClient({ registry: registry(), caches, user, manager, groupDomain, gate, now })
