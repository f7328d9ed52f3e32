import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node } from '../../kinds/core/node.ts'
import { evictingTaints, evictionRate, evictionTaint, graceOf, olderLabels, schedulingTaints, silentConditions } from './reconcile.ts'

const now = '2026-07-01T12:00:00Z'
const nodeOf = (ready: string | undefined, { labels = {}, taints = [], unschedulable = false, conditions = [] }: any = {}) =>
  ({
    metadata: { name: 'a', labels, creationTimestamp: '2026-07-01T11:00:00Z' },
    spec: { taints, ...(unschedulable && { unschedulable }) },
    status: {
      conditions: [...(ready ? [{ type: 'Ready', status: ready, reason: 'r', message: 'm', lastTransitionTime: 't' }] : []), ...conditions],
    },
  }) as unknown as Node
const keys = (taints: readonly { key: string; effect: string }[] | undefined) =>
  taints?.map(({ key, effect }) => `${key.split('/').pop()}:${effect}`)

test('a node without heartbeats has unknown conditions, which say whether it ever reported', () => {
  const told = silentConditions(nodeOf('True'), now)!
  assert.deepEqual(
    told.map(({ type, status, reason }) => [type, status, reason]),
    [
      ['Ready', 'Unknown', 'NodeStatusUnknown'],
      ['MemoryPressure', 'Unknown', 'NodeStatusNeverUpdated'],
      ['DiskPressure', 'Unknown', 'NodeStatusNeverUpdated'],
      ['PIDPressure', 'Unknown', 'NodeStatusNeverUpdated'],
    ],
  )
  assert.equal(silentConditions(nodeOf('Unknown'), now), undefined)
  const grace = { monitorMs: 50_000, startupMs: 60_000 }
  assert.deepEqual([graceOf(nodeOf(undefined), grace), graceOf(nodeOf('True'), grace)], [60_000, 50_000])
})

test('conditions and cordoning are taints that keep new pods away; taints of others stay', () => {
  const pressed = nodeOf('False', {
    unschedulable: true,
    taints: [{ key: 'mine', effect: 'NoSchedule' }],
    conditions: [{ type: 'DiskPressure', status: 'True' }],
  })
  assert.deepEqual(keys(schedulingTaints(pressed, now)), [
    'mine:NoSchedule',
    'not-ready:NoSchedule',
    'disk-pressure:NoSchedule',
    'unschedulable:NoSchedule',
  ])
  const well = nodeOf('True', {
    taints: [
      { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
    ],
  })
  assert.deepEqual(keys(schedulingTaints(well, now)), ['not-ready:NoExecute'])
  assert.equal(schedulingTaints(nodeOf('True'), now), undefined)
})

test('an unreachable node is tainted NoExecute, and the taint is removed when it is back', () => {
  const lost = nodeOf('Unknown', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] })
  assert.deepEqual(keys(evictingTaints(lost, evictionTaint(lost), now)), ['unreachable:NoExecute'])
  assert.deepEqual(evictingTaints(lost, undefined, now), [])
  assert.equal(evictingTaints(nodeOf('True'), undefined, now), undefined)
})

test('pods are not evicted when no node is ready, or when most of a zone is not', () => {
  const nodes = (ready: number, notReady: number, zone = 'a') => {
    const labels = { 'topology.kubernetes.io/zone': zone }
    return [...Array(ready).fill(nodeOf('True', { labels })), ...Array(notReady).fill(nodeOf('False', { labels }))]
  }
  assert.equal(evictionRate('/a', nodes(0, 3)), 'all down')
  assert.equal(evictionRate('/a', nodes(2, 1)), 0.1)
  assert.equal(evictionRate('/a', nodes(2, 3)), 0)
  assert.equal(evictionRate('/a', nodes(20, 40)), 0.01)
  assert.equal(evictionRate('/a', [...nodes(0, 3), ...nodes(1, 0, 'b')]), 0.1)
})

test('labels of older names follow those of today', () => {
  assert.deepEqual(
    olderLabels(nodeOf('True', { labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'arm64', 'beta.kubernetes.io/arch': 'x' } })),
    {
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': 'arm64',
    },
  )
  assert.equal(olderLabels(nodeOf('True')), undefined)
})
