/**
 * Deletes objects whose owners are all gone, and completes deletions that wait for dependents.
 *
 * Every change of every resource is seen, but only objects with owners, and those whose deletion waits here, are decoded and kept:
 *
 *     new references ─→ the object itself          an object is gone ─→ its dependents, and its owners if they wait for it
 *     a deletion waits ─→ the object and its dependents
 */

import type { Change } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { goQuote } from '../../lib/go-text.ts'
import { Pace } from '../../lib/pace.ts'
import { run, type Step as Work } from '../../lib/step.ts'
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../schema/meta-rules.ts'
import type { AnyObject, ObjectMeta, OwnerReference } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { type ControllerContext, defineController, watchAll } from '../controller.ts'
import { type Dependent, Graph, type Item } from './graph.ts'
import { hasCollectorFinalizer, isWaiting, nextStep, type Owner, type Step } from './reconcile.ts'

export const garbageCollector = defineController({
  name: 'garbage-collector-controller',
  identity: 'generic-garbage-collector',
  workers: 20,
  create: context => {
    const collector = new Collector(context)
    const handler = {
      changed: (resource: Resource, change: Change) => collector.changed(resource, change),
      joined: (resource: Resource) => collector.joined(resource),
    }
    return { watches: [watchAll(handler, async () => run(collector.readAll(), new Pace()))], reconcile: key => collector.reconcile(key) }
  },
})

type Terminating = Item & { readonly isWaiting: boolean }

class Collector {
  readonly #client: Client
  readonly #context: ControllerContext
  readonly #graph = new Graph()
  /** Objects whose deletion waits for one of the finalizers that are removed here, by key. */
  readonly #terminating = new Map<string, Terminating>()
  readonly #terminatingByUid = new Map<string, string>()
  /** Objects about which nothing can be decided until another kind is served. */
  readonly #undecided = new Set<string>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#client = context.client
  }

  /** Reads all stored objects at the start. */
  *readAll(): Work<void> {
    for (const resource of this.#client.resources()) {
      if (!isCollected(resource)) continue
      for (const current of this.#client.of(resource).revisions()) {
        this.changed(resource, { type: 'added', current, previous: undefined })
        yield
        if (this.#context.signal.aborted) return
      }
    }
  }

  /** The objects of a resource can be read, or by another schema: what waited for the kind is looked at again. */
  joined(resource: Resource): void {
    if (!isCollected(resource)) return
    for (const current of this.#client.of(resource).revisions()) this.changed(resource, { type: 'updated', current, previous: undefined })
    this.#enqueueUndecided()
  }

  changed(resource: Resource, { type, current }: Change): void {
    if (!isCollected(resource)) return
    // With a definition the kind of an owner may have come to be served.
    if (resource.plural === 'customresourcedefinitions') this.#enqueueUndecided()
    const { key, uid, namespace, name } = current
    if (type === 'deleted') {
      this.#gone(key, uid)
      return
    }
    const isKnown = this.#graph.get(key) !== undefined || this.#terminating.has(key)
    if (!isKnown && current.owners.length === 0 && !current.terminating) return
    const metadata = current.object?.metadata
    if (!metadata) return
    const item = { key, resource, namespace, name, uid }
    const { isNew, released } = this.#graph.put(item, metadata.ownerReferences ?? [])
    if (isNew) this.#enqueue(key)
    for (const owner of released) this.#enqueueTerminating(owner)
    this.#noteTermination(item, metadata)
  }

  async reconcile(key: string): Promise<void> {
    const item = this.#graph.get(key) ?? this.#terminating.get(key)
    const object = item && this.#client.of(item.resource).get(item)
    if (!item || !object || object.metadata.uid !== item.uid) return
    const step = nextStep(object.metadata, {
      ownerOf: reference => this.#ownerOf(reference, item),
      dependents: () => this.#dependentsOf(item),
    })
    if (step) await this.#take(step, item, object)
  }

  #enqueue(key: string): void {
    this.#context.enqueue(key)
  }

  #enqueueUndecided(): void {
    for (const key of this.#undecided) this.#enqueue(key)
    this.#undecided.clear()
  }

  #noteTermination(item: Item, metadata: ObjectMeta): void {
    const { key, uid } = item
    const before = this.#terminating.get(key)
    if (!hasCollectorFinalizer(metadata)) {
      if (before) this.#forgetTermination(key, before.uid)
      return
    }
    const waits = isWaiting(metadata)
    this.#terminating.set(key, { ...item, isWaiting: waits })
    this.#terminatingByUid.set(uid, key)
    this.#enqueue(key)
    if (waits && !before?.isWaiting) for (const dependent of this.#graph.dependentsOf(uid)) this.#enqueue(dependent.key)
  }

  #gone(key: string, uid: string): void {
    this.#forgetTermination(key, uid)
    this.#undecided.delete(key)
    for (const owner of this.#graph.remove(key).released) this.#enqueueTerminating(owner)
    this.#graph.lose(uid)
    for (const dependent of this.#graph.dependentsOf(uid)) this.#enqueue(dependent.key)
    // The record could not be read, so the object is unknown.
    if (uid === '') this.#enqueueUndecided()
  }

  #forgetTermination(key: string, uid: string): void {
    if (this.#terminating.delete(key)) this.#terminatingByUid.delete(uid)
  }

  #enqueueTerminating(uid: string): void {
    const key = this.#terminatingByUid.get(uid)
    if (key !== undefined) this.#enqueue(key)
  }

  *#dependentsOf({ uid }: Item) {
    for (const dependent of this.#graph.dependentsOf(uid)) yield { references: dependent.references, isWaiting: this.#waits(dependent) }
  }

  #waits({ key }: Dependent): boolean {
    return this.#terminating.get(key)?.isWaiting ?? false
  }

  /** An owner is looked up by all fields of the reference: one in another namespace, or under another name, is absent. */
  #ownerOf(reference: OwnerReference, item: Item): Owner {
    const { apiVersion, kind, name, uid } = reference
    const owners = this.#client.ofKind(apiVersion, kind)
    if (owners?.resource.namespaced && item.namespace === '') {
      this.#reportOtherNamespace(reference, item)
      return { is: 'impossible' }
    }
    if (this.#graph.isGone(uid)) return { is: 'absent' }
    if (!owners) return { is: 'unknown' }
    const owner = owners.revision({ namespace: owners.resource.namespaced ? item.namespace : '', name })
    if (owner && !owner.object) return { is: 'unknown' }
    if (owner?.uid === uid) return { is: 'present', metadata: owner.object!.metadata }
    if (owners.resource.namespaced) this.#reportOtherNamespace(reference, item)
    return { is: 'absent' }
  }

  /** Warns about a reference to an object that is there, but in another namespace. */
  #reportOtherNamespace({ apiVersion, kind, name, uid }: OwnerReference, { resource, ...item }: Item): void {
    const owners = this.#client.ofKind(apiVersion, kind)!
    const isThere = (namespace: string) => owners.revision({ namespace, name })?.uid === uid
    let isElsewhere = false
    for (const namespace of this.#client.of(Namespace).revisions()) if (isThere(namespace.name)) isElsewhere = true
    if (!isElsewhere) return
    const { namespace } = item
    const involved = { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { namespace, name: item.name, uid: item.uid } }
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`
    const message = `ownerRef ${owner} does not exist in namespace ${goQuote(namespace)}`
    this.#context.recorder.event(involved, 'Warning', 'OwnerRefInvalidNamespace', message)
  }

  async #take(step: Step, item: Item, object: AnyObject): Promise<void> {
    const objects = this.#client.of(item.resource)
    switch (step.step) {
      case 'delete': {
        if (step.unblocks && (await this.#unblock(item, object))) return
        // It may have a new owner by now: then it has changed and is looked at again.
        const isDone = await objects.delete(object, { propagationPolicy: step.policy, unchanged: true })
        if (!isDone && objects.revision(item)?.uid === item.uid) this.#enqueue(item.key)
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
        for (const dependent of this.#graph.dependentsOf(item.uid)) if (!this.#waits(dependent)) this.#enqueue(dependent.key)
        return
      case 'unknown':
        this.#undecided.add(item.key)
    }
  }

  async #disownByKey(dependent: Dependent, owner: string): Promise<void> {
    const object = this.#client.of(dependent.resource).get(dependent)
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

  /** Only while the object is as it was read; after a conflict it is looked at again. */
  async #patch(item: Item, { uid, resourceVersion }: ObjectMeta, change: object): Promise<void> {
    await this.#client.of(item.resource).patch(item, { metadata: { uid, resourceVersion, ...change } })
  }
}

/** Events are deleted by their age alone. */
const isCollected = ({ verbs, plural, group }: Resource): boolean =>
  verbs.includes('delete') &&
  verbs.includes('list') &&
  verbs.includes('watch') &&
  !(plural === 'events' && (group === '' || group.startsWith('events.')))
