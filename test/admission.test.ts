// Admission from a client's view: the default plugins, in their order, with the objects that they look up.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, freshServer, patient, type Target } from './kit.ts'

const send = (target: Target, method: string, path: string, body?: unknown) =>
  ask(target, path, { method, ...(body !== undefined && { body }) })
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims'
const PODS = '/api/v1/namespaces/default/pods'
const claim = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...more },
})
const storageClass = (name: string, isDefault: boolean) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name, annotations: { 'storageclass.kubernetes.io/is-default-class': String(isDefault) } },
  provisioner: 'disk.example.com',
  allowVolumeExpansion: isDefault,
})
const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
})

test('a claim gets the default class and a finalizer, which its creator does not own', patient, async t => {
  const server = await freshServer(t)
  await send(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', storageClass('slow', false))
  await send(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', storageClass('fast', true))
  const { json } = await send(server, 'POST', CLAIMS, claim('data'))
  assert.equal(json.spec.storageClassName, 'fast')
  assert.deepEqual(json.metadata.finalizers, ['kubernetes.io/pvc-protection'])
  const owned = json.metadata.managedFields.map((entry: any) => entry.fieldsV1)
  assert.deepEqual(owned, [
    { 'f:spec': { 'f:accessModes': {}, 'f:resources': { 'f:requests': { '.': {}, 'f:storage': {} } }, 'f:volumeMode': {} } },
  ])
  const deleted = await send(server, 'DELETE', `${CLAIMS}/data`)
  assert.equal(deleted.status, 200)
  // It is marked, and goes when the controller has seen that nobody uses it.
  assert.ok(deleted.json.metadata.deletionTimestamp)
  await eventually('the end of the claim', async () => ((await send(server, 'GET', `${CLAIMS}/data`)).status === 404 ? true : undefined))
})

test('a claim grows once it is bound, and where its class lets it', patient, async t => {
  const server = await freshServer(t)
  await send(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', storageClass('fast', true))
  await send(server, 'POST', CLAIMS, claim('data'))
  await ask(server, `${CLAIMS}/data/status`, {
    method: 'PATCH',
    body: { status: { phase: 'Bound', capacity: { storage: '1Gi' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const grow = (name: string, storage: string) =>
    ask(server, `${CLAIMS}/${name}`, {
      method: 'PATCH',
      body: { spec: { resources: { requests: { storage } } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  assert.equal((await grow('data', '2Gi')).json.spec.resources.requests.storage, '2Gi')
  await send(server, 'POST', '/apis/storage.k8s.io/v1/storageclasses', storageClass('fixed', false))
  await send(server, 'POST', CLAIMS, claim('small', { storageClassName: 'fixed' }))
  await ask(server, `${CLAIMS}/small/status`, {
    method: 'PATCH',
    body: { status: { phase: 'Bound' } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const refused = await grow('small', '2Gi')
  assert.equal(refused.status, 403)
  assert.match(refused.json.message, /the storageclass that provisions the pvc must support resize$/)
})

test('a pod gets its priority and default tolerations, and both survive an update without them', patient, async t => {
  const server = await freshServer(t)
  const { json } = await send(server, 'POST', PODS, pod('a', { priorityClassName: 'system-node-critical' }))
  assert.equal(json.spec.priority, 2_000_001_000)
  assert.equal(json.spec.preemptionPolicy, 'PreemptLowerPriority')
  assert.deepEqual(
    json.spec.tolerations.map((toleration: any) => toleration.key),
    ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'],
  )
  const { priority: _, preemptionPolicy: __, ...spec } = json.spec
  const labelled = { ...json, metadata: { ...json.metadata, labels: { a: 'b' } }, spec }
  const updated = await send(server, 'PUT', `${PODS}/a`, labelled)
  assert.equal(updated.status, 200, updated.text)
  assert.equal(updated.json.spec.priority, 2_000_001_000)
  const unknown = await send(server, 'POST', PODS, pod('b', { priorityClassName: 'none' }))
  assert.equal(unknown.json.message, 'pods "b" is forbidden: no PriorityClass with name none was found')
})

test('a node begins as not ready, an ingress with the default class', patient, async t => {
  const server = await freshServer(t)
  const node = await send(server, 'POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } })
  assert.deepEqual(node.json.spec.taints, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }])
  await send(server, 'POST', '/apis/networking.k8s.io/v1/ingressclasses', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'nginx', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
    spec: { controller: 'example.com/nginx' },
  })
  const ingress = await send(server, 'POST', '/apis/networking.k8s.io/v1/namespaces/default/ingresses', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web' },
    spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  })
  assert.equal(ingress.json.spec.ingressClassName, 'nginx')
})

test('componentstatuses are served with a deprecation warning', patient, async t => {
  const server = await freshServer(t)
  const { json, headers } = await ask(server, '/api/v1/componentstatuses')
  assert.deepEqual(json.items, [{ metadata: { name: 'store' }, conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }] }])
  assert.equal(headers['warning'], '299 - "v1 ComponentStatus is deprecated in v1.19+"')
})
