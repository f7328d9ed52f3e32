import assert from 'node:assert/strict'
import test from 'node:test'
import { openVolumeParts } from '../../../test/kits/persistent-volumes.ts'

test('a new volume becomes available, and the claims that it matches are enqueued', async t => {
  const { addClaim, addVolume, volumeReconciler, volume, enqueued } = await openVolumeParts(t)
  await addClaim('small')
  await addClaim('large', { resources: { requests: { storage: '5Gi' } } })
  await addClaim('other', { storageClassName: 'slow' })
  await addVolume('v')
  await volumeReconciler.reconcile('v')
  assert.equal(volume('v')?.status.phase, 'Available')
  assert.deepEqual(enqueued, ['claim/default/small'])
})

test('a volume that is reserved for a claim is offered to that claim only', async t => {
  const { addClaim, addVolume, volumeReconciler, enqueued } = await openVolumeParts(t)
  for (const name of ['mine', 'other']) await addClaim(name)
  await addVolume('v', { claimRef: { namespace: 'default', name: 'mine' } })
  await volumeReconciler.reconcile('v')
  assert.deepEqual(enqueued, ['claim/default/mine'])
})

/** A volume whose claim is gone. */
const orphaned = { claimRef: { namespace: 'default', name: 'gone', uid: 'gone' } }

test('a released volume is kept, deleted or failed, as its reclaim policy says', async t => {
  const { addVolume, volumeReconciler, volume, events } = await openVolumeParts(t)
  await addVolume('kept', { ...orphaned, persistentVolumeReclaimPolicy: 'Retain' })
  await addVolume('deleted', { ...orphaned, persistentVolumeReclaimPolicy: 'Delete', hostPath: { path: '/tmp/x' } })
  await addVolume('failed', { ...orphaned, persistentVolumeReclaimPolicy: 'Delete' })
  for (const name of ['kept', 'deleted', 'failed', 'failed']) await volumeReconciler.reconcile(name)
  assert.deepEqual(
    ['kept', 'deleted', 'failed'].map(name => volume(name)?.status.phase),
    ['Released', undefined, 'Failed'],
  )
  assert.deepEqual(events, [
    'failed Warning VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /data/failed',
  ])
})

test('a volume whose claim has another volume is unbound', async t => {
  const { addClaim, addVolume, volumeReconciler, volume } = await openVolumeParts(t)
  await addClaim('c', { volumeName: 'other' })
  const { uid } = (await addClaim('d', { volumeName: 'other' }))!.object.metadata
  await addVolume('v', { claimRef: { namespace: 'default', name: 'd', uid } })
  await volumeReconciler.reconcile('v')
  assert.deepEqual([volume('v')?.spec.claimRef?.uid, volume('v')?.status.phase], [undefined, 'Available'])
})
