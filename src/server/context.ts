/** The context of components that run beside requests. */
import type { Caches } from '../cache/caches.ts'
import type { ClientFor } from '../client/client.ts'
import type { Controller, RunningController } from '../controllers/controller.ts'
import type { Log } from '../http/observability/log.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Releases } from '../schema/lifecycle.ts'
import type { Store } from '../storage/store.ts'
import type { Config } from './config.ts'
import type { Destinations } from './destinations.ts'
import type { Egress } from './egress.ts'
import type { Siblings } from './processes/siblings.ts'

export type ServerContext = {
  readonly config: Config
  readonly store: Store
  /** Whether servers on other machines use the store as well. */
  readonly hasReplicas: boolean
  /** The other processes of this server, if there are any. */
  readonly siblings: Siblings | undefined
  readonly caches: Caches
  readonly catalog: Catalog
  /** The API in the name of an identity. Reads work at once, writes once the registry exists. */
  readonly clientFor: ClientFor
  /** Runs a controller until the server ends. */
  readonly run: (controller: Controller) => RunningController
  /** Proxies that the server connects through. */
  readonly egress: Egress
  /** Decides where the server may connect. */
  readonly destinations: Destinations
  readonly gate: (name: string) => boolean
  /** The releases of Kubernetes that the server follows. */
  readonly releases: Releases
  readonly now: () => Date
  readonly log: Log
  /** Ends all that runs beside requests. */
  readonly signal: AbortSignal
  /** Ends after the last request: whoever keeps state by which requests are decided listens to it, not to the former. */
  readonly answered: AbortSignal
}
