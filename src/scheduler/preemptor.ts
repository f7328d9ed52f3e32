/** Deletes the pods that have to leave a node for a more important pod, and holds that pod back until they are going. */
import { monotonicMs } from '../lib/environment.ts'
import type { PreemptorType } from './groups/group-metrics.ts'
import type { Nominations } from './nominations.ts'
import type { PodInfo } from './pod-info.ts'
import type { PodWriter, Preempting } from './pod-writer.ts'
import type { PodWrites } from './pod-writes.ts'

export type PreemptorParts = {
  readonly writer: Pick<PodWriter, 'read' | 'evict' | 'clearNomination'>
  readonly writes: PodWrites
  readonly nominations: Nominations
  /** Called with the uid of a pod whose victims could not be deleted: it is no longer held back. */
  readonly onFailed: (uid: string) => void
  /** Called when the deletions of victims have ended, with the time that they took. */
  readonly onExecuted?: (preemptor: PreemptorType, result: 'success' | 'error', seconds: number) => void
}

export class Preemptor {
  readonly #parts: PreemptorParts
  /** The last victim of a preempting pod or group, once the deletions have come to it, by uid of the pod or group. */
  readonly #underWay = new Map<string, PodInfo | undefined>()

  constructor(parts: PreemptorParts) {
    this.#parts = parts
  }

  /** Deletes the victims on a node, unless all of them are terminating already. For a group, the node stands for the cluster. */
  evict(pod: Preempting, node: string, victims: readonly PodInfo[]): void {
    const remaining = victims.filter(({ isTerminating }) => !isTerminating)
    if (remaining.length === 0) return
    this.#underWay.set(pod.uid, undefined)
    this.#parts.writes.add(`preemption/${pod.uid}`, () => this.#write(pod, node, remaining))
  }

  /** Whether a pod must wait because its victims are still being deleted. */
  isEvicting(uid: string): boolean {
    if (!this.#underWay.has(uid)) return false
    const last = this.#underWay.get(uid)
    const victim = last && this.#parts.writer.read(last)
    // Once the last one is terminating, the deletions that the pod waits for may be observed at any time.
    return !last || (victim !== undefined && victim.metadata.deletionTimestamp === undefined)
  }

  async #write(pod: Preempting, node: string, victims: readonly PodInfo[]): Promise<void> {
    const { writer, nominations, onFailed, onExecuted } = this.#parts
    const begun = monotonicMs()
    const executed = (result: 'success' | 'error') => onExecuted?.(pod.asGroup?.type ?? 'pod', result, (monotonicMs() - begun) / 1000)
    try {
      // Less important pods that are nominated for the node will not get its room: they have to look elsewhere.
      for (const other of [...nominations.on(node)]) if (other.priority < pod.priority) await writer.clearNomination(other)
      await Promise.all(victims.slice(0, -1).map(victim => writer.evict(victim, pod, node)))
      const last = victims.at(-1)!
      this.#underWay.set(pod.uid, last)
      await writer.evict(last, pod, node)
      this.#underWay.delete(pod.uid)
      executed('success')
    } catch (error) {
      this.#underWay.delete(pod.uid)
      executed('error')
      onFailed(pod.uid)
      throw error
    }
  }
}
