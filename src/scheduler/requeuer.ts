/** Puts unschedulable pods back into the queue when a change of the cluster may have made a node fit for them. */
import type { Cluster } from './cluster.ts'
import type { ClusterEvent } from './cluster-event.ts'
import type { Lookups } from './lookups.ts'
import type { PodWriter } from './pod-writer.ts'
import type { ProfileOf } from './profile.ts'
import type { QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

/** Stands for the rejecting plugins of a pod that was tried while the cluster had no nodes. */
export const NO_NODES = 'no nodes'
/** Stands for the extenders: nobody knows which changes matter to them, so all do. */
export const EXTENDER = 'Extender'

/** Stands for the rejecting plugins of a group that waits until pods have left for it. */
export const EVICTIONS = 'DefaultPreemption'

export type RequeuerParts = {
  readonly profileOf: ProfileOf
  readonly queue: SchedulingQueue
  readonly read: PodWriter['read']
  readonly cluster: Cluster
  readonly lookups: Lookups
  /** Asks for the next scheduling attempt. */
  readonly wake: () => void
}

export class Requeuer {
  readonly #parts: RequeuerParts

  constructor(parts: RequeuerParts) {
    this.#parts = parts
  }

  /** Whether an event could make a difference to any pod; if not, it need not be computed. */
  get hasUnschedulable(): boolean {
    return this.#parts.queue.isAnyUnschedulable
  }

  /** Requeues the pods that one of the events may help, among those that `isCandidate` selects. */
  requeue(events: readonly ClusterEvent[], isCandidate: (pod: QueuedPod) => boolean = () => true): void {
    const { queue, wake } = this.#parts
    if (!queue.isAnyUnschedulable) return
    for (const event of events) if (queue.requeue(queued => isCandidate(queued) && this.#isWorth(queued, event))) wake()
  }

  /** Requeues those pods of some that one of the events may help. */
  requeueAmong(uids: Iterable<string>, events: readonly ClusterEvent[]): void {
    const { queue, wake } = this.#parts
    for (const uid of uids)
      for (const event of events) {
        const queued = queue.unschedulable(uid)
        if (queued && this.#isWorth(queued, event) && queue.retry(uid)) wake()
      }
  }

  /** Requeues one pod if one of the events may help it. */
  requeueOne(uid: string, events: readonly ClusterEvent[]): void {
    const { queue } = this.#parts
    for (const event of events) {
      const queued = queue.unschedulable(uid)
      if (event.name === 'self gates' || (queued && this.#isWorth(queued, event))) queue.retry(uid)
    }
  }

  /** Asks the queueing hints of the plugins that have rejected the pod. */
  #isWorth(queued: QueuedPod, event: ClusterEvent): boolean {
    const { profileOf, read, cluster, lookups } = this.#parts
    const { byName } = profileOf(queued.schedulerName)
    for (const name of queued.rejectors) {
      if (name === EXTENDER || (name === NO_NODES && event.name === 'node added')) return true
      if (name === EVICTIONS && event.name === 'pod deleted') return true
      const hint = byName.get(name)?.queueingHints?.[event.name]
      if (!hint) continue
      for (const waiting of queued.pods?.values() ?? [queued]) {
        const pod = read(waiting)
        if (pod && hint(pod, event, { cluster, lookups })) return true
      }
    }
    return false
  }
}
