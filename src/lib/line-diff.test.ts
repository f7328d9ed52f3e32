import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffLines } from './line-diff.ts'

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })

test('a difference leads from one text to the other and back, and nothing that could stay is changed', () => {
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = diffLines(before, after)
      const without = (sign: string) => diff.filter(line => line.sign !== sign).map(({ text }) => text)
      assert.deepEqual(without('+'), before)
      assert.deepEqual(without('-'), after)
      assert.equal(diff.filter(({ sign }) => sign === ' ').length, longestCommon(before, after))
    }),
  )
})

function longestCommon([a, ...as]: readonly string[], bs: readonly string[]): number {
  if (a === undefined) return 0
  const at = bs.indexOf(a)
  return Math.max(longestCommon(as, bs), at < 0 ? 0 : 1 + longestCommon(as, bs.slice(at + 1)))
}
