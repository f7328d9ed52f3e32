import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { becomes, type ClientBench, type ClientOptions, openControllerBench } from '../../test/kits/controllers.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { persistentVolumeBinder } from '../controllers/persistentvolume/controller.ts'
import { ReplicaSet } from '../kinds/apps/replicaset.ts'
import { StatefulSet } from '../kinds/apps/statefulset.ts'
import { Event as CoreEvent } from '../kinds/core/event.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { Node } from '../kinds/core/node.ts'
import { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { ReplicationController } from '../kinds/core/replicationcontroller.ts'
import { Service } from '../kinds/core/service/service.ts'
import { Event } from '../kinds/events/event.ts'
import { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { DeviceClass } from '../kinds/resource/deviceclass.ts'
import { DeviceTaintRule } from '../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../kinds/resource/resourceslice.ts'
import { CSIDriver } from '../kinds/storage/csidriver.ts'
import { CSINode } from '../kinds/storage/csinode.ts'
import { CSIStorageCapacity } from '../kinds/storage/csistoragecapacity.ts'
import { StorageClass } from '../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../kinds/storage/volumeattachment.ts'
import { scheduler } from './controller.ts'

const KINDS = [
  Node,
  Pod,
  Namespace,
  Service,
  ReplicaSet,
  StatefulSet,
  ReplicationController,
  CoreEvent,
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceSlice,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
]

/** A scheduler over a registry in memory. */
async function open(t: TestContext, options: ClientOptions = {}) {
  const bench = await openControllerBench(t, KINDS, options)
  const running = bench.run(scheduler({ random: () => 0, gate: () => true }))
  return { ...bench, running, ...helpers(bench), settled: () => running.idle() }
}

function helpers({ client }: ClientBench) {
  const [nodes, pods] = [client.of(Node), client.of(Pod)]
  return {
    nodes,
    pods,
    addNode: (name: string, more: any = {}) =>
      nodes.create({
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...more.labels } },
        spec: more.spec ?? {},
        status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...more.allocatable } },
      }),
    addPod: (name: string, spec: any = {}, labels: Record<string, string> = {}) => pods.create(podNamed(name, spec, labels)),
    pod: (name: string) => pods.get({ namespace: 'default', name })!,
    events: () =>
      [...client.of(CoreEvent).list()].map(({ reason, message, involvedObject }) => `${involvedObject.name} ${reason}: ${message}`),
  }
}

const podNamed = (name: string, { cpu, ...spec }: any = {}, labels: Record<string, string> = {}) => ({
  metadata: { namespace: 'default', name, labels },
  spec: {
    containers: [{ name: 'main', image: 'example/image', ...(cpu && { resources: { requests: { cpu } } }) }],
    ...spec,
  },
})

test('a pod is bound to a node that has room, and an event says so', async t => {
  const { addNode, addPod, pod, events, settled } = await open(t)
  await addNode('small', { allocatable: { cpu: '1' } })
  await addNode('large')
  await addPod('web', { cpu: '2' })
  await settled()
  assert.equal(pod('web').spec.nodeName, 'large')
  assert.deepEqual(
    pod('web').status.conditions?.map(({ type, status }) => `${type} ${status}`),
    ['PodScheduled True'],
  )
  assert.deepEqual(events(), ['web Scheduled: Successfully assigned default/web to large'])
})

test('a pod without room waits, says why, and is placed once there is room', async t => {
  const { addNode, addPod, pod, pods, events, settled } = await open(t)
  await addNode('one', { allocatable: { cpu: '1' } })
  await addNode('two', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })
  await addPod('first', { cpu: '1' })
  await settled()
  await addPod('second', { cpu: '1' })
  await settled()
  assert.equal(pod('second').spec.nodeName, undefined)
  const message =
    '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.'
  const [condition] = pod('second').status.conditions!
  assert.deepEqual(
    { type: condition!.type, status: condition!.status, reason: condition!.reason, message: condition!.message },
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
  )
  assert.ok(events().includes(`second FailedScheduling: ${message}`))
  await pods.delete(pod('first'), { gracePeriodSeconds: 0 })
  await becomes(
    () => pod('second').spec.nodeName,
    node => node === 'one',
  )
  await settled()
})

test('a binding that fails is reported, reserves nothing, and is tried again', async t => {
  let isRefused = true
  const authorizer = {
    authorize: async (_: unknown, { resource }: any) =>
      isRefused && resource?.subresource === 'binding' ? { verdict: 'deny', reason: 'not now' } : { verdict: 'allow' },
  } as unknown as Authorizer
  let now = Date.parse('2026-07-01T12:00:00Z')
  const { addNode, addPod, pod, settled, running } = await open(t, { authorizer, now: () => new Date(now) })
  await addNode('one', { allocatable: { cpu: '1' } })
  await addPod('first', { cpu: '1' })
  await settled()
  const [condition] = pod('first').status.conditions!
  assert.equal(condition!.reason, 'SchedulerError')
  assert.match(condition!.message!, /^running Bind plugin "DefaultBinder": pods "first" is forbidden/)
  isRefused = false
  now += 1000
  // Room that the failed binding held would keep this one out; both are tried, and one of them has it.
  await addPod('second', { cpu: '1', priority: 0 })
  await running.idle()
  assert.deepEqual([pod('first').spec.nodeName, pod('second').spec.nodeName].sort(), ['one', undefined])
})

test('another scheduler that is faster wins, and nothing is left over', async t => {
  const { addNode, addPod, pod, pods, settled, client } = await open(t)
  await addNode('one', { allocatable: { cpu: '1' }, spec: { unschedulable: true } })
  await addPod('web', { cpu: '1' })
  await settled()
  await pods.createSubresource({ namespace: 'default', name: 'web' }, 'binding', {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'web' },
    target: { kind: 'Node', name: 'one' },
  })
  await client.of(Node).patch({ name: 'one' }, { spec: { unschedulable: false } })
  await addPod('late', { cpu: '1' })
  await settled()
  assert.equal(pod('web').spec.nodeName, 'one')
  assert.match(pod('late').status.conditions![0]!.message!, /1 Insufficient cpu/)
})

test('many pods at once fill the nodes and no more', async t => {
  const { addNode, addPod, pods, settled } = await open(t)
  for (let i = 0; i < 10; i++) await addNode(`n${i}`, { allocatable: { cpu: '4' } })
  await Promise.all(Array.from({ length: 90 }, (_, i) => addPod(`p${i}`, { cpu: '500m' })))
  await settled()
  const counts = new Map<string, number>()
  for (const { spec } of pods.list()) if (spec.nodeName) counts.set(spec.nodeName, (counts.get(spec.nodeName) ?? 0) + 1)
  assert.deepEqual([...counts.values()], Array(10).fill(8))
})

test('a restart continues with pending pods and their nominated nodes', async t => {
  const bench = await openControllerBench(t, KINDS)
  const { addNode, addPod, pod } = helpers(bench)
  await addNode('one', { allocatable: { cpu: '2' } })
  await addPod('important', { cpu: '2', priority: 100 })
  await bench.client
    .of(Pod)
    .patch(
      { namespace: 'default', name: 'important' },
      { status: { nominatedNodeName: 'one' } },
      { type: 'strategic', subresource: 'status' },
    )
  await addPod('unimportant', { cpu: '1', priority: 1 })
  const running = bench.run(scheduler({ random: () => 0, gate: () => true }))
  await running.idle()
  assert.equal(pod('important').spec.nodeName, 'one')
  assert.equal(pod('unimportant').spec.nodeName, undefined)
})

test('room is made by as few pods as possible, and kept until it is there', async t => {
  const { addNode, addPod, pod, pods, settled, events, client } = await open(t)
  await addNode('one', { allocatable: { cpu: '3' } })
  for (const name of ['a', 'b', 'c']) await addPod(name, { cpu: '1', priority: name === 'b' ? 1 : 0 }, { app: name })
  await settled()
  await client
    .of(PodDisruptionBudget)
    .create({ metadata: { namespace: 'default', name: 'keep-a' }, spec: { selector: { matchLabels: { app: 'a' } } } })
  await addPod('vip', { cpu: '1', priority: 50 })
  await becomes(
    () => pod('c').metadata.deletionTimestamp,
    time => time !== undefined,
  )
  await settled()
  assert.deepEqual(
    [pod('a'), pod('b')].map(({ metadata }) => metadata.deletionTimestamp),
    [undefined, undefined],
  )
  assert.equal(pod('vip').status.nominatedNodeName, 'one')
  assert.ok(events().some(event => event.startsWith('c Preempted: Preempted by pod ')))
  await pods.delete(pod('c'), { gracePeriodSeconds: 0 })
  await settled()
  assert.equal(pod('vip').spec.nodeName, 'one')
})

test('a pod that is being deleted is not placed', async t => {
  const { addNode, pods, pod, settled, events } = await open(t)
  await addNode('one', { spec: { unschedulable: true } })
  const draft = podNamed('ending')
  await pods.create({ ...draft, metadata: { ...draft.metadata, finalizers: ['example.com/keep'] } })
  await settled()
  await pods.delete(pod('ending'))
  await addNode('two')
  await settled()
  assert.equal(pod('ending').spec.nodeName, undefined)
  assert.ok(events().includes('ending FailedScheduling: skip schedule deleting pod: default/ending'))
})

test('a pod is tried again only after a change that can help it', async t => {
  const { addNode, addPod, pod, pods, nodes, settled, client } = await open(t)
  await addNode('one', { allocatable: { cpu: '2' } })
  await addPod('small', { cpu: '1' })
  await addPod('other', { cpu: '1' })
  await settled()
  await addPod('large', { cpu: '2' })
  await settled()
  const attempts = () => {
    let count = 0
    for (const { reason, series } of client.of(CoreEvent).list()) if (reason === 'FailedScheduling') count += series?.count ?? 1
    return count
  }
  assert.equal(attempts(), 1)
  // A label that nobody asks for, a taint, a pod that comes, a label of the pod itself: none of them makes room.
  await nodes.patch({ name: 'one' }, { metadata: { labels: { some: 'thing' } } })
  await nodes.patch({ name: 'one' }, { spec: { taints: [{ key: 'a', effect: 'PreferNoSchedule' }] } })
  await addNode('tiny', { allocatable: { cpu: '1' } })
  await pods.patch({ namespace: 'default', name: 'large' }, { metadata: { labels: { a: 'b' } } })
  await settled()
  assert.equal(attempts(), 1)
  await pods.delete(pod('small'), { gracePeriodSeconds: 0 })
  await settled()
  assert.equal(attempts(), 2)
  await pods.delete(pod('other'), { gracePeriodSeconds: 0 })
  await settled()
  assert.equal(pod('large').spec.nodeName, 'one')
})

const anyStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ step: fc.constant('add' as const), cpu: fc.integer({ min: 1, max: 3 }), priority: fc.constantFrom(0, 5, 10) }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('delete' as const), which: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('end' as const), which: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('resize node' as const), which: fc.nat(3), cpu: fc.integer({ min: 2, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('close node' as const), which: fc.nat(3), isClosed: fc.boolean() }) },
)

test('whatever happens, no node is given too much, and a pod waits only while there is no room for it', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 10, maxLength: 40 }), async steps => {
      const { addNode, addPod, pods, nodes, settled, stop } = await open(t)
      const sizes = [3, 4, 5, 6]
      const closed = [false, false, false, false]
      for (const [i, cpu] of sizes.entries()) await addNode(`n${i}`, { allocatable: { cpu: String(cpu) } })
      for (const [i, step] of steps.entries()) {
        const all = [...pods.list()]
        if (step.step === 'add') await addPod(`p${i}`, { cpu: String(step.cpu), priority: step.priority })
        else if (step.step === 'resize node') {
          // A node that shrinks keeps what it has.
          sizes[step.which] = Math.max(step.cpu, usedBy(all, `n${step.which}`))
          const allocatable = { cpu: String(sizes[step.which]), memory: '8Gi', pods: '110' }
          await nodes.patch({ name: `n${step.which}` }, { status: { allocatable } }, { subresource: 'status' })
        } else if (step.step === 'close node') {
          closed[step.which] = step.isClosed
          await nodes.patch({ name: `n${step.which}` }, { spec: { unschedulable: step.isClosed } })
        } else if (all.length > 0) {
          const { metadata, spec } = all[step.which % all.length]!
          if (step.step === 'delete') await pods.delete({ metadata }, { gracePeriodSeconds: 0 })
          else if (spec.nodeName) await pods.patch(metadata, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
        }
        await settled()
        // Victims of preemption end at once here.
        for (const { metadata } of pods.list()) if (metadata.deletionTimestamp) await pods.delete({ metadata }, { gracePeriodSeconds: 0 })
        await settled()
        const now = [...pods.list()]
        const free = sizes.map((size, n) => size - usedBy(now, `n${n}`))
        assert.ok(
          free.every(left => left >= 0),
          `${free}`,
        )
        for (const { spec, metadata } of now)
          if (!spec.nodeName)
            assert.ok(
              free.every((left, n) => closed[n] || left < cpuOf(spec)),
              `${metadata.name} waits although there is room: ${free}`,
            )
      }
      stop()
    }),
    { numRuns: 6 },
  )
})

const cpuOf = ({ containers }: { readonly containers?: readonly any[] }): number => Number(containers?.[0]?.resources?.requests?.cpu ?? 0)
const usedBy = (pods: readonly any[], node: string): number =>
  pods.filter(({ spec, status }) => spec.nodeName === node && status.phase !== 'Succeeded').reduce((sum, { spec }) => sum + cpuOf(spec), 0)

test('a claim with WaitForFirstConsumer is bound on the node of its pod, and the pod after it', async t => {
  const { client, run, settled, addNode } = await open(t)
  run(persistentVolumeBinder)
  const [claims, volumes, pods] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), client.of(Pod)]
  await addNode('near')
  await addNode('far', { labels: { disk: 'yes' } })
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'local' }
  await client
    .of(StorageClass)
    .create({ metadata: { name: 'local' }, provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' })
  const terms = [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }]
  await volumes.create({
    metadata: { name: 'v' },
    spec: { ...spec, capacity: { storage: '5Gi' }, local: { path: '/x' }, nodeAffinity: { required: { nodeSelectorTerms: terms } } },
  })
  for (const name of ['one', 'two'])
    await claims.create({ metadata: { namespace: 'default', name }, spec: { ...spec, resources: { requests: { storage: '5Gi' } } } })
  for (const name of ['one', 'two'])
    await pods.create({
      metadata: { namespace: 'default', name },
      spec: { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: name } }] },
    } as never)
  const nodesOf = () => ['one', 'two'].map(name => pods.get({ namespace: 'default', name })!.spec.nodeName)
  await becomes(nodesOf, nodes => nodes.includes('far'))
  await settled()
  assert.deepEqual([...nodesOf()].sort(), ['far', undefined])
  const bound = [...claims.list()].filter(({ status }) => status.phase === 'Bound')
  assert.deepEqual(
    bound.map(({ spec }) => spec.volumeName),
    ['v'],
  )
  const waiting = pods.get({ namespace: 'default', name: nodesOf()[0] ? 'two' : 'one' })!
  assert.match(
    waiting.status.conditions!.find(({ type }) => type === 'PodScheduled')!.message ?? '',
    /didn't find available persistent volumes to bind/,
  )
})
