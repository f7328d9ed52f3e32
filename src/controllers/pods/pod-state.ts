/** Reads the state of a pod for workload controllers: whether it counts, whether it is ready, and since when. */

import type { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { conditionOf } from '../../schema/conditions.ts'

/** Whether all containers have ended for good. */
export const isTerminal = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed'

/** Whether it counts as a replica: it has not ended and is not being deleted. */
export const isActive = (pod: Pod): boolean => !isTerminal(pod) && !pod.metadata.deletionTimestamp

/** Whether it is being deleted and still runs. */
export const isTerminating = (pod: Pod): boolean => !isTerminal(pod) && Boolean(pod.metadata.deletionTimestamp)

export type PodCondition = NonNullable<Pod['status']['conditions']>[number]

export const podCondition = ({ status }: Pod, type: string): PodCondition | undefined => conditionOf(status.conditions, type)

export const isReady = (pod: Pod): boolean => podCondition(pod, 'Ready')?.status === 'True'

/** When it became ready, in milliseconds; undefined when it is not, or the time is unknown. */
export function readySince(pod: Pod): number | undefined {
  const ready = podCondition(pod, 'Ready')
  return ready?.status === 'True' && ready.lastTransitionTime ? millisecondsAt(ready.lastTransitionTime) : undefined
}

/** Whether it has been ready for long enough at a time. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: Date): boolean {
  if (!isReady(pod)) return false
  if (minReadySeconds === 0) return true
  const since = readySince(pod)
  return since !== undefined && since + minReadySeconds * 1000 <= now.getTime()
}

/** In how many milliseconds the next of some pods becomes available by having been ready for long enough. */
export function nextAvailable(pods: Iterable<Pod>, minReadySeconds: number, now: Date): number | undefined {
  let next: number | undefined
  if (minReadySeconds <= 0) return next
  for (const pod of pods) {
    const since = readySince(pod)
    const ms = since === undefined ? 0 : since + minReadySeconds * 1000 - now.getTime()
    if (ms > 0 && (next === undefined || ms < next)) next = ms
  }
  return next
}
