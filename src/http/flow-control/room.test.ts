import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Place, Room } from './room.ts'

test('answers count as large as the last one until their size is known', async () => {
  const room = new Room(100, 10)
  const first = room.enter(() => false) as Place
  first.settle(90)
  const second = room.enter(() => false) as Place
  let third: Place | undefined
  const waiting = Promise.resolve(room.enter(() => false)).then(place => (third = place))
  await turn()
  assert.equal(third, undefined)
  second.leave()
  await waiting
  assert.ok(third)
})

test('everyone gets in, in order', async () => {
  const sizes = fc.array(fc.nat(300), { minLength: 1, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(5), async (answers, seed) => {
      const room = new Room(250, 0)
      const inside: { place: Place; size: number }[] = []
      const order: number[] = []
      answers.forEach((size, i) => {
        const entered = room.enter(() => false)
        const sit = (place: Place) => {
          order.push(i)
          place.settle(size)
          inside.push({ place, size })
        }
        if (entered instanceof Promise) entered.then(sit)
        else sit(entered)
      })
      for (let turns = 0; order.length < answers.length || inside.length > 0; turns++) {
        await turn()
        assert.ok(turns < 1000)
        if (inside.length > 0) inside.splice((seed * turns) % inside.length, 1)[0]!.place.leave()
      }
      assert.deepEqual(order, [...answers.keys()])
    }),
  )
})

test('those who go while they wait are let go of, though nobody leaves', async () => {
  const room = new Room(100, 10)
  const first = room.enter(() => false) as Place
  first.settle(100)
  let left = 0
  for (let i = 0; i < 2000; i++)
    void Promise.resolve(room.enter(() => i % 2 === 0)).then(place => {
      left++
      place.leave()
    })
  await turn()
  assert.ok(left > 700, `only ${left} of 1000 were let go of`)
  first.leave()
  await turn()
  assert.equal(left, 2000)
})

const turn = () => new Promise(resolve => setImmediate(resolve))
