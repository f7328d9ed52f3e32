/** Computes how many disruptions a PodDisruptionBudget allows, and which granted evictions were not carried out. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Budget, setDisruptionAllowed } from '../../kinds/policy/disruption.ts'
import { scaledAmount } from '../../kinds/rules/workload.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import type { OwnerReference } from '../../schema/object-meta.ts'
import { controllerOf } from '../pods/ownership.ts'
import { isReady, isTerminal, podCondition } from '../pods/pod-state.ts'

/** How long an evicted pod may take to be deleted before it counts again. */
const DELETION_TIMEOUT_MS = 2 * 60_000
/** After how long a pod that was to be disrupted and still runs is no target any more. */
const STALE_TARGET_MS = 2 * 60_000

/** The size of a workload, and which one it is. */
export type Scale = { readonly uid: string; readonly replicas: number }
/** Finds the workload behind the controller of a pod; undefined when it is gone. Throws when it has no size. */
export type ScaleOf = (controller: OwnerReference, namespace: string) => Scale | undefined

export type Expected = {
  readonly expectedPods: number
  readonly desiredHealthy: number
  /** Pods without a controller: their expected number is unknown. */
  readonly unmanaged: readonly string[]
}

/** How many pods there should be, and how many of them must stay healthy. */
export function expectedPods({ spec }: Budget, pods: readonly Pod[], scaleOf: ScaleOf): Expected {
  const { maxUnavailable, minAvailable } = spec
  if (maxUnavailable !== undefined) {
    const { expectedPods, unmanaged } = totalScale(pods, scaleOf)
    return { expectedPods, desiredHealthy: Math.max(0, expectedPods - scaledAmount(maxUnavailable, expectedPods, 'up')), unmanaged }
  }
  if (typeof minAvailable === 'number') return { expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: [] }
  if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0, unmanaged: [] }
  const { expectedPods, unmanaged } = totalScale(pods, scaleOf)
  return { expectedPods, desiredHealthy: scaledAmount(minAvailable, expectedPods, 'up'), unmanaged }
}

function totalScale(pods: readonly Pod[], scaleOf: ScaleOf) {
  const scales = new Map<string, number>()
  const seen = new Set<string>()
  const unmanaged: string[] = []
  for (const pod of pods) {
    const controller = controllerOf(pod)
    if (!controller) unmanaged.push(pod.metadata.name!)
    if (!controller || seen.has(controller.uid)) continue
    seen.add(controller.uid)
    const scale = scaleOf(controller, pod.metadata.namespace!)
    if (!scale) throw new Error(`found no controllers for pod "${pod.metadata.name}"`)
    scales.set(scale.uid, scale.replicas)
  }
  return { expectedPods: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged }
}

export type BudgetDecision = {
  /** Undefined when it says so already. */
  readonly status: Budget['status'] | undefined
  /** Pods whose eviction was granted and that were not deleted. */
  readonly notDeleted: readonly Pod[]
  /** When an eviction runs out that is under way. */
  readonly againMs: number | undefined
}

/** Computes the status of a budget. */
export function reconcileBudget(budget: Budget, pods: readonly Pod[], expected: Expected, now: Date): BudgetDecision {
  const { disruptedPods, notDeleted, againMs } = disruptedOf(budget, pods, now)
  const currentHealthy = pods.filter(
    pod => !pod.metadata.deletionTimestamp && !Object.hasOwn(disruptedPods, pod.metadata.name!) && isReady(pod),
  ).length
  const { expectedPods, desiredHealthy } = expected
  const allowed = currentHealthy - desiredHealthy
  const status: Budget['status'] = {
    ...(budget.metadata.generation !== undefined && { observedGeneration: budget.metadata.generation }),
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    disruptionsAllowed: expectedPods <= 0 || allowed <= 0 ? 0 : allowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: (budget.status.conditions ?? []).map(condition => ({ ...condition })),
  }
  setDisruptionAllowed(status, timestampOf(now))
  return { status: deepEqual(status, budget.status) ? undefined : status, notDeleted, againMs }
}

/** A budget that cannot be reckoned lets nothing go, and says why. */
export function failedStatus({ status }: Budget, why: string, now: Date): Budget['status'] | undefined {
  const failed = { ...status, disruptionsAllowed: 0, conditions: (status.conditions ?? []).map(condition => ({ ...condition })) }
  setDisruptionAllowed(failed, timestampOf(now))
  failed.conditions = failed.conditions.map(condition =>
    condition.type === 'DisruptionAllowed' ? { ...condition, reason: 'SyncFailed', message: why } : condition,
  )
  return deepEqual(failed, status) ? undefined : failed
}

function disruptedOf({ status }: Budget, pods: readonly Pod[], now: Date) {
  const disruptedPods: Record<string, string> = {}
  const notDeleted: Pod[] = []
  let againMs: number | undefined
  const granted = status.disruptedPods ?? {}
  for (const pod of pods) {
    const name = pod.metadata.name!
    if (pod.metadata.deletionTimestamp || !Object.hasOwn(granted, name)) continue
    const left = millisecondsAt(granted[name]!) + DELETION_TIMEOUT_MS - now.getTime()
    if (left < 0) notDeleted.push(pod)
    else {
      disruptedPods[name] = granted[name]!
      againMs = Math.min(againMs ?? left, left)
    }
  }
  return { disruptedPods, notDeleted, againMs }
}

/** In how many milliseconds a running pod is no target of a disruption any more, although its condition says so; undefined when it is none. */
export function staleTargetMs(pod: Pod, now: Date): number | undefined {
  const target = podCondition(pod, 'DisruptionTarget')
  if (pod.metadata.deletionTimestamp || isTerminal(pod)) return undefined
  if (target?.status !== 'True' || target.reason === 'TerminationByKubelet') return undefined
  const since = millisecondsAt(target.lastTransitionTime)
  return Math.max(0, STALE_TARGET_MS - (now.getTime() - since))
}

/** The pod's status with the condition taken back. */
export function withoutTarget({ metadata, status }: Pod, now: Date): Pod['status'] {
  const lastTransitionTime = timestampOf(now)
  return {
    ...status,
    conditions: status.conditions!.map(condition =>
      condition.type === 'DisruptionTarget'
        ? {
            type: 'DisruptionTarget',
            status: 'False',
            lastTransitionTime,
            ...(condition.observedGeneration !== undefined && { observedGeneration: metadata.generation }),
          }
        : condition,
    ) as NonNullable<Pod['status']['conditions']>,
  }
}
