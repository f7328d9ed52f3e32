/** The parts of the server that every verb of the registry uses. */
import type { Admission } from '../admission/plugin.ts'
import type { Caches } from '../cache/caches.ts'
import type { Transcoder } from '../codec/worker-transcoder.ts'
import type { Access } from '../schema/access.ts'
import type { ComponentHealth } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Store } from '../storage/store.ts'
import type { Allocations } from './allocations.ts'
import type { Connect } from './api.ts'
import type { FindKind } from './claimed-kind.ts'
import type { Contention } from './contention.ts'
import type { Validator } from './validation-job.ts'
import type { Writers } from './writers.ts'

export type VirtualSource = (asked: { readonly namespace: string; readonly name: string }) => Promise<Iterable<AnyObject>>

export type Deps = {
  readonly store: Store
  readonly caches: Caches
  readonly contention: Contention
  /** Remembers the user of each write. */
  readonly writers?: Writers | undefined
  /** Without it, every write is admitted. */
  readonly admission?: Admission | undefined
  readonly allocations: Allocations
  /** A resource that is served, for kinds whose objects are messages to others. */
  readonly find?: ((group: string, version: string, plural: string) => Resource | undefined) | undefined
  /** A kind that is served, for bodies that say they are of another one. */
  readonly findKind?: FindKind | undefined
  /** The components of the server and their health. */
  readonly parts?: (() => readonly ComponentHealth[]) | undefined
  /** Where objects that are never stored come from, by the name that their kind gives; those of one namespace or name, where that is asked for. */
  readonly sources?: Readonly<Record<string, VirtualSource>> | undefined
  /** Answers kinds that ask about access; without it they are refused. */
  readonly access?: Access | undefined
  /** Connects requests with the nodes of objects; without it they are refused. */
  readonly connect?: Connect | undefined
  /** Decodes expensive bodies in workers; without it they are decoded on the main thread. */
  readonly transcoder?: Transcoder | undefined
  /** Validates expensive objects in a worker; without it they are validated on the main thread. */
  readonly validator?: Validator | undefined
  readonly newUid: () => string
  /** A few random characters that end a generated name. */
  readonly randomSuffix: () => string
  /** Signs continue tokens. */
  readonly tokenKey: Uint8Array
  /** How long the pages of a snapshot can be continued. */
  readonly tokenMs: number
}
