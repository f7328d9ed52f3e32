import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../../test/kits/storage/manual-clock.ts'
import { deadlineOf, Expiry } from './expiry.ts'

test('keys expire at their deadlines, in that order, however they were added', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000), { maxLength: 400 }), delays => {
      const clock = new ManualClock(0)
      const expired: number[] = []
      let n = 0
      const expiry = new Expiry(clock, async key => {
        const deadline = Number.parseInt(key, 10)
        assert.ok(deadline <= clock.now())
        expired.push(deadline)
      })
      for (const delay of delays) expiry.written(`${delay} ${n++}`, 1, delay)
      clock.advance(500)
      assert.deepEqual(
        expired,
        delays.filter(delay => delay <= 500).sort((a, b) => a - b),
      )
      clock.advance(500)
      assert.equal(expired.length, delays.length)
    }),
  )
})

test('an expiry the store could not make is tried again, until it is stopped', async () => {
  const clock = new ManualClock(0)
  let tries = 0
  const expiry = new Expiry(clock, async () => {
    tries++
    throw new Error('no space')
  })
  expiry.written('/a', 1, 100)
  for (let i = 0; i < 3; i++) {
    clock.advance(1_000)
    await new Promise(setImmediate)
  }
  assert.equal(tries, 3)
  expiry.stop()
  clock.advance(10_000)
  assert.equal(tries, 3)
})

test('only the last write of a key counts, however many there were', () => {
  const clock = new ManualClock(0)
  const expired: string[] = []
  const expiry = new Expiry(clock, async (key, modified) => {
    expired.push(`${key} ${modified}`)
  })
  for (let modified = 1; modified <= 10_000; modified++) expiry.written(`/k/${modified % 3}`, modified, 20_000 - modified)
  expiry.written('/k/0', 10_001, undefined)
  clock.advance(20_000)
  assert.deepEqual(expired, ['/k/1 10000', '/k/2 9998'])
})

test('a deadline is as far off as the time to live', () => {
  const clock = new ManualClock(1_000)
  assert.equal(deadlineOf(undefined, clock), undefined)
  assert.equal(deadlineOf(0, clock), 1_000)
  assert.equal(deadlineOf(1.5, clock), 2_500)
  assert.ok(Number.isSafeInteger(deadlineOf(Infinity, clock)))
  for (const wrong of [-1, Number.NaN]) assert.throws(() => deadlineOf(wrong, clock), RangeError)
})
