import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from './clock.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Replaces Node's timers by ones that fire immediately, once the wall clock has advanced by one millisecond less than their delay. */
function fireEarly(t: TestContext): { readonly waits: number[] } {
  const waits: number[] = []
  let now = 5000
  t.mock.method(Date, 'now', () => now)
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
    waits.push(ms)
    now += Math.max(ms - 1, 1)
    queueMicrotask(run)
    return { unref() {} }
  })
  return { waits }
}

const timeAfter = (ms: number) => new Promise<number>(resolve => systemClock.after(ms, () => resolve(Date.now() - 5000)))

// At 6256f0f1 it fired at 49: a failed node was noticed a whole grace period late.
test('a timer waits for what is left when Node fires it a millisecond early', async t => {
  const { waits } = fireEarly(t)
  assert.equal(await timeAfter(50), 50)
  assert.deepEqual(waits, [50, 1])
})

// At 6256f0f1 it fired after 24.8 days.
test('a timer of more days than Node can wait fires when they are over', async t => {
  const { waits } = fireEarly(t)
  assert.ok((await timeAfter(60 * DAY_MS)) >= 60 * DAY_MS)
  assert.deepEqual(waits.slice(0, 3), [2 ** 31 - 1, 2 ** 31 - 1, 60 * DAY_MS - 2 * (2 ** 31 - 1)])
})
