import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { doAtOnce, sortingInParts } from './in-parts.ts'

test('a list of any length is sorted, and those that are equal stay in order', () => {
  const byTens = (a: number, b: number) => Math.floor(a / 10) - Math.floor(b / 10)
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 6_000, size: 'max' }), list => {
      assert.deepEqual(doAtOnce(sortingInParts(list, byTens)), [...list].sort(byTens))
    }),
    { numRuns: 30 },
  )
  for (const length of [0, 1, 1023, 1024, 1025, 4_097]) {
    const list = Array.from({ length }, (_, i) => (i * 7919) % length)
    assert.deepEqual(
      doAtOnce(sortingInParts(list, (a, b) => a - b)),
      list.toSorted((a, b) => a - b),
    )
  }
})

test('others may run while a long list is sorted', () => {
  const list = Array.from({ length: 10_000 }, (_, i) => (i * 7919) % 10_000)
  let compared = 0
  let most = 0
  const work = sortingInParts(list, (a, b) => {
    compared++
    return a - b
  })
  while (!work.next().done) {
    most = Math.max(most, compared)
    compared = 0
  }
  assert.ok(most < 15_000, `${most} comparisons at once`)
})
