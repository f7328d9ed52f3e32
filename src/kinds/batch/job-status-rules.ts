/** Rules on what may be said of a job that runs or has ended. */
import { deepEqual } from '../../lib/json-value.ts'
import { duplicate, type FieldError, invalid, invalidUnshown, type Ref, required, withValue } from '../../schema/refs.ts'
import { validateNonNegative } from '../shapes/text-rules.ts'
import { countIndexes, sharedIndex } from './indexes.ts'
import { hasCondition, type Job } from './job-rules.ts'
import type { JobStatus } from './job-shapes.ts'

/** Rules on a status; most are asked only when what they are about has changed, so that what is stored can stay. */
export function* validateJobStatus(job: Job, old: Job, at: Ref<JobStatus>): Iterable<FieldError> {
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

/** What the conditions say of the end of a job agrees with each other and with the rest. */
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

/** What has been reached stays, and counters only grow. */
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
