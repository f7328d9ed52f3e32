import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { freeNodeAddress, freePodCIDR, PodAddresses } from './addresses.ts'

test('every node gets a block of its own that is large enough for its pods', () => {
  assert.equal(freePodCIDR(4, 110, []), '10.244.0.0/24')
  assert.equal(freePodCIDR(4, 110, ['10.244.0.0/24', '10.244.1.0/24']), '10.244.2.0/24')
  assert.equal(freePodCIDR(4, 500, ['10.244.0.0/24']), '10.244.4.0/22')
  assert.equal(freePodCIDR(4, 110, ['10.240.0.0/12']), '10.128.0.0/24')
  assert.equal(freePodCIDR(6, 110, ['fd00:10:244::/64']), 'fd00:10:244:1::/64')
  assert.equal(freeNodeAddress(4, ['172.18.0.2']), '172.18.0.3')
})

test('pods get addresses of both families at the same offset, and a released address is reused last', () => {
  const addresses = new PodAddresses(['10.244.0.0/29', 'fd00:10:244::/64'])
  assert.deepEqual(addresses.take('a'), ['10.244.0.2', 'fd00:10:244::2'])
  assert.deepEqual(addresses.take('a'), addresses.take('a'))
  assert.deepEqual(addresses.take('b')[0], '10.244.0.3')
  addresses.release('a')
  assert.equal(addresses.take('c')[0], '10.244.0.4')
  for (const pod of ['d', 'e', 'f']) addresses.take(pod)
  assert.deepEqual(addresses.take('g'), [])
})

test('a pod is shown the addresses that it would get, and nothing is taken by that', () => {
  const addresses = new PodAddresses(['10.244.0.0/29'])
  assert.deepEqual([addresses.peek('a'), addresses.peek('b')], [['10.244.0.2'], ['10.244.0.2']])
  addresses.hold('c', '10.244.0.2')
  assert.deepEqual(addresses.peek('a'), ['10.244.0.3'])
  assert.deepEqual(addresses.take('a'), ['10.244.0.3'])
  assert.deepEqual([addresses.peek('a'), addresses.peek('b')], [['10.244.0.3'], ['10.244.0.4']])
  for (const pod of ['b', 'd', 'e']) addresses.take(pod)
  assert.deepEqual(addresses.peek('f'), [])
})

test('property: no two pods have the same address', () => {
  const moves = fc.array(fc.tuple(fc.constantFrom('take', 'release', 'hold'), fc.nat(20), fc.nat(20)), { maxLength: 100 })
  fc.assert(
    fc.property(moves, moves => {
      const addresses = new PodAddresses(['10.244.0.0/28'])
      const held = new Map<string, string>()
      for (const [move, pod, at] of moves) {
        if (move === 'release') held.delete(`${pod}`)
        if (move === 'release') addresses.release(`${pod}`)
        else if (move === 'take') {
          const [address] = addresses.take(`${pod}`)
          if (address) held.set(`${pod}`, address)
        } else if (!held.has(`${pod}`)) addresses.hold(`${pod}`, `10.244.0.${at}`)
      }
      assert.equal(new Set(held.values()).size, held.size)
    }),
  )
})
