import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, created, updated, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { EndpointSlice } from './endpointslice.ts'

const slice = (more: object = {}) => ({ addressType: 'IPv4', endpoints: [{ addresses: ['10.1.0.1'] }], ports: [{ port: 80 }], ...more })
const errors = (more: object, old?: object) => check(EndpointSlice, slice(more), old ? { old: slice(old) } : {})

test('ports have a protocol and an empty name unless they say otherwise', () => {
  const { ports } = withDefaults(EndpointSlice, slice())
  assert.deepEqual(ports, [{ name: '', protocol: 'TCP', port: 80 }])
  assert.deepEqual(errors({}), [])
  assert.deepEqual(errors({ ports: [{ name: 'a' }, { name: 'a' }, { name: 'B', protocol: 'ICMP', appProtocol: '-' }] }).slice(0, 2), [
    'ports[1].name: Duplicate value: "a"',
    "ports[2].name: Invalid value: \"B\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ])
})

test('addresses are of the type', () => {
  assert.deepEqual(errors({ endpoints: [{ addresses: ['fd00::1'] }] }), [
    'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
  ])
  assert.deepEqual(errors({ addressType: 'IPv6', endpoints: [{ addresses: ['FD00::1'] }] }), [
    'endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
  ])
  assert.deepEqual(errors({ addressType: 'FQDN', endpoints: [{ addresses: ['a', ''] }] }), [
    'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots',
    'endpoints[0].addresses[1]: Required value',
  ])
  assert.deepEqual(errors({ endpoints: [{ addresses: ['127.0.0.1'] }] }), [
    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ])
  assert.deepEqual(errors({ addressType: '' }), ['addressType: Required value'])
  assert.deepEqual(errors({ addressType: 'IP' }), ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'])
  assert.deepEqual(errors({ addressType: 'IPv6', endpoints: [] }, {}), ['addressType: Invalid value: null: field is immutable'])
})

test('there is not too much of anything', () => {
  const addresses = Array.from({ length: 101 }, (_, i) => `10.1.0.${i}`)
  assert.deepEqual(errors({ endpoints: [{ addresses }, {}] }), [
    'endpoints[0].addresses: Too many: 101: must have at most 100 items',
    'endpoints[1].addresses: Required value',
  ])
  const endpoints = Array.from({ length: 1001 }, () => ({ addresses: ['10.1.0.1'] }))
  assert.deepEqual(errors({ endpoints }), ['endpoints: Too many: 1001: must have at most 1000 items'])
  const forZones = Array.from({ length: 9 }, (_, i) => ({ name: `z${i}` }))
  const hinted = (hints: object) => errors({ endpoints: [{ addresses: ['10.1.0.1'], hints }] })
  assert.deepEqual(hinted({ forZones }), ['endpoints[0].hints.forZones: Too many: 9: must have at most 8 items'])
  assert.deepEqual(hinted({ forNodes: [{ name: 'a' }, { name: 'a' }] }), ['endpoints[0].hints.forNodes[1].name: Duplicate value: "a"'])
})

test('what is stored may stay as it is', () => {
  const bad = { endpoints: [{ addresses: ['127.0.0.1'] }] }
  assert.deepEqual(errors({ ...bad, ports: [] }, bad), [])
})

test('topology of old clients is dropped, and the node in it kept where it was', () => {
  const deprecatedTopology = { 'kubernetes.io/hostname': 'n1' }
  const endpoints = [{ addresses: ['10.1.0.1'], deprecatedTopology }]
  const [made] = created(EndpointSlice, slice({ endpoints })).endpoints
  assert.deepEqual([made.deprecatedTopology, made.nodeName], [undefined, undefined])
  const changed = [{ addresses: ['10.1.0.2'], deprecatedTopology }]
  const [kept] = updated(EndpointSlice, slice({ endpoints: changed }), slice({ endpoints })).endpoints
  assert.deepEqual([kept.deprecatedTopology, kept.nodeName], [undefined, 'n1'])
})

test('host names and odd spellings are warned about', () => {
  assert.deepEqual(warnings(EndpointSlice, slice({ addressType: 'FQDN', endpoints: [] })), [
    'spec.addressType: FQDN endpoints are deprecated',
  ])
  assert.equal(warnings(EndpointSlice, slice({ addressType: 'IPv6', endpoints: [{ addresses: ['FD00::1'] }] })).length, 1)
})

test('its table shows the first few', () => {
  const { AddressType, Ports, Endpoints } = cells(EndpointSlice, slice())
  assert.deepEqual([AddressType, Ports, Endpoints], ['IPv4', '80', '10.1.0.1'])
  const empty = cells(EndpointSlice, slice({ ports: [], endpoints: [] }))
  assert.deepEqual([empty['Ports'], empty['Endpoints']], ['<unset>', '<unset>'])
  const many = cells(EndpointSlice, slice({ ports: [{ name: 'a' }], endpoints: [{ addresses: ['1', '2', '3', '4'] }] }))
  assert.deepEqual([many['Ports'], many['Endpoints']], ['a', '1,2,3 + 1 more...'])
})
