import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PendingStreams } from './pending-streams.ts'

test('a few streams begin at once, the others in order as those get a seat, and closed ones never', () => {
  const step = fc.constantFrom('come', 'pass', 'go')
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), fc.nat(), (steps, seed) => {
      const pendingStreams = new PendingStreams({ atOnce: 3, most: 20 })
      const begun: number[] = []
      const gone = new Set<number>()
      const open: (() => void)[] = []
      let count = 0
      const come = () => {
        const id = count++
        pendingStreams.add({
          isGone: () => gone.has(id),
          begin: passed => {
            assert.ok(!gone.has(id))
            begun.push(id)
            open.push(passed)
          },
        })
      }
      for (const [i, act] of steps.entries()) {
        if (act === 'come') come()
        else if (act === 'pass') {
          const passed = open.splice((seed + i) % Math.max(1, open.length), 1)[0]
          passed?.()
          // Saying it again changes nothing.
          passed?.()
        } else if (count > 0) {
          const id = (seed + i) % count
          if (!begun.includes(id)) gone.add(id)
        }
        assert.ok(open.length <= 3)
      }
      while (open.length > 0) open.shift()!()
      assert.deepEqual(
        begun,
        [...Array(count).keys()].filter(id => !gone.has(id)),
      )
      assert.equal(pendingStreams.waiting, 0)
    }),
  )
})

test('streams that are opened and closed again do not accumulate', () => {
  const pendingStreams = new PendingStreams({ atOnce: 1, most: 10 })
  pendingStreams.add({ isGone: () => false, begin() {} })
  for (let i = 0; i < 1000; i++) pendingStreams.add({ isGone: () => true, begin: () => assert.fail() })
  assert.ok(pendingStreams.waiting <= 10)
})

test('those that pass as soon as they begin are begun one after the other, not inside each other', () => {
  const pendingStreams = new PendingStreams({ atOnce: 1, most: 100_000 })
  const begun: number[] = []
  let inside = 0
  let first = () => {}
  pendingStreams.add({ isGone: () => false, begin: passed => (first = passed) })
  for (let i = 0; i < 50_000; i++) {
    const begin = (passed: () => void) => {
      assert.equal(inside++, 0)
      begun.push(i)
      passed()
      inside--
    }
    pendingStreams.add({ isGone: () => false, begin })
  }
  first()
  assert.deepEqual(begun, [...Array(50_000).keys()])
  assert.equal(pendingStreams.waiting, 0)
})
