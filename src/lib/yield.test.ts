import assert from 'node:assert/strict'
import test from 'node:test'
import { yieldToOthers } from './yield.ts'

test('of those that yield, one goes on in each turn of the event loop', async () => {
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const turns = await Promise.all(Array.from({ length: 5 }, () => yieldToOthers().then(() => turn)))
  isOver = true
  assert.equal(new Set(turns).size, 5, turns.join())
})

test('who yields again goes on after the others', async () => {
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
