/** What the client stands on: the cache to read from and the registry to write to, handed in by the server. */
import type { Attributes } from '../schema/access.ts'
import type { Kind, Verb } from '../schema/kind.ts'
import type { Resource } from '../schema/resource.ts'
import type { LabelTerms } from '../schema/selectors.ts'
import type { User } from '../schema/user.ts'
import type { ObjectRevision } from './object-revision.ts'

/** Which objects of a resource are meant; all that is said must hold. */
export type Selection = {
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
  readonly body: { readonly mediaType: string; readonly bytes: Uint8Array }
  /** Asked before an update or an apply creates what is not there; throws when the user may not. */
  readonly authorizeCreate: () => Promise<void>
  /** Called right before something is stored; throws when it must not be any more. */
  readonly beforeStore?: () => void
  /** What must still be so when it is stored. */
  readonly fence?: Fence
}

/** A key of the store, and the revision that it must have. */
export type Fence = { readonly key: string; readonly modified: number }

/** By what writes are refused: early, by who sends them, and at the latest by the store. */
export type WriteGuard = { readonly mayWrite: () => boolean; readonly fence: Fence }

/** Hears of every change of every resource, in order and before the write is answered. It must be quick and must not throw. */
export interface Observer {
  /** `previous` is the revision that was current before, if there was one. */
  changed(resource: Resource, current: ObjectRevision, previous: ObjectRevision | undefined): void
  /** The objects of a resource can be read from now on, or by another schema than before. */
  joined(resource: Resource): void
}

export interface Backend {
  now(): Date
  /** The newest revision that reads see, of all resources. */
  revision(): number
  /** The resource of a declared kind. Throws when it is not served. */
  resourceOf(kind: Kind<any>): Resource
  /** All resources that have objects of their own: each once, whatever versions of it are served. */
  resources(): Iterable<Resource>
  /** The resource that objects of an apiVersion and kind belong to, if one is served. */
  resourceOfKind(apiVersion: string, kind: string): Resource | undefined
  get(resource: Resource, key: string): ObjectRevision | undefined
  list(resource: Resource, selection: Selection): Iterable<ObjectRevision>
  observe(observer: Observer, signal: AbortSignal): void
  /** Throws a StatusError unless the user may. */
  authorize(user: User, attributes: Attributes): Promise<void> | void
  /** Carries out a write; resolves with the JSON of the object in the answer, if it has one. Throws a StatusError. */
  write(request: WriteRequest): Promise<Uint8Array | undefined>
}
