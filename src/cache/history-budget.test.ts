import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HistoryBudget } from './history-budget.ts'

const cacheOf = (historyBytes: number) => ({
  historyBytes,
  shrinkHistory(bytes: number) {
    this.historyBytes = Math.min(this.historyBytes, bytes)
  },
})

test('over the limit the largest histories give up bytes, and small ones keep theirs', () => {
  const caches = [cacheOf(10), cacheOf(500), cacheOf(0), cacheOf(700)]
  const budget = new HistoryBudget(800, () => caches)
  budget.recount()
  assert.equal(budget.bytes, 1210)
  budget.enforce()
  assert.deepEqual(
    caches.map(({ historyBytes }) => historyBytes),
    [10, 345, 0, 345],
  )
  assert.equal(budget.bytes, 700)
})

test('within the limit nothing is dropped', () => {
  const caches = [cacheOf(300), cacheOf(400)]
  const budget = new HistoryBudget(800, () => caches)
  budget.recount()
  budget.add(100)
  budget.enforce()
  assert.equal(budget.bytes, 800)
  assert.deepEqual(
    caches.map(({ historyBytes }) => historyBytes),
    [300, 400],
  )
})
