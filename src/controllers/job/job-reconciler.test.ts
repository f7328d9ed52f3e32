import assert from 'node:assert/strict'
import test from 'node:test'
import { DEFAULT_GATES } from '../../../test/kits/controllers.ts'
import { openJobParts } from '../../../test/kits/jobs.ts'
import { JobReconciler } from './job-reconciler.ts'

async function open(t: Parameters<typeof openJobParts>[0], spec: object) {
  const parts = await openJobParts(t)
  await parts.addJob('work', spec)
  const reconciler = new JobReconciler({ ...parts, gate: DEFAULT_GATES })
  return { ...parts, reconciler, reconcile: () => reconciler.reconcile('default/work'), work: () => parts.podsOf('work') }
}

test('pods are created, counted when they end, and the job completes with events', async t => {
  const { reconcile, reconciler, work, end, job, recorder, isTracked } = await open(t, { completions: 2, parallelism: 2 })
  assert.equal(await reconcile(), undefined)
  assert.deepEqual([work().length, job('work').status.active, reconciler.podCountOf('default/work')], [2, 2, 0])
  for (const pod of work()) await end(pod, 'Succeeded')
  await reconcile()
  const { status } = job('work')
  assert.deepEqual([status.succeeded, status.uncountedTerminatedPods, status.conditions?.at(-1)?.type], [2, {}, 'Complete'])
  assert.deepEqual(
    work().map(({ metadata }) => isTracked(metadata.name!)),
    [false, false],
  )
  assert.equal(recorder.events.at(-1), 'work Normal Completed: Job completed')
  assert.equal(reconciler.podCountOf('default/work'), 2)
  await reconcile()
  assert.equal(reconciler.podCountOf('default/work'), 0)
})

test('a failed pod is replaced after a back-off that a new job of the same name does not inherit', async t => {
  const { reconcile, work, end, pass, jobs, job, addJob } = await open(t, { parallelism: 1, completions: 1 })
  await reconcile()
  await end(work()[0]!, 'Failed')
  assert.equal(await reconcile(), 10_000)
  assert.equal(job('work').status.failed, 1)
  assert.equal(await reconcile(), 10_000)
  pass(10_000)
  assert.equal(await reconcile(), undefined)
  assert.equal(work().length, 2)
  await end(work().find(({ status }) => status.phase !== 'Failed')!, 'Failed')
  assert.equal(await reconcile(), 20_000)
  await jobs.delete(job('work'), { propagationPolicy: 'Orphan' })
  await addJob('work')
  assert.equal(await reconcile(), undefined)
})

test('a deadline is the next time to look at the job', async t => {
  const { reconcile, pass, job, work } = await open(t, { activeDeadlineSeconds: 30 })
  assert.equal(await reconcile(), 30_000)
  pass(30_000)
  await reconcile()
  assert.deepEqual([job('work').status.conditions?.at(-1)?.reason, work().length], ['DeadlineExceeded', 0])
})

test('nothing is done for a job that another controller manages', async t => {
  const { reconcile, work } = await open(t, { managedBy: 'example.com/other' })
  assert.equal(await reconcile(), undefined)
  assert.equal(work().length, 0)
})
