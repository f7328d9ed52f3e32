// An earlier release that is emulated: fields and rules of features that were off there. One server shows them all.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, eventually, patient, serverOfFile } from './kit.ts'

const server = serverOfFile({ controllers: ['none'], nodes: 0, store: 'memory', emulatedVersion: '1.34' })

async function write(path: string, body: object, method = 'POST'): Promise<any> {
  const { status, json } = await ask(server, path, { method, body })
  assert.ok(status < 300, json.message)
  return json
}

test('fields of pods that were off are dropped', patient, async () => {
  const { spec, status } = await write('/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: {
      hostnameOverride: 'h',
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', image: { reference: 'r' } },
      ],
      containers: [
        {
          name: 'c',
          image: 'i',
          restartPolicy: 'Never',
          volumeMounts: [
            { name: 'a', mountPath: '/a' },
            { name: 'b', mountPath: '/b' },
          ],
        },
      ],
    },
  })
  assert.equal(spec.hostnameOverride, undefined)
  assert.deepEqual(spec.volumes, [{ name: 'a', emptyDir: {} }])
  assert.deepEqual(spec.containers[0].volumeMounts, [{ name: 'a', mountPath: '/a' }])
  assert.equal(spec.containers[0].restartPolicy, undefined)
  assert.equal(status.qosClass, 'BestEffort')
})

test('pods with empty resources of their own are BestEffort, and requests follow limits alone', patient, async () => {
  const containers = [{ name: 'c', image: 'i', resources: { limits: { cpu: '1', memory: '1Gi' } } }]
  const pod = (name: string, resources: object) => ({ metadata: { name }, spec: { resources, containers } })
  const empty = await write('/api/v1/namespaces/default/pods', pod('empty', {}))
  assert.equal(empty.status.qosClass, 'BestEffort', 'PodLevelResourcesFixKubeletQOSClass')
  const limited = await write('/api/v1/namespaces/default/pods', pod('limited', { limits: { cpu: '2' } }))
  assert.deepEqual(limited.spec.resources, { limits: { cpu: '2' }, requests: { cpu: '1', memory: '1Gi' } })
  const asking = await write('/api/v1/namespaces/default/pods', pod('asking', { requests: { cpu: '2' } }))
  assert.deepEqual(asking.spec.resources, { requests: { cpu: '2' } }, 'PodLevelResourcesFixDefaulting')
})

test('names of services begin with a letter', patient, async () => {
  const service = { metadata: { name: '1a' }, spec: { ports: [{ port: 80 }] } }
  const { status, json } = await ask(server, '/api/v1/namespaces/default/services', { method: 'POST', body: service })
  assert.equal(status, 422, 'RelaxedServiceNameValidation')
  assert.match(json.message, /metadata.name: Invalid value: "1a": a DNS-1035 label must consist of/)
})

test('storage drivers have fewer fields, and a count of volumes stays', patient, async () => {
  const STORAGE = '/apis/storage.k8s.io/v1'
  const driver = await ask(server, `${STORAGE}/csidrivers`, {
    method: 'POST',
    body: {
      metadata: { name: 'd' },
      spec: { tokenRequests: [{ audience: '' }], nodeAllocatableUpdatePeriodSeconds: 10, serviceAccountTokenInSecrets: true },
    },
  })
  assert.equal(driver.headers['warning'], undefined, 'CSIServiceAccountTokenSecrets')
  const { nodeAllocatableUpdatePeriodSeconds, serviceAccountTokenInSecrets, preventPodSchedulingIfMissing } = driver.json.spec
  assert.deepEqual(
    [nodeAllocatableUpdatePeriodSeconds, serviceAccountTokenInSecrets, preventPodSchedulingIfMissing],
    [undefined, undefined, undefined],
  )

  const csiNode = (count: number) => ({ metadata: { name: 'n' }, spec: { drivers: [{ name: 'd', nodeID: 'n', allocatable: { count } }] } })
  const { metadata } = await write(`${STORAGE}/csinodes`, csiNode(1))
  const { json } = await ask(server, `${STORAGE}/csinodes/n`, { method: 'PUT', body: { ...csiNode(2), metadata } })
  assert.match(json.message, /spec.drivers: .*: field is immutable$/)

  const source = { persistentVolumeName: 'v' }
  const attachment = await write(`${STORAGE}/volumeattachments`, {
    metadata: { name: 'a' },
    spec: { attacher: 'd', nodeName: 'n', source },
  })
  const failed = { ...attachment, status: { attached: false, attachError: { message: 'm', errorCode: 8 } } }
  const { status } = await write(`${STORAGE}/volumeattachments/a/status`, failed, 'PUT')
  assert.deepEqual([status.attachError.message, status.attachError.errorCode], ['m', undefined], 'MutableCSINodeAllocatableCount')
})

test('device classes have no name as a resource', patient, async () => {
  const { spec } = await write('/apis/resource.k8s.io/v1/deviceclasses', {
    metadata: { name: 'gpu' },
    spec: { extendedResourceName: 'example.com/gpu' },
  })
  assert.equal(spec.extendedResourceName, undefined)
})

test('plain writes set the status of service CIDRs', patient, async () => {
  const conditions = [{ type: 'Ready', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const { status } = await write('/apis/networking.k8s.io/v1/servicecidrs', {
    metadata: { name: 'more' },
    spec: { cidrs: ['10.7.0.0/24'] },
    status: { conditions },
  })
  assert.equal(status.conditions[0].type, 'Ready', 'ServiceCIDRStatusFieldWiping')
})

test('autoscalers have the generation that clients give them', patient, async () => {
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
  const made = await write(path, { metadata: { name: 'a' }, spec: { maxReplicas: 2, scaleTargetRef } })
  const changed = await write(`${path}/a`, { ...made, spec: { ...made.spec, maxReplicas: 3 } }, 'PUT')
  assert.deepEqual([made.metadata.generation, changed.metadata.generation], [undefined, undefined])
})

test('definitions do not say which generation their conditions are about', patient, async () => {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const names = { plural: 'widgets', kind: 'Widget' }
  const schema = { openAPIV3Schema: { type: 'object' } }
  await write(path, {
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Cluster', names, versions: [{ name: 'v1', served: true, storage: true, schema }] },
  })
  const isEstablished = async () => {
    const { json } = await ask(server, `${path}/widgets.example.com`)
    return json.status?.conditions?.some((each: any) => each.type === 'Established' && each.status === 'True') ? json : undefined
  }
  const definition = await eventually('the definition is established', isEstablished)
  const conditions = definition.status.conditions.map((each: object) => ({ ...each, observedGeneration: 1 }))
  const { status } = await write(
    `${path}/widgets.example.com/status`,
    { ...definition, status: { ...definition.status, conditions, observedGeneration: 1 } },
    'PUT',
  )
  const about = [status.observedGeneration, status.conditions[0].observedGeneration]
  assert.deepEqual(about, [undefined, undefined], 'CRDObservedGenerationTracking')
})
