/** Computes the start times of a cron job, and those that it has missed. */
import { createHash } from 'node:crypto'
import type { CronJob } from '../../kinds/batch/cronjob.ts'
import { type CronSchedule, parseCron } from '../../lib/cron.ts'
import { goQuote } from '../../lib/go-text.ts'
import { LruCache } from '../../lib/lru-cache.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { timeZoneFault } from '../../lib/time-zone.ts'

/** Jobs are looked at a little late: clocks differ. */
const LATE_MS = 100
/** From how many missed starts on there is a warning. */
const MANY = 100

type Missed = {
  /** From when on starts are considered. */
  readonly since: number
  /** The last start that is due; undefined when none is. */
  readonly last: number | undefined
  readonly count: 'none' | 'few' | 'many'
}
type Found = { readonly ok: true; readonly missed: Missed } | { readonly ok: false; readonly fault: string }

/** The schedule of a cron job in its time zone. */
export function scheduleOf({ spec }: CronJob): ReturnType<typeof parseCron> {
  const { schedule, timeZone = '' } = spec
  // A zone inside the schedule goes before the other, which is not there then.
  const zone = timeZoneFault(timeZone) === undefined ? timeZone : ''
  if (schedule.length < LONG) return parseCron(schedule, zone)
  const key = `${zone} ${createHash('sha256').update(schedule).digest('base64')}`
  let parsed = PARSED.get(key)
  if (!parsed) PARSED.set(key, (parsed = parseCron(schedule, zone)))
  return parsed
}
/** A schedule may be as long as a request, and is looked at whenever a job changes: those of so many characters are kept, by their digests. */
const LONG = 1024
const PARSED = new LruCache<string, ReturnType<typeof parseCron>>(1000)

type Range = { readonly now: number; readonly withinDeadline: boolean }

/**
 * The starts that were due between the last one and now. They are not listed one by one: how many there are is estimated from the
 * time between the first two, and the search for the last begins two such times before now.
 */
export function missedStarts({ metadata, spec, status }: CronJob, schedule: CronSchedule, { now, withinDeadline }: Range): Found {
  let since = millisecondsAt(status.lastScheduleTime ?? metadata.creationTimestamp!)
  const { startingDeadlineSeconds } = spec
  if (withinDeadline && startingDeadlineSeconds !== undefined) since = Math.max(since, now - Number(startingDeadlineSeconds) * 1000)
  const first = schedule.next(since)
  const second = first === undefined ? undefined : schedule.next(first)
  if (first !== undefined && now < first) return found({ since, last: undefined, count: 'none' })
  if (second !== undefined && now < second) return found({ since, last: first, count: 'none' })
  const interval = first === undefined || second === undefined ? 0 : Math.round((second - first) / 1000)
  if (first === undefined || interval < 1) return { ok: false, fault: 'time difference between two schedules is less than 1 second' }
  const number = Math.floor(Math.floor((now - first) / 1000) / interval) + 1
  let last: number | undefined
  for (let time = schedule.next(first + (number - 2) * interval * 1000); time !== undefined && time <= now; time = schedule.next(time))
    last = time
  return found({ since, last, count: number > MANY ? 'many' : 'few' })
}

const found = (missed: Missed): Found => ({ ok: true, missed })

/** In how many milliseconds the next start is due; undefined when there is none. */
export function untilNext(cron: CronJob, schedule: CronSchedule, now: number): number | undefined {
  const result = missedStarts(cron, schedule, { now, withinDeadline: false })
  const after = !result.ok ? now : (result.missed.last ?? (result.missed.count === 'none' ? result.missed.since : now))
  const next = schedule.next(after)
  return next === undefined ? undefined : Math.max(next + LATE_MS - now, 0)
}

/** The message about a time zone that does not exist. */
export function zoneFault({ spec: { timeZone } }: CronJob): string | undefined {
  const fault = timeZone === undefined ? undefined : timeZoneFault(timeZone)
  return fault === undefined ? undefined : `invalid timeZone: ${goQuote(timeZone!)}: ${fault}`
}
