import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { AttachEvents } from './attach-events.ts'
import { NodeAttacher } from './node-attacher.ts'
import { VolumeUsage } from './volume-usage.ts'

/** Two managed nodes, and a volume `v` of a claim `c` that pods can use. */
async function open(t: Scope) {
  const { client } = await openControllerBench(t, [Node, Pod, PersistentVolume, PersistentVolumeClaim, CSIDriver, VolumeAttachment])
  const [nodes, pods, claims] = [client.of(Node), client.of(Pod), client.of(PersistentVolumeClaim)]
  const [volumes, attachments, drivers] = [client.of(PersistentVolume), client.of(VolumeAttachment), client.of(CSIDriver)]
  const recorder = listRecorder()
  const usage = new VolumeUsage(client)
  const events = new AttachEvents({ client, recorder, usage })
  const attacher = new NodeAttacher({ client, usage, events })
  const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }
  for (const name of ['a', 'b']) await nodes.create({ metadata: { name, annotations } })
  const storage = '1Gi'
  const written = await claims.create({
    metadata: { namespace: 'default', name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName: '', volumeName: 'v' },
  })
  const { uid } = written!.object.metadata
  await claims.updateStatus({ ...written!.object, status: { phase: 'Bound' } })
  await volumes.create({
    metadata: { name: 'v' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage },
      claimRef: { namespace: 'default', name: 'c', uid },
      csi: { driver: 'd', volumeHandle: 'h' },
    },
  })
  return {
    ...{ nodes, attachments, drivers, attacher, usage, attachEvents: events, events: recorder.events },
    node: (name: string) => nodes.get({ name })!,
    attached: () => [...attachments.list()].map(({ spec }) => spec.nodeName).sort(),
    attachmentOf: (node: string) => [...attachments.list()].find(({ spec }) => spec.nodeName === node)!,
    addPod: (name: string, nodeName: string) =>
      pods.create({
        metadata: { namespace: 'default', name },
        spec: {
          nodeName,
          containers: [{ name: 'main', image: 'i' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
        },
      }),
    endPod(name: string) {
      const pod = pods.get({ namespace: 'default', name })!
      return pods.updateStatus({ ...pod, status: { ...pod.status, phase: 'Succeeded' } })
    },
    async report(node: string, status: object) {
      const before = this.attachmentOf(node)
      return (await attachments.updateStatus({ ...before, status: { ...before.status, ...status } }))!.object
    },
  }
}

test('a volume is attached while a pod of the node uses it, and detached once the kubelet has unmounted it', async t => {
  const bench = await open(t)
  const { attacher, addPod, endPod, attached, node, nodes } = bench
  await addPod('p', 'a')
  await attacher.reconcile('a')
  assert.deepEqual(attached(), ['a'])
  await bench.report('a', { attached: true })
  await attacher.reconcile('a')
  const unique = 'kubernetes.io/csi/d^h'
  assert.deepEqual(node('a').status.volumesAttached, [{ name: unique, devicePath: '' }])
  await nodes.patch({ name: 'a' }, { status: { volumesInUse: [unique] } }, { subresource: 'status' })
  await endPod('p')
  await attacher.reconcile('a')
  assert.deepEqual(attached(), ['a'])
  await nodes.patch({ name: 'a' }, { status: { volumesInUse: [] } }, { subresource: 'status' })
  await attacher.reconcile('a')
  assert.deepEqual([attached(), node('a').status.volumesAttached ?? []], [[], []])
})

test('a node that waits for a volume of another node says so once, and is reconciled when it is released', async t => {
  const bench = await open(t)
  const { attacher, addPod, attached, attachmentOf, attachEvents, events } = bench
  await addPod('first', 'a')
  await addPod('second', 'b')
  for (const name of ['a', 'b', 'b']) await attacher.reconcile(name)
  assert.deepEqual(attached(), ['a'])
  assert.deepEqual(events, ['second Warning FailedAttachVolume: Multi-Attach error for volume "v" Volume is already used by pod(s) first'])
  const released = { object: attachmentOf('a') }
  assert.deepEqual(attachEvents.attachmentChanged({ type: 'deleted', current: released, previous: undefined } as never), ['a', 'b'])
  assert.deepEqual(attachEvents.attachmentChanged({ type: 'deleted', current: released, previous: undefined } as never), ['a'])
})

test('pods are told when a driver has attached their volume, or has failed to', async t => {
  const bench = await open(t)
  const { attacher, addPod, attachmentOf, attachEvents, events } = bench
  await addPod('p', 'a')
  await attacher.reconcile('a')
  const before = attachmentOf('a')
  const failed = await bench.report('a', { attachError: { message: 'full' } })
  const changed = (previous: VolumeAttachment, current: VolumeAttachment) =>
    attachEvents.attachmentChanged({ type: 'updated', current: { object: current }, previous: { object: previous } } as never)
  changed(before, failed)
  changed(failed, failed)
  changed(failed, await bench.report('a', { attached: true }))
  assert.deepEqual(events, [
    'p Warning FailedAttachVolume: AttachVolume.Attach failed for volume "v" : full',
    'p Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "v" ',
  ])
})

test('nodes that attach by themselves, drivers that need no attachment, and attachments of others are left alone', async t => {
  const { attacher, addPod, attached, attachments, nodes, drivers } = await open(t)
  await nodes.create({ metadata: { name: 'own' } })
  await addPod('p', 'own')
  await attacher.reconcile('own')
  await drivers.create({ metadata: { name: 'd' }, spec: { attachRequired: false } })
  await addPod('q', 'b')
  await attacher.reconcile('b')
  assert.deepEqual(attached(), [])
  await attachments.create({
    metadata: { name: 'of-another-client' },
    spec: { attacher: 'd', nodeName: 'a', source: { persistentVolumeName: 'v' } },
  })
  await attacher.reconcile('a')
  assert.deepEqual(attached(), ['a'])
})
