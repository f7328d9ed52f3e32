import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, warnings } from '../../../test/kits/kinds/kinds.ts'
import { CSIStorageCapacity } from './csistoragecapacity.ts'

const capacity = { storageClassName: 'fast', capacity: '1Gi', nodeTopology: { matchLabels: { zone: 'a' } } }

test('a capacity is of a class, and not negative', () => {
  assert.deepEqual(check(CSIStorageCapacity, capacity), [])
  const errors = check(CSIStorageCapacity, { capacity: '-1' })
  assert.match(errors[0]!, /^storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain/)
  assert.equal(errors[1], 'capacity: Invalid value: "-1": must be greater than or equal to 0')
})

test('class and topology cannot change, the capacity can', () => {
  assert.deepEqual(check(CSIStorageCapacity, { ...capacity, capacity: '2Gi', maximumVolumeSize: '1Gi' }, { old: capacity }), [])
  assert.deepEqual(check(CSIStorageCapacity, { storageClassName: 'slow' }, { old: capacity }), [
    'nodeTopology: Invalid value: null: field is immutable',
    'storageClassName: Invalid value: "slow": field is immutable',
  ])
})

test('labels that have new names are warned about', () => {
  const nodeTopology = {
    matchLabels: { 'beta.kubernetes.io/os': 'linux' },
    matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'Exists' }],
  }
  assert.deepEqual(warnings(CSIStorageCapacity, { ...capacity, nodeTopology }), [
    'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
    'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
  ])
})
