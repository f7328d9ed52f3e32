/**
 * Plans the next step for the pods of a StatefulSet. In order, one pod waits for the one before it, also when they go; in
 * parallel, none waits:
 *
 *     web-0 available ─→ create web-1 … available ─→ web-2          scaled down: web-2 ─→ gone ─→ web-1
 */
import type { StatefulSet } from '../../kinds/apps/statefulset.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { scaledAmount } from '../../kinds/rules/workload.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, isSameCondition, transitionTime, withCondition } from '../../schema/conditions.ts'
import { isAvailable, isReady, isTerminal } from '../pods/pod-state.ts'
import { type FindClaim, hasStaleClaims, misownedClaims } from './claims.ts'
import { isInRange, newPod, ordinalOf, revisionOf, startOrdinal, withIdentity } from './identity.ts'

export type StatefulSetStatus = StatefulSet['status']
export type Revision = { readonly name: string; readonly template: PodTemplateSpec }

export type Step =
  /** Create its claims and the pod. */
  | { readonly step: 'create'; readonly pod: Pod }
  /** Create the claims that a pod waits for. */
  | { readonly step: 'claim'; readonly pod: Pod }
  /** Give the pod its labels and volumes, and its claims their owners. */
  | { readonly step: 'update'; readonly pod: Pod }
  /** Give its claims their owners. */
  | { readonly step: 'own'; readonly pod: Pod }
  | { readonly step: 'delete'; readonly pod: Pod }

/** One after the other. Where pods are managed in parallel, the steps of a phase are begun together, those about one pod in order. */
export type Phase = readonly (readonly Step[])[]

export type Observed = {
  readonly pods: readonly Pod[]
  /** The revision that pods come from, and the one that they go to. */
  readonly current: Revision
  readonly update: Revision
  readonly findClaim: FindClaim
  readonly now: Date
}

type Pods = {
  /** The pods by ordinal. Of the missing ones only the first are listed: a set may request more than can be counted. */
  readonly replicas: readonly Pod[]
  /** How many have not been created. */
  readonly absent: number
  readonly surplus: readonly Pod[]
}

const isCreated = ({ status }: Pod): boolean => Boolean(status.phase)
const isGoing = ({ metadata }: Pod): boolean => Boolean(metadata.deletionTimestamp)
const isRunning = (pod: Pod): boolean => pod.status.phase === 'Running' && isReady(pod)
const isRecreated = ({ spec }: StatefulSet): boolean => spec.updateStrategy.type === 'Recreate'
const outdatedOf = (pods: readonly Pod[], update: string): Pod[] =>
  pods.filter(pod => ordinalOf(pod) >= 0 && isCreated(pod) && revisionOf(pod) !== update)
export const isInOrder = ({ spec }: StatefulSet): boolean => spec.podManagementPolicy !== 'Parallel'

export function planPods(set: StatefulSet, observed: Observed): Phase[] {
  const outdated = isRecreated(set) ? outdatedOf(observed.pods, observed.update.name) : []
  // No pod of the new revision runs beside one of an old revision.
  if (outdated.length > 0) return [outdated.filter(pod => !isGoing(pod)).map(pod => [{ step: 'delete', pod }])]
  const pods = podsOf(set, observed)
  const phases = [() => keepReplicas(set, pods, observed), () => ownSurplus(set, pods, observed), () => endSurplus(set, pods, observed)]
  const decided: Phase[] = []
  for (const phase of phases) {
    const { steps, isWaiting } = phase()
    decided.push(steps)
    if (isWaiting && isInOrder(set)) return decided
  }
  decided.push(replaceOutdated(set, pods, observed).map(pod => [{ step: 'delete', pod }]))
  return decided
}

/** The pods that there should be, the first that are missing among them, and the others from the last to the first. */
function podsOf(set: StatefulSet, { pods, current, update }: Observed): Pods {
  const start = startOrdinal(set)
  const end = start + set.spec.replicas
  const existing = new Map(pods.filter(pod => isInRange(set, pod)).map(pod => [ordinalOf(pod), pod]))
  const missing: Pod[] = []
  for (let ordinal = start; ordinal < end && missing.length < LIMITS.statefulPodsAtOnce; ordinal++) {
    if (existing.has(ordinal)) continue
    const { name: revision, template } = isKeptBack(set, ordinal) ? current : update
    missing.push(newPod(set, { template, revision }, ordinal))
  }
  const replicas = [...existing.values(), ...missing].sort((a, b) => ordinalOf(a) - ordinalOf(b))
  const surplus = pods.filter(pod => ordinalOf(pod) >= 0 && !isInRange(set, pod)).sort((a, b) => ordinalOf(b) - ordinalOf(a))
  const created = [...existing.values()].filter(isCreated).length
  return { replicas, absent: set.spec.replicas - created, surplus }
}

/** Whether a pod of an ordinal is still made from the current revision. */
function isKeptBack(set: StatefulSet, ordinal: number): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy
  if (rollingUpdate) return ordinal < startOrdinal(set) + (rollingUpdate.partition ?? 0)
  return type === 'RollingUpdate' && ordinal < startOrdinal(set) + (set.status.currentReplicas ?? 0)
}

type Decided = { readonly steps: Phase; readonly isWaiting: boolean }

/** Decides for pods in turn; in order, only as far as the first for which something has to be waited for. */
function inTurn(set: StatefulSet, pods: readonly Pod[], decide: (pod: Pod) => { steps: Step[]; waits: boolean }): Decided {
  const steps: Step[][] = []
  for (const pod of pods) {
    const { steps: next, waits } = decide(pod)
    if (next.length > 0) steps.push(next)
    if (waits && isInOrder(set)) return { steps, isWaiting: true }
  }
  return { steps, isWaiting: false }
}

function keepReplicas(set: StatefulSet, { replicas }: Pods, { findClaim, now }: Observed): Decided {
  return inTurn(set, replicas, pod => {
    if (isTerminal(pod)) return { steps: isGoing(pod) ? [] : [{ step: 'delete', pod }], waits: true }
    if (!isCreated(pod)) return { steps: hasStaleClaims(set, pod, findClaim) ? [] : [{ step: 'create', pod }], waits: true }
    const steps: Step[] = pod.status.phase === 'Pending' ? [{ step: 'claim', pod }] : []
    if (isInOrder(set) && (isGoing(pod) || !isRunning(pod) || !isAvailableIn(set, pod, now))) return { steps, waits: true }
    const isUpToDate = !withIdentity(set, pod) && misownedClaims(set, pod, findClaim)[Symbol.iterator]().next().done
    return { steps: isUpToDate ? steps : [...steps, { step: 'update', pod }], waits: false }
  })
}

const isAvailableIn = ({ spec }: StatefulSet, pod: Pod, now: Date): boolean => isAvailable(pod, spec.minReadySeconds ?? 0, now)
const isMissing = (set: StatefulSet, pod: Pod, now: Date): boolean => !isAvailableIn(set, pod, now) || isGoing(pod)

function ownSurplus(set: StatefulSet, { surplus }: Pods, { findClaim }: Observed): Decided {
  return inTurn(set, surplus, pod => {
    const isRight = misownedClaims(set, pod, findClaim)[Symbol.iterator]().next().done
    return { steps: isRight ? [] : [{ step: 'own', pod }], waits: false }
  })
}

/** In order, a pod that is not available may only go when it is the first that is not. */
function endSurplus(set: StatefulSet, { replicas, surplus }: Pods, { now }: Observed): Decided {
  const firstMissing = [...replicas, ...[...surplus].reverse()].find(pod => isMissing(set, pod, now))
  return inTurn(set, surplus, pod => {
    const isHeld = isInOrder(set) && (!isRunning(pod) || !isAvailableIn(set, pod, now)) && pod !== firstMissing
    return { steps: isGoing(pod) || isHeld ? [] : [{ step: 'delete', pod }], waits: true }
  })
}

/** The pods of an old revision that may go now, from the last to the partition. */
function replaceOutdated(set: StatefulSet, { replicas, absent }: Pods, { update, now }: Observed): Pod[] {
  const { type, rollingUpdate } = set.spec.updateStrategy
  if (type !== 'RollingUpdate') return []
  const there = replicas.filter(isCreated)
  const isOld = (pod: Pod) => revisionOf(pod) !== update.name && !isGoing(pod)
  const allowed = Math.max(1, scaledAmount(rollingUpdate?.maxUnavailable ?? 1, set.spec.replicas, 'down'))
  const lost = there.filter(pod => isMissing(set, pod, now))
  const missing = absent + lost.length
  const first = startOrdinal(set) + (rollingUpdate?.partition ?? 0)
  const outdated = there.filter(pod => ordinalOf(pod) >= first && isOld(pod)).reverse()
  if (isInOrder(set)) return outdated.slice(0, Math.max(0, allowed - missing))
  // Those that are missing anyway cost nothing.
  if (missing >= allowed && !lost.some(isOld)) return []
  const isUsed = (pod: Pod) => isAvailableIn(set, pod, now)
  return [...outdated.filter(pod => !isUsed(pod)), ...outdated.filter(isUsed).slice(0, Math.max(0, allowed - missing))]
}

export type Names = { readonly current: string; readonly update: string; readonly collisionCount: number }

/** The status that a set should have; undefined when it has it. */
export function nextStatus(set: StatefulSet, pods: readonly Pod[], names: Names, now: Date): StatefulSetStatus | undefined {
  const created = pods.filter(isCreated)
  const ready = created.filter(isRunning)
  const staying = created.filter(pod => !isGoing(pod))
  const countOf = (revision: string) => staying.filter(pod => revisionOf(pod) === revision).length
  const { replicas } = set.spec
  const updated = countOf(names.update)
  const isComplete = updated === replicas && ready.length === replicas && created.length === replicas
  const current = isComplete ? updated : countOf(names.current)
  const counts = { readyReplicas: ready.length, currentReplicas: current, updatedReplicas: updated }
  const outdated = outdatedOf(pods, names.update)
  const conditions = isRecreated(set) ? withProgress(set, { outdated, names, isComplete, now }) : set.status.conditions
  const status: StatefulSetStatus = {
    ...(set.metadata.generation !== undefined && { observedGeneration: set.metadata.generation }),
    replicas: created.length,
    // Counts of zero are not stored.
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    ...(names.current && { currentRevision: isComplete ? names.update : names.current }),
    ...(names.update && { updateRevision: names.update }),
    collisionCount: names.collisionCount,
    ...(conditions && { conditions }),
    availableReplicas: ready.filter(pod => isAvailableIn(set, pod, now)).length,
  }
  return deepEqual(status, set.status) ? undefined : status
}

type Recreation = {
  readonly outdated: readonly Pod[]
  readonly names: Names
  readonly isComplete: boolean
  readonly now: Date
}

/** The conditions of a set whose pods are all replaced at once: how far that is. */
function withProgress(
  { status: { conditions } }: StatefulSet,
  { outdated, names, isComplete, now }: Recreation,
): StatefulSetStatus['conditions'] {
  const before = conditionOf(conditions, 'Progressing')
  const message =
    outdated.length > 0
      ? 'Deleting old revision pods'
      : names.current !== names.update && !isComplete
        ? 'Waiting for new-revision pods to be created'
        : undefined
  const next = message
    ? { status: 'True', reason: 'RecreateInProgress', message }
    : (before || names.current !== names.update) && isComplete
      ? { status: 'False', reason: 'RecreateCompleted', message: 'All pods recreated successfully' }
      : undefined
  if (!next || isSameCondition(before, next)) return conditions
  const lastTransitionTime = transitionTime(before, next.status, timestampOf(now))
  return withCondition(conditions, { type: 'Progressing', ...next, lastTransitionTime })
}
