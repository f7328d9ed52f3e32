import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoints } from '../../kinds/core/endpoints.ts'
import type { Slice } from '../endpointslice/slices.ts'
import { isMirrored, reconcileMirror } from './reconcile.ts'

const endpointsOf = (subsets: Endpoints['subsets'], metadata: object = {}) =>
  ({ metadata: { name: 's', namespace: 'n', uid: 'u', ...metadata }, subsets }) as Endpoints
const http = { name: 'http', port: 80, protocol: 'TCP' }

test('addresses of both families are mirrored, each to its own slice', () => {
  const source = endpointsOf(
    [{ addresses: [{ ip: '1.1.1.1' }, { ip: 'fd00::1' }], notReadyAddresses: [{ ip: '1.1.1.2', hostname: 'h' }], ports: [http] }],
    {
      labels: { a: 'b' },
      annotations: { note: 'kept', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    },
  )
  const { create, update, remove } = reconcileMirror(source, [], 'm')
  assert.deepEqual([create.length, update.length, remove.length], [2, 0, 0])
  const four = create.find(({ addressType }) => addressType === 'IPv4')!
  assert.deepEqual(four.endpoints, [
    { addresses: ['1.1.1.1'], conditions: { ready: true } },
    { addresses: ['1.1.1.2'], conditions: { ready: false }, hostname: 'h' },
  ])
  assert.deepEqual(four.metadata.labels, { a: 'b', 'kubernetes.io/service-name': 's', 'endpointslice.kubernetes.io/managed-by': 'm' })
  assert.deepEqual([four.metadata.annotations, four.metadata.generateName], [{ note: 'kept' }, 's-'])
})

test('nothing changes when nothing has changed, and a slice is taken over when its ports do', () => {
  const first = reconcileMirror(endpointsOf([{ addresses: [{ ip: '1.1.1.1' }], ports: [http] }]), [], 'm').create[0]!
  const slice = { ...first, metadata: { ...first.metadata, name: 's-1' } } as Slice
  const same = reconcileMirror(endpointsOf([{ addresses: [{ ip: '1.1.1.1' }], ports: [http] }]), [slice], 'm')
  assert.deepEqual([same.create, same.update, same.remove], [[], [], []])
  const other = reconcileMirror(endpointsOf([{ addresses: [{ ip: '1.1.1.1' }], ports: [{ ...http, port: 81 }] }]), [slice], 'm')
  assert.deepEqual([other.create.length, other.update.map(({ metadata }) => metadata.name), other.remove.length], [0, ['s-1'], 0])
  const none = reconcileMirror(endpointsOf([]), [slice], 'm')
  assert.deepEqual([none.create.length, none.update.length, none.remove.length], [0, 0, 1])
})

test('at most a thousand addresses of a subset are mirrored', () => {
  const addresses = Array.from({ length: 1002 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }))
  const { create, skipped, invalid } = reconcileMirror(endpointsOf([{ addresses, ports: [http] }]), [], 'm')
  assert.deepEqual([create[0]!.endpoints!.length, skipped, invalid], [1000, 2, 0])
})

test('locks of old clients, and Endpoints labelled so, are not mirrored', () => {
  assert.equal(isMirrored(endpointsOf([])), true)
  assert.equal(isMirrored(endpointsOf([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } })), false)
  assert.equal(isMirrored(endpointsOf([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } })), false)
})
