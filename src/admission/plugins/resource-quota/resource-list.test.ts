import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quantityOf, quantitySign } from '../../../lib/quantity.ts'
import {
  addLists,
  amountsOf,
  listOf,
  namesAbove,
  only,
  printList,
  type ResourceList,
  sameList,
  subtractLists,
  withoutZeros,
} from './resource-list.ts'

const lists: fc.Arbitrary<ResourceList> = fc
  .dictionary(
    fc.constantFrom('cpu', 'memory', 'pods', 'example.com/gpu'),
    fc.tuple(fc.bigInt(0n, 10n ** 15n), fc.integer({ min: -3, max: 3 }), fc.constantFrom('DecimalSI', 'BinarySI')),
  )
  .map(
    amounts =>
      new Map(Object.entries(amounts).map(([name, [unscaled, scale, format]]) => [name, quantityOf(unscaled, scale, format as never)])),
  )

test('what is added and taken away again leaves what was there', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      assert.ok(sameList(withoutZeros(subtractLists(addLists(a, b), b)), withoutZeros(a)))
    }),
  )
})

test('sums do not depend on the order, and survive being written down', () => {
  fc.assert(
    fc.property(lists, lists, lists, (a, b, c) => {
      assert.ok(sameList(addLists(a, b), addLists(b, a)))
      assert.ok(sameList(addLists(addLists(a, b), c), addLists(a, addLists(b, c))))
      assert.ok(sameList(listOf(amountsOf(addLists(a, b))), addLists(a, b)))
    }),
  )
})

test('a difference is never negative and names what either names', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      const difference = subtractLists(a, b)
      assert.ok([...difference.values()].every(amount => quantitySign(amount) >= 0))
      assert.deepEqual([...difference.keys()].sort(), [...new Set([...a.keys(), ...b.keys()])].sort())
    }),
  )
})

test('nothing is above a sum that it is part of', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      assert.deepEqual(namesAbove(a, addLists(a, b)), [])
    }),
  )
})

test('amounts are written as Kubernetes writes sums', () => {
  const sum = (a: string, b: string) => amountsOf(addLists(listOf({ x: a }), listOf({ x: b })))['x']
  assert.equal(sum('0', '1Gi'), '1Gi')
  assert.equal(sum('512Mi', '512Mi'), '1Gi')
  assert.equal(sum('600m', '400m'), '1')
  assert.equal(sum('1', '1Ki'), '1025')
  assert.equal(printList(listOf({ 'requests.cpu': '1', pods: '3' })), 'pods=3,requests.cpu=1')
  assert.deepEqual(amountsOf(only(listOf({ a: '1', b: '2' }), ['b', 'c'])), { b: '2' })
})
