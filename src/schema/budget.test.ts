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

test('what has to be made is charged once in a request', () => {
  const budget = new Budget(10)
  const [one, other] = [{}, {}]
  for (let i = 0; i < 3; i++) budget.chargeOnce(one, 6)
  assert.throws(() => budget.chargeOnce(other, 6), { code: 413 })
  budget.renew()
  budget.chargeOnce(one, 6)
  assert.equal(budget.left, 4)
})
