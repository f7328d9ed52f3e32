import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameIsDNSSubdomain } from '../lib/names.ts'
import { validateFieldManager, validateObjectMeta, validateObjectMetaUpdate } from './meta-rules.ts'
import type { ObjectMeta } from './object-meta.ts'
import { refTo } from './refs.ts'

const prepareForCreate = (meta: ObjectMeta, namespaced = true) =>
  show(validateObjectMeta(meta, refTo(meta, 'metadata'), { namespaced, nameRule: nameIsDNSSubdomain }))
const prepareForUpdate = (meta: ObjectMeta, old: ObjectMeta) => show(validateObjectMetaUpdate(meta, old, refTo(meta, 'metadata')))
const show = (errors: Iterable<{ field: string; message: string }>) => [...errors].map(e => `${e.field}: ${e.message}`)
const owner = (more = {}) => ({ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', ...more })
const fine: ObjectMeta = { name: 'a', namespace: 'default' }
const stored: ObjectMeta = { ...fine, resourceVersion: '1', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }

test('an ordinary object passes', () => {
  assert.deepEqual(prepareForCreate({ ...fine, labels: { 'example.com/a': 'b', empty: '' }, annotations: { 'Example.com/A': 'x y' } }), [])
  assert.deepEqual(prepareForUpdate(stored, stored), [])
})

test('a name is required and checked, a prefix may end with a dash', () => {
  assert.deepEqual(prepareForCreate({ namespace: 'default' }), ['metadata.name: Required value: name or generateName is required'])
  assert.deepEqual(prepareForCreate({ ...fine, generateName: 'web-' }), [])
  assert.match(
    prepareForCreate({ ...fine, name: 'A' })[0]!,
    /^metadata\.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist/,
  )
  assert.match(prepareForCreate({ ...fine, generateName: '-' })[0]!, /^metadata\.generateName: Invalid value: "-"/)
})

test('a namespace is required where kinds have one, and forbidden elsewhere', () => {
  assert.deepEqual(prepareForCreate({ name: 'a' }), ['metadata.namespace: Required value'])
  assert.deepEqual(prepareForCreate(fine, false), ['metadata.namespace: Forbidden: not allowed on this type'])
  assert.match(prepareForCreate({ name: 'a', namespace: 'a.b' })[0]!, /^metadata\.namespace: Invalid value: "a\.b": must not contain dots/)
})

test('errors of labels and annotations point at the map and show the key or the value', () => {
  assert.match(prepareForCreate({ ...fine, labels: { 'a b': 'x' } })[0]!, /^metadata\.labels: Invalid value: "a b": name part must consist/)
  assert.match(prepareForCreate({ ...fine, labels: { a: 'x y' } })[0]!, /^metadata\.labels: Invalid value: "x y": a valid label must be/)
  assert.match(
    prepareForCreate({ ...fine, annotations: { '/a': '' } })[0]!,
    /^metadata\.annotations: Invalid value: "\/a": prefix part must be non-empty/,
  )
  assert.deepEqual(prepareForCreate({ ...fine, annotations: { a: 'x'.repeat(256 * 1024) } }), [
    'metadata.annotations: Too long: may not be more than 262144 bytes',
  ])
})

test('finalizers are qualified names and those of garbage collection exclude each other', () => {
  assert.match(prepareForCreate({ ...fine, finalizers: ['a b'] })[0]!, /^metadata\.finalizers: Invalid value: "a b"/)
  assert.deepEqual(prepareForCreate({ ...fine, finalizers: ['orphan', 'foregroundDeletion'] }), [
    'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
  ])
})

test('owners are named in full, only one is the controller, and events own nothing', () => {
  assert.deepEqual(prepareForCreate({ ...fine, ownerReferences: [owner({ apiVersion: '', kind: '', name: '', uid: '' })] }), [
    'metadata.ownerReferences[0].apiVersion: Required value: must not be empty',
    'metadata.ownerReferences[0].kind: Required value: must not be empty',
    'metadata.ownerReferences[0].name: Required value: must not be empty',
    'metadata.ownerReferences[0].uid: Required value: must not be empty',
  ])
  assert.deepEqual(prepareForCreate({ ...fine, ownerReferences: [owner({ apiVersion: 'a/b/c' })] }), [
    'metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be <group>/<version> or <version>',
  ])
  const two = [owner({ controller: true }), owner({ controller: true, name: 's' })]
  assert.deepEqual(prepareForCreate({ ...fine, ownerReferences: two }), [
    `metadata.ownerReferences: Invalid value: ${JSON.stringify(two)}: Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/r and ReplicaSet/s`,
  ])
  assert.match(
    prepareForCreate({ ...fine, ownerReferences: [owner({ apiVersion: 'v1', kind: 'Event' })] })[0]!,
    /^metadata\.ownerReferences\[0\]: Invalid value: \{.*\}: \/v1, Kind=Event is disallowed from being an owner$/,
  )
})

test('field ownership names an operation, a printable manager and the one format', () => {
  const entries = [{ operation: '' }, { operation: 'Merge', fieldsType: 'V2' }, { operation: 'Apply', manager: 'é\u0007' }]
  assert.deepEqual(prepareForCreate({ ...fine, managedFields: entries }), [
    'metadata.managedFields[0].operation: Required value: must not be empty',
    'metadata.managedFields[1].operation: Unsupported value: "Merge": supported values: "Apply", "Update"',
    'metadata.managedFields[1].fieldsType: Invalid value: "V2": must be `FieldsV1`',
    'metadata.managedFields[2].manager: Invalid value: "é\\a": invalid character U+0007 (at position 2)',
  ])
  assert.deepEqual(
    prepareForCreate({ ...fine, managedFields: [{ operation: 'Apply', manager: 'm'.repeat(129), subresource: 's'.repeat(257) }] }),
    [
      'metadata.managedFields[0].manager: Too long: may not be more than 128 bytes',
      'metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes',
    ],
  )
})

test('what the server owns cannot change', () => {
  assert.deepEqual(prepareForUpdate({ ...stored, name: 'b', uid: 'v', creationTimestamp: '2026-01-01T00:00:01Z' }, stored), [
    'metadata.name: Invalid value: "b": field is immutable',
    'metadata.uid: Invalid value: "v": field is immutable',
    'metadata.creationTimestamp: Invalid value: "2026-01-01T00:00:01Z": field is immutable',
  ])
  assert.deepEqual(prepareForUpdate({ ...stored, generation: 1 }, { ...stored, generation: 2 }), [
    'metadata.generation: Invalid value: 1: must not be decremented',
  ])
  assert.deepEqual(prepareForUpdate(stored, { ...stored, deletionTimestamp: '2026-01-01T00:00:01Z', deletionGracePeriodSeconds: 0 }), [
    'metadata.deletionTimestamp: Invalid value: null: field is immutable',
    'metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable',
  ])
  const { resourceVersion: _, ...blind } = stored
  assert.deepEqual(prepareForUpdate(blind, stored), ['metadata.resourceVersion: Invalid value: "": must be specified for an update'])
})

test('an object being deleted takes no further finalizers', () => {
  const dying = { ...stored, deletionTimestamp: '2026-01-01T00:00:01Z', finalizers: ['example.com/a'] }
  assert.deepEqual(prepareForUpdate({ ...dying, finalizers: ['example.com/c', 'example.com/b'] }, dying), [
    'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b", "example.com/c"}',
  ])
  assert.deepEqual(prepareForUpdate({ ...dying, finalizers: [] }, dying), [])
})

test('names of managers are printable and not too long', () => {
  const errors = (name: string) => [...validateFieldManager(name, refTo(name, 'fieldManager'))].map(error => error.message)
  assert.deepEqual(errors('kubectl apply é'), [])
  assert.deepEqual(errors('é\u0007'), ['Invalid value: "é\\a": invalid character U+0007 (at position 2)'])
  assert.deepEqual(errors('x'.repeat(129)), ['Too long: may not be more than 128 bytes'])
})
