import assert from 'node:assert/strict'
import test from 'node:test'
import { drop, put } from '../../test/kits/cache/widgets.ts'
import { Assertions } from '../schema/assertions.ts'
import { EventOrder, WrongEvents } from './event-order.ts'

const orderOf = (isShared: boolean) => {
  const assertions = new Assertions()
  const failures = () =>
    assertions
      .families()[0]!
      .samples.filter(([, count]) => count !== 0)
      .map(([labels]) => labels['assertion'])
  return { order: new EventOrder(assertions, { isShared }), failures }
}

test('in a store of one process every revision is one event', () => {
  const { order, failures } = orderOf(false)
  order.check(put('a/x', {}, 5), 4)
  order.check(drop('a/x', 6), 5)
  order.checkEnd(6, 6)
  assert.deepEqual(failures(), [])
  assert.throws(() => order.check(put('a/x', {}, 6), 6), WrongEvents)
  assert.deepEqual(failures(), ['revision_order'])
  assert.throws(() => order.check(put('a/x', {}, 8), 6), /between 6 and .*a\/x at 8 an event is missing/)
  assert.deepEqual(failures(), ['revision_order', 'history_complete'])
  assert.throws(() => order.checkEnd(7, 6), /events up to 6 came as all up to 7/)
})

test('in a shared store several keys may change in a revision, and revisions may be missing', () => {
  const { order, failures } = orderOf(true)
  order.check(put('a/x', {}, 6), 6)
  order.check(put('a/x', {}, 9), 6)
  order.checkEnd(12, 9)
  assert.deepEqual(failures(), [])
  assert.throws(() => order.check(put('a/x', {}, 5), 6), WrongEvents)
  assert.throws(() => order.checkEnd(8, 9), WrongEvents)
})

test('an object that says it was written at another revision than its event fails, with an error for clients', () => {
  const { order } = orderOf(true)
  const event = { ...put('a/x', {}, 7), revision: 8 }
  assert.throws(
    () => order.check(event, 6),
    (error: WrongEvents) => error.failure.code === 500 && /written at 7/.test(error.failure.message),
  )
})
