/** Decides about a cron job: which finished jobs it keeps, which are active, and whether it starts another. */

import type { Draft } from '../../client/client.ts'
import type { Notice } from '../../client/event-recorder.ts'
import type { CronJob } from '../../kinds/batch/cronjob.ts'
import type { Job } from '../../kinds/batch/job.ts'
import { goQuote } from '../../lib/go-text.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { clockOf } from '../../lib/time-zone.ts'
import { finishedCondition } from '../job/job-state.ts'
import { controllerReference } from '../pods/pod-template.ts'
import { missedStarts, scheduleOf, untilNext, zoneFault } from './schedule.ts'

type Status = CronJob['status']
type Reference = NonNullable<Status['active']>[number]

const normal = (reason: string, message: string): Notice => ({ type: 'Normal', reason, message })
const warning = (reason: string, message: string): Notice => ({ type: 'Warning', reason, message })

const SCHEDULED_AT = 'batch.kubernetes.io/cronjob-scheduled-timestamp'
const GUIDE = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/'

/** The finished jobs that are more than a cron job keeps, the oldest first. */
export function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec
  const beyond = (type: string, limit: number | undefined) => {
    const finished = jobs.filter(({ status }) => finishedCondition(status)?.type === type).sort(byStart)
    return limit === undefined ? [] : finished.slice(0, Math.max(finished.length - limit, 0))
  }
  return [...beyond('Complete', successfulJobsHistoryLimit), ...beyond('Failed', failedJobsHistoryLimit)]
}

function byStart(a: Job, b: Job): number {
  const [start, other] = [millisecondsAt(a.status.startTime, Infinity), millisecondsAt(b.status.startTime, Infinity)]
  if (start !== other) return start < other ? -1 : 1
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1
}

/** Jobs that never started come last. */

export type Tracked = { readonly status: Status; readonly events: readonly Notice[] }

/** The status after a look at the jobs that a cron job controls. `exists` tells of the others that it names as active. */
export function trackJobs(cron: CronJob, jobs: readonly Job[], exists: (active: Reference) => boolean): Tracked {
  let { active = [], lastSuccessfulTime } = cron.status
  const events: Notice[] = []
  for (const job of jobs) {
    const { name = '', uid = '' } = job.metadata
    const isActive = active.some(reference => reference.uid === uid)
    const finished = finishedCondition(job.status)
    if (!finished && !isActive) events.push(warning('UnexpectedJob', `Saw a job that the controller did not create or forgot: ${name}`))
    if (!finished) continue
    if (isActive) {
      active = active.filter(reference => reference.uid !== uid)
      events.push(normal('SawCompletedJob', `Saw completed job: ${name}, condition: ${finished.type}`))
    }
    const { completionTime } = job.status
    const isLater = !lastSuccessfulTime || (completionTime && millisecondsAt(completionTime) > millisecondsAt(lastSuccessfulTime))
    if (finished.type === 'Complete' && completionTime && isLater) lastSuccessfulTime = completionTime
  }
  const own = new Set(jobs.map(({ metadata }) => metadata.uid))
  for (const reference of active) {
    if (own.has(reference.uid) || exists(reference)) continue
    active = active.filter(({ uid }) => uid !== reference.uid)
    events.push(normal('MissingJob', `Active job went missing: ${reference.name}`))
  }
  return { status: { ...withActive(cron.status, active), ...(lastSuccessfulTime && { lastSuccessfulTime }) }, events }
}

function withActive({ active: _, ...status }: Status, active: Reference[]): Status {
  return active.length > 0 ? { ...status, active } : status
}

/** The status after a job was deleted. */
export const withoutJob = (status: Status, uid: string): Status =>
  withActive(status, status.active?.filter(reference => reference.uid !== uid) ?? [])

export type Start = {
  /** The time for which a job is to be started; undefined when none is. */
  readonly at?: number
  /** Active jobs that it takes the place of. */
  readonly replaces: readonly Reference[]
  readonly events: readonly Notice[]
  /** In how many milliseconds to look again. */
  readonly againMs?: number | undefined
}

/** Whether a job is to be started now. */
export function planStart(cron: CronJob, now: number): Start {
  const { spec, metadata, status } = cron
  const events: Notice[] = []
  const none = (event?: Notice): Start => ({ replaces: [], events: event ? [...events, event] : events })
  if (metadata.deletionTimestamp) return none()
  const unknown = zoneFault(cron)
  if (unknown !== undefined) return none(warning('UnknownTimeZone', unknown))
  if (spec.suspend) return none()
  if (spec.schedule.includes('TZ')) events.push(warning('UnsupportedSchedule', zoneInSchedule(spec.schedule)))
  const parsed = scheduleOf(cron)
  if (!parsed.ok) return none(warning('UnparseableSchedule', `unparseable schedule: ${goQuote(spec.schedule)} : ${parsed.fault}`))
  const found = missedStarts(cron, parsed.schedule, { now, withinDeadline: true })
  if (!found.ok) return none(warning('InvalidSchedule', `invalid schedule: ${spec.schedule} : ${found.fault}`))
  const { last: at, count } = found.missed
  const againMs = untilNext(cron, parsed.schedule, now)
  const later = (event?: Notice): Start => ({ ...none(event), againMs })
  if (at === undefined) return later()
  if (count === 'many') events.push(warning('TooManyMissedTimes', TOO_MANY))
  const { startingDeadlineSeconds, concurrencyPolicy } = spec
  if (startingDeadlineSeconds !== undefined && at + Number(startingDeadlineSeconds) * 1000 < now)
    return later(warning('MissSchedule', `Missed scheduled time to start a job: ${new Date(at).toUTCString().replace('GMT', '+0000')}`))
  const { active = [], lastScheduleTime } = status
  const isStarted = active.some(({ name, namespace }) => name === jobName(cron, at) && namespace === metadata.namespace)
  if (isStarted || (lastScheduleTime && millisecondsAt(lastScheduleTime) === at)) return later()
  if (concurrencyPolicy === 'Forbid' && active.length > 0) return later(normal('JobAlreadyActive', ALREADY_ACTIVE))
  return { at, replaces: concurrencyPolicy === 'Replace' ? active : [], events, againMs }
}

const TOO_MANY = 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew'
const ALREADY_ACTIVE = 'Not starting job because prior execution is running and concurrency policy is Forbid'
const zoneInSchedule = (schedule: string) =>
  `CRON_TZ or TZ used in schedule ${goQuote(schedule)} is not officially supported, see ${GUIDE} for more details`

/** The same for the same time: a job cannot be started twice for one. */
const jobName = ({ metadata }: CronJob, at: number): string => `${metadata.name}-${Math.floor(at / 60_000)}`

export function jobFor(cron: CronJob, at: number): Draft<Job> {
  const { metadata, spec } = cron.spec.jobTemplate
  const scheduledAt = clockOf(cron.spec.timeZone ?? '').format(at)
  return {
    metadata: {
      name: jobName(cron, at),
      namespace: cron.metadata.namespace,
      labels: { ...metadata.labels },
      annotations: { ...metadata.annotations, [SCHEDULED_AT]: scheduledAt },
      ownerReferences: [controllerReference(cron)],
    },
    spec,
  }
}

/** The status after a job was started. */
export function withStarted(status: Status, { apiVersion, kind, metadata }: Job, at: number): Status {
  const { name, namespace, uid, resourceVersion } = metadata
  const reference = { kind, namespace, name, uid, apiVersion, resourceVersion } as Reference
  return { ...status, active: [...(status.active ?? []), reference], lastScheduleTime: timestampOf(at) }
}
