import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, updated, warnings } from '../../../test/kits/kinds/kinds.ts'
import { PersistentVolumeClaim } from './persistentvolumeclaim.ts'

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } }
const claim = (more: object = {}, rest: object = {}) => ({ spec: { ...spec, ...more }, ...rest })
const sized = (storage: string, more: object = {}) => ({ spec: { ...spec, resources: { requests: { storage } } }, ...more })
const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } }
const annotated = (value: string) => ({ metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': value } } })

test('a new claim is pending and has volume mode Filesystem', () => {
  const { spec: stored, status } = created(PersistentVolumeClaim, claim())
  assert.equal(stored.volumeMode, 'Filesystem')
  assert.deepEqual(status, { phase: 'Pending' })
  assert.deepEqual(check(PersistentVolumeClaim, claim()), [])
})

test('a claim says how it will be used and how much it needs', () => {
  assert.deepEqual(check(PersistentVolumeClaim, { spec: {} }), [
    'spec.accessModes: Required value: at least 1 access mode is required',
    'spec.resources[storage]: Required value',
  ])
})

test('what fills a volume is named in both fields', () => {
  const source = { kind: 'PersistentVolumeClaim', name: 'a' }
  assert.deepEqual(created(PersistentVolumeClaim, claim({ dataSource: source })).spec.dataSourceRef, { apiGroup: null, ...source })
  assert.deepEqual(created(PersistentVolumeClaim, claim({ dataSourceRef: source })).spec.dataSource, { apiGroup: null, ...source })
  const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' }
  assert.deepEqual(created(PersistentVolumeClaim, claim({ dataSource: snapshot })).spec.dataSourceRef, snapshot)
})

test('kinds that the older field never knew are dropped from it, not from the newer', () => {
  const source = { apiGroup: 'example.com', kind: 'Tape', name: 'a' }
  assert.equal(created(PersistentVolumeClaim, claim({ dataSource: source })).spec.dataSource, undefined)
  assert.deepEqual(created(PersistentVolumeClaim, claim({ dataSourceRef: source })).spec.dataSource, source)
  assert.deepEqual(updated(PersistentVolumeClaim, claim({ dataSource: source }), claim({ dataSource: source })).spec.dataSourceRef, source)
})

test('sources in other namespaces need their feature', () => {
  const far = claim({ dataSourceRef: { apiGroup: 'example.com', kind: 'Tape', name: 'a', namespace: 'b' } })
  assert.equal(created(PersistentVolumeClaim, far).spec.dataSourceRef, undefined)
  const ctx = contextWith({ gates: ['CrossNamespaceVolumeDataSource'] })
  assert.equal(created(PersistentVolumeClaim, far, ctx).spec.dataSourceRef.namespace, 'b')
  assert.equal(created(PersistentVolumeClaim, far, ctx).spec.dataSource, undefined)
})

test('a claim is bound once and does not change', () => {
  assert.deepEqual(check(PersistentVolumeClaim, claim({ volumeName: 'a' }), { old: claim() }), [])
  const [error, ...others] = check(PersistentVolumeClaim, claim({ volumeName: 'b' }), { old: claim({ volumeName: 'a' }) })
  assert.deepEqual(others, [])
  assert.equal(
    error,
    `spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims
@@ -9,7 +9,7 @@
    "storage": "2Gi"
   }
  },
- "VolumeName": "a",
+ "VolumeName": "b",
  "StorageClassName": null,
  "VolumeMode": "Filesystem",
  "DataSource": null,
`,
  )
})

test('only a bound claim can be expanded, and reduced again down to its capacity', () => {
  const why = /^spec: Forbidden: spec is immutable/
  assert.match(check(PersistentVolumeClaim, sized('3Gi'), { old: sized('2Gi') })[0]!, why)
  assert.deepEqual(check(PersistentVolumeClaim, sized('3Gi'), { old: sized('2Gi', bound) }), [])
  assert.deepEqual(check(PersistentVolumeClaim, sized('1.5Gi'), { old: sized('2Gi', bound) }), [])
  assert.deepEqual(check(PersistentVolumeClaim, sized('1Gi'), { old: sized('2Gi', bound) }), [
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ])
})

test('the same amount written differently is the same', () => {
  assert.deepEqual(check(PersistentVolumeClaim, sized('2048Mi'), { old: sized('2Gi') }), [])
})

test('a storage class may be set later, and move from its annotation to the field, but not change', () => {
  assert.deepEqual(check(PersistentVolumeClaim, claim({ storageClassName: 'a' }), { old: claim() }), [])
  assert.deepEqual(check(PersistentVolumeClaim, claim({ storageClassName: 'a' }), { old: claim({}, annotated('a')) }), [])
  assert.deepEqual(check(PersistentVolumeClaim, claim(), { old: claim({}, annotated('a')) }), [
    'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "": field is immutable',
  ])
  assert.equal(check(PersistentVolumeClaim, claim({ storageClassName: 'b' }), { old: claim({ storageClassName: 'a' }) }).length, 1)
})

test('a volume attributes class may change on bound claims, and cannot be unset once it was applied', () => {
  const old = claim({ volumeAttributesClassName: 'a' }, { status: { phase: 'Bound', currentVolumeAttributesClassName: 'a' } })
  assert.deepEqual(check(PersistentVolumeClaim, claim({ volumeAttributesClassName: 'b' }), { old }), [])
  assert.deepEqual(check(PersistentVolumeClaim, claim(), { old }), [
    'spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil',
  ])
  assert.deepEqual(check(PersistentVolumeClaim, claim({ volumeAttributesClassName: '' }), { old }), [
    'spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil',
  ])
})

test('the status has storage resources only, with supported values', () => {
  const status = {
    capacity: { storage: '-1' },
    allocatedResourceStatuses: { cpu: 'Odd', 'example.com/x': 'NodeResizePending' },
    allocatedResources: { memory: '1', storage: '-2' },
  }
  assert.deepEqual(checkSubresource(PersistentVolumeClaim, 'status', { ...claim(), status }, claim()), [
    'status.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
    'status.allocatedResources: Unsupported value: "memory": supported values: "storage"',
    'status.allocatedResources[storage]: Invalid value: -2: must be a valid resource quantity',
  ])
})

test('volume health is validated only with its feature gate', () => {
  const sick = { ...claim(), status: { healthStatus: { healthConditions: [{ status: 'Odd', reason: 'no good' }] } } }
  assert.deepEqual(checkSubresource(PersistentVolumeClaim, 'status', sick, claim()), [])
  const [reason, status] = checkSubresource(PersistentVolumeClaim, 'status', sick, claim(), contextWith({ gates: ['CSIVolumeHealth'] }))
  assert.match(reason!, /^status.healthStatus.healthConditions\[0\].reason: Invalid value: "no good"/)
  assert.equal(
    status,
    'status.healthStatus.healthConditions[0].status: Unsupported value: "Odd": supported values: "DataLoss", "Degraded", "Inaccessible"',
  )
})

test('fractions of bytes and annotations for classes are warned about', () => {
  assert.deepEqual(warnings(PersistentVolumeClaim, sized('1500m', annotated('a'))), [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ])
})

test('the table shows capacity and access modes only for a bound volume', () => {
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' } }
  const { Capacity, Status, Volume } = cells(PersistentVolumeClaim, claim({ volumeName: 'v' }, { status }))
  assert.deepEqual({ Capacity, Status, Volume }, { Capacity: '5Gi', Status: 'Bound', Volume: 'v' })
  assert.equal(cells(PersistentVolumeClaim, claim({}, { status }))['Capacity'], '')
})

test('prototype keys among amounts are plain names', () => {
  const requests = JSON.parse('{"storage":"1Gi","__proto__":"1"}')
  const old = { spec: { ...spec, resources: { requests } }, ...bound }
  assert.deepEqual(check(PersistentVolumeClaim, { spec: { ...spec, resources: { requests } } }, { old }), [])
})
