import assert from 'node:assert/strict'
import { isIP, isIPv6 } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import * as ip from './ip.ts'

const address = (text: string) => ip.parseIP(text) as ip.IPAddress
const block = (text: string) => ip.parseCIDR(text) as ip.CIDR

test('addresses are parsed strictly and printed in canonical form', () => {
  const cases: [string, string][] = [
    ['1.2.3.4', '1.2.3.4'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
    ['1:0:0:2:0:0:3:4', '1::2:0:0:3:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
    ['fe80::0abc', 'fe80::abc'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
  ]
  for (const [text, canonical] of cases) assert.equal(ip.formatIP(address(text)), canonical)
  for (const text of [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.-1',
    'fe80::1%eth0',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '12345::',
    'g::',
    ':1',
    '1:',
  ])
    assert.equal(ip.parseIP(text), undefined, text)
})

test('the sloppy parser takes leading zeros and agrees with the strict one otherwise', () => {
  assert.equal(ip.formatIP(ip.parseIPSloppy('010.000.03.4') as ip.IPAddress), '10.0.3.4')
  assert.equal(ip.formatIP(ip.parseIPSloppy('00001::1') as ip.IPAddress), '1::1')
  fc.assert(
    fc.property(fc.oneof(fc.ipV6(), fc.ipV4(), fc.stringMatching(/^[0-9a-f:.]{1,20}$/)), text => {
      const strict = ip.parseIP(text)
      const sloppy = ip.parseIPSloppy(text)
      if (strict === undefined) assert.ok(sloppy === undefined || /(^|[:.])0[0-9a-f]/.test(text))
      else assert.deepEqual(sloppy, strict)
      if (strict !== undefined) assert.deepEqual(ip.parseIP(ip.formatIP(strict)), { ...strict, mapped: false })
    }),
  )
})

test('what is parsed strictly is what Node takes for an address without a zone', () => {
  const part = fc.oneof(fc.stringMatching(/^[0-9a-f]{0,5}$/), fc.constantFrom('0', '00', '1.2.3.4', '01.2.3.4', '1.2.3.04', '%eth0', ''))
  const text = fc.oneof(
    fc.array(part, { maxLength: 9 }).map(parts => parts.join(':')),
    fc.stringMatching(/^[0-9a-f:.]{1,20}$/),
    fc.stringMatching(/^([0-9]{1,3}\.){3}[0-9]{1,3}$/),
  )
  fc.assert(
    fc.property(text, text => assert.equal(ip.parseIP(text) !== undefined, isIP(text) !== 0 && !text.includes('%'), text)),
    { numRuns: 2000 },
  )
})

test('every number of 128 bits has one canonical text', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 128n - 1n), bits => {
      const text = ip.formatIP({ family: 6, bits, mapped: false })
      assert.ok(isIPv6(text))
      fc.pre(bits >> 32n !== 0xffffn)
      assert.deepEqual(ip.parseIP(text), { family: 6, bits, mapped: false })
    }),
  )
})

test('blocks have a size, a first and a last address, and contain addresses', () => {
  const cidr = block('10.0.0.0/30')
  assert.equal(ip.cidrSize(cidr), 4n)
  assert.equal(ip.formatIP(ip.lastAddress(cidr)), '10.0.0.3')
  assert.equal(ip.formatIP(ip.addressAt(cidr, 2n) as ip.IPAddress), '10.0.0.2')
  assert.equal(ip.addressAt(cidr, 4n), undefined)
  assert.ok(ip.cidrContains(cidr, address('10.0.0.3')))
  assert.ok(!ip.cidrContains(cidr, address('10.0.0.4')))
  assert.ok(!ip.cidrContains(block('::/0'), address('10.0.0.1')))
  assert.ok(ip.cidrsOverlap(block('10.0.0.0/8'), block('10.1.0.0/16')))
  assert.ok(!ip.cidrsOverlap(block('10.0.0.0/16'), block('10.1.0.0/16')))
  assert.equal(ip.cidrSize(block('2001:db8::/64')), 2n ** 64n)
  assert.equal(ip.formatCIDR(block('0.0.0.0/0')), '0.0.0.0/0')
})

test('loopback, link-local, multicast and unspecified addresses are recognized', () => {
  assert.ok(ip.isLoopback(address('127.1.2.3')) && ip.isLoopback(address('::1')) && !ip.isLoopback(address('::2')))
  assert.ok(ip.isUnspecified(address('0.0.0.0')) && ip.isUnspecified(address('::')))
  assert.ok(
    ip.isLinkLocalUnicast(address('169.254.1.1')) &&
      ip.isLinkLocalUnicast(address('fe80::1')) &&
      !ip.isLinkLocalUnicast(address('fec0::1')),
  )
  assert.ok(
    ip.isLinkLocalMulticast(address('224.0.0.1')) &&
      ip.isLinkLocalMulticast(address('ff02::1')) &&
      !ip.isLinkLocalMulticast(address('ff05::1')),
  )
  assert.ok(ip.isMulticast(address('239.1.1.1')) && ip.isMulticast(address('ff05::1')) && !ip.isMulticast(address('10.0.0.1')))
})

test('new fields need the canonical form, old fields take any unambiguous one', () => {
  const invalid = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  assert.deepEqual(ip.isValidIP('1.2.3.4'), [])
  assert.deepEqual(ip.isValidIP('x'), [invalid])
  assert.deepEqual(ip.isValidIP('fe80::1%eth0'), [invalid])
  assert.deepEqual(ip.isValidIP('01.2.3.4'), ['must not have leading 0s'])
  assert.deepEqual(ip.isValidIP('::ffff:1.2.3.4'), ['must not be an IPv4-mapped IPv6 address'])
  assert.deepEqual(ip.isValidIP('FE80::1'), ['must be in canonical form ("fe80::1")'])
  assert.deepEqual(ip.isValidIPForLegacyField('FE80::1'), [])
  assert.deepEqual(ip.isValidIPForLegacyField('01.2.3.4'), ['must not have leading 0s'])
  assert.deepEqual(ip.isValidIPForLegacyField('01.2.3.4', { stored: new Set(['01.2.3.4']) }), [])
})

test('invalid blocks have the messages of kube-apiserver', () => {
  const invalid = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'
  assert.deepEqual(ip.isValidCIDR('10.0.0.0/8'), [])
  for (const value of ['10.0.0.0', '10.0.0.0/33', '::/129', 'x/8', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8'])
    assert.deepEqual(ip.isValidCIDR(value), [invalid], value)
  assert.deepEqual(ip.isValidCIDR('10.0.0.0/08'), ['must not have leading 0s in IP or prefix length'])
  assert.deepEqual(ip.isValidCIDR('::ffff:10.0.0.0/104'), ['must not have an IPv4-mapped IPv6 address'])
  assert.deepEqual(ip.isValidCIDR('10.0.0.1/8'), ['must not have bits set beyond the prefix length'])
  assert.deepEqual(ip.isValidCIDR('2001:DB8::/32'), ['must be in canonical form ("2001:db8::/32")'])
  assert.deepEqual(ip.isValidCIDRForLegacyField('2001:DB8::/32'), [])
  assert.deepEqual(ip.isValidInterfaceAddress('10.0.0.5/24'), [])
  assert.deepEqual(ip.isValidInterfaceAddress('::ffff:192.168.0.1/120'), ['must be in canonical form ("192.168.0.1/24")'])
})

test('unusual notations in old fields give warnings', () => {
  assert.deepEqual(
    ip.warningsForIP(() => 'spec.a', '1.2.3.4'),
    [],
  )
  assert.deepEqual(
    ip.warningsForIP(() => 'spec.a', '01.2.3.4'),
    ['spec.a: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"'],
  )
  assert.deepEqual(
    ip.warningsForIP(() => 'spec.a', 'FE80::1'),
    ['spec.a: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")'],
  )
  assert.deepEqual(
    ip.warningsForCIDR(() => 'c', '10.0.0.1/8'),
    ['c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'],
  )
  assert.deepEqual(
    ip.warningsForCIDR(() => 'c', '010.0.0.0/8'),
    ['c: non-standard CIDR value "010.0.0.0/8" is invalid: use "10.0.0.0/8"'],
  )
  assert.deepEqual(
    ip.warningsForCIDR(() => 'c', '2001:DB8::/32'),
    ['c: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'],
  )
})

const fails = (parse: (text: string) => unknown, text: string): string => {
  try {
    parse(text)
    return 'fine'
  } catch (error) {
    assert.ok(error instanceof ip.NetipError)
    return error.message
  }
}

test('net/netip: addresses of both families are read', () => {
  const canonical = (text: string) => ip.formatIP(ip.parseAddress(text).address)
  assert.equal(canonical('10.0.0.255'), '10.0.0.255')
  assert.equal(canonical('::'), '::')
  assert.equal(canonical('2001:DB8:0:0:1::1'), '2001:db8::1:0:0:1')
  assert.equal(canonical('1:2:3:4:5:6:7::'), '1:2:3:4:5:6:7:0')
  assert.equal(canonical('64:ff9b::1.2.3.4'), '64:ff9b::102:304')
  assert.deepEqual(ip.parseAddress('fe80::1%eth0').zone, 'eth0')
  assert.equal(ip.isMapped(ip.parseAddress('::ffff:1.2.3.4').address), true)
})

test('net/netip: errors have the message of Go', () => {
  const address = (text: string) => fails(ip.parseAddress, text).replace(/^ParseAddr\(.*?\): /, '')
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
  const prefix = (text: string) => fails(ip.parsePrefix, text).replace(/^netip\.ParsePrefix\(.*?\): /, '')
  assert.equal(prefix('1.2.3.4'), "no '/'")
  assert.equal(prefix('1.2.3/8'), 'ParseAddr("1.2.3"): IPv4 address too short')
  assert.equal(prefix('fe80::1%a/8'), 'IPv6 zones cannot be present in a prefix')
  for (const bits of ['', '+8', '08', 'x', '9'.repeat(20)]) assert.equal(prefix(`::/${bits}`), `bad bits after slash: "${bits}"`)
  assert.equal(prefix('::/129'), 'prefix length out of range')
})

test('net/netip: prefixes contain addresses and overlap', () => {
  const [wide, narrow, other] = [ip.parsePrefix('10.0.0.0/8'), ip.parsePrefix('10.1.2.3/16'), ip.parsePrefix('11.0.0.0/8')]
  assert.equal(ip.prefixContains(wide, ip.parseAddress('10.9.9.9').address), true)
  assert.equal(ip.prefixContains(wide, ip.parseAddress('::').address), false)
  assert.deepEqual(
    [ip.prefixesOverlap(wide, narrow), ip.prefixesOverlap(narrow, other), ip.prefixesOverlap(wide, ip.parsePrefix('::/0'))],
    [true, false, false],
  )
  assert.equal(ip.formatIP(ip.maskPrefix(narrow).address), '10.1.0.0')
  assert.equal(ip.prefixesOverlap(ip.parsePrefix('0.0.0.0/0'), other), true)
})

test('net/netip: the same addresses are valid as for Node, and are read back as written', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), text => {
      const { address } = ip.parseAddress(text)
      assert.deepEqual(ip.parseAddress(ip.formatIP({ ...address, family: address.family })).address.bits, address.bits)
    }),
  )
  const mess = fc.string({ unit: fc.constantFrom('1', '0', 'f', ':', '.', '::', '25'), maxLength: 16 })
  fc.assert(
    fc.property(mess, text => assert.equal(fails(ip.parseAddress, text) === 'fine', isIP(text) !== 0, text)),
    { numRuns: 500 },
  )
})
