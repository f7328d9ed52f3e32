/** Computes how many pods a ReplicaSet or ReplicationController has to create or delete, and its status. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import type { Envelope } from '../../schema/object-meta.ts'
import { type DeletionOptions, podsToDelete } from '../pods/deletion-order.ts'
import { isAvailable, isReady } from '../pods/pod-state.ts'

export type Condition = {
  type: string
  status: string
  lastTransitionTime: string
  reason?: string
  message?: string
}

export type ReplicaStatus = {
  replicas: number
  fullyLabeledReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  terminatingReplicas?: number
  observedGeneration?: number | bigint
  conditions?: Condition[]
}

/** The common part of ReplicaSets and ReplicationControllers. */
export type Replicas = Envelope & {
  spec: { replicas: number; minReadySeconds?: number; template: PodTemplateSpec }
  status: ReplicaStatus
}

/** How many pods are created or deleted in one pass. */
const BURST = 500

export type Step = { readonly step: 'create'; readonly count: number } | { readonly step: 'delete'; readonly pods: readonly Pod[] }

/** Plans the creation or deletion of pods. `related` gives the pods of all owners with the same controller. */
export function nextStep(
  owner: Replicas,
  active: readonly Pod[],
  { related, ...options }: { readonly related: () => Iterable<Pod> } & Pick<DeletionOptions, 'now' | 'countsCost'>,
): Step | undefined {
  const excess = active.length - owner.spec.replicas
  if (owner.metadata.deletionTimestamp || excess === 0) return undefined
  if (excess < 0) return { step: 'create', count: Math.min(-excess, BURST) }
  return { step: 'delete', pods: podsToDelete(active, related(), { ...options, count: Math.min(excess, BURST) }) }
}

export type Observed = {
  readonly active: readonly Pod[]
  /** How many pods are being deleted, where the kind tells. */
  readonly terminating?: number
  /** Why pods could not be created or deleted. */
  readonly failure?: { readonly reason: string; readonly message: string }
}

/** The status that an owner should have; undefined when it has it. */
export function nextStatus(owner: Replicas, { active, terminating, failure }: Observed, now: Date): ReplicaStatus | undefined {
  const { metadata, spec, status } = owner
  const labels = Object.entries(spec.template.metadata.labels ?? {})
  const ready = active.filter(isReady)
  const { terminatingReplicas, conditions, ...before } = status
  const kept = conditionsAfter(conditions ?? [], failure, now)
  const next: ReplicaStatus = {
    ...before,
    replicas: active.length,
    fullyLabeledReplicas: active.filter(pod => labels.every(([key, value]) => pod.metadata.labels?.[key] === value)).length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter(pod => isAvailable(pod, spec.minReadySeconds ?? 0, now)).length,
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    ...(kept.length > 0 && { conditions: kept }),
  }
  // Counts of zero are not stored.
  for (const key of COUNTS) if (next[key] === 0) delete next[key]
  return deepEqual(next, status) ? undefined : next
}

const COUNTS = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const

/** The first failure stays as it is until there is none. */
function conditionsAfter(conditions: readonly Condition[], failure: Observed['failure'], now: Date): Condition[] {
  const others = conditions.filter(({ type }) => type !== 'ReplicaFailure')
  if (!failure) return others
  if (others.length < conditions.length) return [...conditions]
  return [...others, { type: 'ReplicaFailure', status: 'True', lastTransitionTime: timestampOf(now), ...failure }]
}
