import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from './budget.ts'

test('a budget is spent by the units charged and then refuses the request', () => {
  const budget = new Budget(10)
  budget.charge(10)
  assert.equal(budget.isSpent, false)
  assert.throws(() => budget.charge(1), { code: 413, reason: 'RequestEntityTooLarge' })
  assert.ok(budget.isSpent && budget.left < 0)
  budget.renew()
  budget.charge(10)
})
