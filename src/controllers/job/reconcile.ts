/**
 * Reconciles a job in these steps, between which results are written to the API:
 *
 *     assess          counts what the pods say, and whether the job is to end
 *     planPods        which pods to delete or to create                            ─→ pods are deleted, created
 *     trackPods       the status that names the pods that have ended               ─→ the status is written, then the finalizers go
 *     countReleased   the status that counts them, and says that the job is over   ─→ the status is written
 *
 * A pod that has ended keeps its finalizer until the status names it: whenever the server is killed, it is counted exactly once.
 */

import type { Notice } from '../../client/event-recorder.ts'
import type { Job } from '../../kinds/batch/job.ts'
import type { JobSpec, JobStatus } from '../../kinds/batch/job-shapes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { conditionOf, isSameCondition, withCondition } from '../../schema/conditions.ts'
import { earliestFirst } from '../pods/deletion-order.ts'
import { isActive, isReady, isTerminating } from '../pods/pod-state.ts'
import { type FailureRecord, NO_FAILURES, recordEnds, waitAfter } from './back-off.ts'
import { judgeFailure } from './failure-policy.ts'
import {
  firstMissing,
  formatIndexSet,
  hasIndex,
  type IndexSet,
  parseIndexSet,
  sharedSize,
  sizeOf,
  union,
  withIndexes,
} from './index-set.ts'
import { completionIndex, earlierFailures, endOf, isFailed, isIndexed, isSucceeded, isTracked, replacesOnlyFailed } from './job-pod.ts'
import type { JobCondition } from './job-state.ts'

/** How a job is to end. It is said at first by a condition that announces the end, and by the last one when all pods are gone. */
type Ending = { readonly outcome: 'Complete' | 'Failed'; readonly reason: string; readonly message: string }
const ANNOUNCED = { Complete: 'SuccessCriteriaMet', Failed: 'FailureTarget' } as const

/** Pods that may be named by a status at a time, and that may be created or deleted at a time: no job keeps others waiting. */
const MAX_UNCOUNTED = 500
const MAX_PODS_AT_ONCE = 500

export type Situation = {
  readonly job: Job
  /** All pods that the job controls. */
  readonly pods: readonly Pod[]
  readonly now: number
  /** The earlier failures; undefined when none are known. */
  readonly record: FailureRecord | undefined
  /** Whether a job that is suspended forgets when it started. */
  readonly forgetsStart: boolean
}

type Indexes = {
  /** Those the status names, and those of pods that have succeeded since as well. */
  readonly before: IndexSet
  readonly succeeded: IndexSet
  /** Undefined unless failures are counted for each index. */
  readonly failed: IndexSet | undefined
  /** Pods that stay until their index has another, which takes over how often the index failed. */
  readonly kept: ReadonlyMap<number, Pod>
}

export type Assessment = Omit<Situation, 'record'> & {
  readonly active: readonly Pod[]
  readonly terminating: number
  readonly succeeded: number
  readonly startTime: string | undefined
  readonly record: FailureRecord
  readonly indexes: Indexes | undefined
  readonly ending: Ending | undefined
  /** In how many milliseconds the deadline of the job is over. */
  readonly deadlineMs: number | undefined
}

/** Counts what the pods of a job say, and whether the job is to end. */
export function assess({ job, pods, now, record, forgetsStart }: Situation): Assessment {
  const { spec, status } = job
  const uncounted = uncountedOf(status)
  const isNew = (pod: Pod, counted: ReadonlySet<string>) => isTracked(pod) && !counted.has(pod.metadata.uid!) && isCountable(pod, spec)
  const newSucceeded = pods.filter(pod => isNew(pod, uncounted.succeeded) && isSucceeded(pod))
  const newFailed = pods.filter(pod => isNew(pod, uncounted.failed) && isFailed(pod, spec))
  const failed = (status.failed ?? 0) + newFailed.filter(pod => judgeFailure(spec, pod).counts).length + uncounted.failed.size
  const indexes = isIndexed(spec) ? assessIndexes(job, pods) : undefined
  const startTime = status.startTime ?? (spec.suspend ? undefined : timestampOf(now))
  const deadlineMs = remainingMs(spec, startTime, now)
  return {
    job,
    pods,
    now,
    forgetsStart,
    active: pods.filter(isActive),
    terminating: pods.filter(isTerminating).length,
    succeeded: indexes ? sizeOf(indexes.succeeded) : (status.succeeded ?? 0) + newSucceeded.length + uncounted.succeeded.size,
    startTime,
    // Without a memory, the pods that are still there tell.
    record: record
      ? recordEnds(record, newSucceeded, newFailed)
      : recordEnds(
          NO_FAILURES,
          pods.filter(isSucceeded),
          pods.filter(pod => isFailed(pod, spec)),
        ),
    indexes,
    ending: announcedEnding(status) ?? failureOf(job, pods, { failed, deadlineMs, indexes }) ?? successOf(spec, indexes),
    deadlineMs,
  }
}

const uncountedOf = ({ uncountedTerminatedPods: { succeeded = [], failed = [] } = {} }: JobStatus) => ({
  succeeded: new Set(succeeded),
  failed: new Set(failed),
})

/** Pods of indexed jobs count only when their index is one of the job's. */
const isCountable = (pod: Pod, spec: JobSpec): boolean => !isIndexed(spec) || completionIndex(pod, spec.completions) !== undefined

function remainingMs({ activeDeadlineSeconds, suspend }: JobSpec, startTime: string | undefined, now: number): number | undefined {
  if (activeDeadlineSeconds === undefined || suspend || !startTime) return undefined
  return millisecondsAt(startTime) + Number(activeDeadlineSeconds) * 1000 - now
}

function assessIndexes({ spec, status }: Job, pods: readonly Pod[]): Indexes {
  const { completions = 0, backoffLimitPerIndex } = spec
  const uncounted = pods.filter(isTracked)
  const indexesOf = (chosen: readonly Pod[]) => chosen.flatMap(pod => completionIndex(pod, completions) ?? [])
  const before = parseIndexSet(status.completedIndexes ?? '', completions)
  const succeeded = withIndexes(before, indexesOf(uncounted.filter(isSucceeded)))
  if (backoffLimitPerIndex === undefined) return { before, succeeded, failed: undefined, kept: new Map() }
  const failed = withIndexes(
    parseIndexSet(status.failedIndexes ?? '', completions),
    indexesOf(uncounted.filter(pod => failsItsIndex(pod, spec))),
  )
  const taken = withIndexes(union(succeeded, failed), indexesOf(pods.filter(isActive)))
  const kept = new Map<number, Pod>()
  for (const pod of uncounted) {
    const index = isFailed(pod, spec) ? completionIndex(pod, completions) : undefined
    if (index === undefined || hasIndex(taken, index)) continue
    const other = kept.get(index)
    if (!other || (failuresWith(other) <= failuresWith(pod) && endOf(pod) >= endOf(other))) kept.set(index, pod)
  }
  return { before, succeeded, failed, kept }
}

function failsItsIndex(pod: Pod, spec: JobSpec): boolean {
  if (!isFailed(pod, spec)) return false
  const { counts, failsIndex } = judgeFailure(spec, pod)
  return failsIndex || (counts && earlierFailures(pod).counted >= spec.backoffLimitPerIndex!)
}

/** How often an index has failed, up to and with this pod but for one. */
function failuresWith(pod: Pod): number {
  const { counted, ignored } = earlierFailures(pod)
  return counted + ignored
}

/** An outcome that was announced stays. */
function announcedEnding({ conditions = [] }: JobStatus): Ending | undefined {
  for (const outcome of ['Complete', 'Failed'] as const) {
    const condition = conditions.find(({ type, status }) => type === ANNOUNCED[outcome] && status === 'True')
    if (condition) return { outcome, reason: condition.reason ?? '', message: condition.message ?? '' }
  }
  return undefined
}

type Counts = Pick<Assessment, 'deadlineMs' | 'indexes'> & { readonly failed: number }

function failureOf({ spec }: Job, pods: readonly Pod[], { failed, deadlineMs, indexes }: Counts): Ending | undefined {
  const end = (reason: string, message: string): Ending => ({ outcome: 'Failed', reason, message })
  for (const pod of spec.podFailurePolicy ? pods : []) {
    const why = isFailed(pod, spec) ? judgeFailure(spec, pod).failsJob : undefined
    if (why !== undefined) return end('PodFailurePolicy', why)
  }
  if (failed > spec.backoffLimit! || restartsTooOften(spec, pods))
    return end('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  if (deadlineMs !== undefined && deadlineMs <= 0) return end('DeadlineExceeded', 'Job was active longer than specified deadline')
  if (!indexes?.failed) return undefined
  const lost = sizeOf(indexes.failed)
  if (spec.maxFailedIndexes !== undefined && lost > spec.maxFailedIndexes)
    return end('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
  if (lost > 0 && lost + sizeOf(indexes.succeeded) >= (spec.completions ?? 0)) return end('FailedIndexes', 'Job has failed indexes')
  return undefined
}

/** Where the node restarts containers, every restart is a failure. */
function restartsTooOften({ template, backoffLimit = 0 }: JobSpec, pods: readonly Pod[]): boolean {
  if (template.spec.restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const { status } of pods)
    if (status.phase === 'Running' || status.phase === 'Pending')
      for (const { restartCount = 0 } of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
        restarts += restartCount
  return backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit
}

/** Whether enough indexes have succeeded by the job's own rules. */
function successOf({ successPolicy, completions = 0 }: JobSpec, indexes: Indexes | undefined): Ending | undefined {
  if (!indexes || indexes.succeeded.length === 0) return undefined
  for (const [i, { succeededIndexes, succeededCount }] of (successPolicy?.rules ?? []).entries()) {
    const required = succeededIndexes === undefined ? undefined : parseIndexSet(succeededIndexes, completions)
    if (required?.length === 0) continue
    const reached = required ? sharedSize(required, indexes.succeeded) : sizeOf(indexes.succeeded)
    const isReached = (required && reached === sizeOf(required)) || (succeededCount !== undefined && reached >= succeededCount)
    if (isReached) return { outcome: 'Complete', reason: 'SuccessPolicy', message: `Matched rules at index ${i}` }
  }
  return undefined
}

/** A pod to create: for an index of the job, and in place of another, where there are such. */
export type NewPod = { readonly index?: number; readonly replaced?: Pod }

export type PodPlan = {
  readonly remove: readonly Pod[]
  /** Whether the removed pods count as failed; if not, they lose their finalizer before they are deleted. */
  readonly removedCount: boolean
  readonly create: readonly NewPod[]
  /** In how many milliseconds there may be pods to create that have to wait now. */
  readonly waitMs: number | undefined
}

const NOTHING: PodPlan = { remove: [], removedCount: false, create: [], waitMs: undefined }

/** Which pods to delete and which to create; never both at a time. */
export function planPods(assessment: Assessment): PodPlan {
  const { job, active, ending } = assessment
  if (ending) return { ...NOTHING, remove: active, removedCount: true }
  if (job.metadata.deletionTimestamp) return NOTHING
  if (job.spec.suspend) return { ...NOTHING, remove: active }
  const wanted = wantedActive(assessment)
  const remove = superfluous(job.spec, active, Math.max(active.length - wanted, 0)).slice(0, MAX_PODS_AT_ONCE)
  if (remove.length > 0) return { ...NOTHING, remove }
  const waiting = replacesOnlyFailed(job.spec) ? assessment.terminating : 0
  return planCreation(assessment, Math.min(wanted - waiting - active.length, MAX_PODS_AT_ONCE))
}

/** A job without completions is a queue of work: after the first success, no more pods are begun. */
function wantedActive({ job: { spec }, active, succeeded }: Assessment): number {
  const { completions, parallelism = 1 } = spec
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(Math.min(completions - succeeded, parallelism), 0)
}

/** At least so many pods, those first that have achieved least; of indexed jobs also all that no index needs. */
function superfluous(spec: JobSpec, active: readonly Pod[], atLeast: number): Pod[] {
  const needed = isIndexed(spec) ? onePerIndex(active, spec.completions) : new Set(active)
  const remove = active.filter(pod => !needed.has(pod))
  const more = atLeast - remove.length
  return more > 0 ? [...remove, ...earliestFirst([...needed]).slice(0, more)] : remove
}

/** For each index the pod that has achieved most. */
function onePerIndex(active: readonly Pod[], completions: number | undefined): Set<Pod> {
  const chosen = new Map<number, Pod>()
  for (const pod of earliestFirst(active)) {
    const index = completionIndex(pod, completions)
    if (index !== undefined) chosen.set(index, pod)
  }
  return new Set(chosen.values())
}

function planCreation(assessment: Assessment, count: number): PodPlan {
  const { job, pods, active, indexes, record, now } = assessment
  const { spec } = job
  if (count <= 0) return NOTHING
  if (!indexes?.failed) {
    const waitMs = waitAfter(record, now)
    if (waitMs > 0) return { ...NOTHING, waitMs }
  }
  if (!indexes) return { ...NOTHING, create: Array.from({ length: count }, () => ({})) }
  const busy = replacesOnlyFailed(spec) ? pods.filter(pod => isActive(pod) || isTerminating(pod)) : active
  const taken = withIndexes(
    union(indexes.succeeded, indexes.failed ?? []),
    busy.flatMap(pod => completionIndex(pod) ?? []),
  )
  const create: NewPod[] = []
  let waitMs = Number.POSITIVE_INFINITY
  for (const index of firstMissing(taken, spec.completions ?? 0, count)) {
    const replaced = indexes.kept.get(index)
    const ms = replaced ? waitAfter({ failures: failuresWith(replaced) + 1, lastAt: endOf(replaced) }, now) : 0
    if (ms === 0) create.push({ index, ...(replaced && { replaced }) })
    else waitMs = Math.min(waitMs, ms)
  }
  return { ...NOTHING, create, waitMs: Number.isFinite(waitMs) ? waitMs : undefined }
}

/** The outcome of a plan. */
export type PodOutcome = { readonly removed: readonly Pod[]; readonly created: number }

export type Progress = {
  readonly status: JobStatus
  /** Pods that lose their finalizer once the status is written. */
  readonly release: readonly Pod[]
  readonly events: readonly Notice[]
  readonly ending: Ending | undefined
  /** The pods that had their finalizer before. */
  readonly tracked: ReadonlySet<string>
}

/** The status that names the pods that have ended since the last time. */
export function trackPods(assessment: Assessment, plan: PodPlan, { removed, created }: PodOutcome): Progress {
  const { job, pods, now, indexes } = assessment
  const active = assessment.active.length - removed.length + created
  const settled = settle(assessment, { active, isDone: removed.length === plan.remove.length })
  const tracked = new Set(pods.filter(isTracked).map(({ metadata }) => metadata.uid!))
  const named = nameEnded({ ...assessment, ending: settled.ending }, tracked)
  const { startTime: _, ...stored } = counted(job.status, tracked)
  const { succeeded = [], failed = [] } = stored.uncountedTerminatedPods ?? {}
  const uncounted = { succeeded: [...succeeded, ...named.succeeded], failed: [...failed, ...named.failed] }
  const completed = indexes && withIndexes(indexes.succeeded, named.indexes)
  const { ending } = settled
  const announced = ending && withStatement(settled.conditions, { ...ending, type: ANNOUNCED[ending.outcome], status: 'True', now })
  const conditions = announced ?? settled.conditions
  return {
    status: trimmed({
      ...stored,
      ...(conditions.length > 0 && { conditions: [...conditions] }),
      ...(settled.startTime && { startTime: settled.startTime }),
      active,
      ready: assessment.active.filter(isReady).length - removed.filter(isReady).length,
      terminating: assessment.terminating + removed.length,
      uncountedTerminatedPods: present(uncounted),
      ...(completed && { succeeded: sizeOf(completed), completedIndexes: formatIndexSet(completed) }),
      ...(indexes?.failed && { failedIndexes: formatIndexSet(indexes.failed) }),
    }),
    release: named.release,
    events: settled.events,
    // Where not all are named, the job is not over yet.
    ending: named.isComplete ? ending : undefined,
    tracked,
  }
}

/** As it is stored: without numbers that are zero and texts that are empty. */
function trimmed(status: JobStatus): JobStatus {
  const { active, succeeded, failed, completedIndexes, ...rest } = status
  return {
    ...rest,
    ...(active && { active }),
    ...(succeeded && { succeeded }),
    ...(failed && { failed }),
    ...(completedIndexes && { completedIndexes }),
  }
}

const present = ({ succeeded, failed }: { succeeded: string[]; failed: string[] }) => ({
  ...(succeeded.length > 0 && { succeeded }),
  ...(failed.length > 0 && { failed }),
})

type Settled = Pick<Assessment, 'startTime' | 'ending'> & {
  readonly conditions: readonly JobCondition[]
  readonly events: readonly Notice[]
}

/** Whether the job is complete, suspended or resumed, now that its pods are as planned. */
function settle(assessment: Assessment, { active, isDone }: { active: number; isDone: boolean }): Settled {
  const { job, now, succeeded, startTime, ending, forgetsStart } = assessment
  const { spec, status, metadata } = job
  const conditions = status.conditions ?? []
  // Pods that could not be deleted may still end: they are counted before the job is over.
  if (ending) return { conditions, startTime, ending: isDone ? ending : undefined, events: [] }
  const isComplete = active === 0 && (spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions)
  if (isComplete) return { conditions, startTime, ending: COMPLETE, events: [] }
  const state = spec.suspend ? SUSPENDED : RESUMED
  const isKnown = conditionOf(conditions, 'Suspended') !== undefined
  const changed = withStatement(conditions, { ...state.condition, now })
  if (metadata.deletionTimestamp || changed === conditions || (!spec.suspend && !isKnown))
    return { conditions, startTime, ending: undefined, events: [] }
  // A resumed job starts again: its deadline counts from then.
  const restart = spec.suspend ? (forgetsStart ? undefined : startTime) : timestampOf(now)
  return { conditions: changed, startTime: restart, ending: undefined, events: [state.event] }
}

const COMPLETE: Ending = { outcome: 'Complete', reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods' }
const SUSPENDED = {
  condition: { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
  event: { type: 'Normal', reason: 'Suspended', message: 'Job suspended' },
} as const
const RESUMED = {
  condition: { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' },
  event: { type: 'Normal', reason: 'Resumed', message: 'Job resumed' },
} as const

type Named = {
  readonly succeeded: readonly string[]
  readonly failed: readonly string[]
  readonly indexes: readonly number[]
  readonly release: readonly Pod[]
  readonly isComplete: boolean
}

/** Which pods have ended, as far as they are not counted and the status has room for them. */
function nameEnded({ job, pods, indexes, ending }: Assessment, tracked: ReadonlySet<string>): Named {
  const { spec, status, metadata } = job
  const uncounted = uncountedOf(status)
  const room = MAX_UNCOUNTED - [...uncounted.succeeded, ...uncounted.failed].filter(uid => tracked.has(uid)).length
  const named = { succeeded: [] as string[], failed: [] as string[], indexes: [] as number[], release: [] as Pod[] }
  for (const pod of indexes ? byIndex(pods) : pods) {
    if (!isTracked(pod)) continue
    const uid = pod.metadata.uid!
    const hasFailed = isFailed(pod, spec)
    const index = completionIndex(pod, spec.completions)
    const isKept = index !== undefined && indexes?.kept.get(index) === pod
    const isOver = metadata.deletionTimestamp || ending || isSucceeded(pod) || (hasFailed && !isKept)
    if (!isOver) continue
    named.release.push(pod)
    if (isSucceeded(pod) && !uncounted.failed.has(uid)) {
      if (!indexes) {
        if (!uncounted.succeeded.has(uid)) named.succeeded.push(uid)
      } else if (index !== undefined && !hasIndex(indexes.before, index)) named.indexes.push(index)
    } else if (hasFailed || ending?.outcome === 'Failed') {
      // When a job has failed, so has every pod that has not ended.
      const isCounted = uncounted.failed.has(uid) || !isCountable(pod, spec)
      if (!isCounted && judgeFailure(spec, pod).counts) named.failed.push(uid)
    }
    if (named.indexes.length + named.succeeded.length + named.failed.length >= room) return { ...named, isComplete: false }
  }
  return { ...named, isComplete: true }
}

const byIndex = (pods: readonly Pod[]): Pod[] => [...pods].sort((a, b) => (completionIndex(a) ?? -1) - (completionIndex(b) ?? -1))

/** Moves pods that have lost their finalizer from those that the status names to those that it counts. */
function counted(status: JobStatus, tracked: ReadonlySet<string>): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  const left = { succeeded: succeeded.filter(uid => tracked.has(uid)), failed: failed.filter(uid => tracked.has(uid)) }
  return trimmed({
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - left.succeeded.length,
    failed: (status.failed ?? 0) + failed.length - left.failed.length,
    uncountedTerminatedPods: present(left),
  })
}

export type Conclusion = { readonly status: JobStatus; readonly events: readonly Notice[] }

/** The status that counts the pods that have lost their finalizer, and says that the job is over when nothing is left of it. */
export function countReleased(job: Job, progress: Progress, { released, now }: { released: ReadonlySet<string>; now: number }): Conclusion {
  const { tracked, ending } = progress
  const status = counted(progress.status, new Set([...tracked].filter(uid => !released.has(uid))))
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {}
  if (!ending || succeeded.length + failed.length > 0 || (status.terminating ?? 0) > 0) return { status, events: [] }
  const { outcome, reason, message } = ending
  const conditions = withStatement(status.conditions ?? [], { type: outcome, status: 'True', reason, message, now })
  if (outcome === 'Failed') return { status: { ...status, conditions: [...conditions] }, events: [{ type: 'Warning', reason, message }] }
  const isTooMuch = job.spec.completions !== undefined && (status.succeeded ?? 0) > job.spec.completions
  return {
    status: { ...status, conditions: [...conditions], completionTime: timestampOf(now) },
    events: [...(isTooMuch ? [TOO_MANY] : []), { type: 'Normal', reason: 'Completed', message: 'Job completed' }],
  }
}

const TOO_MANY: Notice = {
  type: 'Warning',
  reason: 'TooManySucceededPods',
  message: 'Too many succeeded pods running after completion count reached',
}

type NewCondition = {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly now: number
}

/** The conditions with one set; the same list when it is set already. */
function withStatement(conditions: readonly JobCondition[], { type, status, reason, message, now }: NewCondition): readonly JobCondition[] {
  if (isSameCondition(conditionOf(conditions, type), { status, reason, message })) return conditions
  const time = timestampOf(now)
  return withCondition(conditions, { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message })
}
