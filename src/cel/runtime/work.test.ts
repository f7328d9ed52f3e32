import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginWork, countWork, currentEvaluation, endWork, Interruption } from './work.ts'

test('work is limited within an evaluation and not outside', () => {
  countWork(1e12)
  const outer = beginWork(5000)
  countWork(1000)
  assert.throws(() => countWork(1e12), new Interruption('work'))
  assert.ok(endWork(outer) < 0)
  countWork(1e12)
})

test('an evaluation within another has a limit of its own', () => {
  const outside = beginWork(10)
  countWork(9)
  const [outer, around] = [beginWork(10), currentEvaluation()]
  countWork(8)
  assert.equal(endWork(outer), 2)
  assert.notEqual(currentEvaluation(), around)
  assert.throws(() => countWork(2), new Interruption('work'))
  endWork(outside)
})
