/**
 * Records which pods take room on which nodes: bound pods, pods whose binding is being written, and nominated pods. Room that
 * becomes free is announced to the pods that wait for it.
 */
import type { Cluster } from './cluster.ts'
import { podEvents } from './cluster-event.ts'
import type { Nominations } from './nominations.ts'
import type { PodInfo } from './pod-info.ts'
import type { Requeuer } from './requeuer.ts'

export type OccupancyParts = { readonly cluster: Cluster; readonly nominations: Nominations; readonly requeuer: Requeuer }

export class Occupancy {
  readonly #parts: OccupancyParts
  /** Pods whose binding is under way, by uid. */
  readonly #assumed = new Set<string>()

  constructor(parts: OccupancyParts) {
    this.#parts = parts
  }

  isAssumed(uid: string): boolean {
    return this.#assumed.has(uid)
  }

  /** Counts a pod as being on its node from the moment the node is chosen. */
  assume(pod: PodInfo): void {
    const { cluster, nominations } = this.#parts
    this.#assumed.add(pod.uid)
    cluster.setPod(pod)
    nominations.remove(pod.uid)
  }

  /** Takes an assumed pod off its node: it will not be bound. */
  release(uid: string): void {
    this.#assumed.delete(uid)
    const before = this.#parts.cluster.removePod(uid)
    if (before) this.#parts.requeuer.requeue(podEvents(before, undefined), queued => queued.uid !== uid)
  }

  /** A watch has delivered a pod that is bound to a node. */
  bound(pod: PodInfo): void {
    const { cluster, nominations, requeuer } = this.#parts
    const before = this.#assumed.delete(pod.uid) ? undefined : cluster.pod(pod.uid)
    cluster.setPod(pod)
    nominations.remove(pod.uid)
    requeuer.requeue(podEvents(before, pod))
  }

  /** A pod was deleted or has ended. */
  remove(uid: string): void {
    this.#assumed.delete(uid)
    const before = this.#parts.cluster.removePod(uid)
    if (before) this.#parts.requeuer.requeue(podEvents(before, undefined))
    this.endNomination(uid)
  }

  /** Ends the nomination of a pod. Pods of lower or the same priority can have the room that was kept for it. */
  endNomination(uid: string): void {
    const { nominations, requeuer } = this.#parts
    const node = nominations.nodeOf(uid)
    if (node === undefined) return
    const before = [...nominations.on(node)].find(pod => pod.uid === uid)!
    nominations.remove(uid)
    requeuer.requeue(podEvents(before, undefined), ({ priority }) => priority <= before.priority)
  }
}
