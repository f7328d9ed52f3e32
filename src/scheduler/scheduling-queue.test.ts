import assert from 'node:assert/strict'
import test from 'node:test'
import { type QueuedPod, SchedulingQueue } from './scheduling-queue.ts'

function open() {
  let now = 0
  const held = new Set<string>()
  const queue = new SchedulingQueue({ now: () => now, gateOf: ({ uid }) => (held.has(uid) ? '' : undefined) })
  return {
    queue,
    held,
    add: (uid: string, priority = 0) => queue.add({ uid, namespace: 'default', name: uid, priority }),
    pass: (ms: number) => (now += ms),
    all: () => {
      const popped: string[] = []
      for (let pod = queue.pop(); pod; pod = queue.pop()) popped.push(pod.uid)
      return popped
    },
  }
}
const by = (...plugins: string[]) => new Set(plugins)
const rejectedBy = (plugin: string) => (pod: QueuedPod) => pod.rejectors.has(plugin)

test('the most important pod comes first, and among equals the one that waits longest', () => {
  const { add, pass, all } = open()
  add('first')
  pass(1)
  add('important', 10)
  add('second')
  pass(1)
  add('more important', 20)
  assert.deepEqual(all(), ['more important', 'important', 'first', 'second'])
})

test('a pod is in the queue once, and not at all after it was removed', () => {
  const { queue, add, all } = open()
  add('a')
  add('a')
  add('b')
  queue.remove('a')
  assert.deepEqual(all(), ['b'])
  assert.equal(queue.has('a'), false)
  assert.equal(queue.has('b'), true)
})

test('a rejected pod waits for a change that concerns a plugin which rejected it', () => {
  const { queue, add, all } = open()
  add('a')
  queue.reject(queue.pop()!, by('NodeAffinity'))
  assert.deepEqual(all(), [])
  assert.equal(queue.nextAfterMs, undefined)
  assert.equal(queue.requeue(rejectedBy('NodePorts')), false)
  assert.deepEqual(all(), [])
  assert.equal(queue.requeue(rejectedBy('NodeAffinity')), true)
  assert.deepEqual(all(), ['a'])
})

test('pods that were tried before wait for those that were not', () => {
  const { queue, add, pass, all } = open()
  add('tried', 100)
  queue.reject(queue.pop()!, by('p'))
  queue.requeue(rejectedBy('p'))
  add('new')
  assert.deepEqual(all(), ['new', 'tried'])
  add('again', 100)
  queue.reject(queue.pop()!, by('p'))
  pass(1000)
  queue.requeue(rejectedBy('p'))
  add('newer')
  assert.deepEqual(all(), ['again', 'newer'])
})

test('after failures a pod waits one second, two, four, and at most ten', () => {
  const { queue, add, pass } = open()
  add('a')
  for (const seconds of [1, 2, 4, 8, 10, 10]) {
    queue.fail(queue.pop()!)
    assert.equal(queue.nextAfterMs, seconds * 1000)
    pass(seconds * 1000 - 1)
    assert.equal(queue.pop(), undefined)
    pass(1)
    assert.equal(queue.nextAfterMs, 0)
  }
  queue.reject(queue.pop()!, by('p'))
  queue.requeue(rejectedBy('p'))
  assert.equal(queue.nextAfterMs, 0)
})

test('a pod that is held back is not tried, whatever happens, until it is not', () => {
  const { queue, held, add, all } = open()
  held.add('a')
  add('a')
  assert.deepEqual(all(), [])
  assert.equal(queue.retry('a'), false)
  held.delete('a')
  assert.equal(queue.retry('a'), true)
  assert.deepEqual(all(), ['a'])
})

test('after five minutes a pod is tried anyway', () => {
  const { queue, add, pass, all } = open()
  add('a')
  queue.reject(queue.pop()!, by('p'))
  pass(200_000)
  assert.equal(queue.retryOverdue(), 100_000)
  pass(100_000)
  assert.equal(queue.retryOverdue(), undefined)
  assert.deepEqual(all(), ['a'])
})
