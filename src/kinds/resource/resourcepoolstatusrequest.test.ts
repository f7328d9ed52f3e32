import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates } from '../../../test/kits/kinds/devices.ts'
import { cells, check, checkSubresource, created, updated, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ResourcePoolStatusRequest } from './resourcepoolstatusrequest.ts'

const ctx = withGates()
const spec = { driver: 'gpu.example.com' }
const faults = (more: object, gates = ctx) => check(ResourcePoolStatusRequest, { spec: { ...spec, ...more } }, { ctx: gates })
const answer = (status: object | undefined, old?: object) =>
  checkSubresource(ResourcePoolStatusRequest, 'status', { spec, ...(status && { status }) }, { spec, ...(old && { status: old }) }, ctx)
const done = { type: 'Complete', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-07-01T11:00:00Z' }
const pool = { driver: 'gpu.example.com', poolName: 'p', generation: 1 }

test('a request names a driver, and is for at most 100 pools by default', () => {
  assert.equal(withDefaults(ResourcePoolStatusRequest, { spec }).spec.limit, 100)
  assert.deepEqual(faults({}), [])
  assert.deepEqual(faults({ driver: '' }), ['spec.driver: Required value'])
  assert.deepEqual(faults({ limit: 0 }), ['spec.limit: Invalid value: 0: must be greater than or equal to 1'])
  assert.deepEqual(faults({ limit: 1001 }), ['spec.limit: Invalid value: 1001: must be less than or equal to 1000'])
  assert.deepEqual(faults({ poolName: 'a//b' }), ['spec.poolName: Invalid value: "a//b": segment 1: must not be empty'])
})

test('partition types need their feature gate', () => {
  const asked = { ...spec, defaultPartitionTypeAttribute: 'kind' }
  assert.equal(created(ResourcePoolStatusRequest, { spec: asked }, ctx).spec.defaultPartitionTypeAttribute, undefined)
  assert.deepEqual(faults(asked, withGates('DRAPartitionableDevicesType')), [
    'spec.defaultPartitionTypeAttribute: Invalid value: "kind": a fully qualified name must be a domain and a name separated by a slash',
  ])
})

test('there is no answer at first, and a plain write gives none', () => {
  assert.equal('status' in created(ResourcePoolStatusRequest, { spec, status: { poolCount: 1 } }, ctx), false)
  assert.equal(updated(ResourcePoolStatusRequest, { spec, status: { poolCount: 1 } }, { spec }, ctx).status, undefined)
  assert.deepEqual(updated(ResourcePoolStatusRequest, { spec }, { spec, status: { poolCount: 1 } }, ctx).status, { poolCount: 1 })
})

test('a question cannot change', () => {
  assert.deepEqual(check(ResourcePoolStatusRequest, { spec: { driver: 'b' } }, { ctx, old: { spec } }), [
    'spec: Invalid value: null: field is immutable',
  ])
})

test('an answer counts pools and describes them', () => {
  assert.deepEqual(answer({ poolCount: 1, pools: [pool], conditions: [done] }), [])
  assert.deepEqual(answer({}), ['status.poolCount: Required value'])
  assert.deepEqual(answer({ poolCount: -1, pools: [{}] }), [
    'status.poolCount: Invalid value: -1: must be greater than or equal to 0',
    'status.pools[0].driver: Required value',
    'status.pools[0].poolName: Required value',
    'status.pools[0].generation: Required value',
  ])
  assert.deepEqual(
    answer({ poolCount: 0, pools: [{ ...pool, resourceSliceCount: 0, totalDevices: -1, validationError: 'x'.repeat(257) }] }),
    [
      'status.pools[0].resourceSliceCount: Invalid value: 0: must be greater than or equal to 1',
      'status.pools[0].totalDevices: Invalid value: -1: must be greater than or equal to 0',
      'status.pools[0].validationError: Too long: may not be more than 256 bytes',
    ],
  )
  const partition = { attribute: 'a', type: 't', total: 1, allocatable: 1 }
  assert.deepEqual(
    answer({ poolCount: 0, pools: [{ ...pool, partitionSummary: [partition, partition, {}], shareableSummary: { capacity: [{}] } }] }),
    [
      'status.pools[0].partitionSummary[1]: Duplicate value: {"attribute":"a","type":"t","total":1,"allocatable":1}',
      'status.pools[0].partitionSummary[2].attribute: Required value',
      'status.pools[0].partitionSummary[2].type: Required value',
      'status.pools[0].partitionSummary[2].total: Required value',
      'status.pools[0].partitionSummary[2].allocatable: Required value',
      'status.pools[0].shareableSummary.fullyAvailableDevices: Required value',
      'status.pools[0].shareableSummary.partiallyAvailableDevices: Required value',
      'status.pools[0].shareableSummary.capacity[0].name: Required value',
      'status.pools[0].shareableSummary.capacity[0].total: Required value',
      'status.pools[0].shareableSummary.capacity[0].consumed: Required value',
      'status.pools[0].shareableSummary.capacity[0].available: Required value',
    ],
  )
})

test('an answer is final', () => {
  assert.deepEqual(answer({ poolCount: 1 }, { poolCount: 1 }), [])
  assert.deepEqual(answer({ poolCount: 2 }, { poolCount: 1 }), [
    'status: Invalid value: {"PoolCount":2,"Pools":null,"Conditions":null}: field is immutable',
  ])
  assert.deepEqual(answer(undefined, { poolCount: 1 }), ['status: Invalid value: null: field is immutable'])
})

test('its table sums up the pools', () => {
  const shown = (status?: object) => Object.values(cells(ResourcePoolStatusRequest, { spec, ...(status && { status }) }))
  assert.deepEqual(shown(), ['gpu.example.com', '-', '-', '-', '-', '-', 0, 'Pending', '<none>'])
  const pools = [
    { ...pool, totalDevices: 3, availableDevices: 1, allocatedDevices: 2 },
    { ...pool, totalDevices: 4, validationError: 'e' },
  ]
  assert.deepEqual(shown({ poolCount: 5, pools, conditions: [done] }), [
    'gpu.example.com',
    '7',
    '1',
    '2',
    '0',
    '1',
    5,
    'Complete (2/5 pools)',
    '60m',
  ])
  assert.deepEqual(shown({ poolCount: 0, conditions: [{ ...done, type: 'Failed' }] }), [
    'gpu.example.com',
    '-',
    '-',
    '-',
    '-',
    '-',
    0,
    'Failed',
    '<none>',
  ])
})
