/**
 * Deletes what no living object owns any more, and ends deletions that wait for what is owned.
 *
 * Every change is looked at as it happens, but only those that speak of owners or of a deletion are read, and only what may have
 * something to be done about it is woken:
 *
 *     new references ─→ the object itself          an object goes ─→ its dependents, and its owners if they wait for it
 *     a deletion waits ─→ the object and its dependents
 */
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../schema/meta-rules.ts'
import type { AnyObject, ObjectMeta, OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type Change, type Feed, wordOf } from '../change.ts'
import { Loop } from '../loop.ts'
import { type Dependent, Graph, type Item } from './graph.ts'
import { isHeld, isWaiting, nextStep, type Owner, type Step } from './reconcile.ts'

type Name = { readonly namespace: string; readonly name: string }

/** What the controller asks of the API. Reads hold all that this controller has written. */
export interface Api extends Feed {
  get(resource: Resource, name: Name): AnyObject | undefined
  /** Whether there is an object of that name, be it one that cannot be read. */
  exists(resource: Resource, name: Name): boolean
  /** Deletes the object while it is as it was read. False when it is not. */
  remove(
    resource: Resource,
    object: AnyObject,
    options: { readonly propagationPolicy: 'Background' | 'Foreground' | 'Orphan'; readonly unchanged: true },
  ): Promise<boolean>
  patch(resource: Resource, name: Name, patch: object, how: { readonly type: string }): Promise<boolean>
}

export type GarbageCollectorParts = {
  readonly api: Api
  /** All that is served. */
  readonly resources: Iterable<Resource>
  /** The resource of a kind, by its full apiVersion. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly onError: (error: unknown, item: Item | undefined) => void
  readonly signal: AbortSignal
}

export interface GarbageCollector {
  /** Resolves when nothing is to be done but what waits for others. */
  settled(): Promise<void>
}

const AT_ONCE = 20
/** How many objects are looked through at the start before others get a turn. */
const TURN = 500
const HINTS = [wordOf('ownerReferences'), wordOf('deletionTimestamp')]
const MERGE = { type: 'application/merge-patch+json' }

/** Reads what is there and follows what happens; resolves when all is read. */
export async function startGarbageCollector(parts: GarbageCollectorParts): Promise<GarbageCollector> {
  const collector = new Collector(parts)
  await collector.start()
  return collector
}

class Collector implements GarbageCollector {
  readonly #parts: GarbageCollectorParts
  readonly #graph = new Graph()
  /** Objects whose deletion is held back here, by key. */
  readonly #held = new Map<string, Item & { readonly isWaiting: boolean }>()
  readonly #heldByUid = new Map<string, string>()
  /** Objects about which nothing can be decided until another kind is served. */
  readonly #unknown = new Set<string>()
  readonly #loop: Loop<string>
  /** What was woken before all was read: until then nobody knows who depends on whom. */
  #early: Set<string> | undefined = new Set()

  constructor(parts: GarbageCollectorParts) {
    this.#parts = parts
    const { onError, signal } = parts
    const settle = (key: string) => this.#settle(key)
    this.#loop = new Loop({ settle, onError: (error, key) => onError(error, this.#itemAt(key)), signal, atOnce: AT_ONCE })
  }

  async start(): Promise<void> {
    const { api, resources, signal } = this.#parts
    api.observe({ changed: change => this.#changed(change), joined: resource => this.#joined(resource) }, signal)
    let looked = 0
    // Forms of the same objects have one place where those are.
    const places = new Map(Array.from(resources, resource => [resource.prefix, resource]))
    for (const resource of places.values()) {
      if (!isCollected(resource)) continue
      for (const change of api.noticed(resource)) {
        this.#changed(change)
        if (++looked % TURN === 0) await new Promise(setImmediate)
        if (signal.aborted) return
      }
    }
    const early = this.#early!
    this.#early = undefined
    void this.#loop.wakeAll(early)
  }

  settled(): Promise<void> {
    return this.#loop.settled()
  }

  #wake(key: string): void {
    if (this.#early) this.#early.add(key)
    else void this.#loop.wake(key)
  }

  #joined(resource: Resource): void {
    if (!isCollected(resource)) return
    for (const change of this.#parts.api.noticed(resource)) this.#changed(change)
    this.#wakeUnknown()
  }

  #wakeUnknown(): void {
    for (const key of this.#unknown) this.#wake(key)
    this.#unknown.clear()
  }

  #changed(change: Change): void {
    const { key, uid } = change
    if (!isCollected(change.resource)) return
    if (change.deleted) {
      this.#gone(key, uid)
      return
    }
    const isKnown = this.#graph.get(key) !== undefined || this.#held.has(key)
    if (!isKnown && !change.mayMention(HINTS)) return
    const metadata = change.object()?.metadata
    if (!metadata) return
    const { ownerReferences = [], deletionTimestamp } = metadata
    if (!isKnown && ownerReferences.length === 0 && deletionTimestamp === undefined) return
    const { resource, namespace, name } = change
    const item = { key, resource, namespace, name, uid }
    const { isNews, released } = this.#graph.put(item, ownerReferences)
    if (isNews) this.#wake(key)
    for (const owner of released) this.#wakeHeld(owner)
    this.#holds(item, metadata)
  }

  #holds(item: Item, metadata: ObjectMeta): void {
    const { key, uid } = item
    const before = this.#held.get(key)
    if (!isHeld(metadata)) {
      if (before) this.#letGo(key, before.uid)
      return
    }
    const waits = isWaiting(metadata)
    this.#held.set(key, { ...item, isWaiting: waits })
    this.#heldByUid.set(uid, key)
    this.#wake(key)
    if (waits && !before?.isWaiting) for (const dependent of this.#graph.dependentsOf(uid)) this.#wake(dependent.key)
  }

  #gone(key: string, uid: string): void {
    this.#letGo(key, uid)
    this.#unknown.delete(key)
    for (const owner of this.#graph.remove(key).released) this.#wakeHeld(owner)
    this.#graph.lose(uid)
    for (const dependent of this.#graph.dependentsOf(uid)) this.#wake(dependent.key)
    // It could not be read, so nobody knows who it was.
    if (uid === '') this.#wakeUnknown()
  }

  #letGo(key: string, uid: string): void {
    if (this.#held.delete(key)) this.#heldByUid.delete(uid)
  }

  #wakeHeld(uid: string): void {
    const key = this.#heldByUid.get(uid)
    if (key !== undefined) this.#wake(key)
  }

  #itemAt(key: string): Item | undefined {
    return this.#graph.get(key) ?? this.#held.get(key)
  }

  async #settle(key: string): Promise<void> {
    const item = this.#itemAt(key)
    const object = item && this.#parts.api.get(item.resource, item)
    if (object?.metadata.uid !== item?.uid || !item || !object) return
    const step = nextStep(object.metadata, {
      ownerOf: reference => this.#ownerOf(reference, item),
      dependents: () => this.#dependentsOf(item),
    })
    if (step) await this.#take(step, item, object)
  }

  *#dependentsOf({ uid }: Item) {
    for (const dependent of this.#graph.dependentsOf(uid)) yield { references: dependent.references, isWaiting: this.#waits(dependent) }
  }

  #waits({ key }: Dependent): boolean {
    return this.#held.get(key)?.isWaiting ?? false
  }

  /** An owner is found by what the reference says of it: one in another namespace, or under another name, is not there. */
  #ownerOf({ apiVersion, kind, name, uid }: OwnerReference, { namespace }: Item): Owner {
    const { api, resourceOf } = this.#parts
    if (this.#graph.isGone(uid)) return { is: 'absent' }
    const resource = resourceOf(apiVersion, kind)
    if (!resource) return { is: 'unknown' }
    if (resource.namespaced && namespace === '') return { is: 'impossible' }
    const named = { namespace: resource.namespaced ? namespace : '', name }
    const owner = api.get(resource, named)
    if (owner) return owner.metadata.uid === uid ? { is: 'there', metadata: owner.metadata } : { is: 'absent' }
    return { is: api.exists(resource, named) ? 'unknown' : 'absent' }
  }

  async #take(step: Step, item: Item, object: AnyObject): Promise<void> {
    const { api } = this.#parts
    switch (step.step) {
      case 'delete': {
        if (step.unblocks && (await this.#unblock(item, object))) return
        // It may have a new owner by now: then it is looked at again, because that is a change.
        const isDone = await api.remove(item.resource, object, { propagationPolicy: step.policy, unchanged: true })
        if (!isDone && api.get(item.resource, item)?.metadata.uid === item.uid) this.#wake(item.key)
        return
      }
      case 'disown':
        return this.#disown(item, object, step.owners)
      case 'orphan': {
        const dependents = [...this.#graph.dependentsOf(item.uid)]
        await Promise.all(dependents.map(dependent => this.#disownByKey(dependent, item.uid)))
        return this.#removeFinalizer(item, object, ORPHAN_FINALIZER)
      }
      case 'release':
        return this.#removeFinalizer(item, object, FOREGROUND_FINALIZER)
      case 'await':
        for (const dependent of this.#graph.dependentsOf(item.uid)) if (!this.#waits(dependent)) this.#wake(dependent.key)
        return
      case 'unknown':
        this.#unknown.add(item.key)
    }
  }

  async #disownByKey(dependent: Dependent, owner: string): Promise<void> {
    const object = this.#parts.api.get(dependent.resource, dependent)
    if (object?.metadata.uid === dependent.uid) await this.#disown(dependent, object, [owner])
  }

  async #disown(item: Item, { metadata }: AnyObject, owners: readonly string[]): Promise<void> {
    const ownerReferences = (metadata.ownerReferences ?? []).filter(({ uid }) => !owners.includes(uid))
    await this.#patch(item, metadata, { ownerReferences })
  }

  /** True when there was something to change: the object is looked at again then. */
  async #unblock(item: Item, { metadata }: AnyObject): Promise<boolean> {
    const references = metadata.ownerReferences ?? []
    if (!references.some(({ blockOwnerDeletion }) => blockOwnerDeletion)) return false
    const ownerReferences = references.map(reference =>
      reference.blockOwnerDeletion ? { ...reference, blockOwnerDeletion: false } : reference,
    )
    await this.#patch(item, metadata, { ownerReferences })
    return true
  }

  async #removeFinalizer(item: Item, { metadata }: AnyObject, finalizer: string): Promise<void> {
    const finalizers = (metadata.finalizers ?? []).filter(name => name !== finalizer)
    await this.#patch(item, metadata, { finalizers })
  }

  /** Only while the object is as it was read; whoever came first is heard as a conflict, and it is looked at again. */
  async #patch({ resource, namespace, name }: Item, { uid, resourceVersion }: ObjectMeta, change: object): Promise<void> {
    await this.#parts.api.patch(resource, { namespace, name }, { metadata: { uid, resourceVersion, ...change } }, MERGE)
  }
}

/** Events come and go by themselves. */
const isCollected = ({ verbs, plural, group }: Resource): boolean =>
  verbs.includes('delete') &&
  verbs.includes('list') &&
  verbs.includes('watch') &&
  !(plural === 'events' && (group === '' || group.startsWith('events.')))
