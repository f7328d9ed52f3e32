import assert from 'node:assert/strict'
import test from 'node:test'
import { answerOf, expiryOf, type StatusRequest } from './reconcile.ts'

const NOW = '2026-01-01T00:00:00Z'
const asking = (more: object = {}) => ({ metadata: { creationTimestamp: NOW }, spec: { driver: 'd', ...more } }) as unknown as StatusRequest
const slice = (pool: string, devices: object[], more: any = {}) =>
  ({
    metadata: { name: pool },
    spec: { driver: 'd', pool: { name: pool, generation: 1, resourceSliceCount: 1, ...more.pool }, nodeName: 'n', devices, ...more.spec },
  }) as never
const claim = (...results: object[]) => ({ metadata: {}, spec: {}, status: { allocation: { devices: { results } } } }) as never
const answer = (request: StatusRequest, slices: never[], claims: never[] = [], rules: object[] = []): any =>
  answerOf(request, { slices, claims, rules: rules as never[] }, NOW)

test('devices of pools are counted: all, allocated and unavailable ones', () => {
  const devices = [{ name: 'a' }, { name: 'b', taints: [{ key: 'k', effect: 'NoSchedule' }] }, { name: 'c' }, { name: 'd' }]
  const rule = { spec: { deviceSelector: { device: 'c' }, taint: { key: 'k', effect: 'NoExecute' } } }
  const used = claim({ driver: 'd', pool: 'p', device: 'a' }, { driver: 'd', pool: 'p', device: 'd', adminAccess: true })
  const { poolCount, pools, conditions } = answer(asking(), [slice('p', devices)], [used], [rule])
  assert.deepEqual([poolCount, conditions[0].message], [1, 'Calculated status for 1 pools'])
  assert.deepEqual(pools[0], {
    driver: 'd',
    poolName: 'p',
    generation: 1,
    nodeName: 'n',
    resourceSliceCount: 1,
    totalDevices: 4,
    allocatedDevices: 1,
    availableDevices: 1,
    unavailableDevices: 2,
  })
  const two = [slice('q', []), slice('p', [])]
  assert.deepEqual(
    answer(asking({ limit: 1 }), two).pools.map(({ poolName }: any) => poolName),
    ['p'],
  )
  assert.deepEqual([answer(asking({ limit: 1 }), two).poolCount, answer(asking({ poolName: 'q' }), two).poolCount], [2, 1])
  assert.equal(answer(asking(), [slice('p', [], { pool: { resourceSliceCount: 2 } })]), 'incomplete')
})

test('partitions that still fit are counted by type, and the rest of shared devices', () => {
  const takes = (parts: string) => [{ counterSet: 's', counters: { parts: { value: parts } } }]
  const part = (name: string, type: string, parts: string) => ({
    name,
    attributes: { type: { string: type } },
    consumesCounters: takes(parts),
  })
  const devices = [part('w', 'whole', '2'), part('p1', 'part', '1'), part('p2', 'part', '1')]
  const slices = [
    slice('p', devices, { pool: { resourceSliceCount: 2 } }),
    slice('p', undefined as never, {
      pool: { resourceSliceCount: 2 },
      spec: { sharedCounters: [{ name: 's', counters: { parts: { value: '2' } } }] },
    }),
  ]
  const typed = asking({ defaultPartitionTypeAttribute: 'd/type' })
  assert.deepEqual(answer(typed, slices, [claim({ driver: 'd', pool: 'p', device: 'p1' })]).pools[0].partitionSummary, [
    { attribute: 'd/type', type: 'part', total: 2, allocatable: 1 },
    { attribute: 'd/type', type: 'whole', total: 1, allocatable: 0 },
  ])
  assert.match(
    answer(asking({ defaultPartitionTypeAttribute: 'd/none' }), slices).pools[0].validationError,
    /^PartitionTypeMissing: device "w"/,
  )
  const shared = { name: 's', allowMultipleAllocations: true, capacity: { memory: { value: '10Gi' } } }
  const share = claim({ driver: 'd', pool: 'p', device: 's', shareID: 'x', consumedCapacity: { memory: '4Gi' } })
  assert.deepEqual(answer(asking(), [slice('p', [shared])], [share]).pools[0].shareableSummary, {
    fullyAvailableDevices: 0,
    partiallyAvailableDevices: 1,
    capacity: [{ name: 'memory', total: '10Gi', consumed: '4Gi', available: '6Gi' }],
  })
})

test('requests are deleted an hour after they were answered, or after a day without an answer', () => {
  const hour = 3_600_000
  assert.equal(expiryOf(asking()) - Date.parse(NOW), 24 * hour)
  const status = { conditions: [{ type: 'Complete', lastTransitionTime: '2026-01-01T01:00:00Z' }] }
  assert.equal(expiryOf({ ...asking(), status } as never) - Date.parse(NOW), 2 * hour)
})
