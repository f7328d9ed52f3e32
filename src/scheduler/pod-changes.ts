/**
 * Applies changes of pods: bound pods take room on nodes, pods without a node enter the queue, and ended pods leave both. A pod that
 * waits on its node for more room is in both.
 */
import type { Change } from '../client/change.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Binder } from './binder.ts'
import { selfEvents } from './cluster-event.ts'
import type { GroupScheduling } from './groups/group-scheduling.ts'
import type { Nominations } from './nominations.ts'
import type { Occupancy } from './occupancy.ts'
import { podInfoOf } from './pod-info.ts'
import type { Requeuer } from './requeuer.ts'
import type { SchedulingQueue } from './scheduling-queue.ts'

export type PodChangesParts = {
  readonly queue: SchedulingQueue
  readonly nominations: Nominations
  readonly occupancy: Occupancy
  readonly requeuer: Pick<Requeuer, 'requeueOne'>
  readonly binder: Pick<Binder, 'wake'>
  /** Only pods that name one of these schedulers are queued. */
  readonly schedulerNames: { has(name: string): boolean }
  /** Whether a pod on a node is queued because of a resize. */
  readonly isResize: (pod: Pod) => boolean
  /** Whether the devices of claims take resources of a node, such as CPU. */
  readonly withClaims?: boolean
  /** Asks for the next scheduling attempt. */
  readonly wake: () => void
  /** Pods that wait with their group; undefined when groups are ignored. */
  readonly groups?: Pick<GroupScheduling, 'pending' | 'bound' | 'ended'> | undefined
}

export class PodChanges {
  readonly #parts: PodChangesParts

  constructor(parts: PodChangesParts) {
    this.#parts = parts
  }

  apply(change: Change<Pod>): void {
    const { type, current, previous } = change
    const { uid, fields } = current
    const isOver = type === 'deleted' || fields['status.phase'] === 'Succeeded' || fields['status.phase'] === 'Failed'
    // The pod may have been deleted and created again under the same name.
    if (previous && previous.uid !== uid) this.#ended(previous.uid)
    if (isOver) this.#ended(uid)
    else if (fields['spec.nodeName']) this.#bound(current.object)
    else if (this.#parts.schedulerNames.has(fields['spec.schedulerName'] ?? '')) this.#pending(change)
  }

  #ended(uid: string): void {
    const { queue, occupancy, binder, groups } = this.#parts
    binder.wake(uid)
    queue.remove(uid)
    occupancy.remove(uid)
    groups?.ended(uid)
  }

  #bound(pod: Pod | undefined): void {
    if (!pod) return
    const { queue, occupancy, groups, schedulerNames, isResize, withClaims = false, wake } = this.#parts
    const info = podInfoOf(pod, { withClaims })
    const isWaiting = isResize(pod) && schedulerNames.has(info.schedulerName)
    if (!isWaiting) queue.remove(info.uid)
    occupancy.bound(info)
    if (info.group) groups?.bound(info)
    if (!isWaiting) return
    // Its group plays no part: the pod has its place and wants more of it. One that is queued was told of the change by its room.
    queue.add(info)
    if (queue.nextAfterMs !== undefined) wake()
  }

  #pending({ current, previous }: Change<Pod>): void {
    const { queue, nominations, occupancy, requeuer, binder, wake, groups } = this.#parts
    const pod = current.object
    if (!pod) return
    const { uid, terminating } = current
    if (occupancy.isAssumed(uid)) {
      // Its binding will fail; until then it takes no room.
      if (!terminating) return
      occupancy.release(uid)
      binder.wake(uid)
      return
    }
    const nominated = pod.status.nominatedNodeName ?? ''
    const before = previous?.fields['status.nominatedNodeName'] ?? ''
    const info = podInfoOf(pod)
    if (before && before !== nominated) occupancy.endNomination(uid)
    nominations.set(info, nominated || before ? nominated : (nominations.nodeOf(uid) ?? ''))
    if (groups && info.group) groups.pending(info)
    else if (!queue.has(uid)) queue.add(info)
    else if (previous?.object) requeuer.requeueOne(uid, selfEvents(previous.object, pod))
    if (queue.nextAfterMs !== undefined) wake()
  }
}
