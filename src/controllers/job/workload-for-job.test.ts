import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '../../kinds/batch/job.ts'
import { minCountOf, podGroupNameOf, workloadForJob, workloadNameOf } from './workload-for-job.ts'

const jobOf = (spec: object = {}, name = 'work'): Job =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default', uid: '11111111-2222-3333-4444-555555555555' },
    spec: { template: { metadata: {}, spec: {} }, ...spec },
  }) as unknown as Job

test('names are those that the job controller of Kubernetes gives, and never too long', () => {
  const name = workloadNameOf(jobOf())
  assert.match(name, /^work-[bcdfghjklmnpqrstvwxz2456789]{9,10}$/)
  assert.equal(workloadNameOf(jobOf({}, 'w'.repeat(253))).length, 253)
  assert.match(podGroupNameOf(name, 'work-pgt-0'), /^work-.*-work-pgt-0-[bcdfghjklmnpqrstvwxz2456789]{8,10}$/)
  for (const [workload, template] of [
    [200, 200],
    [253, 10],
    [10, 253],
  ] as const)
    assert.equal(podGroupNameOf('w'.repeat(workload), 't'.repeat(template)).length, 253)
})

test('a gang is as large as the job is parallel, unless it says otherwise', () => {
  const scheduling = (schedulingPolicy: object) => ({ scheduling: { schedulingPolicy } })
  assert.equal(minCountOf(jobOf({ parallelism: 4 })), undefined)
  assert.equal(minCountOf(jobOf({ parallelism: 4, ...scheduling({ basic: {} }) })), undefined)
  assert.equal(minCountOf(jobOf({ parallelism: 4, ...scheduling({ gang: {} }) })), 4)
  assert.equal(minCountOf(jobOf({ parallelism: 0, ...scheduling({ gang: {} }) })), 1)
  assert.equal(minCountOf(jobOf({ parallelism: 4, ...scheduling({ gang: { minCount: 2 } }) })), 2)
})

test('the template has the fields of the job', () => {
  const scheduling = {
    schedulingPolicy: { gang: { minCount: 2 } },
    schedulingConstraints: { topology: [{ key: 'rack' }] },
    disruptionMode: { all: {} },
  }
  const template = { metadata: {}, spec: { priorityClassName: 'important' } }
  const { spec, metadata } = workloadForJob(jobOf({ parallelism: 4, scheduling, template }))
  assert.deepEqual(spec, {
    controllerRef: { apiGroup: 'batch', kind: 'Job', name: 'work' },
    podGroupTemplates: [{ name: 'work-pgt-0', ...scheduling, priorityClassName: 'important' }],
  })
  assert.equal(metadata?.ownerReferences?.[0]?.controller, true)
  assert.deepEqual(workloadForJob(jobOf()).spec?.podGroupTemplates, [{ name: 'work-pgt-0', schedulingPolicy: { basic: {} } }])
})
