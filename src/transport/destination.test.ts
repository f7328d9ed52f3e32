import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatIP, parseCIDR } from '../lib/ip.ts'
import { AddressNotAllowed, type DestinationRules, MadeUpAddress, oneDestination, reportedDestinations } from './destination.ts'

const OWN_PORT = 6443

const rules = (more: Partial<DestinationRules> = {}): DestinationRules => ({
  allowed: [],
  own: () => ({ port: OWN_PORT, addresses: ['10.9.9.9'] }),
  madeUpFor: () => undefined,
  ...more,
})

const isAllowed = (host: string, port = 10250, more: Partial<DestinationRules> = {}): boolean => {
  try {
    reportedDestinations(rules(more))(host, port)
    return true
  } catch (error) {
    if (error instanceof AddressNotAllowed) return false
    throw error
  }
}

test('special addresses are not allowed, in whatever form they are written', () => {
  for (const host of [
    ...['', '0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.255.254', '127.000.000.001', '169.254.169.254', '192.0.0.192', '224.0.0.1'],
    ...['239.255.255.255', '255.255.255.255', '100.100.100.200', '168.63.129.16'],
    ...['::', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:169.254.169.254', '::127.0.0.1', '::ffff:0:127.0.0.1'],
    ...['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::7f00:1', '2002:7f00:1::', '2001::1', '100::1', 'fd00:ec2::254', 'fd20:ce::254'],
    ...['fe80::1', 'fe80::1%eth0', '::1%lo', '2001:db8::1%1', 'fec0::1', 'ff02::1'],
  ])
    assert.equal(isAllowed(host), false, host)
})

test('ordinary addresses are allowed', () => {
  for (const host of ['10.0.0.1', '172.16.3.4', '192.168.0.1', '100.64.0.1', '198.19.249.2', '203.0.113.7', '8.8.8.8', '240.0.0.1'])
    assert.equal(isAllowed(host), true, host)
  for (const host of ['fd00::2', '2001:db8::1', '2a00:1450:4001::1', '::ffff:10.0.0.1', 'fc00::1'])
    assert.equal(isAllowed(host), true, host)
})

test('an IPv4 address is judged the same in its IPv6 form, and connected to as IPv4', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffffff }), bits => {
      const text = formatIP({ family: 4, bits: BigInt(bits), mapped: false })
      assert.equal(isAllowed(`::ffff:${text}`), isAllowed(text))
      if (isAllowed(text)) assert.equal(reportedDestinations(rules())(`::ffff:${text}`, 1).host, text)
    }),
  )
})

test('leading zeros are decimal, as Go reads them, for the check and for the connection', () => {
  assert.deepEqual(reportedDestinations(rules())('010.000.000.001', 80), { host: '10.0.0.1', port: 80, lookup: undefined })
})

test('networks are opened by the configuration, but the server itself never is', () => {
  const open = { allowed: [parseCIDR('127.0.0.0/8')!, parseCIDR('0.0.0.0/0')!, parseCIDR('::/0')!] }
  for (const host of ['127.0.0.1', '127.0.0.2', '::1', '169.254.169.254', '::ffff:127.0.0.1'])
    assert.equal(isAllowed(host, 10250, open), true)
  const machine = Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({ address }) => address))
  for (const host of ['127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', '10.9.9.9', ...machine])
    assert.equal(isAllowed(host, OWN_PORT, open), false, host)
  assert.equal(isAllowed('10.9.9.8', OWN_PORT, open), true)
  // Until it listens, every port may be its own.
  const starting = { ...open, own: () => ({ port: undefined, addresses: [] }) }
  assert.equal(isAllowed('127.0.0.1', 10250, starting), false)
})

test('made-up addresses are not allowed, also in networks that are open', () => {
  const allowed = [parseCIDR('10.0.0.0/8')!]
  const reported = reportedDestinations(rules({ allowed, madeUpFor: ip => (ip === '10.244.0.5' ? 'it is made up' : undefined) }))
  for (const host of ['10.244.0.5', '010.244.0.5', '::ffff:10.244.0.5'])
    assert.throws(() => reported(host, 80), new MadeUpAddress('it is made up'))
  assert.equal(reported('10.244.0.6', 80).host, '10.244.0.6')
})

/** The result of the lookup that a connection would make. */
const resolved = (answers: LookupAddress[], { all = true, more = {} }: { all?: boolean; more?: Partial<DestinationRules> } = {}) =>
  new Promise<unknown>((resolve, reject) => {
    const { lookup } = reportedDestinations(rules({ resolve: (_, __, callback) => callback(null, answers), ...more }))(
      'node.example',
      OWN_PORT,
    )
    lookup!('node.example', { all }, (error, address) => (error ? reject(error) : resolve(address)))
  })

test('a name is judged by all its addresses, when it is resolved for a connection', async () => {
  const good = { address: '10.0.0.1', family: 4 }
  assert.deepEqual(await resolved([good]), [good])
  assert.equal(await resolved([good], { all: false }), '10.0.0.1')
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254', 'fe80::1%eth0', '10.9.9.9'])
    for (const answers of [[{ address, family: 4 }], [good, { address, family: 6 }]])
      await assert.rejects(resolved(answers), new AddressNotAllowed(), address)
  await assert.rejects(resolved([]), /no addresses for hostname/)
  await assert.rejects(resolved([good], { more: { madeUpFor: () => 'made up' } }), new MadeUpAddress('made up'))
})

test('of several endpoints one that is allowed is taken, wherever the search begins', () => {
  const at = (host: string) => ({ host, port: 80 })
  for (const random of [0, 0.4, 0.99])
    assert.equal(
      oneDestination([at('127.0.0.1'), at('10.0.0.1'), at('::1')], reportedDestinations(rules()), () => random)?.host,
      '10.0.0.1',
    )
  assert.throws(() => oneDestination([at('127.0.0.1')], reportedDestinations(rules()), () => 0), AddressNotAllowed)
  assert.equal(
    oneDestination([], reportedDestinations(rules()), () => 0),
    undefined,
  )
})
