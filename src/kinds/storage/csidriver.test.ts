import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, contextWith, created, updated, warnings } from '../../../test/kits/kinds/kinds.ts'
import { CSIDriver } from './csidriver.ts'

const scaling = contextWith({ gates: ['VolumeLimitScaling'] })

test('a driver that says nothing attaches persistent volumes', () => {
  assert.deepEqual(created(CSIDriver, { spec: {} }, scaling).spec, {
    attachRequired: true,
    podInfoOnMount: false,
    volumeLifecycleModes: ['Persistent'],
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    requiresRepublish: false,
    seLinuxMount: false,
    preventPodSchedulingIfMissing: false,
  })
})

test('without the feature gate preventPodSchedulingIfMissing has no default, and a stored value is kept', () => {
  assert.equal(created(CSIDriver, { spec: {} }).spec.preventPodSchedulingIfMissing, undefined)
  const old = { spec: { preventPodSchedulingIfMissing: true } }
  assert.equal(updated(CSIDriver, old, old).spec.preventPodSchedulingIfMissing, true)
})

test('without SELinuxMountReadWriteOncePod seLinuxMount is dropped unless it is stored', () => {
  const off = contextWith({ gate: name => name !== 'SELinuxMountReadWriteOncePod' })
  assert.equal(created(CSIDriver, { spec: { seLinuxMount: true } }, off).spec.seLinuxMount, undefined)
  const old = { spec: { seLinuxMount: true } }
  assert.equal(updated(CSIDriver, old, old, off).spec.seLinuxMount, true)
})

test('policies and modes are supported, periods are long enough', () => {
  const spec = {
    fsGroupPolicy: 'All',
    volumeLifecycleModes: ['Forever'],
    nodeAllocatableUpdatePeriodSeconds: 9,
    serviceAccountTokenInSecrets: true,
  }
  assert.deepEqual(check(CSIDriver, { spec }), [
    'spec.fsGroupPolicy: Unsupported value: "All": supported values: "File", "None", "ReadWriteOnceWithFSType"',
    'spec.volumeLifecycleModes: Unsupported value: "Forever": supported values: "Persistent", "Ephemeral"',
    'spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds',
    'spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified',
  ])
})

test('there is one token for each audience, valid for a sensible time', () => {
  const tokenRequests = [
    { audience: 'a', expirationSeconds: 599 },
    { audience: 'a', expirationSeconds: 1 },
    { audience: 'b', expirationSeconds: 2 ** 32 + 1 },
  ]
  assert.deepEqual(check(CSIDriver, { spec: { tokenRequests } }), [
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
    'spec.tokenRequests[2].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
  ])
})

test('how volumes are attached and which are served does not change; the rest does, and is counted', () => {
  assert.deepEqual(check(CSIDriver, { spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] } }, { old: { spec: {} } }), [
    'spec.attachedRequired: Invalid value: false: field is immutable',
    'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
  ])
  const changed = { spec: { storageCapacity: true, podInfoOnMount: true, fsGroupPolicy: 'File' } }
  assert.deepEqual(check(CSIDriver, changed, { old: { spec: {} } }), [])
  assert.equal(created(CSIDriver, { spec: {} }).metadata.generation, undefined)
  assert.equal(updated(CSIDriver, changed, { spec: {} }).metadata.generation, 1)
  assert.equal(updated(CSIDriver, { spec: {} }, { spec: {} }).metadata.generation, undefined)
})

test('tokens among the attributes are warned about when they are new', () => {
  const drive = { spec: { tokenRequests: [{ audience: 'a' }] } }
  assert.equal(warnings(CSIDriver, drive).length, 1)
  assert.equal(warnings(CSIDriver, drive, { old: drive }).length, 0)
  assert.equal(warnings(CSIDriver, { spec: { ...drive.spec, serviceAccountTokenInSecrets: false } }).length, 0)
})

test('a row lists audiences and modes', () => {
  const row = cells(CSIDriver, {
    spec: { tokenRequests: [{ audience: 'a' }, { audience: 'b' }], volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  })
  assert.equal(row['TokenRequests'], 'a,b')
  assert.equal(row['Modes'], 'Persistent,Ephemeral')
  assert.equal(cells(CSIDriver, { spec: {} })['TokenRequests'], '<unset>')
})
