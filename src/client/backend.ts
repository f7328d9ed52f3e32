/** The client's access to the server: the cache to read from and the registry to write to, handed in by the composition root. */
import type { Fence } from '../lib/fence.ts'
import type { HandedOver } from '../lib/handed-over.ts'
import type { Attributes } from '../schema/access.ts'
import type { Verb } from '../schema/kind.ts'
import type { ObjectRevision, Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import type { LabelTerms } from '../schema/selectors.ts'
import type { User } from '../schema/user.ts'

/** Selects objects of a resource: those that match everything that is given. */
export type ListOptions = {
  readonly namespace?: string
  readonly name?: string
  /** A value of one of the selectable fields. */
  readonly field?: { readonly key: string; readonly value: string }
  readonly labels?: LabelTerms
}

/** One write, as the registry takes it. */
export type WriteRequest = {
  readonly verb: Verb
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly query: URLSearchParams
  readonly user: User
  readonly manager: string
  /** An object or a patch is handed over as it is: `bytes` is empty. */
  readonly body: { readonly mediaType: string; readonly bytes: Uint8Array; readonly object: HandedOver }
  /** Called before an update or an apply creates a missing object; throws when the user may not. */
  readonly authorizeCreate: () => Promise<void>
  /** Called right before something is stored; throws when it must not be any more. */
  readonly beforeStore?: () => void
  /** Must still hold when the object is stored. */
  readonly fence?: Fence
}

/** Refuses the writes of a component that no longer leads: `mayWrite` before a write is sent, the fence when the store makes it. */
export type WriteGuard = { readonly mayWrite: () => boolean; readonly fence: Fence }

export interface Backend {
  now(): Date
  /** The newest revision that reads see, of all resources. */
  revision(): number
  /** A built-in resource, whose group may have the placeholder of the group domain; undefined when the server does not have it. */
  findResource(group: string, version: string, plural: string): Resource | undefined
  /** All resources that have objects of their own: each once, whatever versions of it are served. */
  resources(): Iterable<Resource>
  /** The resource that objects of an apiVersion and kind belong to, if one is served. */
  resourceOfKind(apiVersion: string, kind: string): Resource | undefined
  get(resource: Resource, key: string): ObjectRevision | undefined
  list(resource: Resource, options: ListOptions): Iterable<ObjectRevision>
  /** How many objects that list would give; without a selection it costs the same however many there are. */
  count(resource: Resource, options: ListOptions): number
  observe(observer: Observer, signal: AbortSignal): void
  /** Throws a StatusError unless the user may. */
  authorize(user: User, attributes: Attributes): Promise<void> | void
  /** Carries out a write; resolves with the JSON of the object in the answer, if it has one. Throws a StatusError. */
  write(request: WriteRequest): Promise<Uint8Array | undefined>
  /** The same for writes that nobody waits for, after those of others; left out where there is no order. */
  readonly lowPriority?: Backend
}
