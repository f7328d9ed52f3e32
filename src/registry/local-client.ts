/** The API as the server's own parts use it: reads from the cache, writes through the registry, no socket. */
import type { Caches } from '../cache/caches.ts'
import type { ObjectRevision } from '../cache/object-revision.ts'
import type { Selection } from '../cache/selection.ts'
import type { WatchEvent } from '../cache/watch-stream.ts'
import { stringifyJson } from '../codec/json.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { Json } from '../lib/json-value.ts'
import type { Verb } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import type { Registry, Result } from './api.ts'
import { Noticed } from './noticed.ts'

export type LocalClientParts = {
  readonly registry: Registry
  readonly caches: Caches
  readonly user: User
  /** Who comes to own what is written. */
  readonly manager: string
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
}
export type Name = { readonly namespace?: string; readonly name: string }
export type LocalChange = { readonly type: WatchEvent['type']; readonly object: () => AnyObject }
/** Those of one namespace or name, or with one value of a selectable field. */
export type Some = {
  readonly namespace?: string
  readonly name?: string
  readonly field?: { readonly key: string; readonly value: string }
}
export type Removing = {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
  /** Only while the object is as it was read. */
  readonly unchanged?: true
}
/** Somebody who is told of every change of every resource, at once: it must be quick there, and must not fail. */
export interface Observing {
  changed(change: Noticed): void
  /** Objects of a resource can be read from now on, or in another form than before. */
  joined(resource: Resource): void
}
export type Patching = { readonly type: string; readonly subresource?: string; readonly query?: string }

export class LocalClient {
  readonly #parts: LocalClientParts
  /** Most of what is asked for again and again has not changed since. */
  readonly #decoded = new WeakMap<ObjectRevision, AnyObject>()

  constructor(parts: LocalClientParts) {
    this.#parts = parts
  }

  get now(): Date {
    return this.#parts.now()
  }

  /** An object as it is stored; not to be changed. Undefined when there is none, or none that can be read. */
  get(resource: Resource, { namespace = '', name }: Name): AnyObject | undefined {
    const version = this.#parts.caches.of(resource).get(keyOf(resource, namespace, name))
    return version && this.#objectOf(version)
  }

  /** Whether there is an object of that name, be it one that cannot be read. */
  exists(resource: Resource, { namespace = '', name }: Name): boolean {
    return this.#parts.caches.of(resource).get(keyOf(resource, namespace, name)) !== undefined
  }

  /** How many objects a namespace has, those that cannot be read among them. */
  count(resource: Resource, namespace: string): number {
    return this.#parts.caches.of(resource).list({ selection: { namespace, name: '' } }).objects.length
  }

  /** All objects that can be read, or some of them, not to be changed. */
  *list(resource: Resource, some?: Some): Iterable<AnyObject> {
    const cache = this.#parts.caches.of(resource)
    for (const version of some ? cache.list({ selection: selectionOf(some) }).objects : cache.current()) {
      const object = this.#objectOf(version)
      if (object) yield object
    }
  }

  /** False when there is one of that name already. */
  async create(resource: Resource, object: object, namespace = ''): Promise<boolean> {
    return (await this.#unless('AlreadyExists', this.#call('create', resource, { namespace, name: '', body: object }))) !== undefined
  }

  /** Deletes exactly this object. False when it is gone already, also when another took its name. */
  async remove(resource: Resource, { metadata }: AnyObject, { unchanged, ...options }: Removing = {}): Promise<boolean> {
    const { namespace = '', name = '', uid, resourceVersion } = metadata
    const body = { ...options, preconditions: { uid, ...(unchanged && { resourceVersion }) } }
    const result = this.#unless('NotFound', this.#call('delete', resource, { namespace, name, body }))
    return (await this.#unless('Conflict', result)) !== undefined
  }

  /** Deletes all objects of a resource, or those of one namespace, that nothing holds back, and marks the others. */
  async removeAll(resource: Resource, namespace = '', options: Omit<Removing, 'unchanged'> = {}): Promise<void> {
    await this.#call('deletecollection', resource, { namespace, name: '', body: options })
  }

  /** Replaces an object, or a view of it, unless it has changed since it was read. False when it has, or is gone. */
  async replace(resource: Resource, object: AnyObject, subresource = ''): Promise<boolean> {
    const { namespace = '', name = '' } = object.metadata
    const result = this.#unless('NotFound', this.#call('update', resource, { namespace, name, body: object, subresource }))
    return (await this.#unless('Conflict', result)) !== undefined
  }

  /** False when there is no such object. */
  async patch(resource: Resource, { namespace = '', name }: Name, body: object, { type, subresource, query }: Patching): Promise<boolean> {
    const sent = { namespace, name, body, mediaType: type, ...(subresource && { subresource }), ...(query && { query }) }
    return (await this.#unless('NotFound', this.#call('patch', resource, sent))) !== undefined
  }

  /** Tells of every change, or of those of some, until the signal ends it. Without a change after a gap: then anything may have changed. */
  follow(resource: Resource, onChange: (change?: LocalChange) => void, signal: AbortSignal, some: Some = {}): void {
    const { caches } = this.#parts
    const request = { selection: selectionOf(some), initial: false, bookmarks: false, timeoutMs: LONG_MS }
    const open = () => {
      if (signal.aborted) return
      const watch = caches.watch(resource, { ...request, from: caches.revision })
      const close = () => watch.close()
      signal.addEventListener('abort', close, { once: true })
      watch.open({
        event: ({ type, json }) => onChange({ type, object: () => parseObject(json) }),
        end() {
          signal.removeEventListener('abort', close)
          setImmediate(() => {
            open()
            if (!signal.aborted) onChange()
          })
        },
        backlog: 0,
        onDrain: resume => resume(),
      })
    }
    open()
  }

  /** Tells of every change of every resource until the signal ends it. */
  observe(observing: Observing, signal: AbortSignal): void {
    const changed = (resource: Resource, version: ObjectRevision, object: AnyObject | undefined) =>
      observing.changed(new Noticed(resource, version, object))
    this.#parts.caches.observe({ changed, joined: resource => observing.joined(resource) }, signal)
  }

  /** What is there of a resource, as if each object had just been written. */
  *noticed(resource: Resource): Iterable<Noticed> {
    const cache = this.#parts.caches.of(resource)
    for (const version of cache.current()) yield new Noticed(cache.resource, version, undefined)
  }

  #objectOf(version: ObjectRevision): AnyObject | undefined {
    if (version.fault !== undefined) return undefined
    let object = this.#decoded.get(version)
    if (!object) this.#decoded.set(version, (object = parseObject(version.json)))
    return object
  }

  async #call(
    verb: Verb,
    resource: Resource,
    sent: { namespace: string; name: string; body: object; mediaType?: string; subresource?: string; query?: string },
  ): Promise<Result> {
    const { registry, user, groupDomain, gate, now, manager } = this.#parts
    const context: RequestContext = { user, now: now(), groupDomain, gate }
    const { namespace, name, body, mediaType = 'application/json', subresource = '', query = '' } = sent
    return registry.handle(
      { verb, resource, namespace, name, subresource, query: new URLSearchParams(query) },
      {
        ...context,
        body: { mediaType, bytes: Buffer.from(stringifyJson(body as Json)) },
        userAgent: manager,
        signal: NEVER,
      },
    )
  }

  async #unless<R>(reason: string, result: Promise<R>): Promise<R | undefined> {
    try {
      return await result
    } catch (error) {
      if (error instanceof StatusError && error.reason === reason) return undefined
      throw error
    }
  }
}

function selectionOf({ namespace = '', name = '', field }: Some): Selection {
  if (!field) return { namespace, name }
  const { key, value } = field
  return { namespace, name, term: { on: 'field', key, values: [value] }, test: ({ fields }) => fields[key] === value }
}

const NEVER = new AbortController().signal
const LONG_MS = 2 ** 31 - 1
