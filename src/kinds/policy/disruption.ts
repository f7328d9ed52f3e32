/** Disruption budgets: decides whether an eviction is allowed. */

import { setOwn } from '../../lib/json-value.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, isConditionTrue, transitionTime, withCondition } from '../../schema/conditions.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { forbiddenRequest, StatusError } from '../../schema/status-error.ts'
import type { Approval } from '../../schema/subresources.ts'
import { matchesLabels } from '../rules/meta.ts'
import type { PodStatus } from '../rules/pod/status/status.ts'
import type { PodDisruptionBudget } from './poddisruptionbudget.ts'

export type Budget = PodDisruptionBudget
type Pod = { readonly metadata: ObjectMeta; readonly status: PodStatus }

/** The maximum number of evictions that the disruption controller has not observed yet; beyond it, the controller is not working. */
const MAX_UNCONFIRMED = 2000
const CAUSE = 'DisruptionBudget'
const VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
const RETRY_SECONDS = 10

/**
 * The budget that must allow the eviction of a pod, if any. An eviction that is allowed because the pod is not ready is valid only while it
 * is not.
 */
export function budgetFor(pod: Pod, budgets: readonly Budget[]): Approval<Budget> {
  const { phase = '', conditions = [] } = pod.status
  if (['Succeeded', 'Failed'].includes(phase) || pod.metadata.deletionTimestamp) return {}
  if (phase === 'Pending') return { ifChanged: 'retry' }
  const [budget, ...more] = budgets.filter(({ spec }) => matchesLabels(spec.selector, pod.metadata.labels))
  if (more.length > 0)
    throw new StatusError(500, '', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  if (!budget) return {}
  const isReady = isConditionTrue(conditions, 'Ready')
  return !isReady && letsUnhealthyGo(budget) ? { ifChanged: stillProcessed(budget.metadata.name ?? '') } : { other: budget }
}

/** A pod that is not ready can be evicted if unhealthyPodEvictionPolicy allows it or enough pods are healthy. */
function letsUnhealthyGo({ spec, status: { currentHealthy, desiredHealthy } }: Budget): boolean {
  return spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' || (currentHealthy >= desiredHealthy && desiredHealthy > 0)
}

/** Takes one disruption from the budget for a pod, or throws why there is none. */
export function grantDisruption({ metadata, status }: Budget, pod: string, now: Date): void {
  const name = metadata.name ?? ''
  if (Number(status.observedGeneration ?? 0) < Number(metadata.generation ?? 0)) throw stillProcessed(name)
  const subject = `The disruption budget ${name} does not allow evicting pods currently`
  if (status.disruptionsAllowed < 0)
    throw refused(name, 'pdb disruptions allowed is negative', `${subject}: pdb disruptions allowed is negative`)
  if (Object.keys(status.disruptedPods ?? {}).length > MAX_UNCONFIRMED)
    throw refused(
      name,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
      `${subject}: too many pending evictions not confirmed by PDB controller`,
    )
  if (status.disruptionsAllowed === 0) throw violated(whyNone(status, name, subject))
  const time = timestampOf(now)
  status.disruptionsAllowed--
  if (status.disruptionsAllowed === 0) setDisruptionAllowed(status, time)
  status.disruptedPods ??= {}
  setOwn(status.disruptedPods, pod, time)
}

function whyNone({ conditions = [], currentHealthy, desiredHealthy }: Budget['status'], name: string, subject: string): string {
  const condition = conditions.find(c => c.type === 'DisruptionAllowed' && c.status === 'False' && c.message)
  if (condition?.reason === 'SyncFailed') return `${subject} because it failed sync: ${condition.message}`
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`
  return condition ? `${subject} (${condition.reason}): ${condition.message}` : subject
}

/** Sets the condition that tells whether pods may be evicted. */
export function setDisruptionAllowed(status: Budget['status'], time: string): void {
  const isAllowed = status.disruptionsAllowed > 0
  const value = isAllowed ? 'True' : 'False'
  const condition = {
    type: 'DisruptionAllowed',
    status: value,
    ...(status.observedGeneration !== undefined && { observedGeneration: status.observedGeneration }),
    lastTransitionTime: transitionTime(conditionOf(status.conditions, 'DisruptionAllowed'), value, time),
    reason: isAllowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
  }
  status.conditions = withCondition(status.conditions, condition)
}

const causes = (message: string) => [{ reason: CAUSE, message }]
const violated = (why: string, retryAfterSeconds?: number) =>
  new StatusError(429, 'TooManyRequests', VIOLATED, { causes: causes(why), ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) })

const stillProcessed = (name: string) => violated(`The disruption budget ${name} is still being processed by the server.`, RETRY_SECONDS)

function refused(name: string, why: string, cause: string): StatusError {
  const { code, reason, message, details } = forbiddenRequest({ group: 'policy', plural: 'poddisruptionbudget', kind: '' }, name, why)
  return new StatusError(code, reason, message, { ...details, causes: causes(cause) })
}
