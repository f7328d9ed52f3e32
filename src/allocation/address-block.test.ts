import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseIP } from '../lib/ip.ts'
import { blockOf, candidates, gives } from './address-block.ts'

test('blocks leave out reserved addresses and keep a band for explicit requests', () => {
  const shape = (text: string) => {
    const { first, middle, last, cidr } = blockOf(text)!
    return [first, middle, last].map(bits => Number(bits - cidr.network.bits))
  }
  assert.deepEqual(shape('10.0.0.0/24'), [1, 17, 254])
  assert.deepEqual(shape('10.0.0.0/28'), [1, 1, 14])
  assert.deepEqual(shape('10.0.0.0/16'), [1, 257, 65534])
  assert.deepEqual(shape('10.0.0.0/20'), [1, 257, 4094])
  assert.deepEqual(shape('fd00::/120'), [1, 17, 255])
  assert.deepEqual([blockOf('fd00::/48'), blockOf('10.0.0.1/24'), blockOf('x')], [undefined, undefined, undefined])
})

test('every address of a block comes up once, the upper band first', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('10.0.0.0/24', '10.0.0.0/27', '10.0.0.0/30', '10.0.0.0/31', '10.0.0.0/32', 'fd00::/122'),
      fc.nat(),
      (text, seed) => {
        const block = blockOf(text)!
        const all = [...candidates(block, bound => BigInt(seed) % bound)]
        assert.equal(new Set(all).size, all.length)
        assert.equal(BigInt(all.length), block.last >= block.first ? block.last - block.first + 1n : 0n)
        assert.ok(all.every(ip => gives(block, parseIP(ip)!)))
        const firstLower = all.findIndex(ip => parseIP(ip)!.bits < block.middle)
        if (firstLower >= 0) assert.ok(all.slice(firstLower).every(ip => parseIP(ip)!.bits < block.middle))
      },
    ),
  )
})

test('a block of many addresses gives one at once', () => {
  const [ip] = candidates(blockOf('fd00::/64')!, bound => bound - 1n)
  assert.equal(ip, 'fd00::ffff:ffff:ffff:ffff')
})
