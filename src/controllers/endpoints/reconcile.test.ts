import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoints } from '../../kinds/core/endpoints.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { packSubsets, reconcileEndpoints } from './reconcile.ts'
import { TriggerTimes } from './service-pods.ts'

const service = {
  metadata: { name: 's', namespace: 'n', labels: { app: 'a' }, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    clusterIP: '10.0.0.1',
    selector: { app: 'a' },
    ipFamilies: ['IPv4'],
    ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
  },
} as unknown as Service

const podOf = (number: number, ready = true, spec: object = {}) =>
  ({
    metadata: { name: `p${number}`, namespace: 'n', uid: `u${number}` },
    spec: { nodeName: 'node', containers: [], ...spec },
    status: {
      podIP: `10.1.${number >> 8}.${number & 255}`,
      podIPs: [{ ip: `10.1.${number >> 8}.${number & 255}` }, { ip: `fd00::${number}` }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:01:00Z' }],
    },
  }) as unknown as Pod

test('ready and not ready pods are separated within one subset', () => {
  const wanted = reconcileEndpoints(service, [podOf(2), podOf(1, false)], undefined, '2026-01-01T00:00:00Z')!
  assert.deepEqual(wanted.metadata.labels, { app: 'a', 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' })
  assert.deepEqual(wanted.metadata.annotations, { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' })
  const [subset, ...others] = wanted.subsets!
  assert.equal(others.length, 0)
  assert.deepEqual([subset!.addresses!.map(({ ip }) => ip), subset!.notReadyAddresses!.map(({ ip }) => ip)], [['10.1.0.2'], ['10.1.0.1']])
  assert.deepEqual(subset!.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }])
  assert.equal(reconcileEndpoints(service, [podOf(1, false), podOf(2)], wanted as Endpoints, undefined), undefined)
})

test('the family of the Service decides which address of a pod counts', () => {
  const six = { ...service, spec: { ...service.spec, ipFamilies: ['IPv6', 'IPv4'] } } as Service
  assert.equal(reconcileEndpoints(six, [podOf(7)], undefined, undefined)!.subsets![0]!.addresses![0]!.ip, 'fd00::7')
})

test('a headless Service without ports lists addresses, with the host names of its pods', () => {
  const headless = { ...service, spec: { clusterIP: 'None', selector: { app: 'a' }, ipFamilies: ['IPv4'] } } as unknown as Service
  const wanted = reconcileEndpoints(headless, [podOf(1, true, { hostname: 'h', subdomain: 's' })], undefined, undefined)!
  assert.equal(wanted.metadata.labels!['service.kubernetes.io/headless'], '')
  assert.deepEqual(
    wanted.subsets!.map(({ addresses, ports }) => [addresses![0]!.hostname, ports]),
    [['h', undefined]],
  )
})

test('more than a thousand addresses are cut short, which an annotation says', () => {
  const pods = Array.from({ length: 1100 }, (_, i) => podOf(i, i % 2 === 0))
  const wanted = reconcileEndpoints(service, pods, undefined, undefined)!
  const [subset] = wanted.subsets!
  assert.deepEqual([subset!.addresses!.length, subset!.notReadyAddresses!.length], [550, 450])
  assert.equal(wanted.metadata.annotations!['endpoints.kubernetes.io/over-capacity'], 'truncated')
  const fewer = reconcileEndpoints(service, pods.slice(0, 10), wanted as Endpoints, undefined)!
  assert.equal(fewer.metadata.annotations!['endpoints.kubernetes.io/over-capacity'], undefined)
})

test('an address that one subset calls ready and another not is not ready; ports of the same addresses come together', () => {
  const a = { ip: '1.1.1.1' }
  const http = { name: 'http', port: 80, protocol: 'TCP' }
  const tls = { name: 'tls', port: 443, protocol: 'TCP' }
  assert.deepEqual(
    packSubsets([
      { addresses: [a], ports: [tls] },
      { notReadyAddresses: [a], ports: [tls, http] },
    ]),
    [{ notReadyAddresses: [a], ports: [http, tls] }],
  )
})

test('the trigger time is that of the Service at first, then of the earliest change, then unknown', () => {
  const times = new TriggerTimes()
  assert.equal(times.since(service, []), '2026-01-01T00:00:00Z')
  assert.equal(times.since(service, [podOf(1)]), '2026-01-01T00:01:00Z')
  assert.equal(times.since(service, [podOf(1)]), undefined)
})
