import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CronJob } from '../../kinds/batch/cronjob.ts'
import type { Job } from '../../kinds/batch/job.ts'
import { jobFor, planStart, surplusJobs, trackJobs, withStarted } from './reconcile.ts'

const NOW = Date.parse('2026-07-01T12:00:30Z')
const minutes = (count: number) => NOW - 30_000 - count * 60_000
const text = (ms: number) => new Date(ms).toISOString().replace('.000', '')

const cron = (spec: object = {}, status: object = {}, metadata: object = {}): CronJob =>
  ({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick', namespace: 'default', uid: 'c1', creationTimestamp: text(minutes(10)), ...metadata },
    spec: {
      schedule: '* * * * *',
      concurrencyPolicy: 'Allow',
      jobTemplate: { metadata: { labels: { from: 'cron' }, annotations: { note: 'x' } }, spec: {} },
      ...spec,
    },
    status,
  }) as never
const job = (name: string, end?: 'Complete' | 'Failed', started = 5): Job =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default', uid: name, resourceVersion: '7' },
    status: {
      startTime: text(minutes(started)),
      ...(end && { conditions: [{ type: end, status: 'True' }] }),
      ...(end === 'Complete' && { completionTime: text(minutes(started - 1)) }),
    },
  }) as never
const active = (...names: string[]) => names.map(name => ({ name, namespace: 'default', uid: name }))
const said = (events: readonly { type: string; reason: string; message: string }[]) =>
  events.map(e => `${e.type} ${e.reason}: ${e.message}`)

test('the last start that was missed is made up for', () => {
  const plan = planStart(cron(), NOW)
  assert.deepEqual([plan.at, plan.againMs, plan.events], [minutes(0), 30_100, []])
  const none = planStart(cron({ schedule: '0 0 * * *' }), NOW)
  assert.deepEqual([none.at, none.againMs], [undefined, 12 * 3_600_000 - 30_000 + 100])
})

test('a start is made once', () => {
  assert.equal(planStart(cron({}, { lastScheduleTime: text(minutes(0)) }), NOW).at, undefined)
  const name = `tick-${minutes(0) / 60_000}`
  assert.equal(planStart(cron({}, { active: active(name) }), NOW).at, undefined)
  assert.equal(jobFor(cron(), minutes(0)).metadata?.name, name)
})

test('many missed starts are reported by an event, and starts past the deadline are skipped', () => {
  const long = cron({}, {}, { creationTimestamp: text(minutes(200)) })
  assert.deepEqual(said(planStart(long, NOW).events), [
    'Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
  ])
  assert.equal(planStart(long, NOW).at, minutes(0))
  assert.deepEqual(planStart(cron({ startingDeadlineSeconds: 60 }, {}, { creationTimestamp: text(minutes(200)) }), NOW).events, [])
  // Between the deadline and now there was no start.
  assert.equal(planStart(cron({ schedule: '55 11 * * *', startingDeadlineSeconds: 60 }), NOW).at, undefined)
})

test('the last of irregular starts is found where it is not older than the first ones are apart, as in Kubernetes', () => {
  const irregular = cron({ schedule: '30 6-16/4 * * *' }, { lastScheduleTime: '2026-06-28T14:30:00Z' })
  assert.equal(planStart(irregular, NOW).at, Date.parse('2026-07-01T10:30:00Z'))
  const dense = cron({ schedule: '0,1,2 10 * * *' }, { lastScheduleTime: '2026-06-28T10:02:00Z' })
  assert.equal(planStart(dense, NOW).at, undefined)
  assert.equal(planStart(cron({ schedule: '@every 7m' }), NOW).at, minutes(3))
})

test('jobs run beside each other, one after the other, or instead of each other', () => {
  assert.deepEqual(planStart(cron({}, { active: active('a') }), NOW).replaces, [])
  const forbidden = planStart(cron({ concurrencyPolicy: 'Forbid' }, { active: active('a') }), NOW)
  assert.equal(forbidden.at, undefined)
  assert.deepEqual(said(forbidden.events), [
    'Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid',
  ])
  assert.deepEqual(planStart(cron({ concurrencyPolicy: 'Replace' }, { active: active('a') }), NOW).replaces, active('a'))
})

test('nothing starts while a cron job is suspended or deleted, or its schedule makes no sense', () => {
  assert.deepEqual(planStart(cron({ suspend: true }), NOW), { replaces: [], events: [] })
  assert.deepEqual(planStart(cron({}, {}, { deletionTimestamp: text(NOW) }), NOW), { replaces: [], events: [] })
  const events = (spec: object) => said(planStart(cron(spec), NOW).events)
  assert.deepEqual(events({ schedule: '59 23 31 2 *' }), [
    'Warning InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
  ])
  assert.deepEqual(events({ schedule: 'x' }), [
    'Warning UnparseableSchedule: unparseable schedule: "x" : expected exactly 5 fields, found 1: [x]',
  ])
  assert.deepEqual(events({ timeZone: 'Mars/Base' }), [
    'Warning UnknownTimeZone: invalid timeZone: "Mars/Base": unknown time zone Mars/Base',
  ])
  assert.match(
    events({ schedule: 'TZ=UTC 0 0 1 1 *' })[0]!,
    /^Warning UnsupportedSchedule: CRON_TZ or TZ used in schedule "TZ=UTC 0 0 1 1 \*" is not/,
  )
})

test('a job knows for which time it was started, in the zone of the schedule', () => {
  const { metadata } = jobFor(cron({ timeZone: 'Europe/Berlin' }), minutes(0))
  assert.deepEqual(metadata?.annotations, { note: 'x', 'batch.kubernetes.io/cronjob-scheduled-timestamp': '2026-07-01T14:00:00+02:00' })
  assert.equal(
    jobFor(cron(), minutes(0)).metadata?.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
    '2026-07-01T12:00:00Z',
  )
  assert.deepEqual([metadata?.labels, metadata?.ownerReferences?.[0]?.kind], [{ from: 'cron' }, 'CronJob'])
  const status = withStarted({}, job('j'), minutes(0))
  assert.deepEqual(status, {
    active: [{ kind: 'Job', namespace: 'default', name: 'j', uid: 'j', apiVersion: 'batch/v1', resourceVersion: '7' }],
    lastScheduleTime: '2026-07-01T12:00:00Z',
  })
})

test('the status names the jobs that run and the last success', () => {
  const status = { active: active('a', 'b', 'gone', 'theirs') }
  const jobs = [job('a', 'Complete', 5), job('b'), job('c', 'Complete', 3), job('d', 'Failed'), job('e')]
  const tracked = trackJobs(cron({}, status), jobs, ({ name }) => name === 'theirs')
  assert.deepEqual(tracked.status, { active: active('b', 'theirs'), lastSuccessfulTime: text(minutes(2)) })
  assert.deepEqual(said(tracked.events), [
    'Normal SawCompletedJob: Saw completed job: a, condition: Complete',
    'Warning UnexpectedJob: Saw a job that the controller did not create or forgot: e',
    'Normal MissingJob: Active job went missing: gone',
  ])
})

test('the history limit keeps the latest finished jobs', () => {
  const jobs = [job('a', 'Complete', 1), job('b', 'Complete', 3), job('c', 'Complete', 2), job('d', 'Failed', 9), job('e')]
  const names = (spec: object) => surplusJobs(cron(spec), jobs).map(({ metadata }) => metadata.name)
  assert.deepEqual(names({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 }), ['b', 'c'])
  assert.deepEqual(names({ successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 0 }), ['d'])
  assert.deepEqual(names({}), [])
})
