import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Endpoints } from './endpoints.ts'

const at = (ip: string, more: object = {}) => ({ addresses: [{ ip }], ...more })
const subsets = (...all: object[]) => ({ subsets: all })

test('a group has addresses, ready or not', () => {
  assert.deepEqual(check(Endpoints, subsets(at('10.1.0.1'))), [])
  assert.deepEqual(check(Endpoints, subsets({ notReadyAddresses: [{ ip: '10.1.0.1' }] })), [])
  assert.deepEqual(check(Endpoints, subsets({ ports: [{ port: 80 }] })), [
    'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
  ])
})

test('addresses are ones that can be reached', () => {
  assert.deepEqual(check(Endpoints, subsets(at('127.0.0.1'))), [
    'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ])
  assert.deepEqual(check(Endpoints, subsets(at('x'))), [
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
  ])
  assert.deepEqual(check(Endpoints, subsets({ addresses: [{ ip: '10.1.0.1', hostname: 'A', nodeName: '_' }] })).length, 2)
  const bad = subsets(at('127.0.0.1'))
  assert.deepEqual(check(Endpoints, bad, { old: bad }), [])
})

test('ports are named when there are several', () => {
  assert.deepEqual(withDefaults(Endpoints, subsets(at('10.1.0.1', { ports: [{ port: 80 }] }))).subsets[0].ports, [
    { port: 80, protocol: 'TCP' },
  ])
  const ports = [{ port: 0, name: 'A', protocol: 'ICMP', appProtocol: '-' }, { port: 80 }]
  assert.deepEqual(
    check(Endpoints, subsets(at('10.1.0.1', { ports }))).map(e => e.split(': ').slice(0, 2).join(' ')),
    ['name Invalid value', 'port Invalid value', 'protocol Unsupported value', 'appProtocol Invalid value', 'name Required value'].map(
      (text, i) => `subsets[0].ports[${i < 4 ? 0 : 1}].${text}`,
    ),
  )
})

test('odd spellings of addresses are warned about', () => {
  assert.equal(warnings(Endpoints, subsets(at('FD00::1'))).length, 1)
  const labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
  assert.deepEqual(warnings(Endpoints, { metadata: { labels }, ...subsets(at('FD00::1')) }), [])
})

test('its table shows the first few', () => {
  const shown = (o: object) => cells(Endpoints, o as never)['Endpoints']
  assert.equal(shown({}), '<none>')
  assert.equal(shown(subsets(at('10.1.0.1'))), '10.1.0.1')
  assert.equal(shown(subsets(at('fd00::1', { ports: [{ port: 80 }] }))), '[fd00::1]:80')
  const many = { addresses: ['1', '2', '3', '4', '5'].map(n => ({ ip: `10.1.0.${n}` })), ports: [{ port: 80 }] }
  assert.equal(shown(subsets(many)), '10.1.0.1:80,10.1.0.2:80,10.1.0.3:80 + 2 more...')
})

test('of very many points the first are shown and the rest counted, without making them', () => {
  const many = { addresses: Array.from({ length: 5000 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })) }
  const ports = Array.from({ length: 5000 }, (_, i) => ({ name: `p${i}`, port: i + 1 }))
  assert.equal(cells(Endpoints, subsets({ ...many, ports }))['Endpoints'], '10.0.0.0:1,10.0.0.1:1,10.0.0.2:1 + 24999997 more...')
  assert.equal(cells(Endpoints, subsets(at('10.0.0.1'), many))['Endpoints'], '10.0.0.1,10.0.0.0,10.0.0.1 + 4998 more...')
})
