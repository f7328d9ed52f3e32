import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from './budget.ts'
import { age, createdAt, formatLabels, since, until } from './columns.ts'

const now = new Date('2026-07-01T12:00:00Z')
const ctx = { now, budget: new Budget() }
const object = (creationTimestamp?: string) => ({ apiVersion: 'v1', kind: 'Any', metadata: creationTimestamp ? { creationTimestamp } : {} })

test('ages are for people', () => {
  const [, get] = age
  assert.equal(get(object('2026-07-01T11:58:30Z'), ctx), '90s')
  assert.equal(get(object('2026-06-28T10:00:00Z'), ctx), '3d2h')
  assert.equal(get(object(), ctx), '<unknown>')
  assert.equal(createdAt[1](object('2026-06-28T10:00:00Z'), ctx), '2026-06-28T10:00:00Z')
})

test('times are in the past or in the future', () => {
  assert.equal(since('2026-07-01T11:59:00.250000Z', ctx), '59s')
  assert.equal(until('2026-07-01T12:10:00Z', ctx), '10m')
  assert.equal(until(undefined, ctx), '<unknown>')
})

test('labels are sorted pairs', () => {
  assert.equal(formatLabels({ b: '2', a: '1' }), 'a=1,b=2')
  assert.equal(formatLabels({}), '<none>')
  assert.equal(formatLabels(undefined), '<none>')
})
