// Devices in a real server over HTTPS: simulated nodes publish them, claims get them, pods use them.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { ask, eventually, freshServer, patient, type Scope, type Sent, startProcess, type Target, temporaryDirectory } from './kit.ts'

const API = '/apis/resource.k8s.io/v1'
const PODS = '/api/v1/namespaces/default/pods'
const CLAIMS = `${API}/namespaces/default/resourceclaims`
const DRIVER = 'gpu.example.com'

async function send(server: Target, method: string, path: string, body: object, type = 'application/json'): Promise<any> {
  const { status, json, text } = await ask(server, path, { method, body, headers: { 'content-type': type } } as Sent)
  assert(status < 300, `${method} ${path}: ${status} ${text}`)
  return json
}
const create = (server: Target, path: string, body: object) => send(server, 'POST', path, body)
const merge = (server: Target, path: string, body: object) => send(server, 'PATCH', path, body, 'application/merge-patch+json')
const remove = (server: Target, path: string) => send(server, 'DELETE', path, {})
const read = async (server: Target, path: string) => (await ask(server, path)).json
const gone = (server: Target, path: string) =>
  eventually(`the end of ${path}`, async () => ((await ask(server, path)).status === 404 ? true : undefined))

const classOf = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }], ...spec },
})
const exactly = (more: object = {}) => ({ name: 'r', exactly: { deviceClassName: 'gpu', ...more } })
const devicesOf = (requests: readonly object[], more: object = {}) => ({ devices: { requests, ...more } })
const claimOf = (name: string, requests: readonly object[] = [exactly()], more: object = {}) => ({
  metadata: { name },
  spec: devicesOf(requests, more),
})
const podOf = (name: string, claims: Record<string, string> = {}, spec: object = {}) => ({
  metadata: { name },
  spec: {
    containers: [{ name: 'main', image: 'image', command: ['sleep', '100000'] }],
    resourceClaims: Object.entries(claims).map(([entry, claim]) => ({ name: entry, resourceClaimName: claim })),
    ...spec,
  },
})

const running = (server: Target, name: string) =>
  eventually(`pod ${name}`, async () => {
    const pod = await read(server, `${PODS}/${name}`)
    return pod.status?.phase === 'Running' ? pod : undefined
  })
const waitsBecause = (server: Target, name: string, text: string) =>
  eventually(`why pod ${name} waits`, async () => {
    const { status } = await read(server, `${PODS}/${name}`)
    const message = status?.conditions?.find(({ type }: any) => type === 'PodScheduled')?.message ?? ''
    return message.includes(text) ? message : undefined
  })
const claimIn = (server: Target, name: string, fits: (claim: any) => boolean) =>
  eventually(`claim ${name}`, async () => {
    const claim = await read(server, `${CLAIMS}/${name}`)
    return claim.kind === 'ResourceClaim' && fits(claim) ? claim : undefined
  })
const namesIn = (claim: any) => claim.status.allocation.devices.results.map(({ device }: any) => device)

/** A server with nodes that have two devices each unless told, and a class of them. */
async function open(
  t: Scope,
  { nodes = 1, nodeDevices = [`${DRIVER}=2,model=A100,capacity.memory=80Gi`], ...options }: StartOptions & { nodes?: number } = {},
) {
  const server = await freshServer(t, { store: 'memory', nodes, nodeDevices, ...options })
  await create(server, `${API}/deviceclasses`, classOf('gpu'))
  const isPublished = async () => (await read(server, `${API}/resourceslices`)).items?.length >= nodes * nodeDevices.length
  await eventually('slices', async () => ((await isPublished()) ? true : undefined))
  return server
}

test(
  'a claim is made from its template, allocated and reserved for its pod, and gone with it; other pods wait for the devices',
  patient,
  async t => {
    const server = await open(t)
    const spec = devicesOf([exactly({ count: 2, selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].model == "A100"` } }] })])
    await create(server, `${API}/namespaces/default/resourceclaimtemplates`, { metadata: { name: 'two' }, spec: { spec } })
    const claiming = (name: string) => podOf(name, {}, { resourceClaims: [{ name: 'gpus', resourceClaimTemplateName: 'two' }] })
    await create(server, PODS, claiming('first'))
    const pod = await running(server, 'first')
    const { resourceClaimName } = pod.status.resourceClaimStatuses[0]
    const claim = await read(server, `${CLAIMS}/${resourceClaimName}`)
    assert.deepEqual(namesIn(claim), ['gpu-0', 'gpu-1'])
    assert.deepEqual(claim.status.reservedFor, [{ resource: 'pods', name: 'first', uid: pod.metadata.uid }])
    assert.match(claim.status.allocation.allocationTimestamp, /Z$/)
    assert.deepEqual(claim.metadata.finalizers, ['resource.kubernetes.io/delete-protection'])
    const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['simulated-1'] }]
    assert.deepEqual(claim.status.allocation.nodeSelector, { nodeSelectorTerms: [{ matchFields }] })
    await create(server, PODS, claiming('second'))
    const message = await waitsBecause(server, 'second', 'cannot allocate')
    assert.match(message, /^0\/1 nodes are available: 1 cannot allocate all claims\. preemption: /)
    await remove(server, `${PODS}/first`)
    await gone(server, `${CLAIMS}/${resourceClaimName}`)
    await running(server, 'second')
  },
)

test('pods share a claim; it is deallocated when the last of them is gone, and not before', patient, async t => {
  const server = await open(t)
  await create(server, CLAIMS, claimOf('shared'))
  for (const name of ['a', 'b', 'c']) await create(server, PODS, podOf(name, { gpu: 'shared' }))
  for (const name of ['a', 'b', 'c']) await running(server, name)
  const { status } = await claimIn(server, 'shared', claim => claim.status.reservedFor?.length === 3)
  assert.deepEqual(status.reservedFor.map(({ name }: any) => name).sort(), ['a', 'b', 'c'])
  // A reserved claim is not deallocated: neither by those who may write its status nor with its deletion.
  const reserved = await read(server, `${CLAIMS}/shared`)
  const { allocation: _, ...rest } = reserved.status
  const refused = await ask(server, `${CLAIMS}/shared/status`, { method: 'PUT', body: { ...reserved, status: rest } })
  assert.equal(refused.status, 422)
  await remove(server, `${PODS}/a`)
  await remove(server, `${PODS}/b`)
  const left = await claimIn(server, 'shared', claim => claim.status.reservedFor?.length === 1)
  assert.deepEqual([left.status.reservedFor[0].name, namesIn(left)], ['c', ['gpu-0']])
  await remove(server, `${PODS}/c`)
  const free = await claimIn(server, 'shared', claim => !claim.status?.allocation)
  assert.equal(free.status?.reservedFor, undefined)
  await claimIn(server, 'shared', claim => !claim.metadata.finalizers?.length)
  await create(server, PODS, podOf('d', { gpu: 'shared' }))
  await running(server, 'd')
  await remove(server, `${CLAIMS}/shared`)
  assert((await read(server, `${CLAIMS}/shared`)).metadata.deletionTimestamp, 'it stays while it is used')
  await remove(server, `${PODS}/d`)
  await gone(server, `${CLAIMS}/shared`)
})

test('a claim has at most 256 reservations', patient, async t => {
  const server = await open(t, { nodes: 0, nodeDevices: [] })
  await create(server, CLAIMS, claimOf('c', []))
  const claim = await read(server, `${CLAIMS}/c`)
  const reservedFor = (count: number) => Array.from({ length: count }, (_, i) => ({ resource: 'others', name: `p-${i}`, uid: `uid-${i}` }))
  const put = (count: number) =>
    ask(server, `${CLAIMS}/c/status`, {
      method: 'PUT',
      body: { ...claim, status: { allocation: { devices: {} }, reservedFor: reservedFor(count) } },
    })
  assert.equal((await put(257)).status, 422)
  assert.equal((await put(256)).status, 200)
})

test('a pod on a node that its claim is not reserved for is not started until it is', patient, async t => {
  const server = await open(t)
  await create(server, CLAIMS, claimOf('mine'))
  const pod = podOf('pinned', { gpu: 'mine' }, { nodeName: 'simulated-1' })
  await create(server, PODS, pod)
  const { uid } = (await read(server, `${PODS}/pinned`)).metadata
  const claim = await read(server, `${CLAIMS}/mine`)
  const event = await eventually('an event', async () => {
    const { items } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dpinned')
    return items?.find(({ reason }: any) => reason === 'FailedPrepareDynamicResources')
  })
  const why = `pod pinned (${uid}) is not allowed to use ResourceClaim mine (${claim.metadata.uid})`
  assert.equal(event.message, `Failed to prepare dynamic resources: prepare dynamic resources: ${why}`)
  assert.equal((await read(server, `${PODS}/pinned`)).status.phase, 'Pending')
  // Another pod has the claim allocated; then the claim controller reserves it for the first one, too.
  await create(server, PODS, podOf('scheduled', { gpu: 'mine' }))
  await running(server, 'scheduled')
  await running(server, 'pinned')
})

test('classes can change at any time: a claim keeps what its class said when it was allocated', patient, async t => {
  const server = await open(t)
  const config = (value: string) => [{ opaque: { driver: DRIVER, parameters: { mode: value } } }]
  await merge(server, `${API}/deviceclasses/gpu`, { spec: { config: config('old') } })
  await create(server, CLAIMS, claimOf('c', [exactly()], { config: [{ opaque: { driver: 'nobody.example.com', parameters: { x: 1 } } }] }))
  await create(server, PODS, podOf('p', { gpu: 'c' }))
  await running(server, 'p')
  const { metadata } = await merge(server, `${API}/deviceclasses/gpu`, { spec: { config: config('new') } })
  assert.equal(metadata.generation, 3)
  const { status } = await read(server, `${CLAIMS}/c`)
  assert.deepEqual(status.allocation.devices.config, [
    { source: 'FromClass', opaque: { driver: DRIVER, parameters: { mode: 'old' } } },
    { source: 'FromClaim', opaque: { driver: 'nobody.example.com', parameters: { x: 1 } } },
  ])
})

test('an expression that fails ends the attempt, and the pod is tried again', patient, async t => {
  const server = await open(t)
  const asking = (name: string, expression: string) => claimOf(name, [exactly({ selectors: [{ cel: { expression } }] })])
  await create(server, CLAIMS, asking('c', `device.attributes["${DRIVER}"].none == 1`))
  await create(server, PODS, podOf('p', { gpu: 'c' }))
  const message = await waitsBecause(server, 'p', 'CEL runtime error')
  assert.match(
    message,
    /^running "DynamicResources" filter plugin: claim default\/c: selector #0 on device gpu\.example\.com\/simulated-1\/gpu-0: CEL runtime error: no such key: none/,
  )
  await remove(server, `${CLAIMS}/c`)
  await create(server, CLAIMS, asking('c', `has(device.attributes["unknown.org"].none) || device.attributes["${DRIVER}"].index == 1`))
  await running(server, 'p')
  assert.deepEqual(namesIn(await read(server, `${CLAIMS}/c`)), ['gpu-1'])
})

test('of alternatives the first that fits is taken, with constraints between requests', patient, async t => {
  const server = await open(t, { nodes: 2, nodeDevices: [`${DRIVER}=4,numa=0`] })
  const list = {
    name: 'many',
    firstAvailable: [
      { name: 'eight', deviceClassName: 'gpu', count: 8 },
      { name: 'three', deviceClassName: 'gpu', count: 3 },
    ],
  }
  const constraints = [{ requests: ['many', 'one'], matchAttribute: `${DRIVER}/numa` }, { distinctAttribute: `${DRIVER}/index` }]
  await create(server, CLAIMS, claimOf('c', [list, { ...exactly(), name: 'one' }], { constraints }))
  await create(server, PODS, podOf('p', { gpu: 'c' }))
  await running(server, 'p')
  const { results } = (await read(server, `${CLAIMS}/c`)).status.allocation.devices
  assert.deepEqual(
    results.map(({ request, device }: any) => `${request} ${device}`),
    ['many/three gpu-0', 'many/three gpu-1', 'many/three gpu-2', 'one gpu-3'],
  )
})

test('devices are shared by capacity, and divided into parts', patient, async t => {
  const nodeDevices = ['nic.example.com=1,capacity.bandwidth=10G,shared', `${DRIVER}=1,partitions=4,capacity.memory=80Gi`]
  const server = await open(t, { nodeDevices })
  await create(
    server,
    `${API}/deviceclasses`,
    classOf('nic', { selectors: [{ cel: { expression: 'device.driver == "nic.example.com"' } }] }),
  )
  const share = (name: string, bandwidth: string) =>
    claimOf(name, [{ name: 'r', exactly: { deviceClassName: 'nic', capacity: { requests: { bandwidth } } } }])
  for (const [name, bandwidth] of [
    ['s1', '6G'],
    ['s2', '4G'],
    ['s3', '1G'],
  ] as const)
    await create(server, CLAIMS, share(name, bandwidth))
  for (const name of ['s1', 's2']) await create(server, PODS, podOf(name, { nic: name }))
  for (const name of ['s1', 's2']) await running(server, name)
  const [result] = (await read(server, `${CLAIMS}/s1`)).status.allocation.devices.results
  assert.deepEqual([result.consumedCapacity, typeof result.shareID], [{ bandwidth: '6G' }, 'string'])
  await create(server, PODS, podOf('s3', { nic: 's3' }))
  await waitsBecause(server, 's3', 'cannot allocate all claims')
  await remove(server, `${PODS}/s2`)
  await running(server, 's3')
  // Three quarters are had one by one; then the whole is not, but a fourth one is.
  const part = { selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].type == "part"` } }] }
  await create(server, CLAIMS, claimOf('parts', [exactly({ ...part, count: 3 })]))
  await create(server, PODS, podOf('parts', { gpu: 'parts' }))
  await running(server, 'parts')
  const whole = { selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].type == "whole"` } }] }
  await create(server, CLAIMS, claimOf('whole', [exactly(whole)]))
  await create(server, PODS, podOf('whole', { gpu: 'whole' }))
  await waitsBecause(server, 'whole', 'cannot allocate all claims')
  await create(server, CLAIMS, claimOf('fourth', [exactly(part)]))
  await create(server, PODS, podOf('fourth', { gpu: 'fourth' }))
  await running(server, 'fourth')
  for (const name of ['parts', 'fourth']) await remove(server, `${PODS}/${name}`)
  await running(server, 'whole')
})

test('devices are administered beside those who use them, where the namespace allows it', patient, async t => {
  const server = await open(t)
  await merge(server, '/api/v1/namespaces/default', { metadata: { labels: { 'resource.kubernetes.io/admin-access': 'true' } } })
  await create(server, CLAIMS, claimOf('user', [exactly({ count: 2 })]))
  await create(server, PODS, podOf('user', { gpu: 'user' }))
  await running(server, 'user')
  await create(server, CLAIMS, claimOf('admin', [exactly({ adminAccess: true, allocationMode: 'All' })]))
  await create(server, PODS, podOf('admin', { gpu: 'admin' }))
  await running(server, 'admin')
  const { results } = (await read(server, `${CLAIMS}/admin`)).status.allocation.devices
  assert.deepEqual(
    results.map(({ device, adminAccess }: any) => [device, adminAccess]),
    [
      ['gpu-0', true],
      ['gpu-1', true],
    ],
  )
})

test('a rule drives pods from devices, says how far it is, and keeps others away', patient, async t => {
  const server = await open(t, { featureGates: 'DRAResourcePoolStatus=true', runtimeConfig: 'resource.k8s.io/v1alpha3=true' })
  await create(server, CLAIMS, claimOf('c'))
  await create(
    server,
    CLAIMS,
    claimOf('tolerant', [exactly({ tolerations: [{ key: 'example.com/broken', operator: 'Exists', effect: 'NoExecute' }] })]),
  )
  await create(server, PODS, podOf('victim', { gpu: 'c' }))
  const { metadata } = await running(server, 'victim')
  const rules = `${API}/devicetaintrules`
  const deviceSelector = { driver: DRIVER, device: 'gpu-0' }
  await create(server, rules, {
    metadata: { name: 'broken' },
    spec: { deviceSelector, taint: { key: 'example.com/broken', effect: 'None' } },
  })
  const conditionWith = (reason: string) =>
    eventually(`condition ${reason}`, async () => {
      const [condition] = (await read(server, `${rules}/broken`)).status?.conditions ?? []
      return condition?.reason === reason ? condition : undefined
    })
  const foretold = await conditionWith('NoEffect')
  assert.deepEqual([foretold.type, foretold.status], ['EvictionInProgress', 'False'])
  assert.equal(
    foretold.message,
    '1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace if the effect was NoExecute. ' +
      'This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.',
  )
  await merge(server, `${rules}/broken`, { spec: { taint: { effect: 'NoExecute' } } })
  const pending = await conditionWith('PodsPendingEviction')
  assert.deepEqual([pending.status, pending.message, pending.observedGeneration], ['True', '1 pod needs to be evicted in 1 namespace.', 2])
  await gone(server, `${PODS}/victim`)
  const { items } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dvictim')
  const event = items.find(({ reason }: any) => reason === 'DeviceTaintManagerEviction')
  assert.deepEqual([event.message, event.involvedObject.uid], ['Marking for deletion', metadata.uid])
  const done = await conditionWith('Completed')
  assert.deepEqual([done.status, done.message], ['False', '1 pod evicted since starting the controller.'])
  await create(server, PODS, podOf('next', { gpu: 'c' }))
  await create(server, PODS, podOf('brave', { gpu: 'tolerant' }))
  await running(server, 'next')
  assert.deepEqual(namesIn(await read(server, `${CLAIMS}/c`)), ['gpu-1'])
  await running(server, 'brave')
  assert.deepEqual(namesIn(await read(server, `${CLAIMS}/tolerant`)), ['gpu-0'])
  const request = { apiVersion: 'resource.k8s.io/v1alpha3', metadata: { name: 'q' }, spec: { driver: DRIVER } }
  const requests = '/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests'
  await create(server, requests, request)
  const answer = await eventually('an answer', async () => (await read(server, `${requests}/q`)).status)
  const { totalDevices, allocatedDevices, availableDevices, unavailableDevices, nodeName } = answer.pools[0]
  assert.deepEqual([totalDevices, allocatedDevices, availableDevices, unavailableDevices, nodeName], [2, 2, 0, 1, 'simulated-1'])
  assert.equal(answer.conditions[0].reason, 'CalculationComplete')
})

test('a pod is bound only when its devices are ready, and gets others when they fail', patient, async t => {
  const server = await open(t, { nodeDevices: [] })
  const binding = { bindsToNode: true, bindingConditions: ['Attached'], bindingFailureConditions: ['Failed'] }
  const devices = ['first', 'second'].map(name => ({ name, ...binding }))
  const pool = { name: 'fabric', generation: 1, resourceSliceCount: 1 }
  await create(server, `${API}/resourceslices`, { metadata: { name: 'fabric' }, spec: { driver: DRIVER, pool, allNodes: true, devices } })
  await create(server, CLAIMS, claimOf('c'))
  await create(server, PODS, podOf('p', { gpu: 'c' }))
  const claim = await claimIn(server, 'c', ({ status }) => status?.reservedFor?.length === 1)
  assert.deepEqual(claim.status.allocation.devices.results[0].bindingConditions, ['Attached'])
  await eventually('an event', async () => {
    const { items } = await read(server, '/apis/events.k8s.io/v1/namespaces/default/events')
    return items?.find(({ reason }: any) => reason === 'BindingConditionsPending')
  })
  assert.equal((await read(server, `${PODS}/p`)).spec.nodeName, undefined)
  const report = (device: string, type: string) =>
    merge(server, `${CLAIMS}/c/status`, {
      status: {
        devices: [
          {
            driver: DRIVER,
            pool: 'fabric',
            device,
            conditions: [
              { type, status: 'True', reason: 'Reported', message: 'by its driver', lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        ],
      },
    })
  await report('first', 'Failed')
  // It is deallocated and allocated again; the pod is bound once that is ready.
  await claimIn(server, 'c', ({ status }) => status?.reservedFor?.length === 1 && !status.devices)
  await report('first', 'Attached')
  await running(server, 'p')
})

test('devices stand for extended resources', patient, async t => {
  const server = await open(t)
  await create(server, `${API}/deviceclasses`, classOf('other', { extendedResourceName: 'example.com/gpu' }))
  const limits = { 'example.com/gpu': '2' }
  await create(server, PODS, { metadata: { name: 'p' }, spec: { containers: [{ name: 'main', image: 'image', resources: { limits } }] } })
  const pod = await running(server, 'p')
  const { resourceClaimName, requestMappings } = pod.status.extendedResourceClaimStatus
  assert.deepEqual(requestMappings, [{ containerName: 'main', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' }])
  const claim = await read(server, `${CLAIMS}/${resourceClaimName}`)
  assert.deepEqual(
    [namesIn(claim), claim.metadata.annotations],
    [['gpu-0', 'gpu-1'], { 'resource.kubernetes.io/extended-resource-claim': 'true' }],
  )
  await remove(server, `${PODS}/p`)
  await gone(server, `${CLAIMS}/${resourceClaimName}`)
})

test('after kill -9 no device is allocated twice, and every pod gets its own', { timeout: 400_000 }, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const flags = ['--nodes', '2', '--node-devices', `${DRIVER}=8`]
  let server = await startProcess(t, { dataDir, flags })
  await create(server, `${API}/deviceclasses`, classOf('gpu'))
  const spec = { spec: devicesOf([exactly()]) }
  await create(server, `${API}/namespaces/default/resourceclaimtemplates`, { metadata: { name: 'one' }, spec })
  const created = new Set<string>()
  const addPods = (target: Target, round: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const name = `p-${round}-${i}`
        const body = podOf(name, {}, { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }] })
        const { status } = await ask(target, PODS, { method: 'POST', body }).catch(() => ({ status: 0 }))
        if (status === 201) created.add(name)
      }),
    )
  for (let round = 0; round < 4; round++) {
    const adding = addPods(server, round, 4)
    await new Promise(resolve => setTimeout(resolve, randomInt(400)))
    // A slow machine may not have come to any of them yet.
    if (round === 0) await eventually('a pod', async () => created.size > 0 || undefined)
    await server.stop('SIGKILL')
    await adding
    server = await startProcess(t, { dataDir, flags })
    await noneTwice(server)
  }
  assert(created.size > 0)
  for (const name of created) await running(server, name)
  const given = await noneTwice(server)
  assert(given >= created.size)
  // Devices that pods give back are given to others.
  for (const name of created) await remove(server, `${PODS}/${name}`)
  await eventually('all devices back', async () => ((await noneTwice(server)) <= given - created.size ? true : undefined))
  await server.stop()
})

/** How many devices are allocated; none is so twice. */
async function noneTwice(server: Target): Promise<number> {
  const { items } = await read(server, CLAIMS)
  const results = items.flatMap(({ status }: any) => status?.allocation?.devices.results ?? [])
  const ids = results.map(({ driver, pool, device }: any) => `${driver}/${pool}/${device}`)
  assert.equal(new Set(ids).size, ids.length, ids.join(' '))
  return ids.length
}
