import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { VolumeWriter } from './volume-writer.ts'

async function open(t: Scope, claimRef?: object) {
  const { client } = await openControllerBench(t, [PersistentVolume])
  const [volumes, recorder] = [client.of(PersistentVolume), listRecorder()]
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' }, ...(claimRef && { claimRef }) }
  await volumes.create({ metadata: { name: 'v', annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } }, spec })
  const volume = () => volumes.get({ name: 'v' })!
  return { writer: new VolumeWriter(volumes, recorder), events: recorder.events, volume, remove: () => volumes.delete(volume()) }
}

test('a phase is written once, and a new phase drops the message of the last', async t => {
  const { writer, volume } = await open(t)
  await writer.setPhase(volume(), 'Failed', 'no space')
  assert.deepEqual([volume().status.phase, volume().status.message], ['Failed', 'no space'])
  const { resourceVersion } = volume().metadata
  await writer.setPhase(volume(), 'Failed', 'another message')
  assert.equal(volume().metadata.resourceVersion, resourceVersion)
  await writer.setPhase(volume(), 'Available')
  assert.deepEqual([volume().status.phase, volume().status.message], ['Available', undefined])
})

test('a volume that fails has one event', async t => {
  const { writer, volume, events } = await open(t)
  for (let i = 0; i < 2; i++) await writer.fail(volume(), { type: 'Warning', reason: 'Broken', message: 'no space' })
  assert.equal(volume().status.phase, 'Failed')
  assert.deepEqual(events, ['v Warning Broken: no space'])
})

test('an unbound volume is available, and has no claim', async t => {
  const { writer, volume } = await open(t, { namespace: 'default', name: 'c', uid: 'u' })
  await writer.unbind(volume())
  assert.deepEqual([volume().spec.claimRef, volume().status.phase], [undefined, 'Available'])
})

test('nothing is written for a volume that is gone', async t => {
  const { writer, volume, events, remove } = await open(t)
  const gone = volume()
  await remove()
  assert.equal(await writer.setPhase(gone, 'Available'), undefined)
  await writer.fail(gone, { type: 'Warning', reason: 'Broken', message: 'no space' })
  assert.deepEqual(events, [])
})
