import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../../test/kits/storage/manual-clock.ts'
import { MovableClock } from './movable-clock.ts'

const atOnce = async () => {}

test('timers fire in the order of their times, those that others set on the way among them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.nat(1000), again: fc.nat(300), cancel: fc.boolean() })),
      fc.nat(1200),
      async (plans, until) => {
        const base = new ManualClock()
        const clock = new MovableClock(base)
        const start = clock.now()
        const fired: number[] = []
        const expected: number[] = []
        for (const { at, again, cancel } of plans) {
          const undo = clock.after(at, () => {
            fired.push(clock.now() - start)
            clock.after(again, () => fired.push(clock.now() - start))
          })
          if (cancel) undo()
          else for (const due of [at, at + again]) if (due <= until) expected.push(due)
        }
        await clock.advance(until, atOnce)
        assert.deepEqual(
          fired,
          expected.sort((a, b) => a - b),
        )
        assert.equal(clock.now() - start, until)
      },
    ),
  )
})

test('time also passes by itself, before and after it was put forward', async () => {
  const base = new ManualClock()
  const clock = new MovableClock(base)
  const fired: string[] = []
  clock.after(50, () => fired.push('a'))
  clock.after(2000, () => fired.push('b'))
  clock.after(2100, () => fired.push('c'))
  base.advance(60)
  assert.deepEqual(fired, ['a'])
  await clock.advance(2000, atOnce)
  assert.deepEqual(fired, ['a', 'b'])
  base.advance(40)
  assert.deepEqual(fired, ['a', 'b', 'c'])
})

test('a frozen clock moves by advancing alone, and goes on from there', async () => {
  const base = new ManualClock()
  const clock = new MovableClock(base)
  const start = clock.now()
  const fired: string[] = []
  clock.after(50, () => fired.push('a'))
  clock.after(150, () => fired.push('b'))
  clock.freeze()
  base.advance(1000)
  assert.deepEqual([clock.now() - start, fired, clock.isFrozen], [0, [], true])
  await clock.advance(100, atOnce)
  assert.deepEqual([clock.now() - start, fired], [100, ['a']])
  clock.resume()
  base.advance(40)
  assert.deepEqual([clock.now() - start, fired, clock.isFrozen], [140, ['a'], false])
  base.advance(10)
  assert.deepEqual(fired, ['a', 'b'])
})

test('what a timer sets off is done before time goes on', async () => {
  const clock = new MovableClock(new ManualClock())
  const start = clock.now()
  const seen: number[] = []
  clock.after(10, () => {})
  clock.after(20, () => {})
  await clock.advance(30, async () => {
    await new Promise(setImmediate)
    seen.push(clock.now() - start)
  })
  assert.deepEqual(seen, [10, 20])
})

test('a routine is done once for all the time that was put forward, before what is due then', async () => {
  const base = new ManualClock()
  const clock = new MovableClock(base)
  const start = clock.now()
  const seen: string[] = []
  const see = (name: string) => seen.push(`${name} ${clock.now() - start}`)
  const renew = () => {
    see('renewed')
    clock.after(10, renew, { isRoutine: true })
  }
  clock.after(10, renew, { isRoutine: true })
  clock.after(35, () => see('due'))
  await clock.advance(100, atOnce)
  assert.deepEqual(seen, ['renewed 35', 'due 35', 'renewed 100'])
  // Without advancing, time passes step by step.
  base.advance(10)
  base.advance(10)
  assert.deepEqual(seen.slice(3), ['renewed 110', 'renewed 120'])
})

test('time does not stop at a deadline that a routine renews before it passes', async () => {
  const clock = new MovableClock(new ManualClock())
  const start = clock.now()
  const seen: string[] = []
  const see = (name: string) => seen.push(`${name} ${clock.now() - start}`)
  let isAlive = true
  let last = start
  const renew = () => {
    if (!isAlive) return
    last = clock.now()
    see('renewed')
    clock.after(10, renew, { isRoutine: true, renewal: 'lease' })
  }
  const check = () => {
    const left = last + 40 - clock.now()
    if (left < 0) return see('lost')
    see('checked')
    clock.after(left + 1, check, { renewal: 'lease' })
  }
  renew()
  check()
  await clock.advance(1000, atOnce)
  assert.deepEqual(seen, ['renewed 0', 'checked 0', 'renewed 1000', 'checked 1000'])
  isAlive = false
  // The routine that is pending still holds: it is due, and only then it turns out that nothing is renewed any more.
  clock.after(5, () => see('due'))
  await clock.advance(12, atOnce)
  await clock.advance(1000, atOnce)
  assert.deepEqual(seen.slice(4), ['due 1005', 'lost 1041'])
})
