import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import { podInfoOf } from './pod-info.ts'

const infoOf = (draft: PodDraft) => podInfoOf(podOf(draft))

test('an assumed pod takes room until it is released, and the room is announced to others', () => {
  const { occupancy, cluster, reject, queue } = openSchedulerParts([nodeOf('a')])
  const other = reject({ name: 'other', cpu: '4' }, 'NodeResourcesFit')
  const pod = infoOf({ name: 'p', node: 'a', cpu: '4' })
  occupancy.assume(pod)
  assert.deepEqual([occupancy.isAssumed(pod.uid), cluster.pod(pod.uid)], [true, pod])
  occupancy.release(pod.uid)
  assert.deepEqual([occupancy.isAssumed(pod.uid), cluster.pod(pod.uid)], [false, undefined])
  assert.equal(queue.unschedulable(other.uid), undefined)
})

test('a released pod is not requeued by its own room', () => {
  const { occupancy, reject, queue } = openSchedulerParts([nodeOf('a')])
  const queued = reject({ name: 'p', cpu: '4' }, 'NodeResourcesFit')
  occupancy.assume(infoOf({ name: 'p', node: 'a', cpu: '4' }))
  occupancy.release(queued.uid)
  assert.ok(queue.unschedulable(queued.uid))
})

test('a pod that was bound is no longer assumed, and has no nomination', () => {
  const { occupancy, nominations, cluster } = openSchedulerParts([nodeOf('a')])
  const pod = infoOf({ name: 'p', node: 'a' })
  nominations.set(pod, 'a')
  occupancy.assume(pod)
  assert.equal(nominations.nodeOf(pod.uid), undefined)
  const bound = { ...pod, labels: { x: 'y' } }
  occupancy.bound(bound)
  assert.deepEqual([occupancy.isAssumed(pod.uid), cluster.pod(pod.uid)], [false, bound])
})

test('an ended nomination frees its room for pods of lower or the same priority only', () => {
  const { occupancy, nominations, reject, queue } = openSchedulerParts([nodeOf('a')])
  const [same, higher] = [
    reject({ name: 'same', priority: 5, cpu: '1' }, 'NodeResourcesFit'),
    reject({ name: 'higher', priority: 9, cpu: '1' }, 'NodeResourcesFit'),
  ]
  const pod = infoOf({ name: 'p', priority: 5, cpu: '4' })
  nominations.set(pod, 'a')
  occupancy.endNomination(pod.uid)
  assert.equal(nominations.nodeOf(pod.uid), undefined)
  assert.equal(queue.unschedulable(same.uid), undefined)
  assert.equal(queue.unschedulable(higher.uid), higher)
})

test('a pod that ended leaves its node and its nomination', () => {
  const { occupancy, nominations, cluster } = openSchedulerParts([nodeOf('a')])
  const pod = infoOf({ name: 'p', node: 'a' })
  occupancy.bound(pod)
  nominations.set(pod, 'a')
  occupancy.remove(pod.uid)
  assert.deepEqual([cluster.pod(pod.uid), nominations.nodeOf(pod.uid)], [undefined, undefined])
})
