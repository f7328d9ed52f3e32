import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type Environment, newUuid, randomBytes, randomInt, simulate, sleep, startInterval, startTimer, stopTimer } from './environment.ts'

afterEach(() => simulate(undefined))

/** An environment whose timers fire when the test says so. */
function manual(): Environment & { readonly timers: Map<object, () => void> } {
  const timers = new Map<object, () => void>()
  let drawn = 0
  return {
    timers,
    wallMs: () => 0,
    monotonicMs: () => 0,
    startTimer(run) {
      const timer = {
        unref() {
          return this
        },
      }
      timers.set(timer, run)
      return timer
    },
    stopTimer: timer => void timers.delete(timer),
    nextIteration: run => void timers.set({}, run),
    chance: () => (drawn++ % 16) / 16,
  }
}

test('timers of the process fire, repeat and stop', async () => {
  await new Promise<void>(resolve => startTimer(resolve, 1))
  let count = 0
  await new Promise<void>(resolve => {
    const timer = startInterval(() => {
      if (++count < 3) return
      stopTimer(timer)
      resolve()
    }, 1)
  })
  assert.equal(count, 3)
})

test('a sleep ends early when its signal aborts, in the process and in a simulation', async () => {
  for (const environment of [undefined, manual()]) {
    simulate(environment)
    await assert.rejects(sleep(60_000, { signal: AbortSignal.abort() }), { name: 'AbortError' })
    const controller = new AbortController()
    const slept = sleep(60_000, { signal: controller.signal })
    controller.abort()
    await assert.rejects(slept, { name: 'AbortError' })
    assert.equal(environment?.timers.size ?? 0, 0)
  }
})

test('chance of a simulation repeats', () => {
  const draw = () => {
    simulate(manual())
    return [newUuid(), randomBytes(8).toString('hex'), randomInt(10)]
  }
  assert.deepEqual(draw(), draw())
  assert.match(newUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
