import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { NodeNetworks, PodAddresses } from './addresses.ts'

const networks = (...held: readonly string[]) => {
  const made = new NodeNetworks()
  for (const [i, text] of held.entries()) made.hold(`node-${i}`, [text])
  return made
}

test('every node gets a block of its own that is large enough for its pods', () => {
  assert.equal(networks().freePodCIDR(4, 110), '10.244.0.0/24')
  assert.equal(networks('10.244.0.0/24', '10.244.1.0/24').freePodCIDR(4, 110), '10.244.2.0/24')
  assert.equal(networks('10.244.0.0/24').freePodCIDR(4, 500), '10.244.4.0/22')
  assert.equal(networks('10.240.0.0/12').freePodCIDR(4, 110), '10.128.0.0/24')
  assert.equal(networks('fd00:10:244::/64').freePodCIDR(6, 110), 'fd00:10:244:1::/64')
  assert.equal(networks('172.18.0.2').freeNodeAddress(4), '172.18.0.3')
})

test('a node gets the first block and address that are free, whatever was held and released before', () => {
  const moves = fc.array(fc.tuple(fc.nat(6), fc.boolean()), { maxLength: 30 })
  fc.assert(
    fc.property(moves, moves => {
      const made = new NodeNetworks()
      const held = new Map<string, readonly string[]>()
      for (const [node, isHeld] of moves) {
        const name = `node-${node}`
        const texts = [made.freePodCIDR(4, node % 2 ? 110 : 500)!, made.freeNodeAddress(4)!]
        const fresh = networks(...[...held.values()].flat())
        assert.deepEqual(texts, [fresh.freePodCIDR(4, node % 2 ? 110 : 500)!, fresh.freeNodeAddress(4)!])
        if (isHeld) held.set(name, texts)
        else held.delete(name)
        if (isHeld) made.hold(name, texts)
        else made.release(name)
      }
    }),
  )
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
