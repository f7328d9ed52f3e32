import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder } from '../../../test/kits/controllers.ts'
import { openVolumeParts } from '../../../test/kits/persistent-volumes.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { ClaimReconciler } from './claim-reconciler.ts'

const NAMED = { namespace: 'default', name: 'c' }

test('a claim and a volume that match are bound on both sides in one pass', async t => {
  const { addClaim, addVolume, claimReconciler, volumeReconciler, claim, volume } = await openVolumeParts(t)
  await addVolume('v')
  await volumeReconciler.reconcile('v')
  await addClaim('c')
  await claimReconciler.reconcile(NAMED)
  assert.deepEqual([claim('c')?.spec.volumeName, claim('c')?.status.phase], ['v', 'Bound'])
  assert.deepEqual([volume('v')?.spec.claimRef?.uid, volume('v')?.status.phase], [claim('c')?.metadata.uid, 'Bound'])
})

test('a claim whose volume is deleted during the binding is enqueued again', async t => {
  const { addClaim, addVolume, volumeReconciler, claim, client, enqueued } = await openVolumeParts(t)
  await addVolume('v')
  await volumeReconciler.reconcile('v')
  await addClaim('c')
  const writer = { setPhase: async () => undefined }
  const parts = { client, recorder: listRecorder(), writer, enqueue: (key: string) => void enqueued.push(key) }
  await new ClaimReconciler(parts).reconcile(NAMED)
  assert.deepEqual([enqueued, claim('c')?.spec.volumeName], [['claim/default/c'], undefined])
})

test('a claim of a class with a provisioner is annotated once, and each pass records that it waits', async t => {
  const { addClaim, client, claimReconciler, claim, events } = await openVolumeParts(t)
  await client.of(StorageClass).create({ metadata: { name: 'fast' }, provisioner: 'example.com/disk', volumeBindingMode: 'Immediate' })
  await addClaim('c')
  await claimReconciler.reconcile(NAMED)
  const { resourceVersion, annotations } = claim('c')!.metadata
  assert.equal(annotations?.['volume.kubernetes.io/storage-provisioner'], 'example.com/disk')
  await claimReconciler.reconcile(NAMED)
  assert.equal(claim('c')?.metadata.resourceVersion, resourceVersion)
  assert.deepEqual(
    events.map(event => event.split(':')[0]),
    ['c Normal ExternalProvisioning', 'c Normal ExternalProvisioning'],
  )
})

test('a bound claim whose volume is gone is lost, with one event', async t => {
  const { addClaim, addVolume, claimReconciler, volumeReconciler, claim, volume, volumes, events } = await openVolumeParts(t)
  await addVolume('v')
  await volumeReconciler.reconcile('v')
  await addClaim('c')
  await claimReconciler.reconcile(NAMED)
  await volumes.delete(volume('v')!)
  await claimReconciler.reconcile(NAMED)
  await claimReconciler.reconcile(NAMED)
  assert.equal(claim('c')?.status.phase, 'Lost')
  assert.deepEqual(events, ['c Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!'])
})
