import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DRIVER } from './driver.ts'
import { type ProvisionSurroundings, provisionStep, volumeStep } from './provision.ts'
import { fileSystemResized, modifyStep, resizeStep } from './resize.ts'

const NOW = '2026-07-01T12:00:00Z'
const claim = ({ annotations = {}, spec = {}, status = {} }: { annotations?: object; spec?: object; status?: object } = {}) =>
  ({
    metadata: { name: 'c', namespace: 'n', uid: 'u', annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER, ...annotations } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } }, storageClassName: 'standard', ...spec },
    status: { phase: 'Pending', ...status },
  }) as never
const volume = ({ spec = {}, status = {}, metadata = {} }: { spec?: object; status?: object; metadata?: object } = {}) =>
  ({
    metadata: { name: 'pvc-u', annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER }, ...metadata },
    spec: { capacity: { storage: '5Gi' }, csi: { driver: DRIVER }, persistentVolumeReclaimPolicy: 'Delete', ...spec },
    status: { phase: 'Bound', ...status },
  }) as never
const around = (more: Partial<ProvisionSurroundings> = {}): ProvisionSurroundings => ({
  storageClass: { metadata: { name: 'standard' }, reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  attributesClass: () => undefined,
  hasNode: name => name === 'here',
  ...more,
})
const LATER = { metadata: { name: 'later' }, reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' }

test('a volume is provisioned for a claim of the driver, after its node is known with WaitForFirstConsumer', () => {
  const made = provisionStep(claim(), around())
  assert.ok(made?.step === 'make')
  assert.equal(made.volume.metadata.name, 'pvc-u')
  assert.deepEqual(made.volume.spec.capacity, { storage: '5Gi' })
  assert.deepEqual(made.volume.metadata.finalizers, ['external-provisioner.volume.kubernetes.io/finalizer'])
  assert.equal(provisionStep(claim({ annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } }), around()), undefined)
  assert.equal(provisionStep(claim({ spec: { volumeName: 'v' } }), around()), undefined)
  assert.equal(provisionStep(claim(), around({ storageClass: LATER })), undefined)
  const selected = (node: string) => claim({ annotations: { 'volume.kubernetes.io/selected-node': node } })
  const there = provisionStep(selected('here'), around({ storageClass: LATER }))
  assert.ok(there?.step === 'make')
  assert.equal(there.volume.metadata.finalizers, undefined)
  assert.equal(provisionStep(selected('gone'), around({ storageClass: LATER }))?.step, 'unselect')
  const gold = claim({ spec: { volumeAttributesClassName: 'gold' } })
  const refused = provisionStep(gold, around())
  assert.match(refused?.step === 'report' ? refused.notice.message : '', /volumeattributesclass\.storage\.k8s\.io "gold" not found$/)
  assert.equal(provisionStep(gold, around({ attributesClass: () => ({ driverName: DRIVER }) }))?.step, 'make')
  assert.equal(provisionStep(claim({ spec: { dataSourceRef: { kind: 'Populator' } } }), around()), undefined)
})

test('a volume is deleted when it is released and detached, and only if this driver provisioned it', () => {
  const held = { finalizers: ['a', 'external-provisioner.volume.kubernetes.io/finalizer'] }
  assert.equal(volumeStep(volume({ metadata: held }), []), undefined)
  assert.deepEqual(volumeStep(volume({ metadata: { finalizers: ['a'] } }), []), { step: 'finalizers', finalizers: held.finalizers })
  const released = { status: { phase: 'Released' } }
  assert.equal(volumeStep(volume({ ...released, metadata: held }), [])?.step, 'delete')
  const attached = volumeStep(volume({ ...released, metadata: held }), ['node'])
  assert.equal(attached?.step === 'report' && attached.notice.message, 'persistentvolume pvc-u is still attached to node node')
  const going = { ...held, deletionTimestamp: NOW }
  assert.deepEqual(volumeStep(volume({ ...released, metadata: going }), []), { step: 'finalizers', finalizers: ['a'] })
  assert.deepEqual(volumeStep(volume({ metadata: held, spec: { persistentVolumeReclaimPolicy: 'Retain' } }), []), {
    step: 'finalizers',
    finalizers: ['a'],
  })
  assert.equal(volumeStep(volume({ ...released, metadata: { annotations: {} } }), []), undefined)
})

test('a volume grows first, then its file system on the node', () => {
  const bound = { phase: 'Bound', capacity: { storage: '5Gi' } }
  const wanting = (status: object = {}) => claim({ spec: { resources: { requests: { storage: '8Gi' } } }, status: { ...bound, ...status } })
  assert.equal(resizeStep(claim({ status: bound }), volume(), NOW), undefined)
  const first = resizeStep(wanting(), volume(), NOW)!
  assert.deepEqual([first.spec, first.status.allocatedResourceStatuses], [undefined, { storage: 'ControllerResizeInProgress' }])
  assert.equal(first.status.conditions![0]!.type, 'Resizing')
  const second = resizeStep(wanting(first.status), volume(), NOW)!
  assert.deepEqual(second.spec, { capacity: { storage: '8Gi' } })
  assert.deepEqual(second.status.allocatedResourceStatuses, { storage: 'NodeResizePending' })
  assert.deepEqual(
    second.status.conditions!.map(({ type }) => type),
    ['FileSystemResizePending'],
  )
  const grown = volume({ spec: { capacity: { storage: '8Gi' } } })
  assert.equal(resizeStep(wanting(second.status), grown, NOW), undefined)
  // After a kill between the two writes: the volume has grown, the claim does not say so yet.
  assert.equal(resizeStep(wanting(first.status), grown, NOW)!.status.allocatedResourceStatuses!['storage'], 'NodeResizePending')
  const done = fileSystemResized(wanting(second.status))!
  assert.deepEqual([done.capacity, done.allocatedResourceStatuses, done.conditions], [{ storage: '8Gi' }, undefined, undefined])
  const block = volume({ spec: { volumeMode: 'Block' } })
  assert.deepEqual(resizeStep(wanting(first.status), block, NOW)!.status.capacity, { storage: '8Gi' })
})

test('attributes are changed in two steps, and a missing class is reported once', () => {
  const wanting = (status: object = {}) =>
    claim({ spec: { volumeName: 'v', volumeAttributesClassName: 'gold' }, status: { phase: 'Bound', ...status } })
  const ours = () => ({ driverName: DRIVER })
  const first = modifyStep(wanting(), ours)!
  assert.deepEqual(first.status.modifyVolumeStatus, { targetVolumeAttributesClassName: 'gold', status: 'InProgress' })
  const second = modifyStep(wanting(first.status), ours)!
  assert.deepEqual(second.spec, { volumeAttributesClassName: 'gold' })
  assert.deepEqual([second.status.currentVolumeAttributesClassName, second.status.modifyVolumeStatus], ['gold', undefined])
  assert.equal(modifyStep(wanting(second.status), ours), undefined)
  const missing = modifyStep(wanting(), () => undefined)!
  assert.equal(missing.status.modifyVolumeStatus?.status, 'Pending')
  assert.equal(
    modifyStep(wanting(missing.status), () => undefined),
    undefined,
  )
  assert.equal(modifyStep(wanting(), () => ({ driverName: 'x' }))!.status.modifyVolumeStatus?.status, 'Infeasible')
})
