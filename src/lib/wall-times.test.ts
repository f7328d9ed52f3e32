import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Environment, simulate } from './environment.ts'
import { WallTimes } from './wall-times.ts'

let monotonic = 500
simulate({ monotonicMs: () => monotonic } as Environment)
after(() => simulate(undefined))

test('moments of the same millisecond are told from one look at the clock', () => {
  let looks = 0
  const times = new WallTimes(() => {
    looks++
    return 1_000_000
  })
  assert.deepEqual(
    [500, 500.5, 499.25].map(moment => times.at(moment)),
    [1_000_000, 1_000_000.5, 999_999.25],
  )
  assert.equal(looks, 1)
})

test('a clock that is set is noticed', () => {
  let now = 1_000_000
  const times = new WallTimes(() => now)
  assert.equal(times.at(monotonic), 1_000_000)
  now += 3_600_000
  monotonic += 2
  assert.equal(times.at(monotonic), 4_600_000)
})
