import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { consumerOf } from '../../devices/pod-claims.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { StatefulSet } from '../../kinds/apps/statefulset.ts'
import { Event as CoreEvent } from '../../kinds/core/event.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ReplicationController } from '../../kinds/core/replicationcontroller.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { Event } from '../../kinds/events/event.ts'
import { PodDisruptionBudget } from '../../kinds/policy/poddisruptionbudget.ts'
import { DeviceClass } from '../../kinds/resource/deviceclass.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { CSINode } from '../../kinds/storage/csinode.ts'
import { CSIStorageCapacity } from '../../kinds/storage/csistoragecapacity.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { StatusError } from '../../schema/status-error.ts'
import { scheduler } from '../controller.ts'
import { DEFAULT_PROFILE } from '../profile.ts'
import { DEFAULT_SETTINGS } from '../settings.ts'
import { claimWriter } from './claim-writer.ts'

const KINDS = [
  ...[Node, Pod, Namespace, Service, ReplicaSet, StatefulSet, ReplicationController, CoreEvent, Event, PersistentVolume],
  ...[PersistentVolumeClaim, PodDisruptionBudget, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice, CSIDriver, CSINode],
  ...[StorageClass, VolumeAttachment, CSIStorageCapacity],
]

const podNamed = (name: string) => ({ metadata: { namespace: 'default', name, uid: `uid-${name}` } }) as unknown as Pod
const user = (name: string) => consumerOf(podNamed(name))

async function open(t: TestContext) {
  const bench = await openControllerBench(t, KINDS, { now: () => new Date() })
  const claims = bench.client.of(ResourceClaim)
  await claims.create({ metadata: { namespace: 'default', name: 'c' }, spec: { devices: { requests: [] } } })
  const events = { event: () => {}, flushed: async () => {} }
  const writerOf = () => claimWriter({ client: bench.client, eventsOf: () => events, recordsTime: true })
  const claim = () => claims.get({ namespace: 'default', name: 'c' })!
  return { ...bench, claims, claim, writerOf }
}

const usersOf = ({ status }: ResourceClaim) => (status.reservedFor ?? []).map(({ name }) => name)

test('an allocation is written with its finalizer, its time and the first reservation; more pods are added one after another', async t => {
  const { claim, writerOf } = await open(t)
  const writer = writerOf()
  const bound = await writer.bind(claim(), user('first'), { devices: {} })
  assert.deepEqual(bound.metadata.finalizers, ['resource.kubernetes.io/delete-protection'])
  assert.match(bound.status.allocation?.allocationTimestamp ?? '', /Z$/)
  // One scheduler does not get in its own way.
  await Promise.all(['a', 'b', 'c', 'd'].map(name => writer.bind(claim(), user(name), undefined)))
  assert.deepEqual(usersOf(claim()).sort(), ['a', 'b', 'c', 'd', 'first'])
  await writer.unreserve(claim(), podNamed('b'))
  assert.deepEqual(usersOf(claim()).sort(), ['a', 'c', 'd', 'first'])
  await assert.rejects(writer.bind(claim(), user('late'), { devices: {} }), {
    message: 'claim default/c got allocated elsewhere in the meantime',
  })
})

test('pods of a group reserve a claim for it once, whoever of them writes the allocation', async t => {
  const { claim, writerOf } = await open(t)
  const writer = writerOf()
  const group = { apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'g', uid: 'uid-g' }
  const before = claim()
  const allocation = { devices: {} }
  await Promise.all([writer.share(before, group, allocation), writer.share(before, group, allocation)])
  assert.deepEqual(claim().status.reservedFor, [group])
  const allocated = claim()
  await Promise.all([writer.bind(allocated, group, undefined), writer.bind(allocated, user('a'), undefined)])
  assert.deepEqual(usersOf(claim()), ['g', 'a'])
})

test('a reservation that is lost to a concurrent update fails; one that only something else came before does not', async t => {
  const { claims, claim, writerOf } = await open(t)
  await writerOf().bind(claim(), user('first'), { devices: {} })
  const [one, other] = [writerOf(), writerOf()]
  const [won, lost] = await Promise.allSettled([one.bind(claim(), user('won'), undefined), other.bind(claim(), user('lost'), undefined)])
  assert.equal(won.status, 'fulfilled')
  assert(lost.status === 'rejected' && lost.reason instanceof StatusError && lost.reason.code === 409)
  assert.match(
    lost.reason.message,
    /^add reservation to claim default\/c: Operation cannot be fulfilled on resourceclaims\.resource\.k8s\.io "c": /,
  )
  assert.deepEqual(usersOf(claim()), ['first', 'won'])
  const relabelled = claims.patch({ namespace: 'default', name: 'c' }, { metadata: { labels: { x: 'y' } } })
  await Promise.all([relabelled, one.bind(claim(), user('third'), undefined)])
  assert.deepEqual([usersOf(claim()), claim().metadata.labels], [['first', 'won', 'third'], { x: 'y' }])
})

test('two schedulers share a claim: whoever loses tries its pod again, and every pod is bound with its reservation', async t => {
  const { client, run, claim } = await open(t)
  const nodes = client.of(Node)
  await nodes.create({ metadata: { name: 'n' }, status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } } })
  const gate = () => true
  for (const schedulerName of ['default-scheduler', 'other'])
    run(scheduler({ random: () => 0, gate, settings: { ...DEFAULT_SETTINGS, profiles: [{ ...DEFAULT_PROFILE, schedulerName }] } }))
  const pods = client.of(Pod)
  const spec = (schedulerName: string) => ({
    schedulerName,
    containers: [{ name: 'main', image: 'i' }],
    resourceClaims: [{ name: 'c', resourceClaimName: 'c' }],
  })
  const names = Array.from({ length: 6 }, (_, i) => `p-${i}`)
  for (const [i, name] of names.entries())
    await pods.create({ metadata: { namespace: 'default', name }, spec: spec(i % 2 === 0 ? 'default-scheduler' : 'other') })
  await becomes(
    () => new Promise(resolve => setTimeout(resolve, 20)).then(() => [...pods.list()].filter(pod => pod.spec.nodeName).length),
    bound => bound === names.length,
  )
  assert.deepEqual(usersOf(claim()).sort(), names)
})
