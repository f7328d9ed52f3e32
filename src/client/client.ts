/**
 * The API as the server's own components use it: reads come from the cache, writes go through the registry like everybody's,
 * in the name of an identity and only with its rights.
 *
 *     const maps = client.of(ConfigMap)
 *     maps.get({ namespace: 'default', name: 'a' })?.data
 *     await maps.create({ metadata: { namespace: 'default', name: 'b' }, data: { key: 'value' } })
 */

import { parseJson } from '../codec/json.ts'
import { HandedOver } from '../lib/handed-over.ts'
import type { Rank } from '../lib/slots.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Kind, ObjectOf, Verb } from '../schema/kind.ts'
import type { AnyObject, Envelope } from '../schema/object-meta.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import type { Backend, ListOptions } from './backend.ts'
import type { Named } from './change.ts'
import type { Identity } from './identity.ts'
import type { AllHandler, ChangeHandler, IndexDefinition, Informer, Informers } from './informer.ts'

/** An object as it is sent: absent fields get their defaults. */
export type Draft<O> = O extends readonly (infer E)[] ? Draft<E>[] : O extends object ? { [K in keyof O]?: Draft<O[K]> | undefined } : O

export type PatchType = 'merge' | 'strategic' | 'json'
const MEDIA_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
}

export type PatchOptions = { readonly type?: PatchType; readonly subresource?: string }
export type ApplyOptions = { readonly manager?: string; readonly subresource?: string; readonly force?: boolean }
export type DeleteOptions = {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
  /** Only while the object is as it was read. */
  readonly unchanged?: true
}

/** The server does not have a kind that a component needs. */
export class NotServed extends Error {
  constructor({ def: { group, version, names } }: Kind<any>) {
    super(`${names.plural}.${version}.${group} is not served`)
  }
}

/** The answer to a write, decoded on first use. */
class Written<O> {
  readonly #json: Uint8Array | undefined
  #object: O | undefined

  constructor(json: Uint8Array | undefined) {
    this.#json = json
  }

  get object(): O {
    this.#object ??= parseJson(this.#json ?? Buffer.from('{}')).value as O
    return this.#object
  }
}

/** The API as one identity sees it. */
export class Client {
  readonly identity: Identity
  readonly #backend: Backend
  readonly #informers: Informers

  constructor(backend: Backend, informers: Informers, identity: Identity) {
    this.#backend = backend
    this.#informers = informers
    this.identity = identity
  }

  get now(): Date {
    return this.#backend.now()
  }

  /** The newest revision that reads see: the resourceVersion that a list would have now. */
  get revision(): number {
    return this.#backend.revision()
  }

  /** The resource of a declared kind, typed by the declaration, or any resource. Throws NotServed for a kind that the server does not have. */
  of<K extends Kind<any>>(kind: K): ResourceClient<ObjectOf<K>>
  of(resource: Resource): ResourceClient<AnyObject>
  of(target: Kind<any> | Resource): ResourceClient<any> {
    const resource = 'prefix' in target ? target : this.#find(target)
    if (!resource) throw new NotServed(target as Kind<any>)
    return new ResourceClient(resource, { backend: this.#backend, identity: this.identity, informer: () => this.#informers.of(resource) })
  }

  /** The resource of a declared kind; undefined when the server does not have it. */
  find<K extends Kind<any>>(kind: K): ResourceClient<ObjectOf<K>> | undefined {
    return this.#find(kind) && this.of(kind)
  }

  /** The same by its name, for components that do not load a kind which the server may not have. */
  findNamed(group: string, version: string, plural: string): ResourceClient<AnyObject> | undefined {
    const resource = this.#backend.findResource(group, version, plural)
    return resource && this.of(resource)
  }

  /** The resource that an owner reference or another object reference names. */
  ofKind(apiVersion: string, kind: string): ResourceClient<AnyObject> | undefined {
    const resource = this.#backend.resourceOfKind(apiVersion, kind)
    return resource && this.of(resource)
  }

  #find({ def: { group, version, names } }: Kind<any>): Resource | undefined {
    return this.#backend.findResource(group, version, names.plural)
  }

  /** All resources that have objects of their own. */
  resources(): Iterable<Resource> {
    return this.#backend.resources()
  }

  /** Delivers the changes of all resources from now on. */
  watchAll(handler: AllHandler, signal: AbortSignal): void {
    this.#informers.watchAll(handler, signal)
  }

  /** The same API for writes that nobody waits for, such as those of events: others come first. */
  get lowPriority(): Client {
    const { lowPriority } = this.#backend
    return lowPriority ? new Client(lowPriority, this.#informers, this.identity) : this
  }

  /** The same API as somebody else, or with another field manager. */
  as(identity: Identity): Client {
    return new Client(this.#backend, this.#informers, identity)
  }
}

/** Gives each component its client. Urgent writes come before those of other components. */
export type ClientFor = (identity: Identity, options?: { readonly rank?: Rank }) => Client

type ResourceParts<O> = { readonly backend: Backend; readonly identity: Identity; readonly informer: () => Informer<O> }

/**
 * One resource. Reads see all that this server has written; objects are shared and must not be changed. Writes throw a StatusError,
 * a conflict among them, but say by their result what callers have to expect.
 */
export class ResourceClient<O extends Envelope> {
  readonly resource: Resource
  readonly #parts: ResourceParts<O>
  /** The name that was read last, and the cache's own text of its key: components read the same few objects over and over, and equal texts compare at once. */
  #lastNamespace = ''
  #lastName = ''
  #lastKey: string | undefined

  constructor(resource: Resource, parts: ResourceParts<O>) {
    this.resource = resource
    this.#parts = parts
  }

  /** An object in its stored version. Undefined when there is none, or none that can be read. */
  get(named: Named): O | undefined {
    return this.revision(named)?.object
  }

  /** The same before it is decoded, also of a record that cannot be read. */
  revision({ namespace = '', name = '' }: Named): ObjectRevision<O> | undefined {
    const known = name === this.#lastName && namespace === this.#lastNamespace ? this.#lastKey : undefined
    const found = this.#parts.backend.get(this.resource, known ?? keyOf(this.resource, namespace, name)) as ObjectRevision<O> | undefined
    if (known === undefined && found) {
      this.#lastNamespace = namespace
      this.#lastName = name
      this.#lastKey = found.key
    }
    return found
  }

  /** Whether there is an object of that name, be it one that cannot be read. */
  exists(named: Named): boolean {
    return this.revision(named) !== undefined
  }

  /** The objects that can be read. */
  *list(options: ListOptions = {}): Iterable<O> {
    for (const { object } of this.revisions(options)) if (object) yield object
  }

  /** All of them, before they are decoded. */
  revisions(options: ListOptions = {}): Iterable<ObjectRevision<O>> {
    return this.#parts.backend.list(this.resource, options) as Iterable<ObjectRevision<O>>
  }

  /** The current objects that have a value in an index. */
  *byIndex(index: IndexDefinition<O>, value: string): Iterable<O> {
    for (const { object } of this.#parts.informer().byIndex(index, value)) if (object) yield object
  }

  /** How many objects there are, those that cannot be read among them. */
  count(options: ListOptions = {}): number {
    return this.#parts.backend.count(this.resource, options)
  }

  /** Delivers the stored objects as `added`, then every change. Resolves when all stored objects have been delivered. */
  watch(handler: ChangeHandler<O>, signal: AbortSignal): Promise<void> {
    return this.#parts.informer().watch(handler, signal)
  }

  get informer(): Informer<O> {
    return this.#parts.informer()
  }

  /** Undefined when the name is taken. */
  create(object: Draft<O>): Promise<Written<O> | undefined> {
    const { namespace = '' } = (object.metadata ?? {}) as Named
    return unless(['AlreadyExists'], this.#write('create', { namespace, name: '' }, { body: object }))
  }

  /** Sends a message to an object, such as a binding to a pod. Undefined when there is no such object. */
  createSubresource(named: Named, subresource: string, body: object): Promise<Written<O> | undefined> {
    return unless(['NotFound'], this.#write('create', named, { body, subresource }))
  }

  /** Undefined when it is gone. Throws a conflict when it has changed since it was read. */
  update(object: O, { subresource = '' }: { readonly subresource?: string } = {}): Promise<Written<O> | undefined> {
    return unless(['NotFound'], this.#write('update', object.metadata, { body: object, subresource }))
  }

  updateStatus(object: O): Promise<Written<O> | undefined> {
    return this.update(object, { subresource: 'status' })
  }

  /** Undefined when there is no such object. */
  patch(named: Named, patch: object, { type = 'merge', subresource = '' }: PatchOptions = {}): Promise<Written<O> | undefined> {
    return unless(['NotFound'], this.#write('patch', named, { body: patch, subresource, mediaType: MEDIA_TYPES[type] }))
  }

  /** Sets the fields of the draft and owns them; the object is created when it is not there. Takes fields over from others unless told not to. */
  async apply(draft: Draft<O>, { manager = this.#parts.identity.manager, subresource = '', force = true }: ApplyOptions = {}) {
    const { apiVersion, kind } = this.resource
    const query = { fieldManager: manager, force: String(force) }
    const body = { apiVersion, kind, ...draft }
    return this.#write('patch', (draft.metadata ?? {}) as Named, { body, subresource, query, mediaType: 'application/apply-patch+yaml' })
  }

  /** Deletes exactly this object. False when it is gone already, another has its name, or it has changed and that was not allowed. */
  async delete({ metadata }: Pick<O, 'metadata'>, { unchanged, ...options }: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion } = metadata
    const preconditions = { ...(uid && { uid }), ...(unchanged && { resourceVersion }) }
    const deleted = this.#write('delete', metadata, { body: { ...options, preconditions } })
    return (await unless(['NotFound', 'Conflict'], deleted)) !== undefined
  }

  /** Deletes all objects of a namespace, or of the resource, that no finalizer keeps, and marks the others. */
  async deleteCollection(namespace = '', options: Omit<DeleteOptions, 'unchanged'> = {}): Promise<void> {
    await this.#write('deletecollection', { namespace }, { body: options })
  }

  async #write(verb: Verb, { namespace = '', name = '' }: Named, sent: Sent): Promise<Written<O>> {
    const { backend, identity } = this.#parts
    const { user, manager } = identity
    const { resource } = this
    const { body, mediaType = 'application/json', subresource = '', query = {} } = sent
    const { group, version, plural } = resource
    const about = { path: '', resource: { group, version, plural, subresource, namespace, name } }
    const authorize = async (asked: string) => backend.authorize(user, { verb: asked, ...about })
    await authorize(verb)
    const object = new HandedOver(body)
    // The next step takes a copy, which takes as long again.
    if (object.size > LARGE_BYTES) await yieldToOthers()
    const call = { verb, resource, namespace, name, subresource, query: new URLSearchParams(query) }
    const handed = { mediaType, bytes: NO_BYTES, object }
    return new Written<O>(await backend.write({ ...call, user, manager, body: handed, authorizeCreate: () => authorize('create') }))
  }
}

const NO_BYTES = new Uint8Array()
/** A copy of an object of this size takes some milliseconds. */
const LARGE_BYTES = 256 * 1024

type Sent = {
  readonly body: object
  readonly mediaType?: string
  readonly subresource?: string
  readonly query?: Readonly<Record<string, string>>
}

/** Undefined for failures that the caller has to expect. */
async function unless<R>(reasons: readonly string[], result: Promise<R>): Promise<R | undefined> {
  try {
    return await result
  } catch (error) {
    if (error instanceof StatusError && reasons.includes(error.reason)) return undefined
    throw error
  }
}
