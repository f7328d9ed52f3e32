import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource } from '../../../test/kits/kinds/kinds.ts'
import { VolumeAttachment } from './volumeattachment.ts'

const spec = { attacher: 'disk.example.com', nodeName: 'n1', source: { persistentVolumeName: 'pv1' } }
const inline = (inlineVolumeSpec: object) => ({ spec: { ...spec, source: { inlineVolumeSpec } } })
const csi = { driver: 'disk.example.com', volumeHandle: 'h' }

test('an attachment names driver, node and one volume', () => {
  assert.deepEqual(check(VolumeAttachment, { spec }), [])
  const errors = check(VolumeAttachment, { spec: {} })
  assert.equal(errors[0], 'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName')
  assert.match(errors[1]!, /^spec.nodeName: Invalid value: ""/)
  assert.equal(errors[2], 'spec.attacher: Required value')
  assert.deepEqual(check(VolumeAttachment, { spec: { ...spec, source: { persistentVolumeName: 'a', inlineVolumeSpec: {} } } }), [
    'spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
  ])
})

test('a volume inside an attachment is storage of CSI and little else', () => {
  assert.deepEqual(check(VolumeAttachment, inline({ accessModes: ['ReadWriteOnce'], csi })), [])
  const odd = {
    claimRef: { name: 'c' },
    capacity: { storage: '1Gi' },
    persistentVolumeReclaimPolicy: 'Delete',
    nodeAffinity: {},
    storageClassName: 'a',
    volumeMode: 'Block',
    local: { path: '/a' },
  }
  const at = 'spec.source.inlineVolumeSpec'
  assert.deepEqual(check(VolumeAttachment, inline(odd)), [
    `${at}.claimRef: Forbidden: may not be specified in the context of inline volumes`,
    `${at}.capacity: Forbidden: may not be specified in the context of inline volumes`,
    `${at}.csi: Required value: has to be specified in the context of inline volumes`,
    `${at}.accessModes: Required value`,
    `${at}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes`,
    `${at}.nodeAffinity: Forbidden: may not be specified in the context of inline volumes`,
    `${at}.nodeAffinity: Required value: Local volume requires node affinity`,
    `${at}.storageClassName: Forbidden: may not be specified in the context of inline volumes`,
    `${at}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes`,
  ])
})

test('the spec cannot change', () => {
  assert.deepEqual(check(VolumeAttachment, { spec: { ...spec, nodeName: 'n2' } }, { old: { spec } }), [
    'spec: Invalid value: null: field is immutable',
  ])
})

test('errors have an end, and codes are not negative', () => {
  const status = {
    attached: false,
    attachError: { message: 'x'.repeat(1025), errorCode: -1 },
    attachmentMetadata: { a: 'x'.repeat(256 * 1024) },
  }
  assert.deepEqual(checkSubresource(VolumeAttachment, 'status', { spec, status }, { spec }), [
    'status.attachmentMetadata: Too long: may not be more than 262144 bytes',
    'status.attachError.message: Too long: may not be more than 1024 bytes',
    'status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive',
  ])
})

test('the table shows attacher, volume and node', () => {
  const { Attacher, PV, Node, Attached } = cells(VolumeAttachment, { spec, status: { attached: true } })
  assert.deepEqual([Attacher, PV, Node, Attached], ['disk.example.com', 'pv1', 'n1', true])
})
