/** Those inside the server that are told of every change of every resource. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import type { Replaced } from './resource-cache.ts'

export class Observers {
  readonly #observers = new Set<Observer>()

  /** Tells an observer every change until the signal is aborted. */
  add(observer: Observer, signal: AbortSignal): void {
    this.#observers.add(observer)
    signal.addEventListener('abort', () => this.#observers.delete(observer), { once: true })
  }

  joined(resource: Resource): void {
    for (const observer of this.#observers) observer.joined(resource)
  }

  /** `written` is the object of the writer, if that was here: observers get a copy of it instead of decoding the bytes. */
  changed(resource: Resource, { current, previous }: Replaced, written?: AnyObject): void {
    // The stored bytes of a custom kind may have become another object by its schema.
    const isOffered = written !== undefined && resource.def.custom === undefined
    if (isOffered) current.offerObject(written)
    for (const observer of this.#observers) observer.changed(resource, current, previous)
    if (isOffered) current.offerObject(undefined)
  }
}
