import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluate, problemOf } from '../../../test/kits/cel/kubernetes.ts'

const holds = (...expressions: string[]) => {
  for (const expression of expressions) assert.equal(evaluate(expression), true, expression)
}

test('IP addresses are parsed and have properties', () => {
  holds(
    "isIP('127.0.0.1')",
    "isIP('::1')",
    "!isIP('127.0.0.256')",
    "!isIP(':::1')",
    "!isIP('127.0.0.01')",
    "!isIP('::ffff:1.2.3.4')",
    "!isIP('fe80::1%eth0')",
    "ip.isCanonical('127.0.0.1')",
    "ip.isCanonical('2001:db8::abcd')",
    "!ip.isCanonical('2001:DB8::ABCD')",
    "!ip.isCanonical('2001:db8::0:0:0:abcd')",
    "ip('192.168.0.1').family() == 4",
    "ip('2001:db8::abcd').family() == 6",
    "ip('2001:db8::abcd') == ip('2001:DB8::ABCD')",
    "ip('0.0.0.0').isUnspecified()",
    "ip('::').isUnspecified()",
    "!ip('127.0.0.1').isUnspecified()",
    "ip('127.0.0.1').isLoopback()",
    "ip('::1').isLoopback()",
    "!ip('fd80::1').isLoopback()",
    "ip('224.0.0.1').isLinkLocalMulticast()",
    "!ip('224.0.1.1').isLinkLocalMulticast()",
    "ip('ff02::1').isLinkLocalMulticast()",
    "ip('169.254.169.254').isLinkLocalUnicast()",
    "!ip('192.168.0.1').isLinkLocalUnicast()",
    "ip('fe80::1').isLinkLocalUnicast()",
    "!ip('fd80::1').isLinkLocalUnicast()",
    "ip('192.168.0.1').isGlobalUnicast()",
    "!ip('255.255.255.255').isGlobalUnicast()",
    "ip('2001:db8::abcd').isGlobalUnicast()",
    "!ip('ff00::1').isGlobalUnicast()",
    "string(ip('2001:DB8::ABCD')) == '2001:db8::abcd'",
    "type(ip('::1')) == net.IP",
  )
})

test('invalid addresses have the error messages of Go', () => {
  const problem = (text: string) => problemOf(`ip('${text}')`).replace(/^IP Address ".*" parse error during conversion from string: /, '')
  assert.equal(problem('127.0.0.256'), 'ParseAddr("127.0.0.256"): IPv4 field has value >255')
  assert.equal(problem('127.0.0.01'), 'ParseAddr("127.0.0.01"): IPv4 field has octet with leading zero')
  assert.equal(problem('1.2.3'), 'ParseAddr("1.2.3"): IPv4 address too short')
  assert.equal(problem('1.2.3.4.5'), 'ParseAddr("1.2.3.4.5"): IPv4 address too long')
  assert.equal(problem('1..2.3'), 'ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3")')
  assert.equal(problem('1.a.2.3'), 'ParseAddr("1.a.2.3"): unexpected character (at "a.2.3")')
  assert.equal(problem('nope'), 'ParseAddr("nope"): unable to parse IP')
  assert.equal(problem(':::1'), 'ParseAddr(":::1"): each colon-separated field must have at least one digit (at ":1")')
  assert.equal(problem('1::2::3'), 'ParseAddr("1::2::3"): multiple :: in address (at ":3")')
  assert.equal(problem('1:2'), 'ParseAddr("1:2"): address string too short')
  assert.equal(problem('12345::'), 'ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")')
  assert.equal(problem('1:2:3:4:5:6:7:8:9'), 'ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")')
  assert.equal(problem('::ffff:1.2.3.4'), 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed')
  assert.equal(problem('fe80::1%a'), 'IP address "fe80::1%a" with zone value is not allowed')
})

test('CIDR blocks are parsed and have properties', () => {
  holds(
    "isCIDR('192.168.0.0/16')",
    "isCIDR('::1/128')",
    "!isCIDR('192.168.0.0/33')",
    "!isCIDR('::1/129')",
    "!isCIDR('192.168.0.0/016')",
    "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))",
    "!cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
    "cidr('192.168.0.0/24').containsIP('192.168.0.1')",
    "!cidr('192.168.0.0/24').containsIP('::1')",
    "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))",
    "!cidr('192.168.1.0/24').containsCIDR(cidr('192.168.2.0/24'))",
    "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')",
    "!cidr('192.168.10.0/24').containsCIDR('192.168.0.0/16')",
    "cidr('192.168.0.1/24').ip() == ip('192.168.0.1')",
    "cidr('::1/128').ip().family() == 6",
    "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
    "cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked()",
    "cidr('192.168.0.0/16').prefixLength() == 16",
    "string(cidr('192.168.0.1/24')) == '192.168.0.1/24'",
  )
  const twice = 'network address parse error during conversion from string: '
  assert.equal(problemOf("cidr('192.168.0.0/33')"), `${twice}${twice}netip.ParsePrefix("192.168.0.0/33"): prefix length out of range`)
  assert.equal(problemOf("cidr('1.2.3.4')"), `${twice}${twice}netip.ParsePrefix("1.2.3.4"): no '/'`)
  assert.equal(problemOf("cidr('::ffff:1.2.3.4/120')"), `${twice}IPv4-mapped IPv6 address "::ffff:1.2.3.4/120" is not allowed`)
  assert.equal(problemOf("cidr('10.0.0.0/8').containsIP('nope')"), 'no such overload')
})

test('other values of dyn do not pass for values of the libraries', () => {
  assert.match(problemOf("dyn({'a': 1}).isGreaterThan(quantity('1'))"), /^no such overload/)
  assert.match(problemOf("dyn({'a': 1}).validate('x')"), /^no such overload/)
  assert.match(problemOf('dyn(1).family()'), /^no such overload/)
  assert.match(problemOf("dyn({'a': 1}).getHost()"), /^no such overload/)
})
