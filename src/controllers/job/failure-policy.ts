/** Applies the failure policy of a job to a failed pod. */

import type { FailureRule, JobSpec, OnExitCodes } from '../../kinds/batch/job-shapes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'

export type FailureVerdict = {
  /** Whether the failure counts towards the limits. */
  readonly counts: boolean
  readonly failsIndex: boolean
  /** Why the whole job fails. */
  readonly failsJob?: string
}

const COUNTED: FailureVerdict = { counts: true, failsIndex: false }

/** The first rule that matches decides; a failure that none matches counts. */
export function judgeFailure({ podFailurePolicy }: Pick<JobSpec, 'podFailurePolicy'>, pod: Pod): FailureVerdict {
  for (const [i, rule] of (podFailurePolicy?.rules ?? []).entries()) {
    const match = matchRule(rule, pod)
    if (match === undefined) continue
    if (rule.action === 'Ignore') return { counts: false, failsIndex: false }
    if (rule.action === 'FailIndex') return { counts: true, failsIndex: true }
    if (rule.action === 'Count') return COUNTED
    if (rule.action === 'FailJob') return { ...COUNTED, failsJob: `${match} matching FailJob rule at index ${i}` }
  }
  return COUNTED
}

/** Describes for messages which part of the pod a rule matches. */
function matchRule({ onExitCodes, onPodConditions = [] }: FailureRule, { metadata, status }: Pod): string | undefined {
  const pod = `${metadata.namespace}/${metadata.name}`
  if (onExitCodes) {
    const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]
    for (const { name, state } of statuses) {
      const code = state?.terminated?.exitCode
      if (code && matchesExitCode(onExitCodes, name, code)) return `Container ${name} for pod ${pod} failed with exit code ${code}`
    }
    return undefined
  }
  const condition = status.conditions?.find(c => onPodConditions.some(({ type, status }) => type === c.type && status === c.status))
  return condition && `Pod ${pod} has condition ${condition.type}`
}

function matchesExitCode({ containerName, operator, values }: OnExitCodes, container: string, code: number): boolean {
  if (containerName !== undefined && containerName !== container) return false
  if (operator === 'In') return values?.includes(code) ?? false
  return operator === 'NotIn' && !values?.includes(code)
}
