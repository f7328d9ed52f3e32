import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf } from '../../../test/kits/admission.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'

const growing = { kind: '', apiVersion: '', metadata: { name: 'growing' }, allowVolumeExpansion: true }
const fixed = { kind: '', apiVersion: '', metadata: { name: 'fixed' } }
const plugin = persistentVolumeClaimResize(readerOf({ storageclasses: [growing, fixed] }), 'k8s.io')
const claim = (storage: string, storageClassName: string, phase = 'Bound') => ({
  spec: { storageClassName, resources: { requests: { storage } } },
  status: { phase },
})
const outcome = (now: ReturnType<typeof claim>, old: ReturnType<typeof claim>) => {
  const result = admitted(plugin, PersistentVolumeClaim, now, { old, step: 'validate' })
  return typeof result === 'string' ? result : 'ok'
}

test('a bound claim grows where its class lets it', () => {
  assert.equal(outcome(claim('2Gi', 'growing'), claim('1Gi', 'growing')), 'ok')
  const why =
    '403 persistentvolumeclaims "x" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
  assert.equal(outcome(claim('2Gi', 'fixed'), claim('1Gi', 'fixed')), why)
  assert.equal(outcome(claim('2Gi', ''), claim('1Gi', '')), why)
  assert.equal(outcome(claim('2Gi', 'gone'), claim('1Gi', 'gone')), why)
})

test('a claim that is not bound does not grow, and none is asked when it does not', () => {
  assert.equal(
    outcome(claim('2Gi', 'growing', 'Pending'), claim('1Gi', 'growing', 'Pending')),
    '403 persistentvolumeclaims "x" is forbidden: Only bound persistent volume claims can be expanded',
  )
  assert.equal(outcome(claim('1Gi', 'fixed', 'Pending'), claim('1Gi', 'fixed', 'Pending')), 'ok')
})
