import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node } from '../../kinds/core/node.ts'
import { isSimulated, SIMULATED_LABEL } from './is-simulated.ts'
import { CONDITIONS_ANNOTATION, FAILURE_ANNOTATION, isAlive, nodeStatus } from './simulated-node.ts'

const NOW = Date.UTC(2026, 6, 1, 12)
const node = ({
  status = {},
  annotations = {},
  labels = { [SIMULATED_LABEL]: 'true' },
}: {
  status?: object
  annotations?: object
  labels?: object
} = {}) =>
  ({
    metadata: { name: 'n', labels, annotations },
    spec: {},
    status: { nodeInfo: {}, daemonEndpoints: {}, ...status },
  }) as unknown as Node
const parts = { capacity: { cpu: '4' }, kubeletVersion: 'v1.37.0', runtimeVersion: '1', gate: () => false, isGiven: false, now: NOW }

test('a node is simulated when it has the label and no real kubelet has registered it', () => {
  const run = (containerRuntimeVersion: string) => node({ status: { nodeInfo: { containerRuntimeVersion } } })
  assert.ok(isSimulated(node()))
  assert.ok(isSimulated(run('simulated://0.1.0')))
  assert.ok(!isSimulated(run('containerd://2.1')))
  assert.ok(!isSimulated(node({ labels: {} })))
  assert.ok(!isSimulated(undefined))
  assert.ok(!isAlive(node({ annotations: { [FAILURE_ANNOTATION]: 'true' } })))
})

test('capacity is that of the settings; what others add stays, and of a given Node what it says', () => {
  const old = { capacity: { cpu: '1', 'example.com/gpu': '2' } }
  const own = nodeStatus(node({ status: old }), ['172.18.0.2'], parts)
  assert.deepEqual([own.capacity!['cpu'], own.capacity!['example.com/gpu'], own.allocatable!['memory']], ['4', '2', '64Gi'])
  const given = nodeStatus(node({ status: { ...old, allocatable: { cpu: '500m' } } }), [], { ...parts, isGiven: true })
  assert.deepEqual([given.capacity!['cpu'], given.allocatable!['cpu'], given.allocatable!['pods']], ['1', '500m', '110'])
})

test('a status that is fresh stays as it is; heartbeats are renewed after five minutes', () => {
  const first = nodeStatus(node(), ['172.18.0.2'], parts)
  assert.deepEqual(
    first.conditions?.map(({ type, status }) => `${type}=${status}`),
    ['MemoryPressure=False', 'DiskPressure=False', 'PIDPressure=False', 'Ready=True'],
  )
  assert.deepEqual(nodeStatus(node({ status: first }), ['172.18.0.2'], { ...parts, now: NOW + 299_000 }), first)
  const later = nodeStatus(node({ status: first }), ['172.18.0.2'], { ...parts, now: NOW + 300_000 })
  assert.deepEqual(
    [later.conditions![3]!.lastHeartbeatTime, later.conditions![3]!.lastTransitionTime],
    ['2026-07-01T12:05:00Z', '2026-07-01T12:00:00Z'],
  )
})

test('an annotation scripts conditions, and changes by others are undone', () => {
  const scripted = nodeStatus(node({ annotations: { [CONDITIONS_ANNOTATION]: 'Ready=False, DiskPressure=True,x' } }), [], parts)
  assert.deepEqual(
    scripted.conditions?.map(({ reason }) => reason),
    ['KubeletHasSufficientMemory', 'KubeletHasDiskPressure', 'KubeletHasSufficientPID', 'KubeletNotReady'],
  )
  const silent = {
    conditions: [
      { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' },
      { type: 'Mine', status: 'True' },
    ],
  }
  const back = nodeStatus(node({ status: silent }), [], parts)
  assert.deepEqual(
    back.conditions?.map(({ type, status }) => `${type}=${status}`),
    ['Mine=True', 'MemoryPressure=False', 'DiskPressure=False', 'PIDPressure=False', 'Ready=True'],
  )
})

test('a node declares features of gates that are on, also when it was there before', () => {
  const featuresOf = (status: object, gate: (name: string) => boolean) =>
    nodeStatus(node({ status }), [], { ...parts, gate }).declaredFeatures
  const usual = featuresOf({}, () => false)!
  assert.ok(!usual.includes('DRANodeAllocatableResources'))
  const extended = ['DRANodeAllocatableResources', ...usual]
  assert.deepEqual(
    featuresOf({}, () => true),
    extended,
  )
  assert.deepEqual(
    featuresOf({ declaredFeatures: usual }, () => true),
    extended,
  )
  assert.deepEqual(
    featuresOf({ declaredFeatures: ['mine'] }, () => false),
    ['mine'],
  )
})
