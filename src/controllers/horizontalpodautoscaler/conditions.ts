/** The conditions of an autoscaler. */
import type { HorizontalPodAutoscaler } from '../../kinds/autoscaling/horizontalpodautoscaler.ts'
import type { Finding } from './behavior.ts'

export type Conditions = NonNullable<HorizontalPodAutoscaler['status']['conditions']>
export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited' | 'ScaledToZero'

/** The conditions with one of them as it was found; the time is that of its last change of status. */
export function withCondition(conditions: Conditions, type: ConditionType, { status, reason, message }: Finding, now: string): Conditions {
  const at = conditions.findIndex(each => each.type === type)
  const old = conditions[at]
  const lastTransitionTime = old?.status === status && old.lastTransitionTime ? old.lastTransitionTime : now
  const condition = { ...old, type, status, lastTransitionTime, reason, message }
  return at < 0 ? [...conditions, condition] : conditions.with(at, condition)
}

export const isTrue = (conditions: Conditions | undefined, type: ConditionType): boolean =>
  conditions?.some(each => each.type === type && each.status === 'True') ?? false
