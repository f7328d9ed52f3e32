import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Queue } from './queue.ts'

test('items come out in the order in which they were put in, however many there were', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -400, max: 400 }), { maxLength: 20 }), steps => {
      const queue = new Queue<number>(-2, -1)
      const expected = [-2, -1]
      let next = 0
      for (const step of steps)
        for (let i = 0; i < Math.abs(step); i++) {
          if (step > 0) {
            queue.push(next)
            expected.push(next++)
          } else if (expected.length > 0) assert.equal(queue.shift(), expected.shift())
          assert.equal(queue.length, expected.length)
          if (expected.length > 0) assert.equal(queue.first, expected[0])
        }
    }),
  )
})
