/** Holds back pods that wait for something before they may be tried at all: scheduling gates, claims, the other pods of their group. */
import type { GroupScheduling } from './groups/group-scheduling.ts'
import type { Lookups } from './lookups.ts'
import type { PodWriter } from './pod-writer.ts'
import type { Preemptor } from './preemptor.ts'
import type { ProfileOf } from './profile.ts'
import type { QueuedPod } from './scheduling-queue.ts'

export type QueueGateParts = {
  readonly profileOf: ProfileOf
  readonly read: PodWriter['read']
  readonly lookups: Lookups
  readonly preemptor: Pick<Preemptor, 'isEvicting'>
  /** The part that schedules groups, which is made after the queue. */
  readonly groups: () => Pick<GroupScheduling, 'gateOf'> | undefined
}

export class QueueGate {
  readonly #parts: QueueGateParts

  constructor(parts: QueueGateParts) {
    this.#parts = parts
  }

  /** The plugin whose events a pod or a group has to wait for, empty for no plugin; undefined when it may be tried. */
  readonly of = (queued: QueuedPod): string | undefined => (queued.pods ? this.#ofGroup(queued, queued.pods) : this.#ofPod(queued))

  /** A pod that must not be tried holds back its group. */
  #ofGroup(queued: QueuedPod, members: NonNullable<QueuedPod['pods']>): string | undefined {
    const own = this.#parts.groups()?.gateOf(queued)
    if (own !== undefined) return own
    for (const member of members.values()) {
      const gate = this.of(member)
      if (gate !== undefined) return gate
    }
    return undefined
  }

  #ofPod(queued: QueuedPod): string | undefined {
    const { profileOf, read, lookups, preemptor } = this.#parts
    const pod = read(queued)
    const plugin = pod && profileOf(queued.schedulerName).gates.find(({ gate }) => gate?.(pod, lookups))
    return plugin?.name ?? (preemptor.isEvicting(queued.uid) ? '' : undefined)
  }
}
