/** The patches of the scheduler to the status of pods. */

import type { Pod } from '../kinds/core/pod/pod.ts'
import { timestampOf } from '../lib/time.ts'
import { conditionOf, isSameCondition, transitionTime } from '../schema/conditions.ts'

export type Failure = {
  readonly reason: 'Unschedulable' | 'SchedulerError'
  readonly message: string
  /** The node where others make room for the pod; empty for none, undefined to leave the field unchanged. */
  readonly nominatedNode: string | undefined
  /** Whether the pod has just been nominated: the field is written even if the pod, as it is known, does not have it yet. */
  readonly wasNominated?: boolean
}

/** The condition that tells why a pod has no node; undefined when nothing changes. */
export function failurePatch(pod: Pod, { reason, message, nominatedNode, wasNominated }: Failure, now: Date): object | undefined {
  const condition = conditionPatch(pod, { type: 'PodScheduled', status: 'False', reason, message }, now)
  const isMoved = nominatedNode !== undefined && (wasNominated || nominatedNode !== (pod.status.nominatedNodeName ?? ''))
  if (!condition && !isMoved) return undefined
  return { status: { ...(condition && { conditions: [condition] }), ...(isMoved && { nominatedNodeName: nominatedNode || null }) } }
}

/** The condition of a pod that is preempted by another one, or by a group, as `kind` says; undefined when nothing changes. */
export function victimPatch(
  pod: Pod,
  { scheduler, kind }: { readonly scheduler: string; readonly kind: string },
  now: Date,
): object | undefined {
  const message = `${scheduler}: preempting to accommodate a higher priority ${kind}`
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
