import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce, inShortestSlices, inSlices, isSliceOver, nextTurn } from './turns.ts'

function* counting(to: number, stops: number[] = []): Generator<void, number> {
  let sum = 0
  for (let i = 1; i <= to; i++) {
    sum += i
    if (isSliceOver()) {
      stops.push(i)
      yield
    }
  }
  return sum
}

test('short work is done at once', () => {
  assert.equal(inSlices(counting(10)), 55)
})

test('work that is not asked to stop is never over its slice', () => {
  assert.equal(isSliceOver(), false)
  const stops: number[] = []
  atOnce(() => assert.deepEqual(counting(1000, stops).next(), { done: true, value: 500_500 }))
  assert.deepEqual(stops, [])
})

test('in the shortest slices work stops wherever it can, and comes to the same', () => {
  const stops: number[] = []
  assert.equal(inShortestSlices(counting(4, stops)), 10)
  assert.deepEqual(stops, [1, 2, 3, 4])
})

test('what must be done at once does not stop in the middle of a slice', () => {
  function* outer(): Generator<void, number> {
    yield
    return atOnce(() => (isSliceOver() ? -1 : 1)) + (isSliceOver() ? 2 : 0)
  }
  assert.equal(inShortestSlices(outer()), 3)
})

test('others have their turns between slices', async () => {
  const seen: string[] = []
  function* work(): Generator<void, string> {
    seen.push('first')
    yield
    seen.push('second')
    yield
    return 'done'
  }
  const result = inSlices(work())
  assert.ok(result instanceof Promise)
  seen.push('other')
  await nextTurn()
  seen.push('another')
  assert.equal(await result, 'done')
  assert.deepEqual(seen.slice(0, 2), ['first', 'other'])
  assert.ok(seen.indexOf('second') > 1)
})

test('what work throws reaches whoever started it, in the first slice and in later ones', async () => {
  function* failing(after: number): Generator<void, void> {
    for (let i = 0; i < after; i++) yield
    throw new Error('no')
  }
  assert.throws(() => inSlices(failing(0)), /no/)
  await assert.rejects(async () => inSlices(failing(1)), /no/)
})
