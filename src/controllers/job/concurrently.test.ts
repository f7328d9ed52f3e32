import assert from 'node:assert/strict'
import test from 'node:test'
import { concurrently } from './concurrently.ts'

test('every item is written, some at the same time, and the first error is returned with those that succeeded', async () => {
  const items = Array.from({ length: 50 }, (_, i) => i)
  let busy = 0
  let mostBusy = 0
  const { done, error } = await concurrently(items, async item => {
    mostBusy = Math.max(mostBusy, ++busy)
    await new Promise(setImmediate)
    busy--
    if (item % 10 === 3) throw new Error(`${item}`)
  })
  assert.equal(mostBusy, 16)
  assert.deepEqual(
    [...done].sort((a, b) => a - b),
    items.filter(item => item % 10 !== 3),
  )
  assert.equal((error as Error).message, '3')
})

test('without a failure there is no error', async () => {
  assert.deepEqual(await concurrently([], async () => assert.fail()), { done: [] })
  assert.deepEqual(await concurrently(['a'], async () => {}), { done: ['a'] })
})
