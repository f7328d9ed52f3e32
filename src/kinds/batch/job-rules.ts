/** Rules for jobs and for templates of jobs. */

import { goQuote } from '../../lib/go-text.ts'
import { copyJson, deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, isDomainPrefixedPath } from '../../lib/names.ts'
import {
  duplicate,
  entry,
  type FieldError,
  invalid,
  invalidUnshown,
  type Ref,
  required,
  tooLong,
  tooMany,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import type { AnyType } from '../../schema/types.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { CONDITION_STATUSES, hasInvalidValues, rejectsLabels, validateLabelSelector } from '../rules/meta.ts'
import { gatedPodOptions, podOptionsFor } from '../rules/pod/ratchet-rules.ts'
import { PodSpec, PodTemplateSpec } from '../rules/pod/spec.ts'
import { validatePodTemplateSpec } from '../rules/pod/spec-rules.ts'
import { validateNonNegative, validateQualifiedName } from '../rules/text-rules.ts'
import { countIndexes } from './indexes.ts'
import type { Job } from './job.ts'
import { validateScheduling } from './job-scheduling.ts'
import {
  type FailureRule,
  type JobSpec,
  type JobStatus,
  type OnExitCodes,
  type OnPodCondition,
  PodFailurePolicy,
  SuccessPolicy,
  type SuccessRule,
} from './job-shapes.ts'

type Gate = (name: string) => boolean
export type JobWrite = { readonly old: JobSpec | undefined; readonly gate: Gate }

const MAX_PARALLELISM = 100_000
const MAX_FAILED_INDEXES = 100_000
/** Above this number of completions, jobs with limits per index have lower bounds. */
const MANY_COMPLETIONS = 100_000
const MAX_WITH_MANY_COMPLETIONS = 10_000
const MAX_MANAGER_LENGTH = 63

/** Rules for the spec of a job, also in the template of a CronJob. */
export function* validateJobTemplate(spec: JobSpec, at: Ref<JobSpec>, { old, gate }: JobWrite): Iterable<FieldError> {
  for (const field of COUNTS) yield* validateNonNegative(spec[field], at[field])
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined)
    yield required(at.backoffLimitPerIndex, 'when maxFailedIndexes is specified')
  if (spec.managedBy !== undefined) yield* validateManager(spec.managedBy, at.managedBy)
  yield* validateCompletionMode(spec, at)
  if (spec.podFailurePolicy) yield* validateFailurePolicy(spec, at)
  if (spec.successPolicy && spec.completionMode !== 'Indexed')
    yield invalid(shown(at.successPolicy, SuccessPolicy, spec.successPolicy), 'requires indexed completion mode')
  else if (spec.successPolicy) yield* validateSuccessPolicy(spec, at)
  const replacements = spec.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  if (spec.podReplacementPolicy !== undefined && !replacements.includes(spec.podReplacementPolicy))
    yield unsupported(at.podReplacementPolicy, ...replacements)
  yield* validateScheduling(spec, at.scheduling, old)
  yield* validatePodTemplateSpec(spec.template, at.template, podOptionsFor(old?.template, gatedPodOptions(gate)))
  yield* validateRestartPolicy(spec, at)
}

const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const

function* validateManager(managedBy: string, at: Ref<string>): Iterable<FieldError> {
  for (const fault of isDomainPrefixedPath(managedBy))
    yield fault.type === 'required' ? required(at) : invalid(withValue(at, fault.value), fault.message)
  if (Buffer.byteLength(managedBy) > MAX_MANAGER_LENGTH) yield tooLong(at, MAX_MANAGER_LENGTH)
}

function* validateCompletionMode(spec: JobSpec, at: Ref<JobSpec>): Iterable<FieldError> {
  const { completionMode: mode } = spec
  if (mode === 'Indexed') yield* validateIndexed(spec, at)
  else if (mode !== undefined && mode !== 'NonIndexed') yield unsupported(at.completionMode, 'NonIndexed', 'Indexed')
  if (mode !== undefined && mode !== 'NonIndexed') return
  for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
    if (spec[field] !== undefined) yield invalid(at[field], 'requires indexed completion mode')
}

function* validateIndexed(spec: JobSpec, at: Ref<JobSpec>): Iterable<FieldError> {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = spec
  if (completions === undefined) yield required(at.completions, 'when completion mode is Indexed')
  if (parallelism > MAX_PARALLELISM)
    yield invalid(at.parallelism, `must be less than or equal to ${MAX_PARALLELISM} when completion mode is Indexed`)
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions)
    yield invalid(at.maxFailedIndexes, 'must be less than or equal to completions')
  if ((maxFailedIndexes ?? 0) > MAX_FAILED_INDEXES)
    yield invalid(at.maxFailedIndexes, `must be less than or equal to ${MAX_FAILED_INDEXES}`)
  if (completions === undefined || completions <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return
  if (maxFailedIndexes === undefined) yield required(at.maxFailedIndexes, `must be specified when completions is above ${MANY_COMPLETIONS}`)
  const bound = `must be less than or equal to ${MAX_WITH_MANY_COMPLETIONS} when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`
  if (parallelism > MAX_WITH_MANY_COMPLETIONS) yield invalid(at.parallelism, bound)
  if ((maxFailedIndexes ?? 0) > MAX_WITH_MANY_COMPLETIONS) yield invalid(at.maxFailedIndexes, bound)
}

/** Pods of a job terminate eventually. */
function* validateRestartPolicy({ template, podFailurePolicy }: JobSpec, { template: at }: Ref<JobSpec>): Iterable<FieldError> {
  const { restartPolicy } = template.spec
  const here = at.spec.restartPolicy
  if (!restartPolicy || restartPolicy === 'Always') yield required(here, 'valid values: "OnFailure", "Never"')
  else if (restartPolicy !== 'OnFailure' && restartPolicy !== 'Never') yield unsupported(here, 'OnFailure', 'Never')
  else if (podFailurePolicy && restartPolicy !== 'Never')
    yield invalid(here, 'only "Never" is supported when podFailurePolicy is specified')
}

/** Rules for a job; on updates also for its changes. */
export function* validateJob(
  job: Job,
  at: Ref<Job>,
  { old, gate }: { readonly old: Job | undefined; readonly gate: Gate },
): Iterable<FieldError> {
  const { metadata, spec } = job
  if (!old) yield* validateGeneratedSelector(job, at)
  yield* validateJobTemplate(spec, at.spec, { old: old?.spec, gate })
  if (!spec.selector) yield required(at.spec.selector)
  const allowInvalidValues = hasInvalidValues(old?.spec.selector)
  yield* validateLabelSelector(spec.selector, at.spec.selector, { allowInvalidValues })
  const { labels } = spec.template.metadata
  if (rejectsLabels(spec.selector, labels))
    yield invalid(withValue(at.spec.template.metadata.labels, labels ?? null), '`selector` does not match template `labels`')
  if (old) yield* validateChange(job, at.spec, { old, gate })
  if (spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0) {
    const host = `${metadata.name}-${spec.completions! - 1}`
    if (isDNS1123Label(host).length > 0) yield invalid(at.metadata.name, `will not able to create pod with invalid DNS label: ${host}`)
  }
}

/** Labels of the pods of a job, under their old names and their new ones. */
export const JOB_NAME_LABELS = ['job-name', 'batch.kubernetes.io/job-name'] as const
export const CONTROLLER_UID_LABELS = ['controller-uid', 'batch.kubernetes.io/controller-uid'] as const

function* validateGeneratedSelector({ metadata: { name = '', uid = '' }, spec }: Job, at: Ref<Job>): Iterable<FieldError> {
  if (spec.manualSelector || !spec.selector) return
  if (!uid) yield required(at.metadata.uid)
  const labels = spec.template.metadata.labels ?? {}
  const expected = [0, 1].flatMap(i => [[CONTROLLER_UID_LABELS[i]!, uid] as const, [JOB_NAME_LABELS[i]!, name] as const])
  for (const [key, value] of expected) {
    const here = entry(at.spec.template.metadata.labels, key)
    if (!Object.hasOwn(labels, key)) yield required(here, `must be '${value}'`)
    else if (labels[key] !== value) yield invalid(withValue(here, labels), `must be '${value}'`)
  }
  if (rejectsLabels(spec.selector, Object.fromEntries(expected))) yield invalid(at.spec.selector, '`selector` not auto-generated')
}

function* validateChange({ spec }: Job, at: Ref<JobSpec>, { old, gate }: { readonly old: Job; readonly gate: Gate }): Iterable<FieldError> {
  yield* validateCompletionsChange(spec, old.spec, at)
  if (!deepEqual(spec.selector, old.spec.selector)) yield invalid(at.selector, 'field is immutable')
  yield* validateTemplateChange(spec.template, at.template, { old, gate })
  if (spec.completionMode !== old.spec.completionMode) yield invalid(at.completionMode, 'field is immutable')
  if (!deepEqual(spec.podFailurePolicy, old.spec.podFailurePolicy))
    yield invalid(shown(at.podFailurePolicy, PodFailurePolicy, spec.podFailurePolicy), 'field is immutable')
  for (const field of ['backoffLimitPerIndex', 'managedBy'] as const)
    if (spec[field] !== old.spec[field]) yield invalid(withValue(at[field], spec[field] ?? null), 'field is immutable')
  if (!deepEqual(spec.successPolicy, old.spec.successPolicy))
    yield invalid(shown(at.successPolicy, SuccessPolicy, spec.successPolicy), 'field is immutable')
}

function* validateCompletionsChange(spec: JobSpec, old: JobSpec, at: Ref<JobSpec>): Iterable<FieldError> {
  const { completions } = spec
  if (completions === old.completions) return
  if (spec.completionMode !== 'Indexed') yield invalid(withValue(at.completions, completions ?? null), 'field is immutable')
  else if (completions !== undefined && completions !== spec.parallelism)
    yield invalid(at.completions, 'can only be modified in tandem with spec.parallelism')
}

/** The template cannot change, but while a job is suspended and has no pods, scheduling directives and resource requests may still change. */
function* validateTemplateChange(
  template: PodTemplateSpec,
  at: Ref<PodTemplateSpec>,
  { old, gate }: { readonly old: Job; readonly gate: Gate },
): Iterable<FieldError> {
  const { spec, status } = old
  const isSuspended = spec.suspend === true
  const isIdle = isSuspended && (!status.startTime || hasCondition(status, 'Suspended')) && !status.active
  const mayMove = gate('MutableSchedulingDirectivesForSuspendedJobs') ? isIdle : isSuspended && !status.startTime
  const mayResize = isSuspended && isIdle && gate('MutablePodResourcesForSuspendedJobs')
  const expected = copyJson(spec.template)
  if (mayMove) takePlacement(expected, template)
  if (mayResize) {
    takeResources(expected, template)
    if (!deepEqual(template.spec, expected.spec)) yield invalid(shown(at.spec, PodSpec, template.spec), 'field is immutable')
  } else if (!deepEqual(template, expected)) yield invalid(shown(at, PodTemplateSpec, template), 'field is immutable')
}

function takePlacement(to: PodTemplateSpec, from: PodTemplateSpec): void {
  const affinity = { ...to.spec.affinity }
  take(affinity, { nodeAffinity: from.spec.affinity?.nodeAffinity })
  take(to.spec, { affinity: from.spec.affinity || Object.keys(affinity).length > 0 ? affinity : undefined })
  const { nodeSelector, tolerations, schedulingGates } = from.spec
  take(to.spec, { nodeSelector, tolerations, schedulingGates })
  take(to.metadata, { labels: from.metadata.labels, annotations: from.metadata.annotations })
}

function takeResources(to: PodTemplateSpec, from: PodTemplateSpec): void {
  for (const part of ['containers', 'initContainers'] as const) {
    const [mine, theirs] = [to.spec[part] ?? [], from.spec[part] ?? []]
    if (mine.length !== theirs.length) continue
    for (const [i, container] of mine.entries())
      if (container.name === theirs[i]!.name) take(container, { resources: theirs[i]!.resources })
  }
}

/** Sets fields to their values elsewhere, undefined ones included. */
function take(to: object, fields: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(fields))
    if (value === undefined) delete (to as Record<string, unknown>)[name]
    else (to as Record<string, unknown>)[name] = value
}

/** Whether a condition is true. */
export const hasCondition = ({ conditions = [] }: JobStatus, type: string, status = 'True'): boolean =>
  conditions.some(c => c.type === type && c.status === status)

/** kube-apiserver shows such values with the field names of its internal type. */
const shown = (at: Ref<any>, type: AnyType, value: unknown) =>
  withValue(at, value === undefined ? null : internalRepresentation(type, value))

const MAX_RULES = 20
const MAX_CONDITIONS = 20
const MAX_EXIT_CODES = 255
const MAX_INDEXES_LENGTH = 64 * 1024
const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const OPERATORS = ['In', 'NotIn']

/** Rules for the failure policy of a job. */
function* validateFailurePolicy(spec: JobSpec, { podFailurePolicy: at }: Ref<JobSpec>): Iterable<FieldError> {
  const rules = spec.podFailurePolicy?.rules ?? []
  if (rules.length > MAX_RULES) yield tooMany(at.rules, rules.length, MAX_RULES)
  const { containers = [], initContainers = [] } = spec.template.spec
  const names = new Set([...(containers ?? []), ...(initContainers ?? [])].map(c => c.name))
  for (const [i, rule] of rules.entries()) yield* validateFailureRule(rule, at.rules[i]!, { spec, names })
}

type PolicyContext = { readonly spec: JobSpec; readonly names: ReadonlySet<string> }

function* validateFailureRule(
  { action, onExitCodes, onPodConditions = [] }: FailureRule,
  at: Ref<FailureRule>,
  { spec, names }: PolicyContext,
) {
  if (!action) yield required(at.action, validValues(ACTIONS))
  else if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex === undefined) yield invalid(at.action, 'requires the backoffLimitPerIndex to be set')
  } else if (!ACTIONS.includes(action)) yield unsupported(at.action, ...ACTIONS)
  if (onExitCodes) yield* validateExitCodes(onExitCodes, at.onExitCodes, names)
  if (onPodConditions.length > MAX_CONDITIONS) yield tooMany(at.onPodConditions, onPodConditions.length, MAX_CONDITIONS)
  for (const [i, pattern] of onPodConditions.entries()) yield* validateCondition(pattern, at.onPodConditions[i]!)
  if (onExitCodes && onPodConditions.length > 0)
    yield invalidUnshown(at, 'specifying both OnExitCodes and OnPodConditions is not supported')
  if (!onExitCodes && onPodConditions.length === 0)
    yield invalidUnshown(at, 'specifying one of OnExitCodes and OnPodConditions is required')
}

function* validateExitCodes({ operator, containerName, values }: OnExitCodes, at: Ref<OnExitCodes>, names: ReadonlySet<string>) {
  if (!operator) yield required(at.operator, validValues(OPERATORS))
  else if (!OPERATORS.includes(operator)) yield unsupported(at.operator, ...OPERATORS)
  if (containerName !== undefined && !names.has(containerName))
    yield invalid(at.containerName, 'must be one of the container or initContainer names in the pod template')
  const codes = values ?? []
  if (codes.length === 0) yield invalid(withValue(at.values, values ?? null), 'at least one value is required')
  else if (codes.length > MAX_EXIT_CODES) yield tooMany(at.values, codes.length, MAX_EXIT_CODES)
  const seen = new Set<number>()
  for (const [i, code] of codes.entries()) {
    if (operator === 'In' && code === 0) yield invalid(at.values[i]!, 'must not be 0 for the In operator')
    if (seen.has(code)) yield duplicate(at.values[i]!)
    seen.add(code)
  }
  if (codes.some((code, i) => i > 0 && codes[i - 1]! > code)) yield invalid(at.values, 'must be ordered')
}

function* validateCondition({ type, status }: OnPodCondition, at: Ref<OnPodCondition>): Iterable<FieldError> {
  yield* validateQualifiedName(type, at.type)
  if (!CONDITION_STATUSES.includes(status)) yield unsupported(at.status, ...CONDITION_STATUSES)
}

const validValues = (values: readonly string[]) => `valid values: [${values.map(goQuote).join(' ')}]`

/** Rules for the success policy of an indexed job. */
function* validateSuccessPolicy({ successPolicy, completions = 0 }: JobSpec, { successPolicy: at }: Ref<JobSpec>): Iterable<FieldError> {
  const rules = successPolicy?.rules ?? []
  if (rules.length === 0) yield required(at.rules, 'at least one rules must be specified when the successPolicy is specified')
  if (rules.length > MAX_RULES) yield tooMany(at.rules, rules.length, MAX_RULES)
  for (const [i, rule] of rules.entries()) yield* validateSuccessRule(rule, at.rules[i]!, completions)
}

function* validateSuccessRule({ succeededIndexes, succeededCount }: SuccessRule, at: Ref<SuccessRule>, completions: number) {
  if (succeededCount === undefined && succeededIndexes === undefined)
    yield required(at, 'at least one of succeededCount or succeededIndexes must be specified')
  const indexes = succeededIndexes === undefined ? undefined : countIndexes(succeededIndexes, completions)
  if (Buffer.byteLength(succeededIndexes ?? '') > MAX_INDEXES_LENGTH) yield tooLong(at.succeededIndexes, MAX_INDEXES_LENGTH)
  if (indexes?.ok === false) yield invalid(at.succeededIndexes, `error parsing succeededIndexes: ${indexes.fault}`)
  if (succeededCount === undefined) return
  yield* validateNonNegative(succeededCount, at.succeededCount)
  if (succeededCount > completions)
    yield invalid(at.succeededCount, `must be less than or equal to ${completions} (the number of specified completions)`)
  const named = indexes?.ok ? indexes.value : 0
  if (indexes && succeededCount > named)
    yield invalid(
      at.succeededCount,
      `must be less than or equal to ${named} (the number of indexes in the specified succeededIndexes field)`,
    )
}
