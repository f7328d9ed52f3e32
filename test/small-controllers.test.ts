// Controllers with one small duty each: ttl-controller, storageversion-garbage-collector-controller, selinux-warning-controller.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, eventually, patient, serverOfFile } from './kit.ts'

const server = serverOfFile({
  controllers: ['ttl-controller', 'storageversion-garbage-collector-controller', 'selinux-warning-controller'],
  nodes: 0,
  store: 'memory',
  runtimeConfig: 'internal.apiserver.k8s.io/v1alpha1=true',
  featureGates: 'StorageVersionAPI=true',
})

async function create(path: string, body: object): Promise<any> {
  const { status, json } = await ask(server, path, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json
}

test('nodes say how long kubelets may cache', patient, async () => {
  await create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } })
  const annotation = await eventually('the annotation', async () => {
    const { json } = await ask(server, '/api/v1/nodes/n')
    return json.metadata.annotations?.['node.alpha.kubernetes.io/ttl'] as string | undefined
  })
  assert.equal(annotation, '0')
})

test('storage versions say how this server stores and serves each resource', patient, async () => {
  const path = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions'
  const { json } = await eventually('they are published', async () => {
    const answer = await ask(server, `${path}/autoscaling.horizontalpodautoscalers`)
    return answer.json.status?.commonEncodingVersion ? answer : undefined
  })
  const { json: leases } = await ask(server, '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases')
  const [{ apiServerID, ...version }] = json.status.storageVersions
  assert.ok(
    leases.items.some((lease: any) => lease.metadata.name === apiServerID),
    'APIServerIdentity',
  )
  assert.deepEqual(version.servedVersions.sort(), ['autoscaling/v1', 'autoscaling/v2'])
  assert.ok(version.decodableVersions.includes(version.encodingVersion))
  assert.deepEqual(
    json.status.conditions.map((each: any) => [each.type, each.status]),
    [['AllEncodingVersionsEqual', 'True']],
  )
  const services = await eventually('core is named', async () => {
    const answer = await ask(server, `${path}/core.services`)
    return answer.json.status?.commonEncodingVersion as string | undefined
  })
  assert.equal(services, 'v1')
})

test('a storage version of a server that is gone is deleted', patient, async () => {
  const path = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions'
  const apiVersion = 'internal.apiserver.k8s.io/v1alpha1'
  const stored = await create(path, { apiVersion, kind: 'StorageVersion', metadata: { name: 'apps.widgets' }, spec: {} })
  const status = {
    storageVersions: [{ apiServerID: 'gone', encodingVersion: 'apps/v1', decodableVersions: ['apps/v1'] }],
    commonEncodingVersion: 'apps/v1',
  }
  const written = await ask(server, `${path}/apps.widgets/status`, { method: 'PUT', body: { ...stored, status } })
  assert.equal(written.status, 200, JSON.stringify(written.json))
  await eventually('it is gone', async () => ((await ask(server, `${path}/apps.widgets`)).status === 404 ? true : undefined))
})

test('pods that share a volume with different labels get events', patient, async () => {
  await create('/apis/storage.k8s.io/v1/csidrivers', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'd.example.com' },
    spec: { seLinuxMount: true },
  })
  const claim = await create('/api/v1/namespaces/default/persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } }, volumeName: 'v', storageClassName: '' },
  })
  await create('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v' },
    spec: {
      accessModes: ['ReadWriteMany'],
      capacity: { storage: '1Gi' },
      csi: { driver: 'd.example.com', volumeHandle: 'h' },
      claimRef: { namespace: 'default', name: 'c', uid: claim.metadata.uid },
    },
  })
  for (const [name, level] of [
    ['a', 's0:c1'],
    ['b', 's0:c2'],
  ])
    await create('/api/v1/namespaces/default/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        securityContext: { seLinuxOptions: { level } },
        containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
      },
    })
  const involved = await eventually('both pods have an event', async () => {
    const { json } = await ask(server, '/api/v1/namespaces/default/events?fieldSelector=reason=SELinuxLabelConflict')
    const names = new Set(json.items.map((event: any) => event.involvedObject.name))
    return names.size === 2 ? [...names].sort() : undefined
  })
  assert.deepEqual(involved, ['a', 'b'])
})
