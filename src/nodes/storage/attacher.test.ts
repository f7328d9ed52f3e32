import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { Attacher } from './attacher.ts'
import { ATTACHER_FINALIZER, DRIVER } from './driver.ts'

const attachment = (name: string, attacher: string, finalizers: string[] = []) => ({
  metadata: { name, finalizers },
  spec: { attacher, nodeName: 'n', source: { persistentVolumeName: 'v' } },
})

test('an attachment of the driver is held by a finalizer and attached, and let go when it is deleted', async t => {
  const { client } = await openControllerBench(t, [VolumeAttachment])
  const attachments = client.of(VolumeAttachment)
  const attacher = new Attacher(client)
  await attachments.create(attachment('a', DRIVER, ['example.com/other']))
  await attacher.reconcile('a')
  const attached = attachments.get({ name: 'a' })!
  assert.deepEqual([attached.metadata.finalizers, attached.status.attached], [['example.com/other', ATTACHER_FINALIZER], true])
  await attachments.delete(attached)
  await attacher.reconcile('a')
  assert.deepEqual(attachments.get({ name: 'a' })?.metadata.finalizers, ['example.com/other'])
  await attacher.reconcile('a')
  assert.deepEqual(attachments.get({ name: 'a' })?.metadata.finalizers, ['example.com/other'])
})

test('an attachment of another driver is left alone', async t => {
  const { client } = await openControllerBench(t, [VolumeAttachment])
  const attachments = client.of(VolumeAttachment)
  await attachments.create(attachment('a', 'other.example.com'))
  const before = attachments.get({ name: 'a' })
  await new Attacher(client).reconcile('a')
  assert.deepEqual(attachments.get({ name: 'a' }), before)
  await new Attacher(client).reconcile('none')
})
