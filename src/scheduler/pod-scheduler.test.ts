import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import type { Node } from '../kinds/core/node.ts'
import type { Binding } from './binder.ts'
import { nodeEvents } from './cluster-event.ts'
import { isResizeDeferred, podInfoOf } from './pod-info.ts'
import { PodScheduler } from './pod-scheduler.ts'

function open(...nodes: readonly Node[]) {
  const parts = openSchedulerParts(nodes)
  const bindings: Binding[] = []
  const results: string[] = []
  const ending = new AbortController()
  const podScheduler = new PodScheduler({
    ...parts,
    binder: { bind: async binding => void bindings.push(binding) as undefined },
    budgets: () => [],
    metrics: { searched() {}, preempted: victims => void results.push(`victims ${victims}`) },
    observe: result => void results.push(result),
    onError: error => assert.fail(error as Error),
    random: () => 0,
    now: () => 0,
    isResize: isResizeDeferred,
    signal: ending.signal,
  })
  const add = (draft: Parameters<typeof podOf>[0]) => {
    const info = podInfoOf(parts.store(draft!))
    parts.queue.add(info)
    return info
  }
  return { ...parts, podScheduler, bindings, results, ending, add }
}

test('a pod that fits is assumed on its node before its binding is written', async () => {
  const { podScheduler, add, cluster, bindings, write } = open(nodeOf('a'))
  const { uid } = add({ name: 'p', cpu: '1' })
  await podScheduler.run()
  assert.deepEqual([cluster.pod(uid)?.nodeName, bindings.length], ['a', 0])
  await write()
  assert.deepEqual(
    bindings.map(({ info }) => `${info.name} ${info.nodeName}`),
    ['p a'],
  )
})

test('an assumed pod leaves no room for the next one', async () => {
  const { podScheduler, add, log, results } = open(nodeOf('a'))
  add({ name: 'first', cpu: '3' })
  add({ name: 'second', cpu: '3' })
  await podScheduler.run()
  assert.match(log.join(), /^announce second: 0\/1 nodes are available: 1 Insufficient cpu/)
  assert.deepEqual(results, ['victims 0', 'unschedulable'])
})

test('a pod preempts less important ones and is nominated for their node', async () => {
  const { podScheduler, add, cluster, nominations, preemptor, results, log, write } = open(nodeOf('a'))
  cluster.setPod(podInfoOf(podOf({ name: 'victim', node: 'a', cpu: '4' })))
  const { uid } = add({ name: 'p', cpu: '4', priority: 5 })
  await podScheduler.run()
  assert.deepEqual([nominations.nodeOf(uid), preemptor.isEvicting(uid), results[0]], ['a', true, 'victims 1'])
  await write()
  assert.ok(log.includes('evict victim: for p on a'))
  assert.ok(log.includes("status p: Unschedulable on 'a'"))
})

test('without nodes a pod waits, and says so', async () => {
  const { podScheduler, add, queue, log } = open()
  const { uid } = add({ name: 'p' })
  await podScheduler.run()
  assert.deepEqual([...queue.unschedulable(uid)!.rejectors], ['no nodes'])
  assert.deepEqual(log, ['announce p: no nodes available to schedule pods'])
})

test('pods that are bound, gone or terminating are not tried', async () => {
  const { podScheduler, add, pods, queue, log, bindings } = open(nodeOf('a'))
  const [bound, gone, ending] = ['bound', 'gone', 'ending'].map(name => add({ name }))
  pods.set(bound!.uid, podOf({ name: 'bound', node: 'a' }))
  pods.delete(gone!.uid)
  pods.set(ending!.uid, podOf({ name: 'ending', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }))
  await podScheduler.run()
  assert.deepEqual([queue.has(bound!.uid), queue.has(gone!.uid), queue.has(ending!.uid), bindings.length], [false, false, false, 0])
  assert.deepEqual(log, ['announce ending: skip schedule deleting pod: default/ending'])
})

test('after the end of the scheduler no further pod is tried', async () => {
  const { podScheduler, add, ending, cluster } = open(nodeOf('a'))
  const { uid } = add({ name: 'p' })
  ending.abort()
  await podScheduler.run()
  assert.equal(cluster.pod(uid), undefined)
})

/** Opens a node of four CPUs with one pod of some, and a pod of one CPU that wants more and waits for it. */
function openResize(cpu: string, { other = '2', node = {}, priority = 5 }: { other?: string; node?: object; priority?: number } = {}) {
  const opened = open(nodeOf('a', node), nodeOf('b'))
  const { cluster, add } = opened
  cluster.setPod(podInfoOf(podOf({ name: 'other', node: 'a', cpu: other })))
  const status = {
    conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }],
    containerStatuses: [{ name: 'main', allocatedResources: { cpu: '1' }, resources: { requests: { cpu: '1' } } }],
  }
  const info = add({ name: 'p', node: 'a', cpu, priority, status })
  cluster.setPod(info)
  return { ...opened, info }
}

test('less important pods leave the node of a pod that waits there for more room, and the pod itself is not touched', async () => {
  const { podScheduler, info, queue, nominations, bindings, results, log, write } = openResize('3')
  await podScheduler.run()
  await write()
  assert.deepEqual(log, ['evict other: for p on a'])
  assert.deepEqual([results, bindings.length, nominations.nodeOf(info.uid)], [['victims 1', 'unschedulable'], 0, undefined])
  assert.deepEqual([...queue.unschedulable(info.uid)!.rejectors], ['NodeName', 'NodeResourcesFit'])
})

test('a resize for which there is room waits for its node, until another pod takes that room', async () => {
  const { podScheduler, info, queue, occupancy, results, log } = openResize('2')
  await podScheduler.run()
  assert.deepEqual([log, results], [[], ['unschedulable']])
  assert.deepEqual([...queue.unschedulable(info.uid)!.rejectors], ['DeferredPodScheduling'])
  occupancy.bound(podInfoOf(podOf({ name: 'other', node: 'a', cpu: '1' })))
  assert.equal(queue.unschedulable(info.uid) !== undefined, true, 'it has its room already')
})

test('nobody leaves for a resize where others are as important, nor where the node forbids it or is too small', async () => {
  for (const [given, rejector] of [
    [openResize('3', { priority: 0 }), 'NodeResourcesFit'],
    [openResize('3', { node: { spec: { podPreemptionPolicy: { disableResizePreemption: ['x'] } } } }), 'DeferredPodScheduling'],
    [openResize('5'), 'NodeResourcesFit'],
  ] as const) {
    const { podScheduler, info, queue, preemptor, log } = given
    await podScheduler.run()
    assert.deepEqual([log, preemptor.isEvicting(info.uid)], [[], false])
    assert.deepEqual([...queue.unschedulable(info.uid)!.rejectors], ['NodeName', rejector])
  }
})

test('a resize is tried again when something changes on its node', async () => {
  const changes: readonly ((parts: ReturnType<typeof openResize>) => void)[] = [
    ({ occupancy }) => occupancy.remove('default/other'),
    ({ occupancy }) => occupancy.bound(podInfoOf(podOf({ name: 'other', node: 'a', cpu: '1' }))),
    ({ occupancy }) => occupancy.bound(podInfoOf(podOf({ name: 'other', node: 'a', cpu: '3' }))),
  ]
  for (const change of changes) {
    const parts = openResize('3', { priority: 0 })
    await parts.podScheduler.run()
    change(parts)
    assert.equal(parts.queue.unschedulable(parts.info.uid), undefined, String(change))
  }
  const { podScheduler, info, occupancy, queue } = openResize('3', { priority: 0 })
  await podScheduler.run()
  occupancy.bound(podInfoOf(podOf({ name: 'elsewhere', node: 'b', cpu: '2' })))
  occupancy.remove('default/elsewhere')
  assert.notEqual(queue.unschedulable(info.uid), undefined, 'room on another node is of no use')
})

test('a resize that its node forbade is tried again when the node allows it', async () => {
  const forbidding = { spec: { podPreemptionPolicy: { disableResizePreemption: ['x'] } } }
  const { podScheduler, info, requeuer, queue } = openResize('3', { node: forbidding })
  await podScheduler.run()
  requeuer.requeue(nodeEvents(nodeOf('b', forbidding), nodeOf('b')))
  assert.notEqual(queue.unschedulable(info.uid), undefined, 'another node')
  requeuer.requeue(nodeEvents(nodeOf('a', forbidding), nodeOf('a')))
  assert.equal(queue.unschedulable(info.uid), undefined)
})
