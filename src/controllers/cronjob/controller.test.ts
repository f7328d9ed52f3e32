import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { cutOffController } from '../../../test/kits/cut-off.ts'
import { CronJob } from '../../kinds/batch/cronjob.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Event } from '../../kinds/core/event.ts'
import { cronJobController } from './controller.ts'

const NAMED = { namespace: 'default', name: 'tick' }
const template = { metadata: {}, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
const draft = (spec: object = {}) => ({
  metadata: NAMED,
  spec: { schedule: '*/5 * * * *', jobTemplate: { metadata: {}, spec: { template } }, ...spec },
})
const START = Date.parse('2026-07-01T12:01:00Z')

/** A cron job whose first start is due at 12:05, and a clock. */
async function openCron(t: Scope, spec: object = {}, options: Parameters<typeof openControllerBench>[2] = {}) {
  const clock = { now: START }
  const bench = await openControllerBench(t, [CronJob, Job, Event], {
    ...options,
    now: () => new Date(clock.now),
  })
  const [crons, jobs, events] = [bench.client.of(CronJob), bench.client.of(Job), bench.client.of(Event)]
  await crons.create(draft(spec))
  await crons.patch(NAMED, { status: { lastScheduleTime: '2026-07-01T12:00:00Z' } }, { subresource: 'status' })
  const names = () =>
    Array.from(jobs.list(), ({ metadata }) => metadata.name!.replace('tick-', '')).map(minute => (Number(minute) * 60_000 - START) / 60_000)
  const said = () => Array.from(events.list(), ({ reason }) => reason)
  return { ...bench, clock, crons, jobs, names, said }
}
/** Something changes: the controller looks again. */
const touch = (crons: Awaited<ReturnType<typeof openCron>>['crons'], at: number) =>
  crons.patch(NAMED, { metadata: { annotations: { at: String(at) } } })

test('a job is created at its scheduled time, and listed as active until it has finished', async t => {
  const { clock, crons, jobs, names, run, said } = await openCron(t)
  const running = run(cronJobController)
  await running.idle()
  assert.deepEqual(names(), [])
  clock.now = START + 5 * 60_000
  await touch(crons, clock.now)
  await running.idle()
  assert.deepEqual(names(), [4])
  const { active, lastScheduleTime } = crons.get(NAMED)!.status
  assert.deepEqual([active?.length, lastScheduleTime], [1, '2026-07-01T12:05:00Z'])
  const [job] = [...jobs.list()]
  const conditions = ['SuccessCriteriaMet', 'Complete'].map(type => ({
    type,
    status: 'True',
    lastProbeTime: lastScheduleTime,
    lastTransitionTime: lastScheduleTime,
  }))
  await jobs.patch(
    job!.metadata,
    { status: { conditions, startTime: lastScheduleTime, completionTime: '2026-07-01T12:06:00Z' } },
    { subresource: 'status' },
  )
  await running.idle()
  assert.deepEqual(crons.get(NAMED)!.status, { lastScheduleTime: '2026-07-01T12:05:00Z', lastSuccessfulTime: '2026-07-01T12:06:00Z' })
  await running.idle()
  assert.deepEqual(said().sort(), ['SawCompletedJob', 'SuccessfulCreate'])
})

test('with Replace, the job that runs is deleted', async t => {
  const { clock, crons, names, run } = await openCron(t, { concurrencyPolicy: 'Replace' })
  const running = run(cronJobController)
  for (const minutes of [5, 10]) {
    clock.now = START + minutes * 60_000
    await touch(crons, clock.now)
    await running.idle()
  }
  assert.deepEqual(names(), [9])
  assert.equal(crons.get(NAMED)!.status.active?.length, 1)
})

test('a schedule that changes is about the future', async t => {
  const { clock, crons, names, run } = await openCron(t, { schedule: '0 0 1 1 *' })
  const running = run(cronJobController)
  await running.idle()
  clock.now = START + 60_000
  await crons.patch(NAMED, { spec: { schedule: '1 12 * * *' } })
  await running.idle()
  assert.deepEqual(names(), [])
})

test('wherever the server is killed, a job is started once and known', async () => {
  const cutOff = cutOffController('cronjob-controller')
  for (let writes = 0; writes < 4; writes++) {
    const scope: (() => unknown)[] = []
    const bench = await openCron({ after: undo => scope.push(undo) }, {}, { authorizer: cutOff.authorizer })
    bench.clock.now = START + 5 * 60_000
    await cutOff.run(bench, cronJobController, writes)
    await bench.run(cronJobController).idle()
    assert.deepEqual([bench.names(), bench.crons.get(NAMED)!.status.active?.length], [[4], 1], `after ${writes}`)
    for (const undo of scope) await undo()
  }
})
