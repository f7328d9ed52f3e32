import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted } from '../../../test/kits/admission.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'

const plugin = storageObjectInUseProtection('k8s.io')

test('volumes and claims get a protection finalizer when they are created', () => {
  assert.deepEqual(admitted(plugin, PersistentVolume, {}).metadata.finalizers, ['kubernetes.io/pv-protection'])
  assert.deepEqual(admitted(plugin, PersistentVolumeClaim, {}).metadata.finalizers, ['kubernetes.io/pvc-protection'])
  assert.deepEqual(admitted(plugin, VolumeAttributesClass, {}).metadata.finalizers, ['kubernetes.io/vac-protection'])
  assert.equal(admitted(plugin, ConfigMap, {}).metadata.finalizers, undefined)
})

test('finalizers that are there stay, and none is added twice or later', () => {
  const own = (...finalizers: string[]) => ({ metadata: { finalizers } })
  assert.deepEqual(admitted(plugin, PersistentVolume, own('a/b')).metadata.finalizers, ['a/b', 'kubernetes.io/pv-protection'])
  assert.deepEqual(admitted(plugin, PersistentVolume, own('kubernetes.io/pv-protection')).metadata.finalizers, [
    'kubernetes.io/pv-protection',
  ])
  assert.equal(admitted(plugin, PersistentVolume, {}, { old: {} }).metadata.finalizers, undefined)
})
