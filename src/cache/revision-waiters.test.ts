import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RevisionWaiters } from './revision-waiters.ts'

test('a reader goes on once its revision is reached, not before', async () => {
  const waiters = new RevisionWaiters()
  const order: number[] = []
  const waiting = [5, 3, 7].map(revision => waiters.wait(revision).then(() => order.push(revision)))
  waiters.wake(2)
  await Promise.resolve()
  assert.deepEqual(order, [])
  waiters.wake(5)
  await Promise.all(waiting.slice(0, 2))
  assert.deepEqual(order, [5, 3])
  waiters.wake(Number.POSITIVE_INFINITY)
  await Promise.all(waiting)
})

test('a reader that gives up goes on at once, and the others wait', async () => {
  const waiters = new RevisionWaiters()
  const patience = new AbortController()
  let isReached = false
  const other = waiters.wait(9).then(() => (isReached = true))
  const impatient = waiters.wait(9, patience.signal)
  patience.abort()
  await impatient
  assert.equal(isReached, false)
  waiters.wake(9)
  await other
})
