import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith } from '../../../test/kits/kinds/kinds.ts'
import { CSINode } from './csinode.ts'

const driver = { name: 'disk.example.com', nodeID: 'n1', topologyKeys: ['example.com/zone'] }
const node = (...drivers: object[]) => ({ spec: { drivers } })
const healthy = contextWith({ gates: ['CSIVolumeHealth'] })

test('a driver has a name and a node ID', () => {
  assert.deepEqual(check(CSINode, node(driver)), [])
  assert.deepEqual(check(CSINode, node({ ...driver, name: '', nodeID: '', allocatable: { count: -1 } })), [
    'spec.drivers[0].name: Required value',
    'spec.drivers[0].nodeID: Required value',
    'spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(check(CSINode, node({ ...driver, nodeID: 'x'.repeat(257) })), [
    `spec.drivers[0].nodeID: Invalid value: "${'x'.repeat(257)}": must be 256 characters or less`,
  ])
})

test('drivers and their keys of topology are listed once', () => {
  const errors = check(CSINode, node(driver, { ...driver, topologyKeys: ['a', 'a', ''] }))
  assert.deepEqual(errors.slice(0, 3), [
    'spec.drivers[1].name: Duplicate value: "disk.example.com"',
    'spec.drivers[1]: Duplicate value: "a"',
    'spec.drivers[1]: Required value',
  ])
  assert.match(errors[3]!, /^spec.drivers\[1\]: Invalid value: "": name part must be non-empty/)
})

test('drivers can be added and removed, and their allocatable count can change; other fields cannot', () => {
  assert.deepEqual(check(CSINode, node({ ...driver, allocatable: { count: 3 } }), { old: node(driver) }), [])
  assert.deepEqual(check(CSINode, node(), { old: node(driver) }), [])
  assert.deepEqual(check(CSINode, node({ ...driver, nodeID: 'n2' }), { old: node(driver) }), [
    'spec.drivers: Invalid value: {"Name":"disk.example.com","NodeID":"n2","TopologyKeys":["example.com/zone"],"Allocatable":null}: field is immutable',
  ])
})

test('health is listed once for each driver, with supported values', () => {
  const sick = { name: 'd.example.com', healthConditions: [{ status: 'Fine', reason: '', accessMode: 'Odd', volumeMode: 'Tape' }] }
  const status = { storageHealth: [sick, { name: 'd.example.com' }] }
  assert.deepEqual(checkSubresource(CSINode, 'status', { ...node(), status }, node(), healthy), [
    'status.storageHealth[0].healthConditions[0].status: Unsupported value: "Fine": supported values: "StorageDegraded", "StorageUnreachable"',
    'status.storageHealth[0].healthConditions[0].reason: Required value',
    'status.storageHealth[0].healthConditions[0].accessMode: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    'status.storageHealth[0].healthConditions[0].volumeMode: Unsupported value: "Tape": supported values: "Filesystem", "Block"',
    'status.storageHealth[1]: Duplicate value: "d.example.com"',
  ])
  assert.deepEqual(checkSubresource(CSINode, 'status', { ...node(), status }, node()), [])
})

test('a row counts drivers', () => assert.equal(cells(CSINode, node(driver))['Drivers'], 1))
