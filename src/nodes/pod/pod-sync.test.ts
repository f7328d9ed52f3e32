import assert from 'node:assert/strict'
import test from 'node:test'
import { DEFAULT_GATES, listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { NOW } from '../../../test/kits/registry.ts'
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { FAILURE_ANNOTATION, labelsOf } from '../node/simulated-node.ts'
import { LivePods } from '../process/live-pods.ts'
import { localImages } from '../process/local-image.ts'
import { CommandRuns } from '../script/command-runs.ts'
import { DeferredPods } from './deferred-pods.ts'
import { Kubelets } from './kubelets.ts'
import { PodSync } from './pod-sync.ts'
import { WaitingPods } from './waiting-pods.ts'

const KINDS = [
  ...[Namespace, Node, Pod, ConfigMap, Secret, Service, PersistentVolume, PersistentVolumeClaim],
  ...[ClusterTrustBundle, PodCertificateRequest, ResourceClaim, VolumeAttachment],
]
const AT = { namespace: 'ns', name: 'p' }
const KEY = 'ns/p'
const CONTAINER = { name: 'c', image: 'web:1' }

/** A node `n` with one processor, and the sync of its pods, in a time that `advance` sets forward. */
async function open(t: Scope, { node = {}, status = {} }: { readonly node?: object; readonly status?: object } = {}) {
  let now = NOW.getTime()
  const { client } = await openControllerBench(t, KINDS, { now: () => new Date(now) })
  const recorder = listRecorder()
  const onError = assert.ifError
  const runs = new CommandRuns({ client, groupDomain: 'k8s.io', onError })
  const live = new LivePods({
    ...{ client, onError, images: localImages([]), groupDomain: 'k8s.io', version: '1.37', inherited: {} },
    reported: assert.fail as never,
    server: assert.fail as never,
  })
  t.after(async () => {
    await live[Symbol.asyncDispose]()
    await runs[Symbol.asyncDispose]()
  })
  const kubelets = new Kubelets({ client, recorderFor: () => recorder, onError, random: () => 0 })
  const [waiting, deferred] = [new WaitingPods(), new DeferredPods()]
  const sync = new PodSync({ client, kubelets, waiting, deferred, runs, live, gate: DEFAULT_GATES, enqueue() {} })
  const created = (await client.of(Node).create({
    metadata: { name: 'n', labels: labelsOf('n'), ...node },
    spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
  }))!
  const addresses = [{ type: 'InternalIP', address: '172.18.0.2' }]
  const allocatable = { cpu: '1', memory: '1Gi', pods: '10' }
  await client.of(Node).updateStatus({ ...created.object, status: { addresses, allocatable, ...status } } as never)
  const pods = client.of(Pod)
  return {
    ...{ client, sync, pods, waiting, events: recorder.events },
    pod: () => pods.get(AT),
    create: (spec: object = {}, metadata: object = {}) =>
      pods.create({ metadata: { ...AT, ...metadata }, spec: { nodeName: 'n', containers: [CONTAINER], ...spec } } as never),
    /** Syncs the pod until time alone brings no change, and returns the number of looks. */
    settle: async () => {
      for (let looks = 1; looks < 20; looks++) {
        const afterMs = await sync.sync(KEY)
        if (afterMs === undefined) return looks
        now += afterMs
      }
      throw new Error('the pod does not settle')
    },
  }
}

test('a pod is started with an address of its node, and the events of its start are recorded once', async t => {
  const { pod, create, settle, events, sync } = await open(t)
  await create()
  await settle()
  const { phase, podIP, hostIP } = pod()!.status
  assert.deepEqual([phase, hostIP], ['Running', '172.18.0.2'])
  assert.match(podIP ?? '', /^10\.244\.0\.\d+$/)
  const recorded = events.map(each => each.replace(/^p \w+ (\w+):.*/, '$1'))
  assert.deepEqual(recorded, ['Pulled', 'Created', 'Started'])
  const { resourceVersion } = pod()!.metadata
  assert.equal(await sync.sync(KEY), undefined)
  assert.deepEqual([events.length, pod()!.metadata.resourceVersion], [recorded.length, resourceVersion])
})

for (const { name, ...around } of [
  { name: 'is dead', node: { annotations: { [FAILURE_ANNOTATION]: 'true' } } },
  { name: 'is not simulated', node: { labels: {} } },
  { name: 'has no address yet', status: { addresses: [] } },
])
  test(`a pod on a node that ${name} stays as it is`, async t => {
    const { pod, create, settle } = await open(t, around)
    await create()
    assert.equal(await settle(), 1)
    assert.deepEqual([pod()!.status.phase, pod()!.status.startTime], ['Pending', undefined])
  })

test('a pod for which the node has no capacity left fails', async t => {
  const { pod, create, settle } = await open(t)
  await create({ containers: [{ ...CONTAINER, resources: { requests: { cpu: '2' } } }] })
  await settle()
  assert.deepEqual([pod()!.status.phase, pod()!.status.reason], ['Failed', 'OutOfcpu'])
})

test('a pod that was admitted takes capacity from the next one', async t => {
  const { pod, pods, create, settle, sync } = await open(t)
  const spec = { containers: [{ ...CONTAINER, resources: { requests: { cpu: '600m' } } }] }
  await create(spec)
  await settle()
  await create(spec, { name: 'next' })
  await sync.sync('ns/next')
  const { phase, reason } = pods.get({ namespace: 'ns', name: 'next' })!.status
  assert.deepEqual([pod()!.status.phase, phase, reason], ['Running', 'Failed', 'OutOfcpu'])
})

test('a pod waits for an object that its volume needs, and is started when the object is there', async t => {
  const { client, pod, create, settle, waiting, sync } = await open(t)
  await create({ volumes: [{ name: 'v', configMap: { name: 'm' } }] })
  await sync.sync(KEY)
  assert.deepEqual([[...waiting.for('configmaps', 'ns', 'm')], pod()!.status.phase], [[KEY], 'Pending'])
  await client.of(ConfigMap).create({ metadata: { namespace: 'ns', name: 'm' } })
  await settle()
  assert.deepEqual([[...waiting.for('configmaps', 'ns', 'm')], pod()!.status.phase], [[], 'Running'])
})

for (const { name, finalizers, isLeft } of [
  { name: 'is gone after its grace period', finalizers: [], isLeft: false },
  { name: 'stays until its finalizer is removed', finalizers: ['example.com/f'], isLeft: true },
])
  test(`a deleted pod ${name}`, async t => {
    const { pods, pod, create, settle } = await open(t)
    await create({}, { finalizers })
    await settle()
    await pods.delete(pod()!, { gracePeriodSeconds: 5 })
    await settle()
    assert.equal(pod() !== undefined, isLeft)
    if (isLeft) assert.notEqual(pod()!.status.phase, 'Running')
  })

test('a pod that is gone is forgotten: nobody waits for its objects, and another of its name has its own events', async t => {
  const { pods, pod, create, settle, waiting, sync, events } = await open(t)
  await create({ volumes: [{ name: 'v', configMap: { name: 'm' } }] })
  await sync.sync(KEY)
  const [first] = events
  const { uid = '' } = pod()!.metadata
  await pods.delete(pod()!, { gracePeriodSeconds: 0 })
  sync.forget({ node: 'n', pod: KEY, uid })
  assert.deepEqual([[...waiting.for('configmaps', 'ns', 'm')], pod()], [[], undefined])
  assert.equal(await settle(), 1)
  events.length = 0
  await create({ volumes: [{ name: 'v', configMap: { name: 'm' } }] })
  await sync.sync(KEY)
  assert.deepEqual(events, [first])
})
