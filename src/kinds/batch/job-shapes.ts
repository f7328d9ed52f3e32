/** What jobs are made of. */
import { atomic, bool, int32, int64, message, type Static, set, string, time } from '../../schema/types.ts'
import { LabelSelector } from '../shapes/meta.ts'
import { PodTemplateSpec } from '../shapes/pod/spec.ts'
import { JobSchedulingConfiguration } from './job-scheduling.ts'

const PodFailurePolicyOnExitCodesRequirement = message('PodFailurePolicyOnExitCodesRequirement', {
  containerName: [1, string.optional(), 'The container asked about; all when absent.'],
  operator: [2, string.always(), 'How its exit code is compared: In or NotIn.'],
  values: [3, set(int32).always(), 'What it is compared with, in order.'],
})
export type OnExitCodes = Static<typeof PodFailurePolicyOnExitCodesRequirement>

const PodFailurePolicyOnPodConditionsPattern = message('PodFailurePolicyOnPodConditionsPattern', {
  type: [1, string.always(), 'A condition of the pod.'],
  status: [2, string.default('True').openapiDefault(''), 'What it must be: True, False or Unknown.'],
})
export type OnPodCondition = Static<typeof PodFailurePolicyOnPodConditionsPattern>

const PodFailurePolicyRule = message('PodFailurePolicyRule', {
  action: [1, string.always(), 'What a match leads to: FailJob, FailIndex, Ignore or Count.'],
  onExitCodes: [2, PodFailurePolicyOnExitCodesRequirement, 'Matches by exit codes.'],
  onPodConditions: [3, atomic(PodFailurePolicyOnPodConditionsPattern), 'Matches by conditions; one is enough.'],
})
export type FailureRule = Static<typeof PodFailurePolicyRule>

export const PodFailurePolicy = message('PodFailurePolicy', {
  rules: [1, atomic(PodFailurePolicyRule).always(), 'Tried in order; the first that matches counts.'],
})
export type PodFailurePolicy = Static<typeof PodFailurePolicy>

const SuccessPolicyRule = message('SuccessPolicyRule', {
  succeededIndexes: [1, string.optional(), 'Indexes that must succeed, such as 1,3-5.'],
  succeededCount: [2, int32.optional(), 'How many of them must succeed.'],
})
export type SuccessRule = Static<typeof SuccessPolicyRule>

export const SuccessPolicy = message('SuccessPolicy', {
  rules: [1, atomic(SuccessPolicyRule).always(), 'One that is met makes the job a success.'],
})
export type SuccessPolicy = Static<typeof SuccessPolicy>

export const JobSpec = message('JobSpec', {
  parallelism: [1, int32.optional(), 'How many pods run at once at most.'],
  completions: [2, int32.optional(), 'How many pods must succeed; when absent, any one ends the job.'],
  activeDeadlineSeconds: [3, int64.optional(), 'Seconds after which the job is ended.'],
  podFailurePolicy: [11, PodFailurePolicy, 'What failed pods lead to. Cannot change.'],
  successPolicy: [16, SuccessPolicy, 'When an indexed job is a success before all of it is done. Cannot change.'],
  backoffLimit: [7, int32.optional(), 'How many failures are too many.'],
  backoffLimitPerIndex: [12, int32.optional(), 'How many failures of one index are too many. Cannot change.'],
  maxFailedIndexes: [13, int32.optional(), 'How many failed indexes are too many.'],
  selector: [4, LabelSelector, 'Which pods belong to it; made by the server.'],
  manualSelector: [5, bool.optional(), 'The selector was not made by the server.'],
  template: [6, PodTemplateSpec.orEmpty().expected(), 'What its pods are made from.'],
  ttlSecondsAfterFinished: [8, int32.optional(), 'Seconds after its end at which it is deleted.'],
  completionMode: [9, string.optional(), 'How completions are told apart: NonIndexed or Indexed. Cannot change.'],
  suspend: [10, bool.optional(), 'No pods run while this is set.'],
  podReplacementPolicy: [14, string.optional(), 'When a pod is replaced: TerminatingOrFailed, or Failed to wait for its end.'],
  managedBy: [15, string.optional(), 'The controller that runs the job, as a domain and a path. Cannot change.'],
  scheduling: [17, JobSchedulingConfiguration, 'How the pods are scheduled together.'],
})
export type JobSpec = Static<typeof JobSpec>

const JobCondition = message('JobCondition', {
  type: [1, string.always(), 'What the condition is about.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastProbeTime: [3, time.always(), 'When it was last looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A short word for why.'],
  message: [6, string, 'The same for people.'],
})

const UncountedTerminatedPods = message('UncountedTerminatedPods', {
  succeeded: [1, set(string), 'Uids of pods that succeeded.'],
  failed: [2, set(string), 'Uids of pods that failed.'],
})

export const JobStatus = message('JobStatus', {
  conditions: [1, atomic(JobCondition).mergedBy('type'), 'Latest observations, such as Complete and Failed.'],
  startTime: [2, time.optional(), 'When it began.'],
  completionTime: [3, time.optional(), 'When it succeeded.'],
  active: [4, int32, 'Pods that run or wait.'],
  succeeded: [5, int32, 'Pods that succeeded.'],
  failed: [6, int32, 'Pods that failed.'],
  terminating: [11, int32.optional(), 'Pods being deleted.'],
  completedIndexes: [7, string, 'Indexes that succeeded, such as 1,3-5.'],
  failedIndexes: [10, string.optional(), 'Indexes that failed too often, such as 1,3-5.'],
  uncountedTerminatedPods: [8, UncountedTerminatedPods, 'Pods that have ended and are not counted yet.'],
  ready: [9, int32.optional(), 'Active pods that are ready.'],
})
export type JobStatus = Static<typeof JobStatus>

/** Fills in what a job leaves open. */
export function defaultJobSpec(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1
  spec.parallelism ??= 1
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1
  spec.completionMode ??= 'NonIndexed'
  spec.suspend ??= false
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed'
  spec.manualSelector ??= false
}
