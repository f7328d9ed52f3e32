import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check } from '../../../test/kits/kinds/kinds.ts'
import { IPAddress } from './ipaddress.ts'

const address = (parentRef?: object, name = '10.0.0.1') => ({ metadata: { name }, spec: { ...(parentRef && { parentRef }) } })
const service = { resource: 'services', namespace: 'default', name: 'a' }

test('the name is an address in canonical form', () => {
  assert.deepEqual(check(IPAddress, address(service)), [])
  assert.deepEqual(check(IPAddress, address(service, 'fd00::1')), [])
  assert.deepEqual(check(IPAddress, address(service, 'FD00::1')), [
    'metadata.name: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
  ])
  assert.deepEqual(check(IPAddress, address(service, 'a')), [
    'metadata.name: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ])
})

test('it has a parent reference, with resource and name', () => {
  assert.deepEqual(check(IPAddress, address()), ['spec.parentRef: Required value'])
  assert.deepEqual(check(IPAddress, address({})), ['spec.parentRef.resource: Required value', 'spec.parentRef.name: Required value'])
  assert.deepEqual(
    check(IPAddress, address({ group: 'A_b', resource: 'a/b', namespace: '..', name: '%' })).map(e => e.split(': ')[0]),
    ['spec.parentRef.group', 'spec.parentRef.resource', 'spec.parentRef.name', 'spec.parentRef.namespace'],
  )
})

test('the parent reference cannot change', () => {
  assert.deepEqual(check(IPAddress, address(service), { old: address(service) }), [])
  assert.deepEqual(check(IPAddress, address({ ...service, name: 'b' }), { old: address(service) }), [
    'spec.parentRef: Invalid value: null: field is immutable',
  ])
})

test('the table shows the parent reference', () => {
  const shown = (parentRef: object) => cells(IPAddress, address(parentRef))['ParentRef']
  assert.equal(shown(service), 'services/default/a')
  assert.equal(shown({ group: 'gateway.networking.k8s.io', resource: 'Gateways', name: 'g' }), 'gateways.gateway.networking.k8s.io/g')
})
