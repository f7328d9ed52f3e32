/** The conditions of an autoscaler. */

import type { HorizontalPodAutoscaler } from '../../kinds/autoscaling/horizontalpodautoscaler.ts'
import { conditionOf, transitionTime, withCondition } from '../../schema/conditions.ts'
import type { Finding } from './behavior.ts'

export type Conditions = NonNullable<HorizontalPodAutoscaler['status']['conditions']>
export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited' | 'ScaledToZero'

/** Sets a condition to a finding. */
export function withFinding(conditions: Conditions, type: ConditionType, { status, reason, message }: Finding, now: string): Conditions {
  const before = conditionOf(conditions, type)
  return withCondition(conditions, { ...before, type, status, lastTransitionTime: transitionTime(before, status, now), reason, message })
}
