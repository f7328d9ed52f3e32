import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { SELECTED_NODE } from '../../kinds/rules/persistent-volume/binding.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { classObject, DRIVER } from './driver.ts'
import { Provisioner } from './provisioner.ts'

const KINDS = [Node, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment, VolumeAttributesClass]
const AT = { namespace: 'default', name: 'c' }

/** A claim of the driver, with annotations beside. */
async function open(t: Scope, annotations: Readonly<Record<string, string>> = {}) {
  const { client } = await openControllerBench(t, KINDS)
  const [claims, volumes, recorder] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), listRecorder()]
  await client.of(StorageClass).create(classObject(true))
  await claims.create({
    metadata: { ...AT, annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER, ...annotations } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'standard' },
  })
  const provisioner = new Provisioner(client, recorder)
  const claim = () => claims.get(AT)!
  const name = `pvc-${claim().metadata.uid}`
  const volume = () => volumes.get({ name })
  return {
    ...{ provisioner, claim, volume, name, events: recorder.events },
    setPhase: (phase: string) => volumes.updateStatus({ ...volume()!, status: { phase } }),
    attach: () =>
      client.of(VolumeAttachment).create({
        metadata: { name: 'a' },
        spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: name } },
      }),
  }
}

test('a claim gets one volume, with two events', async t => {
  const { provisioner, claim, volume, name, events } = await open(t)
  for (let i = 0; i < 2; i++) await provisioner.provision(claim())
  assert.deepEqual([volume()?.spec.csi?.driver, volume()?.spec.claimRef?.name], [DRIVER, 'c'])
  assert.deepEqual(events, [
    'c Normal Provisioning: External provisioner is provisioning volume for claim "default/c"',
    `c Normal ProvisioningSucceeded: Successfully provisioned volume ${name}`,
  ])
})

test('a selected node that is gone is taken from the claim, for the scheduler to select another', async t => {
  const { provisioner, claim, volume, events } = await open(t, { [SELECTED_NODE]: 'gone' })
  await provisioner.provision(claim())
  assert.deepEqual([volume(), claim().metadata.annotations?.[SELECTED_NODE]], [undefined, undefined])
  assert.match(events.join(), /^c Warning ProvisioningFailed: failed to provision volume with StorageClass "standard": .*"gone" not found$/)
})

test('a released volume is deleted when no node has it attached', async t => {
  for (const isAttached of [false, true]) {
    const { provisioner, claim, volume, name, events, setPhase, attach } = await open(t)
    await provisioner.provision(claim())
    events.length = 0
    if (isAttached) await attach()
    await setPhase('Released')
    // The first deletes it, and the second removes the finalizer.
    for (let i = 0; i < 2; i++) await provisioner.reconcileVolume(name)
    assert.equal(volume() === undefined || volume()!.metadata.deletionTimestamp !== undefined, !isAttached)
    const refused = `${name} Warning VolumeFailedDelete: persistentvolume ${name} is still attached to node n`
    assert.deepEqual(events, isAttached ? [refused, refused] : [])
  }
})
