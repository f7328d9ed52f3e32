import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import { podInfoOf } from './pod-info.ts'

const FAILURE = { reason: 'Unschedulable', message: 'no room', nominatedNode: undefined } as const

test('a failure is announced at once and written later', async () => {
  const { failures, store, log, write } = openSchedulerParts()
  failures.report(store({ name: 'p' }), FAILURE)
  assert.deepEqual(log, ['announce p: no room'])
  await write()
  assert.deepEqual(log, ['announce p: no room', 'status p: Unschedulable'])
})

test('the status of a pod that got a node in between is left alone', async () => {
  const { failures, occupancy, store, log, write } = openSchedulerParts([nodeOf('a')])
  const pod = store({ name: 'p' })
  failures.report(pod, FAILURE)
  occupancy.assume({ ...podInfoOf(pod), nodeName: 'a' })
  await write()
  assert.deepEqual(log, ['announce p: no room'])
})

test('a pod that failed is tried again after a delay, without a nomination', async () => {
  const { failures, nominations, queue, store, log, wakes, write } = openSchedulerParts([nodeOf('a')])
  const pod = store({ name: 'p' })
  const info = podInfoOf(pod)
  queue.add(info)
  nominations.set(info, 'a')
  failures.fail(queue.pop()!, pod, 'disk full')
  await write()
  assert.deepEqual(log, ['announce p: disk full', "status p: SchedulerError on ''"])
  assert.equal(nominations.nodeOf(info.uid), undefined)
  assert.deepEqual(wakes, [1000])
})
