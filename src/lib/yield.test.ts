import assert from 'node:assert/strict'
import test from 'node:test'
import { yieldToOthers } from './yield.ts'

test('of those that yield, one goes on in each iteration of the event loop', async () => {
  let iteration = 0
  let isOver = false
  const count = () => {
    iteration++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const iterations = await Promise.all(Array.from({ length: 5 }, () => yieldToOthers().then(() => iteration)))
  isOver = true
  assert.equal(new Set(iterations).size, 5, iterations.join())
})

test('work that yields again goes on after the others', async () => {
  const order: string[] = []
  const work = async (name: string) => {
    for (let i = 0; i < 3; i++) {
      await yieldToOthers()
      order.push(name)
    }
  }
  await Promise.all([work('a'), work('b')])
  assert.equal(order.join(''), 'ababab')
})
