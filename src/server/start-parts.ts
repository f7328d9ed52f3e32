/** The parts that are handed to a server when it starts. */
import type { Auditor } from '../audit/auditor.ts'
import type { AuditSink } from '../audit/sink.ts'
import type { Transcoder } from '../codec/worker-transcoder.ts'
import type { Controller } from '../controllers/controller.ts'
import type { KmsTimes } from '../encryption/kms/plugin-health.ts'
import type { ListenOptions, Port } from '../http/listener/listen.ts'
import type { Log } from '../http/observability/log.ts'
import type { Clock } from '../lib/clock.ts'
import type { Family } from '../lib/exposition.ts'
import type { KeyPair } from '../lib/x509/issue.ts'
import type { Validator } from '../registry/validation-job.ts'
import type { Kind } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import type { User } from '../schema/user.ts'
import type { Machine as StoreMachine } from '../storage/processes/machine.ts'
import type { Store } from '../storage/store.ts'
import type { OwnCertificates } from './credentials/own-certificates.ts'
import type { DestinationsParts } from './destinations.ts'
import type { PortParts } from './port/open-port.ts'
import type { Siblings } from './processes/siblings.ts'

export type StartParts = {
  /** Kinds in addition to the built-in ones. */
  readonly kinds?: readonly Kind<any>[]
  /** Controllers in addition to the built-in ones; they always run. */
  readonly controllers?: readonly Controller[]
  /** The clock of requests, controllers and renewals. */
  readonly clock?: Clock
  /** The store to use, instead of the configured one. It is not closed: others may use it, too. */
  readonly store?: Store
  /** Replaces the sockets, the threads and the log of this machine, which a simulation does not use. */
  readonly machine?: Machine
  /** Bytes of available memory, which bound the store and the caches. */
  readonly memory?: number
  /** Other times of KMS plugins than the usual ones, for tests. */
  readonly kmsTimes?: KmsTimes
  /** Wrappers of request handling, for tests. */
  readonly surroundings?: PortParts['surroundings']
  /** Resolves the names of nodes and endpoints, instead of the system's resolver. */
  readonly resolveName?: DestinationsParts['resolve']
  /** The faults to inject. */
  readonly faults?: PortParts['faults']
  /** The recording of requests to use. */
  readonly requestLog?: PortParts['requestLog']
  /** Wraps the registry that clients reach, for tests. */
  readonly around?: PortParts['around']
  /** Further endpoints, for tests. */
  readonly endpoints?: PortParts['endpoints']
  /** Receives the audit events, beside the log and the webhook. */
  readonly auditWatcher?: AuditSink
  /** Flags with their values, for `/flagz`; without them that path does not exist. */
  readonly flags?: PortParts['flags']
  /** Handles requests before the server does, such as those below another path. */
  readonly front?: PortParts['front']
  /** Metrics beside those of the server. */
  readonly families?: () => readonly Family[]
  /** Set where the server is a workspace of another one. */
  readonly workspace?: WorkspaceParts
  /** The other processes that are one server with this one. */
  readonly siblings?: Siblings
}

/** The parts that a workspace does not make for itself: they never change, or belong to the server whose workspace it is. */
export type WorkspaceParts = {
  /** Makes the resources of a configuration, or has made them before. */
  readonly resources: (make: () => Promise<ServerResources>) => Promise<ServerResources>
  /** Those of all workspaces. Their authority is none that the port trusts, so nobody gets in by a certificate that a workspace has signed. */
  readonly certificates: OwnCertificates
  /** The authority by which clients verify the port; PEM. */
  readonly authority: string
  /** The users of the workspace, by the digests of their tokens. */
  readonly tokens: ReadonlyMap<string, User>
  /** The worker threads, which all workspaces have in common. */
  readonly threads: Threads
  /** Where audit events go. */
  readonly auditor: Auditor | undefined
  /** Gets the function that compacts its store, where it has no timer for that. */
  readonly onCompaction?: ((compact: () => void) => void) | undefined
  /** Whether its store has the objects of a server already. */
  readonly isPrepared: boolean
}

/** The resources of a server, in the order of the catalog. */
export type ServerResources = { readonly served: readonly Resource[]; readonly unserved: readonly Resource[] }

/** The substitute of a machine: a port without sockets, no files, and a log. Work of threads is done in place. */
export type Machine = {
  readonly listen: (options: ListenOptions) => Promise<Port>
  readonly log: Log
  /** Certificates and keys from former lives of the server; those that it issues are added. */
  readonly keys: Map<string, KeyPair>
  readonly resources?: WorkspaceParts['resources']
  /** Where the embedded store of a server with siblings is. */
  readonly store?: StoreMachine
}

/** The worker threads for bodies and objects that take long. */
export type Threads = { readonly transcoder: Transcoder; readonly validator: Validator }

export type Close = () => Promise<void>

/** The parts of a server that starts, and how they are closed. */
export type Assembly = StartParts & {
  /** Registers a function that closes a part. */
  readonly onClose: (close: Close) => void
  /** Closes all parts, the last one first. */
  readonly closeAll: Close
}
