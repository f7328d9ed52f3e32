import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource } from '../../../test/kits/kinds/kinds.ts'
import { StorageVersionMigration } from './storageversionmigration.ts'

const of = (group: string, resource: string) => ({ spec: { resource: { group, resource } } })
const daemonsets = of('apps', 'daemonsets')
const condition = (type: string, status = 'True') => ({
  type,
  status,
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
const status = (now: object, before: object = {}) =>
  checkSubresource(StorageVersionMigration, 'status', { ...daemonsets, status: now }, { ...daemonsets, status: before })

test('a resource is named', () => {
  assert.deepEqual(check(StorageVersionMigration, daemonsets), [])
  assert.deepEqual(check(StorageVersionMigration, of('', 'pods')), [])
  assert.deepEqual(check(StorageVersionMigration, of('apps', '')), [
    'spec.resource.resource: Required value: resource is required to be set',
  ])
  assert.match(check(StorageVersionMigration, of('A', '1'))[0]!, /^spec\.resource\.resource: Invalid value: "1": a DNS-1035 label/)
  assert.match(
    check(StorageVersionMigration, of('A', '1'))[1]!,
    /^spec\.resource\.group: Invalid value: "A": a lowercase RFC 1123 subdomain/,
  )
})

test('what is migrated does not change', () => {
  assert.deepEqual(check(StorageVersionMigration, of('apps', 'deployments'), { old: daemonsets }), [
    'spec: Invalid value: {"Resource":{"group":"apps","resource":"deployments"}}: field is immutable',
  ])
})

test('a migration has one terminal condition, which is final', () => {
  assert.deepEqual(status({ conditions: [condition('Succeeded')] }), [])
  assert.match(
    status({ conditions: [condition('Succeeded'), condition('Failed')] })[0]!,
    /^status\.conditions: Invalid value: \[.*\]: Both success and failed conditions cannot be true at the same time$/,
  )
  assert.match(
    status({ conditions: [condition('Succeeded', 'False')] }, { conditions: [condition('Succeeded')] })[0]!,
    /Success condition cannot be set to false once it is true$/,
  )
  assert.deepEqual(status({}, { conditions: [condition('Failed')] }), [
    'status.conditions: Invalid value: null: Failed condition cannot be set to false once it is true',
  ])
  assert.deepEqual(status({ conditions: [{ ...condition('Running'), reason: '' }] }), ['status.conditions[0].reason: Required value'])
})

test('the version it started at is a number and does not change', () => {
  assert.deepEqual(status({ resourceVersion: '012' }), [
    'status.resourceVersion: Invalid value: "012": resource version is not well formed: 012',
  ])
  assert.deepEqual(status({ resourceVersion: '13' }, { resourceVersion: '12' }), [
    'status.resourceVersion: Invalid value: "13": field is immutable',
  ])
})

test('its table shows resource and state', () => {
  assert.deepEqual(cells(StorageVersionMigration, daemonsets), { Name: 'x', Resource: 'daemonsets.apps', Status: 'Unknown' })
  assert.equal(cells(StorageVersionMigration, { ...of('', 'pods'), status: { conditions: [condition('Running')] } })['Status'], 'Running')
})
