// Pods of a pod group share claims for devices that the group declares, by a real server over HTTPS with simulated nodes.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, eventually, freshServer, patient, type Scope, type Target } from './kit.ts'

const PODS = '/api/v1/namespaces/default/pods'
const GROUPS = '/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups'
const RESOURCE = '/apis/resource.k8s.io/v1'
const CLAIMS = `${RESOURCE}/namespaces/default/resourceclaims`
const TEMPLATES = `${RESOURCE}/namespaces/default/resourceclaimtemplates`

const DEVICES = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } }

async function create(server: Target, path: string, body: object): Promise<any> {
  const { status, json } = await ask(server, path, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json
}
const remove = async (server: Target, path: string) => assert.equal((await ask(server, path, { method: 'DELETE' })).status, 200)
const read = async (server: Target, path: string) => (await ask(server, path)).json
const gone = (server: Target, path: string) =>
  eventually(`the end of ${path}`, async () => ((await ask(server, path)).status === 404 ? true : undefined))

/** A server with two nodes that have one device each. */
async function open(t: Scope, gates = ',DRAWorkloadResourceClaims=true') {
  const server = await freshServer(t, {
    store: 'memory',
    port: 0,
    nodes: 2,
    nodeDevices: ['gpu.example.com=1'],
    featureGates: `GenericWorkload=true${gates}`,
    runtimeConfig: 'scheduling.k8s.io/v1beta1=true',
  })
  await create(server, `${RESOURCE}/deviceclasses`, { metadata: { name: 'gpu' }, spec: {} })
  await eventually('slices', async () => ((await read(server, `${RESOURCE}/resourceslices`)).items.length === 2 ? true : undefined))
  return server
}

const addTemplate = (server: Target, name: string) =>
  create(server, TEMPLATES, { metadata: { name }, spec: { metadata: { labels: { from: name } }, spec: DEVICES } })

const addGroup = (server: Target, name: string, resourceClaims: readonly object[], minCount = 0): Promise<any> =>
  create(server, GROUPS, {
    metadata: { name },
    spec: { schedulingPolicy: minCount ? { gang: { minCount } } : { basic: {} }, resourceClaims },
  })

const addPod = (server: Target, name: string, { group = '', claims = [] as readonly object[] } = {}): Promise<any> =>
  create(server, PODS, {
    metadata: { name },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'image', command: ['sleep', '100000'] }],
      resourceClaims: claims,
      ...(group && { schedulingGroup: { podGroupName: group } }),
    },
  })

const running = (server: Target, name: string) =>
  eventually(`pod ${name}`, async () => {
    const pod = await read(server, `${PODS}/${name}`)
    return pod.status?.phase === 'Running' ? pod : undefined
  })

/** The name of the claim that was made for an entry of a pod or of a group. */
const claimMadeFor = (server: Target, path: string, entry: string, but = '') =>
  eventually(`a claim for ${path}`, async () => {
    const { status } = await read(server, path)
    const name = status?.resourceClaimStatuses?.find((each: any) => each.name === entry)?.resourceClaimName
    return name !== but ? name : undefined
  })

const consumerOf = ({ metadata }: any) => ({
  apiGroup: 'scheduling.k8s.io',
  resource: 'podgroups',
  name: metadata.name,
  uid: metadata.uid,
})

test('a claim is made for a group; its pods share it, and it goes with the group, not with them', patient, async t => {
  const server = await open(t)
  const claims = [{ name: 'gpu', resourceClaimTemplateName: 'template' }]
  await addTemplate(server, 'template')
  const group = await addGroup(server, 'gang', claims, 2)
  const name = await claimMadeFor(server, `${GROUPS}/gang`, 'gpu')
  const made = await read(server, `${CLAIMS}/${name}`)
  assert.match(name, /^gang-gpu-/)
  assert.deepEqual(made.metadata.ownerReferences, [
    { apiVersion: 'scheduling.k8s.io/v1beta1', kind: 'PodGroup', name: 'gang', uid: group.metadata.uid, controller: true },
  ])
  assert.deepEqual(made.metadata.annotations, { 'resource.kubernetes.io/pod-claim-name': 'gpu' })
  assert.deepEqual(made.metadata.labels, { from: 'template' })
  assert.deepEqual(made.spec.devices.requests[0].exactly.deviceClassName, 'gpu')

  for (const pod of ['a', 'b']) await addPod(server, pod, { group: 'gang', claims })
  const nodes = new Set<string>()
  for (const pod of ['a', 'b']) {
    const { spec, status } = await running(server, pod)
    nodes.add(spec.nodeName)
    assert.deepEqual(status.resourceClaimStatuses, [{ name: 'gpu', resourceClaimName: name }])
  }
  assert.equal(nodes.size, 1)
  const { items } = await read(server, CLAIMS)
  assert.deepEqual(
    items.map(({ metadata, status }: any) => [metadata.name, status.reservedFor]),
    [[name, [consumerOf(group)]]],
  )

  // The devices stay with the group while it has no pod, and are for the pods that come later.
  for (const pod of ['a', 'b']) await remove(server, `${PODS}/${pod}`)
  for (const pod of ['a', 'b']) await gone(server, `${PODS}/${pod}`)
  for (const pod of ['c', 'd']) await addPod(server, pod, { group: 'gang', claims })
  for (const pod of ['c', 'd']) assert.ok(nodes.has((await running(server, pod)).spec.nodeName))
  const kept = await read(server, `${CLAIMS}/${name}`)
  assert.deepEqual([kept.metadata.uid, kept.status.reservedFor], [made.metadata.uid, [consumerOf(group)]])

  for (const pod of ['c', 'd']) await remove(server, `${PODS}/${pod}`)
  await remove(server, `${GROUPS}/gang`)
  await gone(server, `${GROUPS}/gang`)
  await gone(server, `${CLAIMS}/${name}`)
})

test('a claim that a group and its pods name is reserved for the group, one that only the pod names for the pod', patient, async t => {
  const server = await open(t)
  const shared = { name: 'gpu', resourceClaimName: 'shared' }
  for (const name of ['shared', 'own']) await create(server, CLAIMS, { metadata: { name }, spec: { devices: {} } })
  const group = await addGroup(server, 'basic', [shared])
  await addPod(server, 'a', { group: 'basic', claims: [shared, { name: 'own', resourceClaimName: 'own' }] })
  const { metadata } = await running(server, 'a')
  const reservedFor = async (claim: string) => (await read(server, `${CLAIMS}/${claim}`)).status.reservedFor
  assert.deepEqual(await reservedFor('shared'), [consumerOf(group)])
  assert.deepEqual(await reservedFor('own'), [{ resource: 'pods', name: 'a', uid: metadata.uid }])
  // It uses the same claim under another name, so that it is not the claim of the group; but the group's pods may use that.
  await addPod(server, 'b', { group: 'basic', claims: [{ name: 'other', resourceClaimName: 'shared' }] })
  await running(server, 'b')
  assert.deepEqual(await reservedFor('shared'), [consumerOf(group)])
  for (const pod of ['a', 'b']) await remove(server, `${PODS}/${pod}`)
  await remove(server, `${GROUPS}/basic`)
  const { status } = await eventually('no reservation', async () => {
    const claim = await read(server, `${CLAIMS}/shared`)
    return claim.status.reservedFor ? undefined : claim
  })
  assert.equal(status.allocation, undefined)
})

test('a group waits for its template and says so; a claim that was deleted is made again', patient, async t => {
  const server = await open(t)
  const claims = [
    { name: 'gpu', resourceClaimTemplateName: 'late' },
    { name: 'more', resourceClaimTemplateName: 'there' },
  ]
  await addTemplate(server, 'there')
  await addPod(server, 'a', { group: 'gang', claims: claims.slice(0, 1) })
  await addGroup(server, 'gang', claims, 2)
  const event = await eventually('an event', async () => {
    const { items } = await read(server, '/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DPodGroup')
    return items.find(({ reason }: any) => reason === 'FailedResourceClaimCreation')
  })
  const why = 'resource claim template "late": resourceclaimtemplate.resource.k8s.io "late" not found'
  assert.equal(event.message, `PodGroupResourceClaim gpu: ${why}`)
  await addTemplate(server, 'late')
  const first = await claimMadeFor(server, `${PODS}/a`, 'gpu')
  const more = await claimMadeFor(server, `${GROUPS}/gang`, 'more')
  await remove(server, `${CLAIMS}/${first}`)
  const second = await claimMadeFor(server, `${GROUPS}/gang`, 'gpu', first)
  assert.equal(await claimMadeFor(server, `${PODS}/a`, 'gpu', first), second)
  assert.equal(await claimMadeFor(server, `${GROUPS}/gang`, 'more'), more)
  const { items } = await read(server, CLAIMS)
  assert.deepEqual(items.map(({ metadata }: any) => metadata.name).sort(), [more, second].sort())
})

test('devices of a group that has no pod on a node are given back when its pods cannot use them', patient, async t => {
  const server = await open(t)
  const claims = [{ name: 'gpu', resourceClaimTemplateName: 'template' }]
  await addTemplate(server, 'template')
  const group = await addGroup(server, 'gang', claims, 1)
  const name = await claimMadeFor(server, `${GROUPS}/gang`, 'gpu')
  await addPod(server, 'a', { group: 'gang', claims })
  const before = (await running(server, 'a')).spec.nodeName
  await remove(server, `${PODS}/a`)
  await gone(server, `${PODS}/a`)
  assert.ok((await read(server, `${CLAIMS}/${name}`)).status.allocation)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const cordoned = await ask(server, `/api/v1/nodes/${before}`, { method: 'PATCH', body: { spec: { unschedulable: true } }, headers })
  assert.equal(cordoned.status, 200, cordoned.text)
  await addPod(server, 'b', { group: 'gang', claims })
  const after = (await running(server, 'b')).spec.nodeName
  assert.notEqual(after, before)
  const { status } = await read(server, `${CLAIMS}/${name}`)
  assert.deepEqual(status.reservedFor, [consumerOf(group)])
  assert.deepEqual(
    status.allocation.devices.results.map(({ pool }: any) => pool),
    [after],
  )
})

test('without the feature a group declares no claims, and each of its pods gets its own', patient, async t => {
  const server = await open(t, '')
  const claims = [{ name: 'gpu', resourceClaimTemplateName: 'template' }]
  await addTemplate(server, 'template')
  const group = await addGroup(server, 'gang', claims, 2)
  assert.equal(group.spec.resourceClaims, undefined)
  for (const pod of ['a', 'b']) await addPod(server, pod, { group: 'gang', claims })
  for (const pod of ['a', 'b']) {
    const { metadata, status } = await running(server, pod)
    const claim = await read(server, `${CLAIMS}/${status.resourceClaimStatuses[0].resourceClaimName}`)
    assert.deepEqual(claim.status.reservedFor, [{ resource: 'pods', name: pod, uid: metadata.uid }])
  }
})
