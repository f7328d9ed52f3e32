/**
 * The one way to observe changes. An informer delivers the objects of a resource that are there as `added`, then every change in
 * the order of revisions, and keeps indexes of the current objects:
 *
 *     informer.watch(onChange, signal)      added a, added b … synced │ updated a, deleted b, added c …
 *     informer.byIndex(OWNER_INDEX, uid)    the objects that have this owner
 *
 * All informers read the server's cache: none keeps objects of its own, and none decodes an object that nobody asks for. Changes
 * are delivered before the write that made them is answered, so handlers only note what to do; the work is a work queue's.
 */
import { Pace } from '../lib/pace.ts'
import { run, type Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { ObjectRevision, Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import type { Backend } from './backend.ts'
import type { Change } from './change.ts'

/** The values under which an object is found. */
export type IndexFunction<O = AnyObject> = (revision: ObjectRevision<O>) => readonly string[]
export type IndexDefinition<O = AnyObject> = { readonly name: string; readonly valuesOf: IndexFunction<O> }

/** Indexes objects by the uid of each owner. */
export const OWNER_INDEX: IndexDefinition<any> = { name: 'owner', valuesOf: ({ owners }) => owners }
/** Indexes objects by their own uid. */
export const UID_INDEX: IndexDefinition<any> = { name: 'uid', valuesOf: ({ uid }) => [uid] }
/** Pods by the node that they are bound to. */
export const NODE_INDEX: IndexDefinition<any> = {
  name: 'node',
  valuesOf: ({ fields }) => (fields['spec.nodeName'] ? [fields['spec.nodeName']] : NO_VALUES),
}
const NO_VALUES: readonly string[] = []

export type ChangeHandler<O = AnyObject> = (change: Change<O>) => void

/** Hears of the changes of all resources. */
export interface AllHandler {
  changed(resource: Resource, change: Change): void
  joined(resource: Resource): void
}

class Index {
  readonly #valuesOf: IndexFunction
  readonly #keys = new Map<string, Set<string>>()
  /** The values under which each object was entered: a function over objects could not tell them again without decoding. */
  readonly #values = new Map<string, readonly string[]>()

  constructor(valuesOf: IndexFunction) {
    this.#valuesOf = valuesOf
  }

  put(revision: ObjectRevision): void {
    this.remove(revision.key)
    const values = this.#valuesOf(revision)
    if (values.length === 0) return
    this.#values.set(revision.key, values)
    for (const value of values) {
      const keys = this.#keys.get(value)
      if (keys) keys.add(revision.key)
      else this.#keys.set(value, new Set([revision.key]))
    }
  }

  remove(key: string): void {
    const values = this.#values.get(key)
    if (!values) return
    this.#values.delete(key)
    for (const value of values) {
      const keys = this.#keys.get(value)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(value)
    }
  }

  clear(): void {
    this.#keys.clear()
    this.#values.clear()
  }

  keys(value: string): Iterable<string> {
    return this.#keys.get(value) ?? []
  }
}

/** The current objects of one resource: the server's cache, or a copy of those of another server. */
export type InformerSource<O> = {
  get(key: string): ObjectRevision<O> | undefined
  list(): Iterable<ObjectRevision<O>>
}

export class Informer<O = AnyObject> {
  readonly #source: InformerSource<O>
  readonly #handlers = new Set<ChangeHandler<O>>()
  readonly #indexes = new Map<string, Index>()

  constructor(source: InformerSource<O>) {
    this.#source = source
  }

  /** Keeps an index from now on; one of the same name is there already after the first time. */
  addIndex({ name, valuesOf }: IndexDefinition<O>): void {
    if (this.#indexes.has(name)) return
    const index = new Index(valuesOf as IndexFunction)
    for (const revision of this.#source.list()) index.put(revision as ObjectRevision)
    this.#indexes.set(name, index)
  }

  /** The current objects that have a value in an index, which is made at the first question. */
  *byIndex(definition: IndexDefinition<O>, value: string): Iterable<ObjectRevision<O>> {
    this.addIndex(definition)
    // The handler that asks may change the index before it has read all.
    for (const key of [...this.#indexes.get(definition.name)!.keys(value)]) {
      const found = this.#source.get(key)
      if (found) yield found
    }
  }

  /** Delivers the stored objects, then every change, until the signal ends it. Resolves when all stored objects have been delivered. */
  async watch(handler: ChangeHandler<O>, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    /** Objects that changed before they were delivered: their newer state has been delivered already. */
    let changed: Set<string> | undefined = new Set()
    const deliver: ChangeHandler<O> = change => {
      changed?.add(change.current.key)
      handler(change)
    }
    this.#handlers.add(deliver)
    signal.addEventListener('abort', () => this.#handlers.delete(deliver), { once: true })
    await run(this.#deliverAll(handler, { changed, signal }), new Pace())
    if (!signal.aborted) changed = undefined
  }

  *#deliverAll(
    handler: ChangeHandler<O>,
    { changed, signal }: { readonly changed: ReadonlySet<string>; readonly signal: AbortSignal },
  ): Step<void> {
    for (const current of this.#source.list()) {
      if (!changed.has(current.key)) handler({ type: 'added', current, previous: undefined })
      yield
      if (signal.aborted) return
    }
  }

  /** Takes in a change; only the informers' owner calls it. */
  apply(change: Change<O>): void {
    const { type, current } = change
    for (const index of this.#indexes.values())
      if (type === 'deleted') index.remove(current.key)
      else index.put(current as ObjectRevision)
    for (const handler of this.#handlers) handler(change)
  }

  /** Takes in all objects anew, after they are read by another schema. */
  refresh(): void {
    for (const index of this.#indexes.values()) index.clear()
    for (const current of this.#source.list()) this.apply({ type: 'updated', current, previous: undefined })
  }
}

/** The informers of a server, one for each resource, made when first asked for. */
export class Informers implements Observer {
  readonly #backend: Backend
  readonly #byPrefix = new Map<string, Informer<any>>()
  readonly #all = new Set<AllHandler>()
  readonly #onError: (error: unknown) => void

  constructor(backend: Backend, { signal, onError }: { readonly signal: AbortSignal; readonly onError: (error: unknown) => void }) {
    this.#backend = backend
    this.#onError = onError
    backend.observe(this, signal)
  }

  of<O>(resource: Resource): Informer<O> {
    let informer: Informer<O> | undefined = this.#byPrefix.get(resource.prefix)
    if (!informer) this.#byPrefix.set(resource.prefix, (informer = new Informer<O>(this.#sourceOf<O>(resource))))
    return informer
  }

  #sourceOf<O>(resource: Resource): InformerSource<O> {
    const backend = this.#backend
    return {
      get: key => backend.get(resource, key) as ObjectRevision<O> | undefined,
      list: () => backend.list(resource, {}) as Iterable<ObjectRevision<O>>,
    }
  }

  /** Delivers the changes of all resources from now on, for the few components that need every kind. */
  watchAll(handler: AllHandler, signal: AbortSignal): void {
    this.#all.add(handler)
    signal.addEventListener('abort', () => this.#all.delete(handler), { once: true })
  }

  changed(resource: Resource, current: ObjectRevision, previous: ObjectRevision | undefined): void {
    const informer = this.#byPrefix.get(resource.prefix)
    if (!informer && this.#all.size === 0) return
    const change: Change = { type: current.deleted ? 'deleted' : previous ? 'updated' : 'added', current, previous }
    this.#guard(() => {
      informer?.apply(change)
      for (const handler of this.#all) handler.changed(resource, change)
    })
  }

  joined(resource: Resource): void {
    this.#guard(() => {
      this.#byPrefix.get(resource.prefix)?.refresh()
      for (const handler of this.#all) handler.joined(resource)
    })
  }

  /** A handler that fails must not keep the cache from taking in a write. */
  #guard(deliver: () => void): void {
    try {
      deliver()
    } catch (error) {
      this.#onError(error)
    }
  }
}
