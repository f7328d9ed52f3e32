import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import { nodeEvents, podEvents, selfEvents } from './cluster-event.ts'
import { podInfoOf } from './pod-info.ts'
import { NO_NODES } from './requeuer.ts'

test('an event requeues a pod only if a plugin that rejected it says that the event may help', () => {
  const { reject, requeuer, queue, wakes } = openSchedulerParts()
  const fit = reject({ name: 'fit', cpu: '1' }, 'NodeResourcesFit')
  const taint = reject({ name: 'taint' }, 'TaintToleration')
  const leaving = podInfoOf(podOf({ name: 'leaving', node: 'a', cpu: '1' }))
  requeuer.requeue(podEvents(leaving, undefined))
  assert.equal(queue.unschedulable(fit.uid), undefined)
  assert.equal(queue.unschedulable(taint.uid), taint)
  assert.equal(wakes.length, 1)
})

test('a pod that was tried without nodes is requeued by the first node', () => {
  const { reject, requeuer, queue } = openSchedulerParts()
  const { uid } = reject({ name: 'early' }, NO_NODES)
  const node = nodeOf('a')
  requeuer.requeue(nodeEvents(node, nodeOf('a', { labels: { x: 'y' } })))
  assert.ok(queue.unschedulable(uid))
  requeuer.requeue(nodeEvents(undefined, node))
  assert.equal(queue.unschedulable(uid), undefined)
})

test('only candidates are requeued', () => {
  const { reject, requeuer, queue, wakes } = openSchedulerParts()
  const [one, other] = ['one', 'other'].map(name => reject({ name }, NO_NODES))
  requeuer.requeue(nodeEvents(undefined, nodeOf('a')), ({ uid }) => uid === one!.uid)
  assert.deepEqual([queue.unschedulable(one!.uid), queue.unschedulable(other!.uid)], [undefined, other])
  requeuer.requeue(nodeEvents(undefined, nodeOf('a')), () => false)
  assert.equal(wakes.length, 1)
})

test('where an event concerns some pods alone, others are not looked at', () => {
  const { reject, requeuer, queue, wakes } = openSchedulerParts()
  const [one, other] = ['one', 'other'].map(name => reject({ name, cpu: '1' }, 'NodeResourcesFit'))
  const left = podEvents(podInfoOf(podOf({ name: 'leaving', node: 'a', cpu: '1' })), undefined)
  requeuer.requeueAmong([one!.uid, 'unknown'], left)
  assert.deepEqual([queue.unschedulable(one!.uid), queue.unschedulable(other!.uid)], [undefined, other])
  assert.equal(wakes.length, 1)
})

test('a pod whose last scheduling gate was removed is requeued, whoever rejected it', () => {
  const { reject, requeuer, queue } = openSchedulerParts()
  const { uid } = reject({ name: 'gated' }, 'TaintToleration')
  const gated = podOf({ name: 'gated', spec: { schedulingGates: [{ name: 'g' }] } })
  requeuer.requeueOne(uid, selfEvents(podOf({ name: 'gated' }), podOf({ name: 'gated', labels: { x: 'y' } })))
  assert.ok(queue.unschedulable(uid))
  requeuer.requeueOne(uid, selfEvents(gated, podOf({ name: 'gated' })))
  assert.equal(queue.unschedulable(uid), undefined)
})

test('a pod that is gone is not requeued', () => {
  const { reject, requeuer, queue, pods } = openSchedulerParts()
  const { uid } = reject({ name: 'gone', cpu: '1' }, 'NodeResourcesFit')
  pods.delete(uid)
  requeuer.requeue(nodeEvents(undefined, nodeOf('a')))
  assert.ok(queue.unschedulable(uid))
})
