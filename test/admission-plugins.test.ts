// Admission plugins that look at more than the object: nodes, namespaces, everything.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, freshServer, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'

const PODS = '/api/v1/namespaces/default/pods'
const send = (server: Target, method: string, path: string, body?: unknown) =>
  ask(server, path, {
    method,
    ...(body !== undefined && { body }),
    ...(method === 'PATCH' && { headers: { 'content-type': 'application/merge-patch+json' } }),
  })

const container = (name: string, cpu: string, memory: string) => ({ name, image: 'i', resources: { requests: { cpu, memory } } })

/** A node with two CPUs, and a pod on it whose container and init container ask for a tenth of one. */
async function running(server: Target, name: string, { labels = {}, declaredFeatures = [] as string[], resources = {} } = {}) {
  await send(server, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
  const status = { allocatable: { cpu: '2', memory: '1Gi' }, declaredFeatures }
  assert.equal((await send(server, 'PATCH', `/api/v1/nodes/${name}/status`, { status })).status, 200)
  const { status: code, text } = await send(server, 'POST', PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeName: name,
      containers: [container('c', '100m', '1Mi')],
      initContainers: [container('i', '100m', '1Mi')],
      ...(Object.keys(resources).length > 0 && { resources }),
    },
  })
  assert.equal(code, 201, text)
}

const open = (t: Parameters<typeof startInProcess>[0]) =>
  freshServer(t, { disableAdmissionPlugins: ['ServiceAccount'], controllers: ['none'] })

const resize = async (server: Target, name: string, spec: object) => {
  const { status, json } = await send(server, 'PATCH', `${PODS}/${name}/resize`, { spec })
  return status === 200 ? { status } : { status, message: json.message, causes: json.details?.causes }
}

test('a pod is resized to what its node can give, on nodes that can resize', patient, async t => {
  const server = await open(t)
  await running(server, 'a')
  const to = (cpu: string, memory: string) => ({ containers: [container('c', cpu, memory)] })
  assert.deepEqual(await resize(server, 'a', to('2', '1Gi')), { status: 200 })
  assert.deepEqual(await resize(server, 'a', to('2100m', '2Gi')), {
    status: 403,
    message:
      'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 2100, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824',
    causes: [{ reason: 'NodeCapacity' }],
  })
  await running(server, 'w', { labels: { 'kubernetes.io/os': 'windows' } })
  assert.deepEqual(await resize(server, 'w', to('1', '1Mi')), {
    status: 403,
    message: 'pods "w" is forbidden: pod resize is only supported on linux nodes, node "w" is "windows"',
    causes: [{ reason: 'UnsupportedPlatform' }],
  })
  await send(server, 'DELETE', '/api/v1/nodes/a')
  const { message } = await resize(server, 'a', to('1', '1Mi'))
  assert.equal(message, 'pods "a" is forbidden: node "a" not found')
})

test('a pod is changed only in ways that its node declares', patient, async t => {
  const server = await open(t)
  await running(server, 'a')
  const init = { initContainers: [container('i', '200m', '1Mi')] }
  const features = 'InPlacePodVerticalScalingInitContainers'
  assert.equal(
    (await resize(server, 'a', init)).message,
    `pods "a" is forbidden: pod update requires features ${features} which are not available on node "a"`,
  )
  await running(server, 'b', { declaredFeatures: [features] })
  assert.deepEqual(await resize(server, 'b', init), { status: 200 })
  await running(server, 'c', { resources: { requests: { cpu: '1' } } })
  assert.equal(
    (await resize(server, 'c', { resources: { requests: { cpu: '1500m' } } })).message,
    'pods "c" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "c"',
  )
})

test('devices that count as resources of nodes are offered by nodes that know how to', patient, async t => {
  const server = await startInProcess(t, { featureGates: 'DRANodeAllocatableResources=true', controllers: ['none'] })
  await send(server, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: { zone: 'a' } } })
  const offer = async (name: string, spec: object) => {
    const resources = { cpu: { mapping: { deviceMultiplier: '1' } } }
    const devices = [{ name: 'd', nodeAllocatableResources: resources }]
    const { status, json } = await send(server, 'POST', '/apis/resource.k8s.io/v1/resourceslices', {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name },
      spec: { driver: 'example.com', pool: { name, generation: 1, resourceSliceCount: 1 }, devices, ...spec },
    })
    return status === 201 ? 'created' : json.message.replace(/^.* is forbidden: /, '')
  }
  const zone = (value: string) => ({
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [value] }] }] },
  })
  assert.equal(await offer('a', { nodeName: 'n' }), 'node "n" does not support DRANodeAllocatableResources feature')
  assert.equal(await offer('a', { nodeName: 'other' }), 'node "other" not found for device "d"')
  assert.equal(await offer('a', zone('a')), 'node "n" does not support DRANodeAllocatableResources feature')
  assert.equal(await offer('a', { allNodes: true }), 'node "n" does not support DRANodeAllocatableResources feature')
  assert.equal(await offer('elsewhere', zone('b')), 'created')
  const status = { declaredFeatures: ['DRANodeAllocatableResources'] }
  assert.equal((await send(server, 'PATCH', '/api/v1/nodes/n/status', { status })).status, 200)
  assert.equal(await offer('a', { nodeName: 'n' }), 'created')
})

test('how long pods stay on nodes that are not ready is a setting', patient, async t => {
  const server = await startInProcess(t, {
    defaultNotReadyTolerationSeconds: 10,
    defaultUnreachableTolerationSeconds: 0,
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const { json } = await send(server, 'POST', PODS, pod)
  assert.deepEqual(
    json.spec.tolerations.map(({ tolerationSeconds }: { tolerationSeconds: number }) => tolerationSeconds),
    [10, 0],
  )
})

test('NamespaceAutoProvision creates the namespace that something is created in', patient, async t => {
  const server = await startInProcess(t, { enableAdmissionPlugins: ['NamespaceAutoProvision'] })
  const inside = '/api/v1/namespaces/fresh/configmaps'
  assert.equal((await send(server, 'POST', `${inside}?dryRun=All`, configMap('a'))).status, 404)
  const all = await Promise.all(Array.from({ length: 10 }, (_, i) => send(server, 'POST', inside, configMap(`c${i}`))))
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([201]))
  assert.equal((await send(server, 'GET', '/api/v1/namespaces/fresh')).json.status.phase, 'Active')
})

test('AlwaysDeny denies every write', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const first = await startInProcess(t, { dataDir })
  await send(first, 'POST', CONFIG_MAPS, configMap('a'))
  await first.close()
  const server = await startInProcess(t, { dataDir, enableAdmissionPlugins: ['AlwaysDeny'] })
  for (const [method, path, body] of [
    ['POST', CONFIG_MAPS, configMap('b')],
    ['PATCH', `${CONFIG_MAPS}/a`, { data: { a: 'b' } }],
    ['DELETE', `${CONFIG_MAPS}/a`],
  ] as const) {
    const { status, json } = await send(server, method, path, body)
    assert.equal(status, 403)
    assert.match(json.message, /^configmaps "[ab]" is forbidden: admission control is denying all modifications$/)
  }
  assert.equal((await send(server, 'GET', `${CONFIG_MAPS}/a`)).status, 200)
})
