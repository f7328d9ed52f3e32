import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Reservation, UnsentResponses } from './unsent-responses.ts'

test('answers count as large as the last one until their size is known', async () => {
  const unsentResponses = new UnsentResponses(100, 10)
  const first = unsentResponses.reserve(() => false) as Reservation
  first.settle(90)
  const second = unsentResponses.reserve(() => false) as Reservation
  let third: Reservation | undefined
  const waiting = Promise.resolve(unsentResponses.reserve(() => false)).then(reservation => (third = reservation))
  await nextIteration()
  assert.equal(third, undefined)
  second.release()
  await waiting
  assert.ok(third)
})

test('every waiting request gets its reservation, in order', async () => {
  const sizes = fc.array(fc.nat(300), { minLength: 1, maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat(5), async (answers, seed) => {
      const unsentResponses = new UnsentResponses(250, 0)
      const inside: { reservation: Reservation; size: number }[] = []
      const order: number[] = []
      answers.forEach((size, i) => {
        const reserved = unsentResponses.reserve(() => false)
        const sit = (reservation: Reservation) => {
          order.push(i)
          reservation.settle(size)
          inside.push({ reservation, size })
        }
        if (reserved instanceof Promise) reserved.then(sit)
        else sit(reserved)
      })
      for (let iterations = 0; order.length < answers.length || inside.length > 0; iterations++) {
        await nextIteration()
        assert.ok(iterations < 1000)
        if (inside.length > 0) inside.splice((seed * iterations) % inside.length, 1)[0]!.reservation.release()
      }
      assert.deepEqual(order, [...answers.keys()])
    }),
  )
})

test('requests whose client has gone stop waiting, though nothing is released', async () => {
  const unsentResponses = new UnsentResponses(100, 10)
  const first = unsentResponses.reserve(() => false) as Reservation
  first.settle(100)
  let left = 0
  for (let i = 0; i < 2000; i++)
    void Promise.resolve(unsentResponses.reserve(() => i % 2 === 0)).then(reservation => {
      left++
      reservation.release()
    })
  await nextIteration()
  assert.ok(left > 700, `only ${left} of 1000 were let go of`)
  first.release()
  await nextIteration()
  assert.equal(left, 2000)
})

const nextIteration = () => new Promise(resolve => setImmediate(resolve))
