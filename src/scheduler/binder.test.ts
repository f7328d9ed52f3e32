import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import { Binder, type Binding } from './binder.ts'
import { podInfoOf } from './pod-info.ts'

/** A binder, and the binding of a pod to node `a` with one reservation that yields the given delays. */
function open(delays: (number | Error | undefined)[] = [], { nominates = false, isReady = false } = {}) {
  const parts = openSchedulerParts([nodeOf('a')])
  const { log, queue, writer, occupancy, failures } = parts
  const retried: string[] = []
  const ending = new AbortController()
  const binder = new Binder({
    writer,
    nominates,
    occupancy,
    queue,
    failures,
    observe: result => void log.push(`result ${result}`),
    onBound: ({ name }) => void log.push(`bound ${name}`),
    onReleased: () => void log.push('released'),
    onError: error => void log.push(`error ${(error as Error).message}`),
    retry: uid => void retried.push(uid),
    signal: ending.signal,
  })
  const pod = parts.store({ name: 'p' })
  const info = { ...podInfoOf(pod), nodeName: 'a' }
  queue.add(info)
  const reservation = {
    isReady,
    async prepare() {
      const next = delays.shift()
      if (next instanceof Error) throw next
      return next
    },
    withdraw() {},
    async release() {
      log.push('release')
    },
  }
  const binding: Binding = { queued: queue.pop()!, pod, info, reservations: [{ plugin: 'VolumeBinding', reservation }], begun: 0 }
  occupancy.assume(info)
  return { ...parts, binder, binding, info, retried, ending }
}

test('a pod is bound when its reservations are ready', async () => {
  const { binder, binding, log } = open()
  assert.equal(await binder.bind(binding), undefined)
  assert.deepEqual(log, ['bind p: a', 'result scheduled', 'bound p'])
})

test('a binding that waits is repeated after its delay, or when it is woken', async () => {
  const { binder, binding, info, retried, log } = open([700, undefined])
  binder.wake(info.uid)
  assert.equal(await binder.bind(binding), 700)
  binder.wake(info.uid)
  assert.deepEqual([retried, log], [[info.uid], []])
  assert.equal(await binder.bind(binding), undefined)
  binder.wake(info.uid)
  assert.equal(retried.length, 1)
})

test('a reservation that fails is given back, and the pod is tried again', async () => {
  const { binder, binding, info, log, queue, occupancy, cluster } = open([new Error('lost')])
  await binder.bind(binding)
  const message = 'running PreBind plugin "VolumeBinding": lost'
  assert.deepEqual(log, ['result error', 'release', 'released', `announce p: ${message}`])
  assert.deepEqual([occupancy.isAssumed(info.uid), cluster.pod(info.uid), queue.has(info.uid)], [false, undefined, true])
})

test('a pod that another client bound or that was deleted leaves the queue without a report', async () => {
  for (const change of [{ node: 'b' }, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }]) {
    const { binder, binding, pods, info, queue, log, writer } = open()
    writer.bind = async () => {
      pods.set(info.uid, podOf({ name: 'p', ...change }))
      throw new Error('conflict')
    }
    await binder.bind(binding)
    assert.deepEqual([queue.has(info.uid), log], [false, ['result error', 'release', 'released']])
  }
})

test('a pod that is gone gives its node and its reservations back', async () => {
  const { binder, binding, pods, info, log, occupancy } = open()
  pods.delete(info.uid)
  await binder.bind(binding)
  assert.deepEqual([occupancy.isAssumed(info.uid), log], [false, ['result error', 'release', 'released']])
})

test('after the end of the scheduler nothing is given back: the next one starts from the stored objects', async () => {
  const { binder, binding, ending, log, info, occupancy } = open([new Error('aborted')])
  ending.abort()
  await binder.bind(binding)
  assert.deepEqual([log, occupancy.isAssumed(info.uid)], [[], true])
})

test('a pod that has to wait before it is bound names its node once, and no longer if it is not bound', async () => {
  const waiting = open([700, undefined], { nominates: true })
  assert.equal(await waiting.binder.bind(waiting.binding), 700)
  await waiting.binder.bind(waiting.binding)
  assert.deepEqual(waiting.log, ['nominate p: a', 'bind p: a', 'result scheduled', 'bound p'])
  const failing = open([new Error('no volume')], { nominates: true })
  await failing.binder.bind(failing.binding)
  await failing.write()
  assert.deepEqual([failing.log[0], failing.log.at(-1)], ['nominate p: a', "status p: SchedulerError on ''"])
  const ready = open([], { nominates: true, isReady: true })
  await ready.binder.bind(ready.binding)
  assert.deepEqual(ready.log, ['bind p: a', 'result scheduled', 'bound p'])
})
