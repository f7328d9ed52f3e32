/** What the scheduler writes into the status of pods. */

import type { Pod } from '../kinds/core/pod/pod.ts'
import { timestampOf } from '../lib/time.ts'
import { conditionOf, isSameCondition, transitionTime } from '../schema/conditions.ts'

export type Failure = {
  readonly reason: 'Unschedulable' | 'SchedulerError'
  readonly message: string
  /** Where others are making room for the pod; empty for nowhere, undefined to leave what is said. */
  readonly nominatedNode: string | undefined
}

/** Says why a pod has no node; undefined when that is what its status says already. */
export function failurePatch(pod: Pod, { reason, message, nominatedNode }: Failure, now: Date): object | undefined {
  const condition = conditionPatch(pod, { type: 'PodScheduled', status: 'False', reason, message }, now)
  const isMoved = nominatedNode !== undefined && nominatedNode !== (pod.status.nominatedNodeName ?? '')
  if (!condition && !isMoved) return undefined
  return { status: { ...(condition && { conditions: [condition] }), ...(isMoved && { nominatedNodeName: nominatedNode || null }) } }
}

/** Says that a pod is deleted for a more important one; undefined when that is said already. */
export function victimPatch(pod: Pod, scheduler: string, now: Date): object | undefined {
  const message = `${scheduler}: preempting to accommodate a higher priority pod`
  const condition = conditionPatch(pod, { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message }, now)
  return condition && { status: { conditions: [condition] } }
}

type Condition = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }

function conditionPatch({ metadata, status }: Pod, condition: Condition, now: Date): object | undefined {
  const before = conditionOf(status.conditions, condition.type)
  if (isSameCondition(before, condition) && !before?.lastProbeTime) return undefined
  const lastTransitionTime = transitionTime(before, condition.status, timestampOf(now))
  return { ...condition, observedGeneration: metadata.generation, lastProbeTime: null, lastTransitionTime }
}
