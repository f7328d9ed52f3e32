import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { becomes, type ClientBench, openControllerBench } from '../../test/kits/controllers.ts'
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
import { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import { CSIDriver } from '../kinds/storage/csidriver.ts'
import { CSINode } from '../kinds/storage/csinode.ts'
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
  ResourceClaim,
  CSIDriver,
  CSINode,
  StorageClass,
  VolumeAttachment,
]

/** A scheduler over a registry in memory. */
async function open(t: TestContext) {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(scheduler({ random: () => 0 }))
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
