import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  firstMissing,
  formatIndexSet,
  hasIndex,
  type IndexSet,
  parseIndexSet,
  sharedSize,
  sizeOf,
  union,
  withIndexes,
} from './index-set.ts'

const COMPLETIONS = 40
const indexes = fc.uniqueArray(fc.nat(COMPLETIONS - 1))
const setOf = (numbers: readonly number[]): IndexSet => withIndexes([], numbers)
const listOf = (set: IndexSet): number[] => Array.from({ length: COMPLETIONS }, (_, i) => i).filter(i => hasIndex(set, i))
const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)

test('runs are written with a hyphen, pairs with a comma', () => {
  assert.equal(formatIndexSet(setOf([0, 2, 3, 4, 7, 8])), '0,2-4,7,8')
  assert.equal(formatIndexSet([]), '')
})

test('parts that cannot be read and indexes beyond the completions are left out', () => {
  assert.deepEqual(parseIndexSet('0,2-4,6', 6), [
    [0, 0],
    [2, 4],
  ])
  assert.deepEqual(parseIndexSet('1-9', 4), [[1, 3]])
  assert.deepEqual(parseIndexSet('x,1,2-y,3', 9), [
    [1, 1],
    [3, 3],
  ])
  assert.deepEqual(parseIndexSet('', 9), [])
})

test('a set has the indexes that it was made of, and is read as it was written', () => {
  fc.assert(
    fc.property(indexes, numbers => {
      const set = setOf(numbers)
      assert.deepEqual(listOf(set), sorted(numbers))
      assert.equal(sizeOf(set), numbers.length)
      assert.deepEqual(parseIndexSet(formatIndexSet(set), COMPLETIONS), set)
    }),
  )
})

test('unions and shared sizes are those of the indexes', () => {
  fc.assert(
    fc.property(indexes, indexes, (a, b) => {
      assert.deepEqual(listOf(union(setOf(a), setOf(b))), sorted([...new Set([...a, ...b])]))
      assert.equal(sharedSize(setOf(a), setOf(b)), a.filter(i => b.includes(i)).length)
    }),
  )
})

test('the first missing indexes come in order', () => {
  fc.assert(
    fc.property(indexes, fc.nat(COMPLETIONS), fc.nat(COMPLETIONS), (numbers, completions, count) => {
      const expected = Array.from({ length: completions }, (_, i) => i).filter(i => !numbers.includes(i))
      assert.deepEqual(firstMissing(setOf(numbers), completions, count), expected.slice(0, count))
    }),
  )
})
