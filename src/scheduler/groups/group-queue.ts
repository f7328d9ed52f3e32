/**
 * Pods that wait for a node together with their group. The scheduling queue has one entry for all pods of a hierarchy, under the key of
 * its root; it comes with the first pod and goes with the last. Pods whose group, or a group above it, is not there yet wait outside.
 */
import type { PodInfo } from '../pod-info.ts'
import { type QueuedPod, queuedPod, type SchedulingQueue } from '../scheduling-queue.ts'
import { type GroupKey, groupKey, type PodGroups, priorityOf } from './pod-groups.ts'

export type GroupQueueParts = {
  readonly queue: SchedulingQueue
  readonly groups: PodGroups
  /** The plugin that holds back a waiting pod, empty for no plugin; undefined when none does. */
  readonly gateOfPod: (queued: QueuedPod) => string | undefined
  /** The same for a group as a whole, independent of its pods. */
  readonly gateOfGroup: (root: GroupKey) => string | undefined
  /** Milliseconds. */
  readonly now: () => number
}

type Member = { readonly queued: QueuedPod; readonly group: GroupKey; root: GroupKey | undefined }

export class GroupQueue {
  readonly #parts: GroupQueueParts
  readonly #members = new Map<string, Member>()
  /** The pods of an entry in the queue, by its key. */
  readonly #pods = new Map<GroupKey, Map<string, QueuedPod>>()

  constructor(parts: GroupQueueParts) {
    this.#parts = parts
  }

  /** How many pods wait outside the queue because a group is not there. */
  get incomplete(): number {
    let count = 0
    for (const { root } of this.#members.values()) if (!root) count++
    return count
  }

  has(uid: string): boolean {
    return this.#members.has(uid)
  }

  /** Takes in a pod that has no node. */
  add(info: Pick<PodInfo, 'uid' | 'namespace' | 'name' | 'priority' | 'schedulerName' | 'group'>): void {
    const { uid, namespace, group } = info
    if (!this.#members.has(uid)) this.#enter(queuedPod(info, this.#parts.now()), groupKey('podgroup', namespace, group))
  }

  /** Takes back a pod whose binding has failed: its group waits a while. */
  putBack(queued: QueuedPod, group: GroupKey): void {
    if (this.#members.has(queued.uid)) return
    queued.errors++
    queued.since = this.#parts.now()
    const root = this.#enter(queued, group)
    if (root && this.#pods.get(root)!.size === 1) this.#parts.queue.defer(root, queued.errors)
  }

  /** The pod is placed, or gone. */
  remove(uid: string): void {
    const member = this.#members.get(uid)
    if (!member) return
    this.#members.delete(uid)
    this.#leave(member)
  }

  /** A waiting pod has changed. */
  changed(uid: string): void {
    const member = this.#members.get(uid)
    if (member?.root) this.#reconsider(member.root, member.queued)
  }

  /** A group, or a pod of it that has a node, has come or changed: it may be tried, or not any more. */
  reconsider(group: GroupKey): void {
    const root = this.#parts.groups.rootOf(group)
    if (root) this.#reconsider(root)
  }

  /** A group has come or gone: its pods, and those of the groups around it, may belong to another root. */
  regroup(namespace: string): void {
    const touched = new Set<GroupKey>()
    for (const member of this.#members.values()) {
      if (member.queued.namespace !== namespace) continue
      const root = this.#parts.groups.rootOf(member.group)
      if (root === member.root) continue
      this.#leave(member)
      this.#join(member, root)
      if (root) touched.add(root)
    }
    for (const root of touched) this.#reconsider(root)
  }

  #enter(queued: QueuedPod, group: GroupKey): GroupKey | undefined {
    const member: Member = { queued, group, root: undefined }
    this.#members.set(queued.uid, member)
    const root = this.#parts.groups.rootOf(group)
    this.#join(member, root)
    if (root) this.#reconsider(root, queued)
    return root
  }

  /** Tries a group that was held back, if nothing does so any more; or holds it back. `changed` is the only pod that can make a difference. */
  #reconsider(root: GroupKey, changed?: QueuedPod): void {
    const { queue, gateOfGroup, gateOfPod } = this.#parts
    if (queue.unschedulable(root)) return void queue.retry(root)
    const gate = gateOfGroup(root) ?? (changed && gateOfPod(changed))
    if (gate !== undefined) queue.hold(root, gate)
  }

  #join(member: Member, root: GroupKey | undefined): void {
    const { groups, queue } = this.#parts
    member.root = root
    const tree = root && groups.tree(root)
    if (!tree) return
    const pods = this.#pods.get(tree.key)
    if (pods) {
      pods.set(member.queued.uid, member.queued)
      return
    }
    const first = new Map([[member.queued.uid, member.queued]])
    this.#pods.set(tree.key, first)
    const { namespace = '', name = '' } = tree.object.metadata
    const { schedulerName = '' } = member.queued
    queue.add({ uid: tree.key, namespace, name, priority: priorityOf(tree), schedulerName, pods: first })
  }

  #leave(member: Member): void {
    const { root } = member
    if (!root) return
    member.root = undefined
    const pods = this.#pods.get(root)!
    pods.delete(member.queued.uid)
    if (pods.size > 0) this.#reconsider(root)
    else {
      this.#pods.delete(root)
      this.#parts.queue.remove(root)
    }
  }
}

/** The order in which the pods of a group are tried: the most important first, then those that were tried most often or came first. */
export const byTurn = (a: QueuedPod, b: QueuedPod): number =>
  b.priority - a.priority || b.attempts - a.attempts || a.since - b.since || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
