/** Job runs pods until enough of them have succeeded. */
import { goQuote } from '../../lib/go-text.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { humanDuration, millisecondsAt } from '../../lib/time.ts'
import { age, type CellContext } from '../../schema/columns.ts'
import { defineKind, type KObject } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, invalidUnshown, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { validateNonNegative } from '../rules/text-rules.ts'
import { containersColumn, imagesColumn, selectorCell, warnAboutName, warnAboutTemplate } from '../rules/workload.ts'
import { countIndexes, sharedIndex } from './indexes.ts'
import { CONTROLLER_UID_LABELS, hasCondition, JOB_NAME_LABELS, validateJob } from './job-rules.ts'
import { defaultJobSpec, JobSpec, JobStatus } from './job-shapes.ts'

export const Job = defineKind({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  scope: 'Namespaced',
  names: { plural: 'jobs', categories: ['all'] },
  doc: 'Runs pods until enough of them have succeeded.',
  spec: JobSpec,
  status: JobStatus,
  generation: true,

  defaults(job) {
    defaultJobSpec(job.spec)
    labelLikeTemplate(job)
  },
  prepareForCreate(job, ctx) {
    if (!job.spec.manualSelector) makeSelector(job)
    // A read applies defaults that follow from values the server has just set.
    labelLikeTemplate(job)
    dropDisabledJobFields(job.spec, undefined, ctx)
  },
  prepareForUpdate: ({ spec }, old, ctx) => dropDisabledJobFields(spec, old.spec, ctx),
  validate: (o, at, { old, gate }) => validateJob(o, at, { old, gate }),
  *warn({ metadata, spec }, old) {
    if (old === undefined) yield* warnAboutName(metadata)
    if (old === undefined || metadata.generation !== old.metadata.generation) yield* warnAboutJob(spec, refTo(spec, 'spec'), 'spec')
  },

  deletion: {
    propagation: 'Orphan',
    propagationWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  },

  subresources: {
    status: {
      *validate() {},
      validateUpdate: (o, old, { status: at }) => validateJobStatus(o, old, at),
    },
  },

  selectable: { 'status.successful': o => o.status.succeeded ?? 0 },
  fieldSelectors: { unsupported: field => `field label ${goQuote(field)} not supported for Job` },
  columns: {
    Status: ['string', statusWord, 'Status of the job.'],
    Completions: [
      'string',
      completions,
      'The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs.',
    ],
    Duration: ['string', duration, 'Time required to complete the job.'],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
    Selector: [
      'string',
      o => selectorCell({ spec: { selector: o.spec.selector ?? {} } }),
      'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
      'wide',
    ],
  },
})

/** An object of the kind Job. */
export type Job = KObject<JobSpec, JobStatus>

/** Drops fields of disabled features, unless they are stored already. */
export function dropDisabledJobFields(spec: JobSpec, old: JobSpec | undefined, { gate }: RequestContext): void {
  if (!gate('WorkloadWithJob') && !old?.scheduling) delete spec.scheduling
  dropDisabledTemplateFields(spec.template, old?.template, gate)
}

/** Warnings about the spec of a job. */
export function* warnAboutJob(spec: JobSpec, at: Ref<JobSpec>, path: string): Iterable<string> {
  const { completionMode, completions = 0, parallelism = 0 } = spec
  if (completionMode === 'Indexed' && completions > 100_000 && parallelism > 10_000)
    yield `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`
  yield* warnAboutTemplate(spec.template, at.template)
}

/** A job without labels has those of its pods: the same object, so that it also gets the labels of the generated selector. */
function labelLikeTemplate({ metadata, spec }: Job): void {
  const { labels } = spec.template.metadata
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = labels
}

/** A selector that matches exactly the pods of this job, and the labels it matches. */
function makeSelector({ metadata: { name = '', uid = '' }, spec }: Job): void {
  const labels = (spec.template.metadata.labels ??= {})
  for (const label of JOB_NAME_LABELS) labels[label] ??= name
  for (const label of CONTROLLER_UID_LABELS) labels[label] ??= uid
  spec.selector ??= {}
  spec.selector.matchLabels ??= {}
  spec.selector.matchLabels[CONTROLLER_UID_LABELS[1]] ??= uid
}

function statusWord({ metadata, status }: Job): string {
  if (hasCondition(status, 'Complete')) return 'Complete'
  if (hasCondition(status, 'Failed')) return 'Failed'
  if (metadata.deletionTimestamp) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(type => hasCondition(status, type)) ?? 'Running'
}

function completions({ spec, status: { succeeded = 0 } }: Job): string {
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  return (spec.parallelism ?? 0) > 1 ? `${succeeded}/1 of ${spec.parallelism}` : `${succeeded}/1`
}

function duration({ status: { startTime, completionTime } }: Job, { now }: CellContext): string {
  if (!startTime) return ''
  const end = completionTime ? millisecondsAt(completionTime) : now.getTime()
  return humanDuration(end - millisecondsAt(startTime))
}

/** Rules for a status; most apply only when their fields have changed, so that stored values remain valid. */
function* validateJobStatus(job: Job, old: Job, at: Ref<JobStatus>): Iterable<FieldError> {
  const change: Change = { job, old, at, ...factsOf(job.status), was: factsOf(old.status) }
  yield* validateCounts(job.status, at)
  yield* validateEnd(change)
  yield* validateIndexes(change)
  yield* validateLivePods(change)
  yield* validateCriteria(change)
  yield* validateProgress(change)
}

type Facts = {
  readonly complete: boolean
  readonly failed: boolean
  readonly failing: boolean
  readonly succeeding: boolean
  readonly finished: boolean
}
type Change = Facts & { readonly job: Job; readonly old: Job; readonly at: Ref<JobStatus>; readonly was: Facts }

function factsOf(status: JobStatus): Facts {
  const [complete, failed] = [hasCondition(status, 'Complete'), hasCondition(status, 'Failed')]
  const [failing, succeeding] = [hasCondition(status, 'FailureTarget'), hasCondition(status, 'SuccessCriteriaMet')]
  return { complete, failed, failing, succeeding, finished: complete || failed }
}

function* validateCounts(status: JobStatus, at: Ref<JobStatus>): Iterable<FieldError> {
  for (const field of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    yield* validateNonNegative(status[field], at[field])
  const seen = new Set<string>()
  for (const part of ['succeeded', 'failed'] as const)
    for (const [i, uid] of (status.uncountedTerminatedPods?.[part] ?? []).entries()) {
      const here = at.uncountedTerminatedPods[part][i]!
      if (uid === '') yield invalid(here, 'must not be empty')
      else if (seen.has(uid)) yield duplicate(here)
      seen.add(uid)
    }
}

/** The conditions about the end of a job are consistent with each other and with the rest. */
function* validateEnd({ job: { status, spec }, old, at, was, ...is }: Change): Iterable<FieldError> {
  const changed = differing(status, old.status)
  const { startTime, completionTime } = status
  const [completes, fails, finishes] = [is.complete !== was.complete, is.failed !== was.failed, is.finished !== was.finished]
  const refuse = (why: string) => invalidUnshown(at.conditions, why)
  if ((completes || fails) && is.complete && is.failed) yield refuse('cannot set Complete=True and Failed=true conditions')
  if ((completes || is.failing !== was.failing) && is.complete && is.failing)
    yield refuse('cannot set Complete=True and FailureTarget=true conditions')
  if (completes || changed('completionTime')) {
    if (completionTime && !is.complete)
      yield invalid(at.completionTime, 'cannot set completionTime when there is no Complete=True condition')
    if (!completionTime && is.complete) yield required(at.completionTime, 'completionTime is required for Complete jobs')
  }
  if ((changed('startTime') || changed('completionTime')) && startTime && completionTime && completionTime < startTime)
    yield invalid(at.completionTime, 'must be equal to or after `startTime`')
  if ((fails || changed('failedIndexes')) && is.failed && !is.failing)
    yield refuse('cannot set Failed=True condition without the FailureTarget=true condition')
  if ((completes || is.succeeding !== was.succeeding) && is.complete && !is.succeeding)
    yield refuse('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  if (!is.finished) return
  if ((finishes || changed('active')) && (status.active ?? 0) > 0) yield invalid(at.active, 'active>0 is invalid for finished job')
  const neverRan = spec.suspend === true && spec.completions === 0
  if ((finishes || changed('startTime')) && !neverRan && !startTime) yield required(at.startTime, 'startTime is required for finished job')
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  if ((finishes || changed('uncountedTerminatedPods')) && succeeded.length + failed.length > 0)
    yield invalid(at.uncountedTerminatedPods, 'must be empty for finished job')
}

function* validateIndexes({ job: { spec, status }, old, at }: Change): Iterable<FieldError> {
  const changed = differing(status, old.status)
  const { completedIndexes = '', failedIndexes } = status
  const { completions, backoffLimitPerIndex } = spec
  if (changed('completedIndexes') && completions !== undefined) {
    const counted = countIndexes(completedIndexes, completions)
    if (!counted.ok) yield invalid(at.completedIndexes, `error parsing completedIndexes: ${counted.fault}`)
  }
  if (changed('failedIndexes') && completions !== undefined && backoffLimitPerIndex !== undefined && failedIndexes !== undefined) {
    const counted = countIndexes(failedIndexes, completions)
    if (!counted.ok) yield invalid(at.failedIndexes, `error parsing failedIndexes: ${counted.fault}`)
  }
  if (changed('completedIndexes') && completedIndexes !== '' && spec.completionMode !== 'Indexed')
    yield invalid(at.completedIndexes, 'cannot set non-empty completedIndexes when non-indexed completion mode')
  if (failedIndexes === undefined) return
  if (changed('failedIndexes') && backoffLimitPerIndex === undefined)
    yield invalid(at.failedIndexes, 'cannot set non-null failedIndexes when backoffLimitPerIndex is null')
  if ((changed('failedIndexes') || changed('completedIndexes')) && completions !== undefined) {
    const shared = sharedIndex(completedIndexes, failedIndexes, completions)
    if (shared !== undefined) yield invalid(at.failedIndexes, `failedIndexes and completedIndexes overlap at index: ${shared}`)
  }
}

function* validateLivePods({ job: { status }, old, at, finished, was }: Change): Iterable<FieldError> {
  const changed = differing(status, old.status)
  const { terminating = 0, ready, active = 0 } = status
  if ((finished !== was.finished || changed('terminating')) && finished && terminating > 0)
    yield invalid(at.terminating, 'terminating>0 is invalid for finished job')
  if ((changed('ready') || changed('active')) && ready !== undefined && ready > active)
    yield invalid(at.ready, 'cannot set more ready pods than active')
}

function* validateCriteria({ job: { spec }, at, complete, failed, failing, succeeding }: Change): Iterable<FieldError> {
  const refuse = (why: string) => invalidUnshown(at.conditions, why)
  if (succeeding && failed) yield refuse('cannot set SuccessCriteriaMet=True and Failed=true conditions')
  if (succeeding && failing) yield refuse('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')
  if (spec.successPolicy && !succeeding && complete)
    yield refuse('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True')
}

/** Terminal conditions are final, and counters only grow. */
function* validateProgress({ job: { spec, status }, old, at, succeeding, was }: Change): Iterable<FieldError> {
  const changed = differing(status, old.status)
  const refuse = (why: string) => invalidUnshown(at.conditions, why)
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (hasCondition(old.status, type) && !hasCondition(status, type)) yield refuse(`cannot disable the terminal ${type}=True condition`)
  if ((status.failed ?? 0) < (old.status.failed ?? 0)) yield invalid(countAt(at, status, 'failed'), 'cannot decrease the failed counter')
  const mayShrink = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism
  if (!mayShrink && (status.succeeded ?? 0) < (old.status.succeeded ?? 0))
    yield invalid(countAt(at, status, 'succeeded'), 'cannot decrease the succeeded counter')
  if (status.completionTime && old.status.completionTime && changed('completionTime'))
    yield invalid(at.completionTime, 'field is immutable')
  const resumes = hasCondition(old.status, 'Suspended') && hasCondition(status, 'Suspended', 'False')
  if (changed('startTime') && !resumes && old.status.startTime && !spec.suspend)
    yield invalid(withValue(at.startTime, status.startTime ?? null), 'field is immutable for unsuspended job once set')
  if (was.succeeding && !succeeding) yield refuse('cannot disable the SuccessCriteriaMet=True condition')
  if (was.complete && !was.succeeding && succeeding)
    yield refuse('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')
}

const countAt = (at: Ref<JobStatus>, status: JobStatus, field: 'failed' | 'succeeded') => withValue(at[field], status[field] ?? 0)

const differing = (status: JobStatus, old: JobStatus) => (field: keyof JobStatus) => !deepEqual(status[field], old[field])
