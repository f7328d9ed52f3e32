/** Conditions of a pod, set by the server. */
import { formatTime, instantOf } from '../../../../lib/time.ts'
import type { PodCondition, PodStatus } from './status.ts'

/** Adds or replaces the condition of a type; its transition time moves only when its status changes. */
export function setPodCondition(
  status: PodStatus,
  condition: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: Date,
): void {
  const conditions = (status.conditions ??= [])
  const at = conditions.findIndex(({ type }) => type === condition.type)
  const old = conditions[at]
  const { type, status: state, ...why } = condition
  const lastTransitionTime = old?.status === state ? old.lastTransitionTime : formatTime(instantOf(now.getTime()))
  // The server has probed nothing: an absent time is written as null.
  const next = { type, status: state, lastProbeTime: null as unknown as string, lastTransitionTime, ...why }
  if (old) conditions[at] = next
  else conditions.push(next)
}
