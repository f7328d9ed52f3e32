import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStated, secondsOf, stepOf } from './reconcile.ts'

test('the time grows with the number of nodes, and shrinks a little later', () => {
  const secondsFor = (nodes: number, step = 0) => secondsOf(stepOf(nodes, step))
  assert.deepEqual(
    [1, 100, 101, 501, 1001, 2001].map(nodes => secondsFor(nodes)),
    [0, 0, 15, 30, 60, 300],
  )
  assert.deepEqual(
    [90, 89, 0].map(nodes => secondsFor(nodes, 1)),
    [15, 0, 0],
  )
  assert.deepEqual(
    [1800, 1799, 899].map(nodes => secondsFor(nodes, 4)),
    [300, 60, 30],
  )
})

test('an annotation that is no number states nothing', () => {
  assert.deepEqual(
    ['0', '+0', '', 'x', '1', undefined].map(text => isStated(text, 0)),
    [true, true, false, false, false, false],
  )
})
