import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Stopwatch } from './stopwatch.ts'

test('laps of a phase add up, and short ones are left out', () => {
  let now = 100
  const watch = new Stopwatch(() => now)
  for (const [phase, ms] of [
    ['authn', 0.2],
    ['store', 3],
    ['rules', 1],
    ['store', 4],
  ] as const) {
    now += ms
    watch.lap(phase)
  }
  assert.deepEqual(watch.phases, { store: 7, rules: 1 })
  assert.equal(Math.round(watch.total * 10), 82)
})

test('a total stays once it is stopped', () => {
  let now = 100
  const watch = new Stopwatch(() => now)
  now += 7
  watch.stop(watch.total)
  now += 5
  assert.equal(watch.total, 7)
})
