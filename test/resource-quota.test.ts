// Quotas from a client's view: usage, refusals, and released usage.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ask, eventually, freshServer, patient, type Target } from './kit.ts'

const NAMESPACE = '/api/v1/namespaces/default'
const QUOTAS = `${NAMESPACE}/resourcequotas`
const PODS = `${NAMESPACE}/pods`

const send = (target: Target, method: string, path: string, body?: unknown) =>
  ask(target, path, { method, ...(body !== undefined && { body }) })
const patch = (target: Target, path: string, body: unknown) =>
  ask(target, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

const named = (apiVersion: string, kind: string, name: string, more: object = {}) => ({ apiVersion, kind, metadata: { name }, ...more })
const configMap = (name: string) => named('v1', 'ConfigMap', name)
const pod = (name: string, spec: object = {}) => named('v1', 'Pod', name, { spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })
const asking = (requests: object, limits: object = {}) => ({ containers: [{ name: 'c', image: 'i', resources: { requests, limits } }] })
const claim = (name: string, storageClassName: string, storage: string, more: object = {}) =>
  named('v1', 'PersistentVolumeClaim', name, {
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } }, ...more },
  })
const service = (name: string, type: string) => named('v1', 'Service', name, { spec: { type, ports: [{ port: 80 }] } })

const usedOf = async (target: Target, name = 'quota') => (await send(target, 'GET', `${QUOTAS}/${name}`)).json.status?.used

/** A quota that is in force. */
async function limit(
  target: Target,
  hard: Record<string, string>,
  { name = 'quota', ...spec }: { name?: string; [field: string]: unknown } = {},
) {
  const { status, json } = await send(target, 'POST', QUOTAS, named('v1', 'ResourceQuota', name, { spec: { hard, ...spec } }))
  assert.equal(status, 201, JSON.stringify(json))
  await eventually('the quota being in force', async () => ((await usedOf(target, name)) ? true : undefined))
}

const becomes = (target: Target, used: Record<string, string>, name = 'quota') =>
  eventually(`${name} using ${JSON.stringify(used)}`, async () => {
    const now = await usedOf(target, name)
    return Object.entries(used).every(([resource, amount]) => now[resource] === amount) ? true : undefined
  })

/** The message of a rejection, or `created`. */
async function outcome(target: Target, path: string, object: unknown): Promise<string> {
  const { status, json } = await send(target, 'POST', path, object)
  return status === 201 ? 'created' : `${status} ${json.message}`
}

/** A server whose pods need no account. */
const open = (t: TestContext) => freshServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })

test('of 200 creates at once exactly as many are accepted as a quota allows', patient, async t => {
  const server = await open(t)
  await limit(server, { 'count/configmaps': '1000' }, { name: 'counting' })
  const { 'count/configmaps': present } = await usedOf(server, 'counting')
  const hard = String(Number(present) + 50)
  await limit(server, { 'count/configmaps': hard })
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => outcome(server, `${NAMESPACE}/configmaps`, configMap(`c${i}`))))
  assert.equal(all.filter(result => result === 'created').length, 50)
  assert.deepEqual([...new Set(all.map(result => result.replace(/c\d+/, 'c')))].sort(), [
    `403 configmaps "c" is forbidden: exceeded quota: quota, requested: count/configmaps=1, used: count/configmaps=${hard}, limited: count/configmaps=${hard}`,
    'created',
  ])
  assert.equal((await usedOf(server))['count/configmaps'], hard)
  assert.equal((await usedOf(server, 'counting'))['count/configmaps'], hard)
})

test('a quota is never exceeded while objects are created, deleted and counted', patient, async t => {
  const server = await open(t)
  await limit(server, { secrets: '5' })
  const path = `${NAMESPACE}/secrets`
  let stored = 0
  const work = async (worker: number) => {
    for (let round = 0; round < 15; round++) {
      const name = `s${worker}-${round}`
      const created = await send(server, 'POST', path, named('v1', 'Secret', name))
      if (created.status !== 201) continue
      stored++
      const { items } = (await send(server, 'GET', path)).json
      assert.ok(items.length <= 5, `${items.length} secrets`)
      await send(server, 'DELETE', `${path}/${name}`)
    }
  }
  await Promise.all(Array.from({ length: 12 }, (_, worker) => work(worker)))
  assert.ok(stored > 5)
  await becomes(server, { secrets: '0' })
})

test('deleted objects and finished pods free quota', patient, async t => {
  const server = await open(t)
  await limit(server, { pods: '1', 'count/pods': '3', 'requests.cpu': '2' })
  assert.equal(await outcome(server, PODS, pod('a', asking({ cpu: '1500m' }))), 'created')
  assert.equal(
    await outcome(server, PODS, pod('b', asking({ cpu: '1' }))),
    '403 pods "b" is forbidden: exceeded quota: quota, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=1500m, limited: pods=1,requests.cpu=2',
  )
  await patch(server, `${PODS}/a/status`, { status: { phase: 'Succeeded' } })
  await becomes(server, { pods: '0', 'count/pods': '1', 'requests.cpu': '0' })
  assert.equal(await outcome(server, PODS, pod('b', asking({ cpu: '1' }))), 'created')
  await send(server, 'DELETE', `${PODS}/b`, { gracePeriodSeconds: 0 })
  await becomes(server, { pods: '0', 'count/pods': '1', 'requests.cpu': '0' })
})

test('pods must state what a quota limits', patient, async t => {
  const server = await open(t)
  await limit(server, { 'requests.cpu': '1', 'limits.memory': '1Gi' })
  assert.equal(
    await outcome(server, PODS, pod('a')),
    '403 pods "a" is forbidden: failed quota: quota: must specify limits.memory for: c; requests.cpu for: c',
  )
  assert.equal(await outcome(server, PODS, pod('a', asking({ cpu: '1' }, { memory: '1Gi' }))), 'created')
})

test('a quota without a status yet rejects the objects that it limits', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  await send(server, 'POST', QUOTAS, named('v1', 'ResourceQuota', 'quota', { spec: { hard: { configmaps: '5', secrets: '5' } } }))
  assert.equal(await outcome(server, `${NAMESPACE}/configmaps`, configMap('a')), 'created')
  await patch(server, `${QUOTAS}/quota/status`, { status: { hard: { configmaps: '5', secrets: '5' }, used: { secrets: '0' } } })
  assert.equal(
    await outcome(server, `${NAMESPACE}/configmaps`, configMap('b')),
    '403 configmaps "b" is forbidden: status unknown for quota: quota, resources: configmaps',
  )
})

test('every scope counts the pods that it is about', patient, async t => {
  const server = await open(t)
  const high = { ...named('scheduling.k8s.io/v1', 'PriorityClass', 'high'), value: 5 }
  await send(server, 'POST', '/apis/scheduling.k8s.io/v1/priorityclasses', high)
  const scopes = ['Terminating', 'NotTerminating', 'BestEffort', 'NotBestEffort', 'CrossNamespacePodAffinity']
  for (const scope of scopes) await limit(server, { pods: '5' }, { name: scope.toLowerCase(), scopes: [scope] })
  const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }]
  await limit(server, { pods: '1' }, { name: 'high', scopeSelector: { matchExpressions } })
  const term = { topologyKey: 'k', namespaces: ['other'], labelSelector: {} }
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
  assert.equal(await outcome(server, PODS, pod('plain')), 'created')
  assert.equal(await outcome(server, PODS, pod('short', { activeDeadlineSeconds: 5, ...asking({ cpu: '1' }) })), 'created')
  assert.equal(await outcome(server, PODS, pod('high', { priorityClassName: 'high' })), 'created')
  assert.equal(await outcome(server, PODS, pod('near', { affinity })), 'created')
  assert.match(
    await outcome(server, PODS, pod('high2', { priorityClassName: 'high' })),
    /exceeded quota: high, requested: pods=1, used: pods=1/,
  )
  const used = async () => Promise.all([...scopes, 'high'].map(async name => (await usedOf(server, name.toLowerCase())).pods))
  assert.deepEqual(await used(), ['1', '3', '3', '1', '1', '1'])
  // A deadline makes a pod one of the others.
  assert.equal((await patch(server, `${PODS}/plain`, { spec: { activeDeadlineSeconds: 50 } })).status, 200)
  await becomes(server, { pods: '2' }, 'terminating')
  await becomes(server, { pods: '2' }, 'notterminating')
})

test('claims are counted by storage class and by attributes class', patient, async t => {
  const server = await open(t)
  const gold = 'gold.storageclass.storage.k8s.io'
  await limit(server, { [`${gold}/requests.storage`]: '3Gi', [`${gold}/persistentvolumeclaims`]: '2', 'requests.storage': '10Gi' })
  const matchExpressions = [{ scopeName: 'VolumeAttributesClass', operator: 'In', values: ['fast'] }]
  await limit(server, { persistentvolumeclaims: '0' }, { name: 'fast', scopeSelector: { matchExpressions } })
  const path = `${NAMESPACE}/persistentvolumeclaims`
  assert.equal(await outcome(server, path, claim('a', 'gold', '2Gi')), 'created')
  assert.match(
    await outcome(server, path, claim('b', 'gold', '2Gi')),
    /exceeded quota: quota, requested: gold\.storageclass\.storage\.k8s\.io\/requests\.storage=2Gi, used: .*=2Gi, limited: .*=3Gi$/,
  )
  assert.equal(await outcome(server, path, claim('b', 'silver', '2Gi')), 'created')
  assert.deepEqual(await usedOf(server), {
    [`${gold}/requests.storage`]: '2Gi',
    [`${gold}/persistentvolumeclaims`]: '1',
    'requests.storage': '4Gi',
  })
  assert.match(
    await outcome(server, path, claim('c', 'silver', '1Gi', { volumeAttributesClassName: 'fast' })),
    /exceeded quota: fast, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0/,
  )
})

test('a change of type changes what a service uses', patient, async t => {
  const server = await open(t)
  await limit(server, { services: '5', 'services.nodeports': '1', 'services.loadbalancers': '1' })
  const path = `${NAMESPACE}/services`
  const present = Number((await usedOf(server)).services)
  assert.equal(await outcome(server, path, service('a', 'ClusterIP')), 'created')
  assert.equal(await outcome(server, path, service('b', 'ClusterIP')), 'created')
  assert.equal((await patch(server, `${path}/a`, { spec: { type: 'NodePort' } })).status, 200)
  assert.deepEqual(await usedOf(server), { services: String(present + 2), 'services.nodeports': '1', 'services.loadbalancers': '0' })
  const refused = await patch(server, `${path}/b`, { spec: { type: 'LoadBalancer' } })
  assert.equal(
    refused.json.message,
    'services "b" is forbidden: exceeded quota: quota, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
  )
  assert.equal((await patch(server, `${path}/a`, { spec: { type: 'ClusterIP' } })).status, 200)
  await becomes(server, { 'services.nodeports': '0' })
  assert.equal((await patch(server, `${path}/b`, { spec: { type: 'LoadBalancer' } })).status, 200)
  await becomes(server, { 'services.nodeports': '1', 'services.loadbalancers': '1' })
})

test('objects of a custom kind are counted, also those that were there before the quota', patient, async t => {
  const server = await open(t)
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }]
  const spec = { group: 'example.com', names: { plural: 'widgets', kind: 'Widget' }, scope: 'Namespaced', versions }
  const definition = named('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'widgets.example.com', { spec })
  await send(server, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
  const path = '/apis/example.com/v1/namespaces/default/widgets'
  await eventually('widgets being served', async () => ((await send(server, 'GET', path)).status === 200 ? true : undefined))
  const widget = (name: string) => named('example.com/v1', 'Widget', name)
  assert.equal(await outcome(server, path, widget('a')), 'created')
  await limit(server, { 'count/widgets.example.com': '2' })
  assert.deepEqual(await usedOf(server), { 'count/widgets.example.com': '1' })
  assert.equal(await outcome(server, path, widget('b')), 'created')
  assert.equal(
    await outcome(server, path, widget('c')),
    '403 widgets.example.com "c" is forbidden: exceeded quota: quota, requested: count/widgets.example.com=1, used: count/widgets.example.com=2, limited: count/widgets.example.com=2',
  )
  await send(server, 'DELETE', `${path}/a`)
  await becomes(server, { 'count/widgets.example.com': '1' })
})

test('devices are counted by class', patient, async t => {
  const server = await open(t)
  const name = 'gpu.deviceclass.resource.k8s.io/devices'
  await limit(server, { [name]: '3', 'count/resourceclaims.resource.k8s.io': '5' })
  const path = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims'
  const devices = (object: string, count: number) =>
    named('resource.k8s.io/v1', 'ResourceClaim', object, {
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count } }] } },
    })
  assert.equal(await outcome(server, path, devices('a', 2)), 'created')
  assert.match(await outcome(server, path, devices('b', 2)), new RegExp(`requested: ${name}=2, used: ${name}=2, limited: ${name}=3$`))
  assert.deepEqual(await usedOf(server), { [name]: '2', 'count/resourceclaims.resource.k8s.io': '1' })
})

test('quota of failed writes is released, and a dry run uses none', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const hard = { configmaps: '5' }
  await send(server, 'POST', QUOTAS, named('v1', 'ResourceQuota', 'quota', { spec: { hard } }))
  await patch(server, `${QUOTAS}/quota/status`, { status: { hard, used: { configmaps: '3' } } })
  const path = `${NAMESPACE}/configmaps`
  assert.equal(await outcome(server, `${path}?dryRun=All`, configMap('a')), 'created')
  assert.deepEqual(await usedOf(server), { configmaps: '3' })
  assert.equal(await outcome(server, path, configMap('a')), 'created')
  assert.equal(await outcome(server, path, configMap('a')), '409 configmaps "a" already exists')
  assert.deepEqual(await usedOf(server), { configmaps: '4' })
  assert.equal(await outcome(server, path, configMap('b')), 'created')
  assert.match(await outcome(server, `${path}?dryRun=All`, configMap('c')), /^403 .* exceeded quota/)
})

test('changed limits of a quota are in its status, and resources that it no longer limits are no longer counted', patient, async t => {
  const server = await open(t)
  await limit(server, { secrets: '1', 'count/leases.coordination.k8s.io': '9' })
  await patch(server, `${QUOTAS}/quota`, { spec: { hard: { secrets: '2', 'count/leases.coordination.k8s.io': null } } })
  const status = await eventually('the new limits', async () => {
    const { json } = await send(server, 'GET', `${QUOTAS}/quota`)
    return json.status.hard.secrets === '2' ? json.status : undefined
  })
  assert.deepEqual(status, { hard: { secrets: '2' }, used: { secrets: '0' } })
})
