import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, type PodDraft, podOf, scoreResults, type World } from '../../../test/kits/scheduler.ts'
import type { ClaimWriter } from '../devices/claim-writer.ts'
import { PluginError, placedOn, type Reservation } from '../plugin.ts'
import { defaultDynamicResources, dynamicResourcesWith } from './dynamic-resources.ts'

const dynamicResources = defaultDynamicResources(() => true)

const DRIVER = 'gpu.example.com'
const any = { any: {} }

/** Devices of one node each, called `gpu-0` and so on. */
const sliceFor = (node: string, devices: readonly object[]) => ({
  driver: DRIVER,
  pool: { name: node, generation: 1, resourceSliceCount: 1 },
  nodeName: node,
  devices: devices.map((device, i) => ({ name: `gpu-${i}`, ...device })),
})
const exactly = (request: object = {}) => ({
  spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'any', allocationMode: 'ExactCount', count: 1, ...request } }] } },
})
const claiming = (claim: string, more: PodDraft = {}) =>
  podOf({ spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: claim }] }, ...more })
const resultOn = (node: string, device: string) => ({ request: 'r', driver: DRIVER, pool: node, device })
const onNode = (name: string) => ({ nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }] })

test('pods whose claims are not there wait, and say for what', () => {
  const cluster = clusterOf([nodeOf('n')])
  const pod = (claim: object, status: object = {}) => podOf({ spec: { resourceClaims: [{ name: 'gpu', ...claim }] }, status })
  const world = { resourceClaims: { made: {}, going: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } } } }
  const result = (...args: Parameters<typeof pod>) => filterResults(dynamicResources, cycleOf(pod(...args), cluster, world))
  assert.equal(result({ resourceClaimName: 'none' }), 'resourceclaim.resource.k8s.io "none" not found')
  assert.equal(result({ resourceClaimName: 'going' }), 'resourceclaim "going" is being deleted')
  assert.equal(result({ resourceClaimTemplateName: 't' }), 'pod "default/pod": ResourceClaim not created yet')
  const made = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'made' }] }
  assert.equal(
    result({ resourceClaimTemplateName: 't' }, made),
    'ResourceClaim default/made was not created for Pod default/pod (Pod is not owner)',
  )
  assert.deepEqual(result({ resourceClaimTemplateName: 't' }, { resourceClaimStatuses: [{ name: 'gpu' }] }), 'nothing to say')
  assert.equal(filterResults(dynamicResources, cycleOf(podOf(), cluster)), 'nothing to say')
  const { lookups } = cycleOf(podOf(), cluster, world)
  assert.equal(dynamicResources.gate?.(pod({ resourceClaimName: 'none' }), lookups), true)
  assert.equal(dynamicResources.gate?.(pod({ resourceClaimName: 'made' }), lookups), false)
})

test('the search on a node ends when its time is over, and the pod is tried again', () => {
  const cluster = clusterOf([nodeOf('a')])
  const world: World = { devices: { slices: { a: sliceFor('a', [{}]) }, classes: any }, resourceClaims: { one: exactly() } }
  const plugin = dynamicResourcesWith({ bindingTimeoutMs: 0, filterTimeoutMs: 5 })
  const searchWith = (stepMs: number) => {
    let nowMs = 0
    const cycle = cycleOf(claiming('one'), cluster, world)
    const devices = { ...cycle.lookups.devices, now: () => (nowMs += stepMs) }
    return filterResults(plugin, { ...cycle, lookups: { ...cycle.lookups, devices } })
  }
  assert.deepEqual(searchWith(1), { a: 'ok' })
  assert.throws(
    () => searchWith(10),
    new PluginError('running "DynamicResources" filter plugin: node a: timed out trying to allocate devices'),
  )
})

test('a pod can be where there are devices for its claims, or where these have some already', () => {
  const cluster = clusterOf([nodeOf('a'), nodeOf('b')])
  const slices = { a: sliceFor('a', [{}]), b: sliceFor('b', [{}, {}]) }
  const world: World = {
    devices: { slices, classes: any },
    resourceClaims: {
      one: exactly(),
      two: exactly({ count: 2 }),
      three: exactly({ count: 3 }),
      unknown: exactly({ deviceClassName: 'none' }),
      given: { ...exactly(), status: { allocation: { devices: { results: [] }, nodeSelector: onNode('b') } } },
    },
  }
  const result = (claim: string) => filterResults(dynamicResources, cycleOf(claiming(claim), cluster, world))
  assert.deepEqual(result('one'), { a: 'ok', b: 'ok' })
  assert.deepEqual(result('two'), { a: 'unresolvable: cannot allocate all claims', b: 'ok' })
  assert.deepEqual(result('three'), { a: 'unresolvable: cannot allocate all claims', b: 'unresolvable: cannot allocate all claims' })
  assert.deepEqual(result('given'), { a: 'unresolvable: resourceclaim not available on the node', b: 'ok' })
  assert.equal(result('unknown'), 'request r: device class none does not exist')
})

test('an expression that fails ends the attempt', () => {
  const selectors = [{ cel: { expression: 'device.attributes["gpu.example.com"].model == "x"' } }]
  const world = { devices: { slices: { a: sliceFor('a', [{}]) }, classes: any }, resourceClaims: { one: exactly({ selectors }) } }
  assert.throws(
    () => filterResults(dynamicResources, cycleOf(claiming('one'), clusterOf([nodeOf('a')]), world)),
    (error: Error) =>
      error instanceof PluginError &&
      error.message ===
        'running "DynamicResources" filter plugin: claim default/one: selector #0 on device gpu.example.com/a/gpu-0: CEL runtime error: ' +
          'no such key: model. consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields',
  )
})

test('the node that has what is preferred is better', () => {
  const slices = { a: sliceFor('a', [{ attributes: { size: { int: 1 } } }]), b: sliceFor('b', [{ attributes: { size: { int: 2 } } }]) }
  const sized = (name: string, size: number) => ({
    name,
    deviceClassName: 'any',
    allocationMode: 'ExactCount',
    count: 1,
    selectors: [{ cel: { expression: `device.attributes["gpu.example.com"].size == ${size}` } }],
  })
  const spec = { devices: { requests: [{ name: 'r', firstAvailable: [sized('large', 2), sized('small', 1)] }] } }
  const cycle = cycleOf(claiming('list'), clusterOf([nodeOf('a'), nodeOf('b')]), {
    devices: { slices, classes: any },
    resourceClaims: { list: { spec } },
  })
  assert.deepEqual(filterResults(dynamicResources, cycle), { a: 'ok', b: 'ok' })
  assert.deepEqual(scoreResults(dynamicResources, cycle), { a: 87, b: 100 })
})

test('devices are taken from the moment a node is chosen, and given back when the pod is not bound', async () => {
  const written: string[] = []
  const writer: Partial<ClaimWriter> = {
    async bind(claim, consumer, allocation) {
      written.push(`bind ${claim.metadata.name} ${allocation?.devices.results?.map(({ device }) => device)}`)
      return { ...claim, status: { ...(allocation && { allocation }), reservedFor: [consumer] } }
    },
    async unreserve(claim) {
      written.push(`unreserve ${claim.metadata.name}`)
    },
  }
  const world = {
    devices: { slices: { a: sliceFor('a', [{}]) }, classes: any, writer },
    resourceClaims: { one: exactly(), two: exactly() },
  }
  const cluster = clusterOf([nodeOf('a')])
  const first = cycleOf(claiming('one'), cluster, world)
  filterResults(dynamicResources, first)
  const reservation: Reservation = dynamicResources.reserve!(first, 'a')!
  const other = (claim: string) => filterResults(dynamicResources, { ...first, pod: claiming(claim), state: new Map() })
  assert.deepEqual(other('two'), { a: 'unresolvable: cannot allocate all claims' })
  assert.equal(other('one'), 'resource claim default/one is in the process of being allocated')
  assert.equal(await reservation.prepare(), undefined)
  await reservation.release()
  assert.deepEqual(written, ['bind one gpu-0', 'unreserve one'])
  assert.deepEqual(other('two'), { a: 'ok' })
})

test('a claim that the group of a pod declares, too, is reserved for the group and stays so', async () => {
  const written: string[] = []
  const writer: Partial<ClaimWriter> = {
    async bind(claim, consumer, allocation) {
      written.push(`bind ${claim.metadata.name} for ${consumer.resource} ${consumer.uid}`)
      return { ...claim, status: { ...(allocation && { allocation }), reservedFor: [consumer] } }
    },
    async unreserve(claim) {
      written.push(`unreserve ${claim.metadata.name}`)
    },
  }
  const madeFor = (group: string) => {
    const owner = { apiVersion: 'scheduling.k8s.io/v1beta1', kind: 'PodGroup', name: group, uid: group, controller: true }
    return { ...exactly(), metadata: { ownerReferences: [owner] } }
  }
  const shared = { name: 'shared', resourceClaimTemplateName: 't' }
  const groups = { g: { resourceClaims: [shared] } }
  const worldWith = (owner: string, gate = true) => ({
    devices: { slices: { a: sliceFor('a', [{}, {}]) }, classes: any, writer, groups, gate: (name: string) => gate || name !== GATE },
    resourceClaims: { made: madeFor(owner), own: exactly() },
  })
  const member = podOf({
    spec: { schedulingGroup: { podGroupName: 'g' }, resourceClaims: [shared, { name: 'own', resourceClaimName: 'own' }] },
    status: { resourceClaimStatuses: [{ name: 'shared', resourceClaimName: 'made' }] },
  })
  const cluster = clusterOf([nodeOf('a')])
  const cycle = cycleOf(member, cluster, worldWith('g'))
  assert.deepEqual(filterResults(dynamicResources, cycle), { a: 'ok' })
  const reservation = dynamicResources.reserve!(cycle, 'a')!
  await reservation.prepare()
  await reservation.release()
  assert.deepEqual(written, ['bind made for podgroups group-g', `bind own for pods ${cycle.info.uid}`, 'unreserve own'])
  const why = (owner: string, gate?: boolean) => filterResults(dynamicResources, cycleOf(member, cluster, worldWith(owner, gate)))
  const not = 'ResourceClaim default/made was not created for Pod default/pod'
  assert.equal(why('other'), `${not} (neither Pod nor PodGroup g is the owner)`)
  assert.equal(why('g', false), `${not} (Pod is not owner)`)
})
const GATE = 'DRAWorkloadResourceClaims'

test('when a group does not fit, devices that its pods cannot use are given back, each once', async () => {
  const written: string[] = []
  const noting = (verb: string) => async (claim: { readonly metadata: { readonly name?: string } }) => {
    written.push(`${verb} ${claim.metadata.name}`)
  }
  const writer = { deallocate: noting('deallocate'), unreserve: noting('unreserve'), remove: noting('remove') }
  const elsewhere = (...reservedFor: readonly object[]) => ({
    ...exactly(),
    status: { allocation: { devices: { results: [resultOn('x', 'gpu-0')] }, nodeSelector: onNode('x') }, reservedFor },
  })
  const groups = { g: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'ours' }] } }
  const group = { apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'g', uid: 'group-g' }
  const world: World = {
    devices: { slices: {}, classes: any, writer: writer as never, groups },
    resourceClaims: {
      idle: elsewhere(),
      taken: elsewhere({ resource: 'pods', name: 'x', uid: 'x' }),
      ours: elsewhere(group),
    },
  }
  const cluster = clusterOf([nodeOf('a')])
  /** The message and the writes for a group whose pods have these claims. */
  async function outcome(claims: readonly string[], { isAnyPlaced = false, ...more } = {}): Promise<string[]> {
    const cycles = claims.map((claim, i) => {
      const spec = { resourceClaims: [{ name: 'gpu', resourceClaimName: claim }], schedulingGroup: { podGroupName: 'g' } }
      const cycle = cycleOf(podOf({ name: `pod-${i}`, spec }), cluster, { ...world, ...more })
      filterResults(dynamicResources, cycle)
      return cycle
    })
    written.length = 0
    const { message, writes } = dynamicResources.groupPostFilter!(cycles, { isAnyPlaced })
    for (const write of writes) await write()
    return [message, ...written]
  }
  const done = 'deallocation and deletion of ResourceClaims completed'
  assert.deepEqual(await outcome(['idle', 'idle']), [done, 'deallocate idle'])
  assert.deepEqual(await outcome(['taken'], { isAnyPlaced: true }), [done])
  assert.deepEqual(await outcome(['ours'], { isAnyPlaced: true }), [done])
  assert.deepEqual(await outcome(['idle', 'ours']), [
    'deallocation of PodGroup ResourceClaim completed',
    'deallocate idle',
    'deallocate ours',
  ])
  // Nothing can be given back for the pod, but the group has devices that others may use.
  assert.deepEqual(await outcome(['taken']), ['ResourceClaim unreserved for PodGroup', 'unreserve ours'])
})

test('devices that have to get ready are waited for; if they fail they are given back', async () => {
  const conditions = { bindingConditions: ['Attached'], bindingFailureConditions: ['Failed'] }
  const results = [{ ...resultOn('a', 'gpu-0'), ...conditions }]
  const reservedFor = [{ resource: 'pods', name: 'pod', uid: 'default/pod' }]
  const state = (type?: string) => ({
    ...exactly(),
    status: {
      allocation: { devices: { results }, nodeSelector: onNode('a'), allocationTimestamp: '1970-01-01T00:00:00Z' },
      reservedFor,
      ...(type && {
        devices: [{ ...resultOn('a', 'gpu-0'), conditions: [{ type, status: 'True', reason: 'Because', message: 'it did' }] }],
      }),
    },
  })
  let claim: any = state()
  const announced: string[] = []
  const writer = {
    read: () => ({ metadata: { name: 'one' }, ...claim }),
    announceWaiting: (_: unknown, node: string) => announced.push(node),
  }
  const worldAt = (now: number) => ({ devices: { slices: {}, classes: any, now, writer: writer as never }, resourceClaims: { one: claim } })
  const cluster = clusterOf([nodeOf('a')])
  const cycle = cycleOf(claiming('one'), cluster, worldAt(1000))
  assert.deepEqual(filterResults(dynamicResources, cycle), { a: 'ok' })
  const reservation = dynamicResources.reserve!(cycle, 'a')!
  assert.equal(await reservation.prepare(), 5000)
  assert.equal(await reservation.prepare(), 5000)
  assert.deepEqual(announced, ['a'])
  claim = state('Attached')
  assert.equal(await reservation.prepare(), undefined)
  claim = state('Failed')
  await assert.rejects(reservation.prepare(), { message: 'device binding failed: claim=one, reason=Because, message="it did"' })
  const failed = cycleOf(claiming('one'), cluster, worldAt(1000))
  assert.deepEqual(filterResults(dynamicResources, failed), { a: 'unresolvable: resourceclaim not available on the node' })
  assert.equal(dynamicResources.postFilter?.(failed)?.message, 'deallocation of ResourceClaim completed')
  claim = state()
  const late = cycleOf(claiming('one'), cluster, worldAt(600_001))
  assert.deepEqual(filterResults(dynamicResources, late), { a: 'unresolvable: resourceclaim not available on the node' })
  claim = { ...claim, status: { ...claim.status, reservedFor: [...reservedFor, { resource: 'pods', name: 'b', uid: 'b' }] } }
  const shared = cycleOf(claiming('one'), cluster, worldAt(600_001))
  filterResults(dynamicResources, shared)
  assert.equal(dynamicResources.postFilter?.(shared), undefined)
})

test('devices stand for extended resources that a node does not have', () => {
  const resources = { requests: { 'example.com/gpu': '2' }, limits: { 'example.com/gpu': '2' } }
  const pod = podOf({ spec: { containers: [{ name: 'main', image: 'i', resources }] } })
  const cluster = clusterOf([nodeOf('none'), nodeOf('own', { allocatable: { 'example.com/gpu': '4' } }), nodeOf('devices')])
  const slices = { devices: sliceFor('devices', [{}, {}]) }
  const world = (more: object = {}) => ({ devices: { slices, classes: { gpus: { extendedResourceName: 'example.com/gpu' } } }, ...more })
  const cycle = cycleOf(pod, cluster, world())
  const lacking = 'unresolvable: cannot allocate all claims'
  assert.deepEqual(filterResults(dynamicResources, cycle), { none: lacking, own: 'ok', devices: 'ok' })
  assert.equal(filterResults(dynamicResources, cycleOf(pod, cluster)), 'nothing to say')
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: 'default/pod', controller: true }]
  const again = cycleOf(pod, cluster, world({ resourceClaims: { old: { metadata: { ownerReferences } } } }))
  const stale = 'unresolvable: cannot schedule extended resource claim'
  assert.deepEqual(filterResults(dynamicResources, again), { none: stale, own: stale, devices: stale })
  assert.equal(dynamicResources.postFilter?.(again)?.message, 'deletion of ResourceClaim completed')
})

/** Devices that are two CPUs each and cost some memory, and the claims for them. */
const cpuDevice = {
  nodeAllocatableResources: {
    cpu: { mapping: { deviceMultiplier: '2' } },
    memory: { overhead: { perPod: '1Gi', perContainer: '512Mi' } },
  },
}
const withDevices = { resources: { requests: { cpu: '1', memory: '1Gi' }, claims: [{ name: 'gpu' }] } }
const consuming = (claim: string, more: object = {}) =>
  claiming(claim, {
    spec: {
      resourceClaims: [{ name: 'gpu', resourceClaimName: claim }],
      containers: [{ name: 'main', image: 'image', ...withDevices }],
      ...more,
    },
  })

test('devices that are resources of the node need room there, beside that of the pod', () => {
  const nodes = [nodeOf('a'), nodeOf('b'), nodeOf('small', { allocatable: { cpu: '2' } })]
  const busy = (cpu: string) => podOf({ name: 'busy', node: 'a', cpu })
  const slices = { a: sliceFor('a', [cpuDevice]), b: sliceFor('b', [{}]), small: sliceFor('small', [cpuDevice]) }
  const resourceClaims = { one: exactly() }
  const world = (gate = true): World => ({
    devices: { slices, classes: any, gate: name => gate || name !== 'DRANodeAllocatableResources' },
    resourceClaims,
  })
  const result = (cpu: string, gate?: boolean) =>
    filterResults(dynamicResources, cycleOf(consuming('one'), clusterOf(nodes, [busy(cpu)]), world(gate)))
  assert.deepEqual(result('1'), { a: 'ok', b: 'ok', small: 'unresolvable: Insufficient cpu' })
  assert.deepEqual(result('2'), { a: 'Insufficient cpu', b: 'ok', small: 'unresolvable: Insufficient cpu' })
  assert.deepEqual(result('2', false), { a: 'ok', b: 'ok', small: 'ok' })
})

test('the room of devices is looked at anew when pods are tried away', () => {
  const cluster = clusterOf([nodeOf('a')], [podOf({ name: 'busy', node: 'a', cpu: '3' })])
  const world = { devices: { slices: { a: sliceFor('a', [cpuDevice]) }, classes: any }, resourceClaims: { one: exactly() } }
  const filter = dynamicResources.filter!(cycleOf(consuming('one'), cluster, world))
  assert.ok(filter && 'test' in filter)
  const node = cluster.node('a')!.copy()
  assert.deepEqual(filter.test(node), { reasons: ['Insufficient cpu'], isUnresolvable: false })
  node.remove('default/busy')
  assert.equal(filter.test(node), undefined)
})

test('resources of a pod as a whole have to cover its devices, and devices that are such resources cannot be shared', () => {
  const cluster = clusterOf([nodeOf('a')])
  const given = (...reservedFor: readonly object[]) => ({
    ...exactly(),
    status: { allocation: { devices: { results: [resultOn('a', 'gpu-0')] } }, reservedFor },
  })
  const another = { resource: 'pods', name: 'x', uid: 'x' }
  const costing = { nodeAllocatableResources: { memory: { overhead: { perPod: '1Gi' } } } }
  const worldOf = (device: object): World => ({
    devices: { slices: { a: sliceFor('a', [device, device]) }, classes: any },
    resourceClaims: { one: exactly(), taken: given(another), own: given({ resource: 'pods', name: 'pod', uid: 'default/pod' }) },
  })
  const result = (claim: string, more: object = {}, device: object = cpuDevice) =>
    filterResults(dynamicResources, cycleOf(consuming(claim, more), cluster, worldOf(device)))
  const covering = (cpu: string) => ({ resources: { requests: { cpu, memory: '4Gi' } } })
  assert.deepEqual(result('one', covering('3')), { a: 'ok' })
  assert.deepEqual(result('one', covering('2')), {
    a: 'unresolvable: pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA requests',
  })
  assert.deepEqual(result('taken'), {
    a: 'unresolvable: node allocatable resource claim taken has a mapped device and cannot be shared across pods',
  })
  assert.deepEqual(result('own'), { a: 'ok' })
  assert.deepEqual(result('taken', {}, costing), { a: 'ok' }, 'overhead alone can be shared')
})

test('the resources of devices count from the moment that a node is chosen, and are in the status of the pod before it is bound', async () => {
  const written: unknown[] = []
  const writer: Partial<ClaimWriter> = {
    bind: async (claim, consumer, allocation) => ({ ...claim, status: { ...(allocation && { allocation }), reservedFor: [consumer] } }),
    async unreserve() {},
    async reportNodeResources(_, statuses) {
      written.push(statuses)
    },
  }
  const cluster = clusterOf([nodeOf('a')])
  const world = { devices: { slices: { a: sliceFor('a', [cpuDevice]) }, classes: any, writer }, resourceClaims: { one: exactly() } }
  const cycle = cycleOf(consuming('one'), cluster, world)
  assert.deepEqual(filterResults(dynamicResources, cycle), { a: 'ok' })
  const reservation = dynamicResources.reserve!(cycle, 'a')!
  const { requests } = placedOn('a', cycle.info, [{ reservation }])
  assert.deepEqual([cycle.info.requests.cpu, requests.cpu, requests.memory / 2 ** 30], [1000, 3000, 2.5])
  await reservation.prepare()
  await reservation.release()
  assert.deepEqual(written, [
    [
      {
        resourceClaimName: 'one',
        containers: ['main'],
        mapping: [{ name: 'cpu', quantity: '2' }],
        overhead: [{ name: 'memory', perPod: '1Gi', perContainer: '512Mi' }],
      },
    ],
    [],
  ])
})
