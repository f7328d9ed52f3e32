import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { reconcileSlices } from './reconcile.ts'
import type { Slice, SlicePlan } from './slices.ts'

const serviceOf = (spec: object = {}, metadata: object = {}) =>
  ({
    metadata: { name: 's', namespace: 'n', uid: 'u', labels: { a: 'b' }, ...metadata },
    spec: {
      selector: { a: 'b' },
      clusterIP: '10.0.0.1',
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }],
      ...spec,
    },
  }) as unknown as Service

type PodOptions = { ready?: boolean; going?: boolean; node?: string; port?: number; phase?: string }
const podOf = (number: number, { ready = true, going = false, node = 'node-a', port = 8080, phase = 'Running' }: PodOptions = {}) =>
  ({
    metadata: { name: `p${number}`, namespace: 'n', uid: `u${number}`, ...(going && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    spec: { nodeName: node, containers: [{ ports: [{ name: 'web', containerPort: port, protocol: 'TCP' }] }] },
    status: {
      phase,
      podIP: `10.1.${number >> 8}.${number & 255}`,
      podIPs: [{ ip: `10.1.${number >> 8}.${number & 255}` }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }) as unknown as Pod

const zones: Record<string, string> = { 'node-a': 'east', 'node-b': 'west', 'node-c': '' }
const decide = (service: Service, pods: readonly Pod[], slices: readonly Slice[] = []) =>
  reconcileSlices({
    service,
    pods,
    slices,
    zoneOf: node => zones[node],
    manager: 'm',
    zoneRatios: () =>
      new Map([
        ['east', 0.5],
        ['west', 0.5],
      ]),
  })

let made = 0
/** The slices after a plan was carried out. */
function carriedOut(slices: readonly Slice[], { create, update, remove }: SlicePlan): Slice[] {
  const gone = new Set([...update, ...remove].map(({ metadata }) => metadata.name))
  const named = create.map(slice => ({ ...slice, metadata: { ...slice.metadata, name: `${slice.metadata.generateName}${made++}` } }))
  return [...slices.filter(({ metadata }) => !gone.has(metadata.name)), ...update, ...named] as Slice[]
}

const addressesIn = (slices: readonly Slice[]) => slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses))

test('a Service without pods has one empty slice, and keeps it', () => {
  const slices = carriedOut([], decide(serviceOf(), []))
  assert.equal(slices.length, 1)
  assert.deepEqual(
    [slices[0]!.endpoints, slices[0]!.ports, slices[0]!.metadata.labels],
    [[], [], { a: 'b', 'kubernetes.io/service-name': 's', 'endpointslice.kubernetes.io/managed-by': 'm' }],
  )
  const again = decide(serviceOf(), [], slices)
  assert.deepEqual([again.create, again.update, again.remove], [[], [], []])
})

test('the first pod changes the empty slice instead of making another', () => {
  const slices = carriedOut([], decide(serviceOf(), []))
  const { create, update, remove } = decide(serviceOf(), [podOf(1)], slices)
  assert.deepEqual([create.length, update.length, remove.length], [0, 1, 0])
  assert.equal(update[0]!.metadata.name, slices[0]!.metadata.name)
  assert.deepEqual(update[0]!.endpoints, [
    {
      addresses: ['10.1.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', namespace: 'n', name: 'p1', uid: 'u1' },
      nodeName: 'node-a',
      zone: 'east',
    },
  ])
})

test('conditions say whether an endpoint is ready, serving and terminating', () => {
  const conditionsOf = (options: PodOptions, spec: object = {}) =>
    decide(serviceOf(spec), [podOf(1, options)]).create[0]!.endpoints![0]!.conditions
  assert.deepEqual(conditionsOf({ ready: false }), { ready: false, serving: false, terminating: false })
  assert.deepEqual(conditionsOf({ going: true }), { ready: false, serving: true, terminating: true })
  assert.deepEqual(conditionsOf({ ready: false }, { publishNotReadyAddresses: true }), { ready: true, serving: false, terminating: false })
})

test('pods that ended have no endpoint, and pods of unknown nodes wait for it', () => {
  const { create, waiting } = decide(serviceOf(), [podOf(1, { phase: 'Failed' }), podOf(2, { node: 'nowhere' }), podOf(3)])
  assert.deepEqual(addressesIn(create as Slice[]), ['10.1.0.3'])
  assert.deepEqual(waiting, [['p2', 'nowhere']])
})

test('each set of ports has slices of its own', () => {
  const { create } = decide(serviceOf(), [podOf(1), podOf(2, { port: 9090 })])
  assert.deepEqual(
    create.map(({ ports, endpoints }) => [ports![0]!.port, endpoints!.length]),
    [
      [8080, 1],
      [9090, 1],
    ],
  )
})

test('PreferSameNode sets a node hint on every ready endpoint, and removes it again', () => {
  const preferring = serviceOf({ trafficDistribution: 'PreferSameNode' })
  const slices = carriedOut([], decide(preferring, [podOf(1), podOf(2, { ready: false })]))
  assert.deepEqual(
    slices[0]!.endpoints!.map(({ hints }) => hints),
    [{ forZones: [{ name: 'east' }], forNodes: [{ name: 'node-a' }] }, undefined],
  )
  const [update] = decide(serviceOf(), [podOf(1), podOf(2, { ready: false })], slices).update
  assert.deepEqual(
    update!.endpoints!.map(({ hints }) => hints),
    [undefined, undefined],
  )
})

test('endpoints are spread over zones by their CPU when the Service asks for it', () => {
  const auto = serviceOf({}, { annotations: { 'service.kubernetes.io/topology-mode': 'Auto' } })
  const pods = [1, 2, 3, 4].map(number => podOf(number, { node: number === 4 ? 'node-b' : 'node-a' }))
  const { create, events } = decide(auto, pods)
  const hinted = create[0]!.endpoints!.map(({ hints }) => hints!.forZones![0]!.name)
  assert.deepEqual([hinted.filter(zone => zone === 'east').length, hinted.filter(zone => zone === 'west').length], [2, 2])
  assert.deepEqual(events, [
    { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message: 'Topology Aware Hints has been enabled, addressType: IPv4' },
  ])
  assert.deepEqual(
    decide(auto, pods.slice(0, 1)).events.map(({ message }) => message),
    ['Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4'],
  )
})

test('property: slices hold exactly the endpoints of their pods, none is too full, and a second pass changes nothing', () => {
  const pods = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 260 })
  const states = fc.array(fc.tuple(pods, fc.boolean()), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(states, history => {
      let slices: Slice[] = []
      for (const [numbers, ready] of history) {
        const wanted = numbers.map(number => podOf(number, { ready, port: number % 7 === 0 ? 9090 : 8080 }))
        slices = carriedOut(slices, decide(serviceOf(), wanted, slices))
        const expected = wanted.map(({ status }) => status!.podIP!)
        assert.deepEqual(addressesIn(slices).sort(), expected.sort())
        assert.ok(slices.length > 0 && slices.every(({ endpoints }) => endpoints!.length <= 100))
        const again = decide(serviceOf(), wanted, slices)
        assert.deepEqual([again.create, again.update, again.remove], [[], [], []])
      }
    }),
    { numRuns: 40 },
  )
})
