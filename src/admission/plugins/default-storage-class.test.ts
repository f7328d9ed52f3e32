import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf } from '../../../test/kits/admission.ts'
import type { Draft } from '../../../test/kits/kinds/kinds.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { defaultStorageClass } from './default-storage-class.ts'

const named = (name: string, creationTimestamp: string, mark?: string): AnyObject => ({
  kind: 'StorageClass',
  apiVersion: 'storage.k8s.io/v1',
  metadata: { name, creationTimestamp, ...(mark && { annotations: { [mark]: 'true' } }) },
})
const MARK = 'storageclass.kubernetes.io/is-default-class'
const BETA_MARK = 'storageclass.beta.kubernetes.io/is-default-class'
const classOf = (classes: AnyObject[], claim: Draft = {}) =>
  admitted(defaultStorageClass(readerOf({ storageclasses: classes }), 'k8s.io'), PersistentVolumeClaim, claim).spec.storageClassName

test('a claim without a class gets the newest default, of two of one second the first by name', () => {
  const [old, first, second] = [
    named('a', '2026-01-01T00:00:00Z', BETA_MARK),
    named('b', '2026-02-01T00:00:00Z', MARK),
    named('c', '2026-02-01T00:00:00Z', MARK),
  ]
  assert.equal(classOf([old]), 'a')
  assert.equal(classOf([old, second, first, named('d', '2026-03-01T00:00:00Z')]), 'b')
})

test('without a default nothing is set', () => assert.equal(classOf([named('a', '2026-01-01T00:00:00Z')]), undefined))

test('a class that is named is kept, also the empty one and that of an annotation', () => {
  const classes = [named('a', '2026-01-01T00:00:00Z', MARK)]
  assert.equal(classOf(classes, { spec: { storageClassName: '' } }), '')
  assert.equal(classOf(classes, { spec: { storageClassName: 'x' } }), 'x')
  assert.equal(classOf(classes, { metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': '' } } }), undefined)
})
