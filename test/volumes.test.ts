// Claims and volumes in a real server over HTTPS: bound, made, attached, mounted, changed and deleted, also when it is killed meanwhile.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import test from 'node:test'
import {
  ask,
  connection,
  eventually,
  freshServer,
  patient,
  run,
  type Scope,
  serveHere,
  startProcess,
  type Target,
  temporaryDirectory,
} from './kit.ts'
import { testWith } from './programs.ts'

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims'
const VOLUMES = '/api/v1/persistentvolumes'
const PODS = '/api/v1/namespaces/default/pods'
const CLASSES = '/apis/storage.k8s.io/v1/storageclasses'
const ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments'
const MERGE = { 'content-type': 'application/merge-patch+json' }

const spec = (storage: string, more: object = {}) => ({ accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...more })
const claimOf = (name: string, storage: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: spec(storage, more),
})
const volumeOf = (name: string, storage: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage }, storageClassName: 'manual', hostPath: { path: '/x' }, ...more },
})
const podOf = (name: string, volumes: readonly object[], more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...more },
  spec: { containers: [{ name: 'c', image: 'i' }], volumes },
})
const mount = (claimName: string) => ({ name: 'data', persistentVolumeClaim: { claimName } })

async function send(server: Target, method: string, path: string, body?: object): Promise<any> {
  const headers: Record<string, string> = method === 'PATCH' ? MERGE : {}
  const { status, json, text } = await ask(server, path, { method, ...(body && { body }), headers })
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`)
  return json
}
const until = (server: Target, path: string, holds: (object: any) => unknown) =>
  eventually(`what was waited for at ${path}`, async () => {
    const { json } = await ask(server, path)
    return holds(json) ? json : undefined
  })
const eventsAbout = async (server: Target, name: string): Promise<string[]> => {
  const { items } = (await ask(server, `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`)).json
  return items.map(({ reason, message, source }: any) => `${source.component} ${reason}: ${message}`)
}
const told = (server: Target, name: string, event: RegExp) =>
  eventually(`an event ${event}`, async () => (await eventsAbout(server, name)).find(each => event.test(each)))

const simulated = async (t: Scope) => {
  const server = await freshServer(t, { store: 'memory', port: 0, nodes: 2 })
  await until(server, `${CLASSES}/standard`, ({ kind }) => kind === 'StorageClass')
  return server
}

test('a claim gets a volume of the default class, which is attached for its pod, grows, and goes with the claim', patient, async t => {
  const server = await simulated(t)
  await send(server, 'POST', CLAIMS, claimOf('data', '1Gi'))
  const { spec: bound } = await until(server, `${CLAIMS}/data`, ({ status }) => status.phase === 'Bound')
  assert.equal(bound.storageClassName, 'standard')
  await told(server, 'data', /^csi\.keelson\.dev ProvisioningSucceeded: Successfully provisioned volume pvc-/)
  await send(server, 'POST', PODS, podOf('user', [mount('data')]))
  const pod = await until(server, `${PODS}/user`, ({ status }) => status.phase === 'Running')
  await told(server, 'user', /^attachdetach-controller SuccessfulAttachVolume: AttachVolume\.Attach succeeded for volume "pvc-.*" $/)
  const [attachment] = (await send(server, 'GET', ATTACHMENTS)).items
  assert.deepEqual(
    [attachment.spec.nodeName, attachment.spec.attacher, attachment.status.attached],
    [pod.spec.nodeName, 'csi.keelson.dev', true],
  )
  await until(server, `/api/v1/nodes/${pod.spec.nodeName}`, ({ status }) =>
    status.volumesAttached?.[0]?.name.startsWith('kubernetes.io/csi/csi.keelson.dev^pvc-'),
  )
  await until(server, `${CLAIMS}/data`, ({ status }) => status.conditions?.some((c: any) => c.type === 'Unused' && c.status === 'False'))

  await send(server, 'PATCH', `${CLAIMS}/data`, { spec: { resources: { requests: { storage: '3Gi' } } } })
  const grown = await until(server, `${CLAIMS}/data`, ({ status }) => status.capacity.storage === '3Gi')
  assert.equal(grown.status.allocatedResourceStatuses, undefined)
  assert.equal((await send(server, 'GET', `${VOLUMES}/${bound.volumeName}`)).spec.capacity.storage, '3Gi')
  await told(server, 'user', /^kubelet FileSystemResizeSuccessful: MountVolume\.NodeExpandVolume succeeded/)

  await send(server, 'DELETE', `${CLAIMS}/data`)
  assert.equal((await send(server, 'GET', `${CLAIMS}/data`)).metadata.finalizers[0], 'kubernetes.io/pvc-protection', 'it is in use')
  await send(server, 'DELETE', `${PODS}/user?gracePeriodSeconds=0`)
  for (const path of [`${CLAIMS}/data`, `${VOLUMES}/${bound.volumeName}`, `${ATTACHMENTS}/${attachment.metadata.name}`])
    await until(server, path, ({ reason }) => reason === 'NotFound')
})

test('a volume without a pod keeps its file system as it is until there is one', patient, async t => {
  const server = await simulated(t)
  await send(server, 'POST', CLAIMS, claimOf('data', '1Gi'))
  await until(server, `${CLAIMS}/data`, ({ status }) => status.phase === 'Bound')
  await send(server, 'PATCH', `${CLAIMS}/data`, { spec: { resources: { requests: { storage: '2Gi' } } } })
  const pending = await until(server, `${CLAIMS}/data`, ({ status }) => status.allocatedResourceStatuses?.storage === 'NodeResizePending')
  assert.equal(pending.status.capacity.storage, '1Gi')
  assert.ok(pending.status.conditions.some(({ type, status }: any) => type === 'FileSystemResizePending' && status === 'True'))
  await send(server, 'POST', PODS, podOf('user', [mount('data')]))
  await until(server, `${CLAIMS}/data`, ({ status }) => status.capacity.storage === '2Gi')
})

test('the attributes of a volume change with the class that its claim names', patient, async t => {
  const server = await simulated(t)
  const attributes = '/apis/storage.k8s.io/v1/volumeattributesclasses'
  const gold = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: 'gold' },
    driverName: 'csi.keelson.dev',
    parameters: { iops: '9' },
  }
  await send(server, 'POST', CLAIMS, claimOf('data', '1Gi'))
  await until(server, `${CLAIMS}/data`, ({ status }) => status.phase === 'Bound')
  await send(server, 'PATCH', `${CLAIMS}/data`, { spec: { volumeAttributesClassName: 'gold' } })
  await until(server, `${CLAIMS}/data`, ({ status }) => status.modifyVolumeStatus?.status === 'Pending')
  await send(server, 'POST', attributes, gold)
  const { spec, status } = await until(server, `${CLAIMS}/data`, ({ status }) => status.currentVolumeAttributesClassName === 'gold')
  assert.equal(status.modifyVolumeStatus, undefined)
  assert.equal((await send(server, 'GET', `${VOLUMES}/${spec.volumeName}`)).spec.volumeAttributesClassName, 'gold')
})

test(
  'a class that waits for its consumer gets a volume where the pod goes, also for volumes that live with their pod',
  patient,
  async t => {
    const server = await simulated(t)
    await send(server, 'POST', CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'later' },
      provisioner: 'csi.keelson.dev',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    await send(server, 'POST', CLAIMS, claimOf('data', '1Gi', { storageClassName: 'later' }))
    await told(server, 'data', /WaitForFirstConsumer: waiting for first consumer to be created before binding/)
    const ephemeral = { volumeClaimTemplate: { metadata: { labels: { a: 'b' } }, spec: spec('1Gi', { storageClassName: 'later' }) } }
    await send(server, 'POST', PODS, podOf('user', [mount('data'), { name: 'own', ephemeral }]))
    const pod = await until(server, `${PODS}/user`, ({ status }) => status.phase === 'Running')
    for (const name of ['data', 'user-own']) {
      const { metadata, status } = await send(server, 'GET', `${CLAIMS}/${name}`)
      assert.equal(status.phase, 'Bound')
      assert.equal(metadata.annotations['volume.kubernetes.io/selected-node'], pod.spec.nodeName)
    }
    await send(server, 'DELETE', `${PODS}/user?gracePeriodSeconds=0`)
    await until(server, `${CLAIMS}/user-own`, ({ reason }) => reason === 'NotFound')
    assert.equal((await send(server, 'GET', `${CLAIMS}/data`)).status.phase, 'Bound')
  },
)

test('without nodes there is no class; claims wait, or take volumes that somebody has made', patient, async t => {
  const server = await freshServer(t)
  await send(server, 'POST', CLAIMS, claimOf('data', '1Gi'))
  await told(
    server,
    'data',
    /^persistentvolume-controller FailedBinding: no persistent volumes available for this claim and no storage class is set$/,
  )
  assert.deepEqual((await send(server, 'GET', CLASSES)).items, [])
  await send(server, 'POST', VOLUMES, volumeOf('big', '10Gi'))
  await send(server, 'POST', VOLUMES, volumeOf('right', '2Gi'))
  await until(server, `${VOLUMES}/big`, ({ status }) => status.phase === 'Available')
  await until(server, `${VOLUMES}/right`, ({ status }) => status.phase === 'Available')
  await send(server, 'POST', CLAIMS, claimOf('mine', '2Gi', { storageClassName: 'manual' }))
  const { spec: bound } = await until(server, `${CLAIMS}/mine`, ({ status }) => status.phase === 'Bound')
  assert.equal(bound.volumeName, 'right')
})

const PAIRS = 40
const ROUNDS = 6

test('kill -9 while claims are bound binds nothing twice, loses nothing, and all are bound in the end', { timeout: 300_000 }, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  let made = 0
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startProcess(t, { dataDir })
    await assertOneToOne(server)
    const agent = connection(t)
    const writing = (async () => {
      const goal = Math.min(PAIRS, made + Math.ceil(PAIRS / ROUNDS))
      try {
        for (; made < goal; made++) {
          const [v, c] = [volumeOf(`v${made}`, '1Gi'), claimOf(`c${made}`, '1Gi', { storageClassName: 'manual' })]
          for (const [path, body] of [
            [VOLUMES, v],
            [CLAIMS, c],
          ] as const) {
            const { status, text } = await ask(server, path, { method: 'POST', body, agent })
            assert.ok(status === 201 || status === 409, text)
          }
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
      }
    })()
    await eventually('some claims', () => (made >= Math.ceil((PAIRS / ROUNDS) * (round + 0.5)) || made >= PAIRS ? true : undefined))
    await new Promise(resolve => setTimeout(resolve, randomInt(20)))
    await server.stop('SIGKILL')
    await writing
  }
  const server = await serveHere(t, { dataDir })
  for (; made < PAIRS; made++) {
    await ask(server, VOLUMES, { method: 'POST', body: volumeOf(`v${made}`, '1Gi') })
    await ask(server, CLAIMS, { method: 'POST', body: claimOf(`c${made}`, '1Gi', { storageClassName: 'manual' }) })
  }
  // The one that was being created when the server died may lack its other half.
  const [volumes, claims] = [(await send(server, 'GET', VOLUMES)).items.length, (await send(server, 'GET', CLAIMS)).items.length]
  const expected = Math.min(volumes, claims)
  await eventually('all bindings', async () => {
    const { items } = await send(server, 'GET', CLAIMS)
    return items.filter(({ status }: any) => status.phase === 'Bound').length >= expected ? true : undefined
  })
  await assertOneToOne(server)
  t.diagnostic(`${ROUNDS} kills, ${volumes} volumes, ${claims} claims`)
})

/** Whatever is bound is bound on both sides, and to one only. */
async function assertOneToOne(server: Target): Promise<void> {
  const [claims, volumes] = [(await send(server, 'GET', CLAIMS)).items, (await send(server, 'GET', VOLUMES)).items]
  const names = claims.flatMap(({ spec, status }: any) => (status.phase === 'Bound' ? [spec.volumeName] : []))
  assert.equal(new Set(names).size, names.length, 'a volume has two claims')
  const owners = volumes.flatMap(({ spec }: any) => spec.claimRef?.uid ?? [])
  assert.equal(new Set(owners).size, owners.length, 'a claim has two volumes')
  for (const { metadata, spec, status } of claims)
    if (status.phase === 'Bound')
      assert.equal(volumes.find((v: any) => v.metadata.name === spec.volumeName).spec.claimRef.uid, metadata.uid)
}

testWith('kubectl', 'kubectl shows what became of the claims of a stateful set', patient, async (t, kubectl) => {
  const server = await serveHere(t, { flags: ['--nodes=1'] })
  const at = ['--kubeconfig', server.kubeconfig]
  const set = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: { metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: spec('1Gi') }],
    },
  }
  const applied = await run(kubectl, [...at, 'apply', '-f', '-'], { input: JSON.stringify(set) })
  assert.equal(applied.code, 0, applied.stderr)
  const rolled = await run(kubectl, [...at, 'rollout', 'status', 'statefulset/db', '--timeout=90s'])
  assert.equal(rolled.code, 0, rolled.stderr)
  const { stdout } = await run(kubectl, [...at, 'get', 'pvc', '--no-headers'])
  assert.match(stdout, /^data-db-0 +Bound +pvc-\S+ +1Gi +RWO +standard/m)
  assert.match(stdout, /^data-db-1 +Bound +pvc-\S+ +1Gi +RWO +standard/m)
})
