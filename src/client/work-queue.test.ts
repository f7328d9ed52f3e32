import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { StatusError } from '../schema/status-error.ts'
import { QueueMetrics, queueFamilies } from './queue-metrics.ts'
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts'

function open(t: TestContext, options: Partial<WorkQueueOptions<string>> & Pick<WorkQueueOptions<string>, 'reconcile'>) {
  const ending = new AbortController()
  // The timers of a queue keep no process alive.
  const alive = setInterval(() => {}, 1000)
  t.after(() => {
    clearInterval(alive)
    ending.abort()
  })
  return { queue: new WorkQueue<string>({ name: 'test', onError: assert.ifError, signal: ending.signal, ...options }), ending }
}
const nextRound = () => new Promise(setImmediate)

test('a key that is added often before a worker takes it is reconciled once, after whoever added it', async t => {
  const seen: string[] = []
  const { queue } = open(t, { reconcile: async key => void seen.push(key) })
  queue.addAll(['a', 'b', 'a'])
  assert.deepEqual(seen, [])
  await queue.idle()
  assert.deepEqual(seen, ['a', 'b'])
})

test('a key that is added while it is being reconciled is reconciled again, never twice at once', async t => {
  let under = 0
  let rounds = 0
  const { queue } = open(t, {
    workers: 4,
    reconcile: async key => {
      assert.equal(++under, 1)
      if (++rounds < 3) queue.add(key)
      await nextRound()
      under--
    },
  })
  queue.add('a')
  await queue.idle()
  assert.equal(rounds, 3)
})

test('no more keys are reconciled at once than there are workers', async t => {
  let under = 0
  let most = 0
  const reconcile = async () => {
    most = Math.max(most, ++under)
    await nextRound()
    under--
  }
  const { queue } = open(t, { workers: 3, reconcile })
  queue.addAll(Array.from({ length: 10 }, (_, i) => `k${i}`))
  await queue.idle()
  assert.equal(most, 3)
})

test('conflicts are retried at once and silently, other failures later and reported', async t => {
  const errors: unknown[] = []
  let rounds = 0
  let retried = () => {}
  const again = new Promise<void>(resolve => (retried = resolve))
  const { queue } = open(t, {
    onError: error => errors.push(error),
    backOff: { firstMs: 1, lastMs: 10, perSecond: 1000, burst: 1000 },
    reconcile: async () => {
      rounds++
      if (rounds <= 3) throw new StatusError(409, 'Conflict', 'somebody was first')
      if (rounds === 4) throw new Error('broken')
      retried()
    },
  })
  queue.add('a')
  await queue.idle()
  assert.equal(rounds, 4)
  assert.deepEqual(errors.map(String), ['Error: broken'])
  await again
  assert.equal(rounds, 5)
})

test('what is under way when the queue ends is finished, what waits is not begun', async t => {
  const done: string[] = []
  let finish = () => {}
  const { queue, ending } = open(t, {
    reconcile: async key => {
      await new Promise<void>(resolve => (finish = resolve))
      done.push(key)
    },
  })
  queue.addAll(['a', 'b'])
  await nextRound()
  ending.abort()
  queue.add('c')
  const idle = queue.idle()
  finish()
  await idle
  assert.deepEqual(done, ['a'])
})

test('a reconcile that asks to be called again is, and a nearer time wins', async t => {
  let rounds = 0
  let called = () => {}
  const again = new Promise<void>(resolve => (called = resolve))
  const { queue } = open(t, {
    reconcile: async () => {
      if (++rounds === 2) called()
      return rounds === 1 ? 600_000 : undefined
    },
  })
  queue.add('a')
  await queue.idle()
  queue.addAfter('a', 1)
  await again
  assert.equal(rounds, 2)
})

test('queues are counted under the names of Kubernetes', async t => {
  const metrics = new QueueMetrics('deployment')
  let finish = () => {}
  const { queue } = open(t, { metrics, reconcile: () => new Promise<void>(resolve => (finish = resolve)) })
  queue.addAll(['a', 'b', 'a'])
  await nextRound()
  const sampleOf = (name: string) => queueFamilies([metrics]).find(family => family.name === name)!.samples[0]!
  assert.deepEqual(sampleOf('workqueue_adds_total'), [{ name: 'deployment' }, 2])
  assert.deepEqual(sampleOf('workqueue_depth'), [{ name: 'deployment' }, 1])
  assert.ok((sampleOf('workqueue_unfinished_work_seconds')[1] as number) > 0)
  finish()
  await nextRound()
  finish()
  await queue.idle()
  assert.equal((sampleOf('workqueue_work_duration_seconds')[1] as { count: number }).count, 2)
})

test('whatever is added while others are reconciled, the last state of every key is seen', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 40 }), async steps => {
      const ending = new AbortController()
      const state = new Map<string, number>()
      const seen = new Map<string, number>()
      const reconcile = async (key: string) => {
        const now = state.get(key)!
        await nextRound()
        seen.set(key, now)
      }
      const queue = new WorkQueue<string>({ name: 'test', reconcile, onError: assert.ifError, signal: ending.signal, workers: 2 })
      for (const [key, yields] of steps) {
        state.set(key, (state.get(key) ?? 0) + 1)
        queue.add(key)
        if (yields) await nextRound()
      }
      await queue.idle()
      ending.abort()
      assert.deepEqual([...seen].sort(), [...state].sort())
    }),
    { numRuns: 50 },
  ))
