import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, NOW, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { tableOf } from '../../codec/table.ts'
import { resourceOf } from '../../schema/resource.ts'
import { StorageClass } from './storageclass.ts'

const base = { provisioner: 'example.com/disk' }
const term = (key: string, ...values: string[]) => ({ matchLabelExpressions: [{ key, values }] })

test('volumes are deleted with their claims and bound at once unless the class says otherwise', () => {
  const { reclaimPolicy, volumeBindingMode } = withDefaults(StorageClass, base)
  assert.deepEqual({ reclaimPolicy, volumeBindingMode }, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' })
  assert.deepEqual(check(StorageClass, base), [])
})

test('a class has a provisioner and supported values', () => {
  assert.deepEqual(check(StorageClass, { reclaimPolicy: 'Recycle', volumeBindingMode: 'Never' }), [
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    'volumeBindingMode: Unsupported value: "Never": supported values: "Immediate", "WaitForFirstConsumer"',
    'provisioner: Required value',
  ])
  assert.match(check(StorageClass, { provisioner: 'A/B/C' })[0]!, /^provisioner: Invalid value: "a\/b\/c": a valid label key must/)
})

test('parameters are few, small and named', () => {
  const many = Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`p${i}`, '']))
  assert.deepEqual(check(StorageClass, { ...base, parameters: many }), ['parameters: Too long: may not be more than 512 bytes'])
  assert.deepEqual(check(StorageClass, { ...base, parameters: { '': 'x'.repeat(256 * 1024 + 1) } }), [
    'parameters: Invalid value: "": field can not be empty.',
    'parameters: Too long: may not be more than 262144 bytes',
  ])
})

test('terms of topology name a label and values, and are not repeated', () => {
  const errors = check(StorageClass, {
    ...base,
    allowedTopologies: [
      term('zone', 'a', 'a'),
      term('zone', 'a'),
      {
        matchLabelExpressions: [
          { key: 'z', values: [] },
          { key: 'z', values: ['b'] },
        ],
      },
    ],
  })
  assert.deepEqual(errors, [
    'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
    'allowedTopologies[2].matchLabelExpressions[0].values: Required value',
    'allowedTopologies[2].matchLabelExpressions[1].key: Duplicate value: "z"',
  ])
})

test('the provisioner and its parameters do not change; whether volumes may grow does', () => {
  const changed = { provisioner: 'other', parameters: { a: 'b' }, reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer' }
  assert.deepEqual(check(StorageClass, changed, { old: base }), [
    'provisioner: Invalid value: null: field is immutable',
    'parameters: Invalid value: null: field is immutable',
    'reclaimPolicy: Invalid value: null: field is immutable',
    'volumeBindingMode: Invalid value: null: field is immutable',
  ])
  assert.deepEqual(check(StorageClass, { ...base, allowVolumeExpansion: true, mountOptions: ['ro'] }, { old: base }), [])
})

test('labels that have new names are warned about', () => {
  assert.deepEqual(warnings(StorageClass, { ...base, allowedTopologies: [term('failure-domain.beta.kubernetes.io/zone', 'a')] }), [
    'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ])
})

test('of all listed classes the newest default is marked, a single one is not', () => {
  const named = (name: string, created: string, marked = true) =>
    Buffer.from(
      JSON.stringify({
        kind: 'StorageClass',
        apiVersion: 'storage.k8s.io/v1',
        metadata: { name, creationTimestamp: created, annotations: { 'storageclass.kubernetes.io/is-default-class': String(marked) } },
        ...base,
      }),
    )
  const objects = [
    named('old', '2026-01-01T00:00:00Z'),
    named('new', '2026-02-01T00:00:00Z'),
    named('plain', '2026-03-01T00:00:00Z', false),
  ]
  const options = { apiVersion: 'meta.k8s.io/v1', includeObject: 'None', columns: true, now: NOW } as const
  const names = (list: Uint8Array[], isList: boolean): string[] =>
    JSON.parse(tableOf(resourceOf(StorageClass, 'k8s.io'), list, {}, { ...options, isList })).rows.map((row: any) => row.cells[0])
  assert.deepEqual(names(objects, true), ['old', 'new (default)', 'plain'])
  assert.deepEqual(names([objects[1]!], false), ['new'])
})
