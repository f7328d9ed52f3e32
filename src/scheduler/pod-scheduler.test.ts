import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import type { Node } from '../kinds/core/node.ts'
import type { Binding } from './binder.ts'
import { podInfoOf } from './pod-info.ts'
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
