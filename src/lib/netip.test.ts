import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatIP } from './ip.ts'
import { isMapped, maskPrefix, NetipError, parseAddress, parsePrefix, prefixContains, prefixesOverlap } from './netip.ts'

const fails = (parse: (text: string) => unknown, text: string): string => {
  try {
    parse(text)
    return 'fine'
  } catch (error) {
    assert.ok(error instanceof NetipError)
    return error.message
  }
}

test('addresses of both families are read', () => {
  const canonical = (text: string) => formatIP(parseAddress(text).address)
  assert.equal(canonical('10.0.0.255'), '10.0.0.255')
  assert.equal(canonical('::'), '::')
  assert.equal(canonical('2001:DB8:0:0:1::1'), '2001:db8::1:0:0:1')
  assert.equal(canonical('1:2:3:4:5:6:7::'), '1:2:3:4:5:6:7:0')
  assert.equal(canonical('64:ff9b::1.2.3.4'), '64:ff9b::102:304')
  assert.deepEqual(parseAddress('fe80::1%eth0').zone, 'eth0')
  assert.equal(isMapped(parseAddress('::ffff:1.2.3.4').address), true)
})

test('what is refused is told as Go does', () => {
  const address = (text: string) => fails(parseAddress, text).replace(/^ParseAddr\(.*?\): /, '')
  assert.equal(address(''), 'unable to parse IP')
  assert.equal(address('%'), 'missing IPv6 address')
  assert.equal(address('::1%'), 'zone must be a non-empty string')
  assert.equal(address('.1.2.3'), 'IPv4 field must have at least one digit (at ".1.2.3")')
  assert.equal(address('1:2:3:4:5:6:7:1.2.3.4'), 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")')
  assert.equal(address('1::2:3:4:5:6:7:1.2.3.4'), 'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")')
  assert.equal(address('1:2:'), 'colon must be followed by more characters (at ":")')
  assert.equal(address('1:x'), 'each colon-separated field must have at least one digit (at "x")')
  assert.equal(address('1x:2'), 'unexpected character, want colon (at "x:2")')
  assert.equal(address('1:2:3:4::5:6:7:8'), 'the :: must expand to at least one field of zeros')
  const prefix = (text: string) => fails(parsePrefix, text).replace(/^netip\.ParsePrefix\(.*?\): /, '')
  assert.equal(prefix('1.2.3.4'), "no '/'")
  assert.equal(prefix('1.2.3/8'), 'ParseAddr("1.2.3"): IPv4 address too short')
  assert.equal(prefix('fe80::1%a/8'), 'IPv6 zones cannot be present in a prefix')
  for (const bits of ['', '+8', '08', 'x', '9'.repeat(20)]) assert.equal(prefix(`::/${bits}`), `bad bits after slash: "${bits}"`)
  assert.equal(prefix('::/129'), 'prefix length out of range')
})

test('prefixes hold addresses and each other', () => {
  const [wide, narrow, other] = [parsePrefix('10.0.0.0/8'), parsePrefix('10.1.2.3/16'), parsePrefix('11.0.0.0/8')]
  assert.equal(prefixContains(wide, parseAddress('10.9.9.9').address), true)
  assert.equal(prefixContains(wide, parseAddress('::').address), false)
  assert.deepEqual(
    [prefixesOverlap(wide, narrow), prefixesOverlap(narrow, other), prefixesOverlap(wide, parsePrefix('::/0'))],
    [true, false, false],
  )
  assert.equal(formatIP(maskPrefix(narrow).address), '10.1.0.0')
  assert.equal(prefixesOverlap(parsePrefix('0.0.0.0/0'), other), true)
})

test('addresses are accepted as Node accepts them, and read back as they were written', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), text => {
      const { address } = parseAddress(text)
      assert.deepEqual(parseAddress(formatIP({ ...address, family: address.family })).address.bits, address.bits)
    }),
  )
  const mess = fc.string({ unit: fc.constantFrom('1', '0', 'f', ':', '.', '::', '25'), maxLength: 16 })
  fc.assert(
    fc.property(mess, text => assert.equal(fails(parseAddress, text) === 'fine', isIP(text) !== 0, text)),
    { numRuns: 500 },
  )
})
