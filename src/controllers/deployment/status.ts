/** The status of a Deployment: counts from its ReplicaSets, whether it is available, and how its rollout goes. */

import type { Deployment } from '../../kinds/apps/deployment.ts'
import type { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { type DeploymentCondition, type DeploymentStatus, progressing, stated, withCondition, withoutCondition } from './conditions.ts'
import { maxUnavailable } from './limits.ts'

const MAX_INT32 = 2 ** 31 - 1

export const hasDeadline = ({ spec }: Deployment): boolean =>
  spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== MAX_INT32

export const hasHistoryLimit = ({ spec }: Deployment): boolean =>
  spec.revisionHistoryLimit !== undefined && spec.revisionHistoryLimit !== MAX_INT32

export type Sets = { readonly current: ReplicaSet | undefined; readonly old: readonly ReplicaSet[] }

const all = ({ current, old }: Sets): readonly ReplicaSet[] => (current ? [...old, current] : old)

/** The counts and the condition Available. `status` has the conditions so far. */
export function countedStatus(deployment: Deployment, status: DeploymentStatus, sets: Sets, now: Date): DeploymentStatus {
  const every = all(sets)
  const sum = (count: (set: ReplicaSet) => number | undefined) => every.reduce((total, set) => total + (count(set) ?? 0), 0)
  const available = sum(set => set.status.availableReplicas)
  const terminating = terminatingReplicas(every)
  const counts: Record<string, number> = {
    replicas: sum(set => set.status.replicas),
    updatedReplicas: sets.current?.status.replicas ?? 0,
    readyReplicas: sum(set => set.status.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(set => set.spec.replicas) - available),
  }
  // Counts of zero are not stored.
  const stored = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
  const counted: DeploymentStatus = {
    ...(deployment.metadata.generation !== undefined && { observedGeneration: deployment.metadata.generation }),
    ...stored,
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(status.conditions && { conditions: status.conditions }),
    ...(status.collisionCount !== undefined && { collisionCount: status.collisionCount }),
  }
  const isAvailable = available >= deployment.spec.replicas - maxUnavailable(deployment)
  const statement = isAvailable
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : { status: 'False', reason: 'MinimumReplicasUnavailable', message: 'Deployment does not have minimum availability.' }
  return withCondition(counted, stated({ type: 'Available', ...statement }, now))
}

/** Unknown while one of the ReplicaSets that were looked at does not tell. */
function terminatingReplicas(sets: readonly ReplicaSet[]): number | undefined {
  let total = 0
  for (const { status } of sets) {
    if (status.terminatingReplicas !== undefined) total += status.terminatingReplicas
    else if (status.observedGeneration) return undefined
  }
  return total
}

/** Whether all pods are of the current template and available, and there are no others. */
export function isComplete({ metadata, spec }: Deployment, status: DeploymentStatus): boolean {
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status
  const counts = [updatedReplicas, replicas, availableReplicas]
  return counts.every(count => count === spec.replicas) && observedGeneration >= (metadata.generation ?? 0)
}

/** The status during a rollout: the counts, and whether there is progress. `before` is the status to compare with. */
export function rolloutStatus(deployment: Deployment, before: DeploymentStatus, sets: Sets, now: Date): DeploymentStatus {
  let status = countedStatus(deployment, before, sets, now)
  if (!hasDeadline(deployment)) status = withoutCondition(status, 'Progressing')
  const current = conditionOf(before.conditions, 'Progressing')
  const isOver = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable'
  if (hasDeadline(deployment) && !isOver) status = withProgress(deployment, { before, status, sets, current }, now)
  const failure = replicaFailure(sets)
  return failure ? withCondition(status, failure) : withoutCondition(status, 'ReplicaFailure')
}

type Progress = {
  readonly before: DeploymentStatus
  readonly status: DeploymentStatus
  readonly sets: Sets
  readonly current: DeploymentCondition | undefined
}

function withProgress(deployment: Deployment, { before, status, sets, current }: Progress, now: Date): DeploymentStatus {
  const what = sets.current ? `ReplicaSet "${sets.current.metadata.name}"` : `Deployment "${deployment.metadata.name}"`
  if (isComplete(deployment, status))
    return withCondition(status, stated(progressing('True', 'NewReplicaSetAvailable', `${what} has successfully progressed.`), now))
  if (hasProgressed(before, status)) {
    const made = stated(progressing('True', 'ReplicaSetUpdated', `${what} is progressing.`), now)
    // Every progress restarts the deadline, whatever the condition said before.
    const since = current?.status === 'True' ? { lastTransitionTime: current.lastTransitionTime } : {}
    return withCondition(withoutCondition(status, 'Progressing'), { ...made, ...since })
  }
  if (hasTimedOut(deployment, status, now))
    return withCondition(status, stated(progressing('False', 'ProgressDeadlineExceeded', `${what} has timed out progressing.`), now))
  return status
}

/** Whether there are more new pods, fewer old ones, or more that are ready or available. */
function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

function hasTimedOut(deployment: Deployment, status: DeploymentStatus, now: Date): boolean {
  const condition = conditionOf(status.conditions, 'Progressing')
  if (!condition || condition.reason === 'NewReplicaSetAvailable') return false
  return condition.reason === 'ProgressDeadlineExceeded' || deadlineAfter(deployment, condition) < now.getTime()
}

/** The time, in milliseconds, by which there must be progress. */
const deadlineAfter = ({ spec }: Deployment, { lastUpdateTime }: DeploymentCondition): number =>
  millisecondsAt(lastUpdateTime) + spec.progressDeadlineSeconds * 1000

/** A rollout that is over has no deadline, also when pods are lost later, nor has one that has missed it. */
const ENDS: ReadonlySet<string> = new Set(['NewReplicaSetAvailable', 'ProgressDeadlineExceeded'])

/** In how many milliseconds a rollout without progress has missed its deadline; undefined when there is none, or it is over. */
export function msToDeadline(deployment: Deployment, status: DeploymentStatus, now: Date): number | undefined {
  const condition = conditionOf(status.conditions, 'Progressing')
  if (!hasDeadline(deployment) || !condition) return undefined
  if (isComplete(deployment, status) || ENDS.has(condition.reason ?? '')) return undefined
  return Math.max(0, deadlineAfter(deployment, condition) - now.getTime()) + 1
}

/** Why pods cannot be created or deleted; that of the new ReplicaSet matters most. */
function replicaFailure(sets: Sets): DeploymentCondition | undefined {
  for (const set of [...(sets.current ? [sets.current] : []), ...sets.old])
    for (const condition of set.status.conditions ?? [])
      if (condition.type === 'ReplicaFailure') return { ...condition, lastUpdateTime: condition.lastTransitionTime }
  return undefined
}
