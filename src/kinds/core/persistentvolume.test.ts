import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { PersistentVolume } from './persistentvolume.ts'

const spec = { capacity: { storage: '5Gi' }, accessModes: ['ReadWriteOnce'], nfs: { server: 'files', path: '/a' } }
const { nfs: _, ...bare } = spec
const volume = (more: object = {}) => ({ spec: { ...spec, ...more } })
const zone = (key: string, values = ['a']) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] },
})

test('a new volume is pending since now, is kept when released, and holds files', () => {
  const { spec: stored, status } = created(PersistentVolume, volume())
  assert.deepEqual(status, { phase: 'Pending', lastPhaseTransitionTime: '2026-07-01T12:00:00Z' })
  assert.equal(stored.persistentVolumeReclaimPolicy, 'Retain')
  assert.equal(stored.volumeMode, 'Filesystem')
  assert.deepEqual(check(PersistentVolume, volume()), [])
})

test('amounts finer than thousandths are rounded up, and sources have their defaults', () => {
  const { spec: stored } = withDefaults(PersistentVolume, {
    spec: { ...bare, capacity: { storage: '1.0001' }, iscsi: { targetPortal: 'a', iqn: 'iqn.2001-04.com.example:a', lun: 0 } },
  })
  assert.equal(stored.capacity.storage, '1001m')
  assert.equal(stored.iscsi.iscsiInterface, 'default')
})

test('a volume says how much it holds, how it is used and where it is', () => {
  assert.deepEqual(check(PersistentVolume, { spec: {} }), [
    'spec.accessModes: Required value',
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: null: supported values: "storage"',
    'spec: Required value: must specify a volume type',
  ])
})

test('the capacity of a volume is storage alone, and more than zero', () => {
  assert.deepEqual(check(PersistentVolume, volume({ capacity: { storage: '0', cpu: '-1' } })), [
    'spec.capacity: Unsupported value: {"storage":"0","cpu":"-1"}: supported values: "storage"',
    'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
    'spec.capacity[cpu]: Invalid value: -1: must be a valid resource quantity',
    'spec.capacity[cpu]: Invalid value: "-1": must be greater than zero',
  ])
})

test('access for a single pod excludes every other', () => {
  assert.deepEqual(check(PersistentVolume, volume({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce', 'Odd'] })), [
    'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
  ])
})

test('policies, modes and classes are supported values', () => {
  const odd = { persistentVolumeReclaimPolicy: 'Burn', volumeMode: 'Tape', storageClassName: 'No', volumeAttributesClassName: '' }
  const errors = check(PersistentVolume, volume(odd))
  assert.equal(errors[0], 'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Recycle", "Retain"')
  assert.match(errors[1]!, /^spec.storageClassName: Invalid value: "No": a lowercase RFC 1123 subdomain/)
  assert.deepEqual(errors.slice(2), [
    'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
    'spec.volumeAttributesClassName: Required value: an empty string is disallowed',
    'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
  ])
})

test('a volume has one source', () => {
  assert.deepEqual(check(PersistentVolume, volume({ cephfs: { monitors: ['a'] }, hostPath: { path: '/a' } })), [
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
    'spec.cephFS: Forbidden: may not specify more than 1 volume type',
  ])
})

test('the root of a node is not recycled, however it is written', () => {
  const policy = { persistentVolumeReclaimPolicy: 'Recycle' }
  const why = "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"
  for (const path of ['/', '/./', '//'])
    assert.deepEqual(check(PersistentVolume, { spec: { ...bare, ...policy, hostPath: { path } } }), [why])
  assert.deepEqual(check(PersistentVolume, { spec: { ...bare, ...policy, hostPath: { path: '/a' } } }), [])
})

test('local storage says from which nodes it is reached', () => {
  assert.deepEqual(check(PersistentVolume, { spec: { ...bare, local: { path: '/a/../b' } } }), [
    'spec.local.path: Invalid value: "/a/../b": must not contain \'..\'',
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  ])
  assert.deepEqual(check(PersistentVolume, { spec: { ...bare, local: { path: '/a' }, nodeAffinity: {} } }), [
    'spec.nodeAffinity.required: Required value: must specify required node constraints',
  ])
})

test('each kind of storage needs what it takes to reach it', () => {
  const errors = (source: object) => check(PersistentVolume, { spec: { ...bare, ...source } })
  assert.deepEqual(errors({ csi: { driver: '', nodePublishSecretRef: { name: 'a' } } }), [
    'spec.csi.driver: Required value',
    'spec.csi.volumeHandle: Required value',
    'spec.csi.nodePublishSecretRef.namespace: Required value',
  ])
  assert.deepEqual(errors({ gcePersistentDisk: { pdName: '' } }), ['spec.persistentDisk.pdName: Required value'])
  assert.deepEqual(errors({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: '' } }), [
    'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
  ])
  assert.deepEqual(errors({ iscsi: { targetPortal: 'a', iqn: 'x', lun: 256, chapAuthSession: true, initiatorName: 'y' } }), [
    'spec.iscsi.iqn: Invalid value: "x": must be valid format',
    'spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive',
    'spec.iscsi.secretRef: Required value',
    'spec.iscsi.initiatorname: Invalid value: "y": must be valid format',
  ])
  assert.deepEqual(errors({ cinder: { volumeID: 'v', secretRef: {} } }), [
    'spec.cinder.secretRef.name: Required value',
    'spec.cinder.secretRef.namespace: Required value',
  ])
  assert.deepEqual(errors({ azureFile: { secretName: 's', shareName: 'n', secretNamespace: '' } }), [
    'spec.azureFile.secretNamespace: Required value',
  ])
  assert.deepEqual(errors({ storageos: { volumeName: 'a', secretRef: { name: 'a' } } }), [
    'spec.storageos.secretRef.namespace: Required value',
  ])
})

test('the mount options annotation is only allowed for sources that support it', () => {
  const annotated = { metadata: { annotations: { 'volume.beta.kubernetes.io/mount-options': 'ro' } } }
  assert.deepEqual(check(PersistentVolume, { ...annotated, ...volume() }), [])
  assert.deepEqual(check(PersistentVolume, { ...annotated, spec: { ...bare, hostPath: { path: '/a' } } }), [
    'metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type',
  ])
})

test('where a volume is does not change', () => {
  const errors = check(PersistentVolume, { spec: { ...spec, nfs: { server: 'other', path: '/a' } } }, { old: volume() })
  assert.equal(errors.length, 1)
  assert.match(errors[0]!, /^spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ /)
  assert.deepEqual(check(PersistentVolume, volume({ volumeMode: 'Block' }), { old: volume() }), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ])
})

test('the secret for growing may be given later, but not changed', () => {
  const csi = (more: object = {}) => ({ spec: { ...bare, csi: { driver: 'd', volumeHandle: 'h', ...more } } })
  const secret = (name: string) => csi({ controllerExpandSecretRef: { name, namespace: 'n' } })
  assert.deepEqual(check(PersistentVolume, secret('a'), { old: csi() }), [])
  assert.equal(check(PersistentVolume, secret('b'), { old: secret('a') }).length, 1)
})

test('node affinity cannot change once set, except from beta labels to GA labels', () => {
  const old = volume({ nodeAffinity: zone('failure-domain.beta.kubernetes.io/zone') })
  assert.deepEqual(check(PersistentVolume, volume({ nodeAffinity: zone('a') }), { old: volume() }), [])
  assert.deepEqual(check(PersistentVolume, volume({ nodeAffinity: zone('topology.kubernetes.io/zone') }), { old }), [])
  const changed = volume({ nodeAffinity: zone('topology.kubernetes.io/zone', ['b']) })
  assert.deepEqual(check(PersistentVolume, changed, { old }), [
    'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"topology.kubernetes.io/zone","Operator":"In","Values":["b"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
  ])
  assert.deepEqual(check(PersistentVolume, changed, { old, ctx: contextWith({ gates: ['MutablePVNodeAffinity'] }) }), [])
})

test('a class of attributes can be changed, but not taken away', () => {
  const csi = (name?: string) => ({
    spec: { ...bare, csi: { driver: 'd', volumeHandle: 'h' }, ...(name && { volumeAttributesClassName: name }) },
  })
  assert.deepEqual(check(PersistentVolume, csi('b'), { old: csi('a') }), [])
  assert.deepEqual(check(PersistentVolume, csi(), { old: csi('a') }), [
    'spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden',
  ])
})

test('lastPhaseTransitionTime is set when the phase changes, unless the write sets it', () => {
  const status = PersistentVolume.def.subresources?.status?.prepareForUpdate
  const move = (to: object, from: object) => {
    const [object, old] = [
      withDefaults(PersistentVolume, { ...volume(), status: to }),
      withDefaults(PersistentVolume, { ...volume(), status: from }),
    ]
    status?.(object, old, contextWith())
    return object.status.lastPhaseTransitionTime
  }
  const before = { phase: 'Pending', lastPhaseTransitionTime: '2026-01-01T00:00:00Z' }
  assert.equal(move({ phase: 'Pending' }, before), '2026-01-01T00:00:00Z')
  assert.equal(move({ ...before, phase: 'Bound' }, before), '2026-07-01T12:00:00Z')
  assert.equal(move({ phase: 'Bound', lastPhaseTransitionTime: '2026-02-02T00:00:00Z' }, before), '2026-02-02T00:00:00Z')
  assert.deepEqual(checkSubresource(PersistentVolume, 'status', { ...volume(), status: { phase: 'Odd' } }, volume()), [])
})

test('what is outdated is warned about', () => {
  const old = {
    ...volume({ persistentVolumeReclaimPolicy: 'Recycle' }),
    metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'a' } },
  }
  assert.deepEqual(warnings(PersistentVolume, old), [
    'metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
  ])
  assert.deepEqual(
    warnings(PersistentVolume, { spec: { ...bare, storageos: { volumeName: 'a' }, nodeAffinity: zone('beta.kubernetes.io/os') } }),
    [
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.storageOS: deprecated in v1.22, non-functional in v1.25+',
    ],
  )
})

test('the table shows the claim and a deletion', () => {
  const row = cells(PersistentVolume, {
    ...volume({ claimRef: { namespace: 'n', name: 'c' } }),
    metadata: { deletionTimestamp: '2026-07-01T12:00:00Z' },
  })
  assert.equal(row['Claim'], 'n/c')
  assert.equal(row['Status'], 'Terminating')
  assert.equal(row['Access Modes'], 'RWO')
  assert.equal(row['VolumeAttributesClass'], '<unset>')
})
