import assert from 'node:assert/strict'
import test from 'node:test'
import { conditionOf, isConditionTrue, isSameCondition, transitionTime, withCondition } from './conditions.ts'

const READY = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Up', message: '' }
const NOW = '2026-07-01T12:00:00Z'

test('a condition is found by its type, in lists that may be absent', () => {
  assert.equal(conditionOf([READY], 'Ready'), READY)
  assert.equal(conditionOf([READY], 'Other'), undefined)
  assert.equal(conditionOf(undefined, 'Ready'), undefined)
  assert.deepEqual([isConditionTrue([READY], 'Ready'), isConditionTrue(null, 'Ready')], [true, false])
  assert.equal(isConditionTrue([{ ...READY, status: 'Unknown' }], 'Ready'), false)
})

test('the transition time stays while the status does', () => {
  assert.equal(transitionTime(READY, 'True', NOW), READY.lastTransitionTime)
  assert.equal(transitionTime(READY, 'False', NOW), NOW)
  assert.equal(transitionTime(undefined, 'True', NOW), NOW)
  assert.equal(transitionTime({ status: 'True', lastTransitionTime: null }, 'True', NOW), NOW)
})

test('a condition takes the place of the one of its type, and the list that was given stays as it is', () => {
  const others = [{ ...READY, type: 'A' }, READY, { ...READY, type: 'B' }]
  const failed = { ...READY, status: 'False' }
  assert.deepEqual(
    withCondition(others, failed).map(({ type, status }) => `${type} ${status}`),
    ['A True', 'Ready False', 'B True'],
  )
  assert.equal(others[1], READY)
  assert.deepEqual(withCondition(undefined, READY), [READY])
  assert.deepEqual(
    withCondition(others, { ...READY, type: 'C' }).map(({ type }) => type),
    ['A', 'Ready', 'B', 'C'],
  )
})

test('conditions that differ only in their time say the same', () => {
  assert.equal(isSameCondition(READY, { ...READY, lastTransitionTime: NOW } as typeof READY), true)
  for (const change of [{ status: 'False' }, { reason: 'Down' }, { message: 'x' }])
    assert.equal(isSameCondition(READY, { ...READY, ...change }), false)
  assert.equal(isSameCondition(undefined, READY), false)
})
