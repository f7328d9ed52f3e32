import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { cutOffController } from '../../../test/kits/cut-off.ts'
import { endingKubelet } from '../../../test/kits/fake-kubelet.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Event } from '../../kinds/core/event.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { jobController } from './controller.ts'
import { TRACKING_FINALIZER } from './job-pod.ts'
import { isFinished } from './job-state.ts'

const NAMED = { namespace: 'default', name: 'work' }
const template = { metadata: {}, spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
const draft = (spec: object) => ({ metadata: NAMED, spec: { template, ...spec } })

async function openJobs(t: Scope, options: Parameters<typeof openControllerBench>[2] = {}) {
  const bench = await openControllerBench(t, [Job, Pod, Event], options)
  const [jobs, pods] = [bench.client.of(Job), bench.client.of(Pod)]
  const finished = () =>
    becomes(
      () => jobs.get(NAMED)!,
      job => isFinished(job),
    )
  return { ...bench, jobs, pods, finished }
}
const tracked = (pods: Iterable<Pod>) => [...pods].filter(({ metadata }) => metadata.finalizers?.includes(TRACKING_FINALIZER)).length

test('a job runs pods until enough have succeeded, with events', async t => {
  const { jobs, pods, run, finished, client } = await openJobs(t)
  await jobs.create(draft({ completions: 5, parallelism: 2 }))
  const running = run(jobController)
  run(endingKubelet())
  const { status } = await finished()
  assert.deepEqual([status.succeeded, status.active, status.ready, status.terminating], [5, undefined, 0, 0])
  await running.idle()
  assert.deepEqual([pods.count(), tracked(pods.list())], [5, 0])
  const reasons = Array.from(client.of(Event).list(), ({ reason }) => reason).sort()
  assert.deepEqual(reasons, ['Completed', ...Array(5).fill('SuccessfulCreate')])
})

test('wherever the server is killed, no pod is counted twice or created beyond what is needed', async () => {
  const cutOff = cutOffController('job-controller')
  for (let writes = 0; writes < 24; writes++)
    for (const mode of ['Indexed', 'NonIndexed']) {
      const scope: (() => unknown)[] = []
      const bench = await openJobs({ after: undo => scope.push(undo) }, { authorizer: cutOff.authorizer })
      const { jobs, pods, run, finished } = bench
      await jobs.create(draft({ completions: 4, parallelism: 2, completionMode: mode }))
      run(endingKubelet())
      await cutOff.run(bench, jobController, writes)
      const next = run(jobController)
      const { status } = await finished()
      await next.idle()
      assert.deepEqual(
        [status.succeeded, status.failed, pods.count(), tracked(pods.list())],
        [4, undefined, 4, 0],
        `${mode} after ${writes}`,
      )
      if (mode === 'Indexed') assert.equal(status.completedIndexes, '0-3')
      for (const undo of scope) await undo()
    }
})

test('pods without a controller are adopted with their finalizer, and released without it', async t => {
  const { jobs, pods, run } = await openJobs(t)
  await jobs.create(draft({ completions: 2, parallelism: 2 }))
  const running = run(jobController)
  await running.idle()
  const [{ metadata }] = [...pods.list()] as [Pod]
  await pods.patch(metadata, { metadata: { ownerReferences: null, finalizers: null } })
  await running.idle()
  const adopted = pods.get(metadata)!
  assert.deepEqual([adopted.metadata.ownerReferences?.[0]?.name, tracked([adopted])], ['work', 1])
  await pods.patch(metadata, { metadata: { labels: null } })
  await running.idle()
  const released = pods.get(metadata)!
  assert.deepEqual([released.metadata.ownerReferences, tracked([released]), pods.count()], [undefined, 0, 3])
})

test('pods of a job that is gone lose their finalizer', async t => {
  const { jobs, pods, run } = await openJobs(t)
  await jobs.create(draft({ completions: 2, parallelism: 2 }))
  const running = run(jobController)
  await running.idle()
  await jobs.delete(jobs.get(NAMED)!, { propagationPolicy: 'Background' })
  await running.idle()
  assert.deepEqual([jobs.count(), pods.count(), tracked(pods.list())], [0, 2, 0])
})

test('a job that is managed by another controller is ignored', async t => {
  const { jobs, pods, run } = await openJobs(t)
  await jobs.create(draft({ managedBy: 'example.com/other' }))
  await run(jobController).idle()
  assert.deepEqual([pods.count(), jobs.get(NAMED)!.status], [0, {}])
})

test('an index that fails too often fails the job, the others are done', async t => {
  let now = Date.parse('2026-07-01T12:00:00Z')
  const { jobs, pods, run, finished } = await openJobs(t, { now: () => new Date(now) })
  await jobs.create(draft({ completions: 3, parallelism: 3, completionMode: 'Indexed', backoffLimitPerIndex: 1 }))
  const running = run(jobController)
  run(endingKubelet(({ metadata }) => (metadata.name!.startsWith('work-1-') ? 'Failed' : 'Succeeded')))
  await becomes(
    () => jobs.get(NAMED)!.status,
    ({ completedIndexes }) => completedIndexes === '0,2',
  )
  await running.idle()
  assert.deepEqual([pods.count(), jobs.get(NAMED)!.status.failed], [3, undefined])
  // The failed index waits before it is tried again.
  now += 11_000
  await jobs.patch(NAMED, { metadata: { annotations: { look: 'again' } } })
  const { status } = await finished()
  assert.deepEqual(
    [status.failedIndexes, status.completedIndexes, status.failed, status.conditions!.at(-1)!.reason],
    ['1', '0,2', 2, 'FailedIndexes'],
  )
})
