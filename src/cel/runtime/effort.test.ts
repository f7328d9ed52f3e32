import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentEvaluation, freshEffort, Interruption, makeEffort, restoreEffort } from './effort.ts'

test('effort is bounded within an evaluation and not outside', () => {
  makeEffort(1e12)
  const before = freshEffort()
  makeEffort(1000)
  assert.throws(() => makeEffort(1e12), new Interruption('time'))
  restoreEffort(before)
  makeEffort(1e12)
})

test('an evaluation within another has effort of its own', () => {
  const outside = freshEffort()
  makeEffort(9_000_000)
  const [outer, around] = [freshEffort(), currentEvaluation()]
  makeEffort(9_000_000)
  restoreEffort(outer)
  assert.notEqual(currentEvaluation(), around)
  assert.throws(() => makeEffort(2_000_000), new Interruption('time'))
  restoreEffort(outside)
})
