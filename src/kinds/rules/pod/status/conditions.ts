/** Conditions of a pod, set by the server. */

import { timestampOf } from '../../../../lib/time.ts'
import { conditionOf, transitionTime, withCondition } from '../../../../schema/conditions.ts'
import type { PodCondition, PodStatus } from './status.ts'

/** Adds or replaces the condition of a type; its transition time moves only when its status changes. */
export function setPodCondition(
  status: PodStatus,
  condition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: Date,
): void {
  const { type, status: state, ...why } = condition
  const lastTransitionTime = transitionTime(conditionOf(status.conditions, type), state, timestampOf(now))
  // The server has probed nothing: an absent time is written as null.
  status.conditions = withCondition(status.conditions, {
    type,
    status: state,
    lastProbeTime: null as unknown as string,
    lastTransitionTime,
    ...why,
  })
}
