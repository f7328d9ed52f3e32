import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyConfiguration } from '../../test/kits/patch.ts'
import { type ManagedFieldsEntry, ObjectMeta } from '../schema/object-meta.ts'
import { int32, message, string } from '../schema/types.ts'
import { withManagedFields } from './managers.ts'
import { parentManagedFields, scaleManagedFields } from './scale-ownership.ts'

const paths = new Map([['apps/v1', 'spec.replicas']])
const REPLICAS = { 'f:spec': { 'f:replicas': {} } }
const entry = (manager: string, operation: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation,
  apiVersion: 'apps/v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': { 'f:replicas': {}, 'f:selector': {} } },
  ...more,
})
const timeless = ({ time: _, ...rest }: ManagedFieldsEntry): ManagedFieldsEntry => rest
const inScale = (manager: string, operation: string, time = '2026-01-01T00:00:00Z', subresource?: string) =>
  entry(manager, operation, { apiVersion: 'autoscaling/v1', fieldsV1: REPLICAS, time, ...(subresource ? { subresource } : {}) })

test('a scale has the managers of the size alone', () => {
  const parent = [entry('a', 'Apply'), entry('b', 'Update', { fieldsV1: { 'f:spec': { 'f:selector': {} } } })]
  assert.deepEqual(scaleManagedFields(parent, paths), [inScale('a', 'Apply')])
  assert.deepEqual(scaleManagedFields([entry('a', 'Apply', { apiVersion: 'apps/v2' })], paths), [])
})

test('setting the replicas through the scale takes them from their managers', () => {
  const parent = [entry('a', 'Apply'), entry('b', 'Update')]
  const scale = [inScale('hpa', 'Update', '2026-02-01T00:00:00Z', 'scale')]
  const left = { fieldsV1: { 'f:spec': { 'f:selector': {} } } }
  assert.deepEqual(parentManagedFields({ parent, scale, paths, apiVersion: 'apps/v1' }), [
    entry('a', 'Apply', left),
    timeless(entry('hpa', 'Update', { fieldsV1: REPLICAS, subresource: 'scale' })),
    entry('b', 'Update', left),
  ])
})

test('a manager that applied the size and still owns it keeps the entry; one that updated it gets another one', () => {
  const own = entry('hpa', 'Update', { fieldsV1: REPLICAS, subresource: 'scale' })
  const scale = [inScale('a', 'Apply'), inScale('hpa', 'Update', '2026-03-01T00:00:00Z', 'scale')]
  assert.deepEqual(parentManagedFields({ parent: [entry('a', 'Apply'), own], scale, paths, apiVersion: 'apps/v1' }), [
    entry('a', 'Apply'),
    timeless(own),
  ])
})

test('a manager that owned only the replicas is removed when they are taken', () => {
  const parent = [entry('a', 'Apply', { fieldsV1: REPLICAS })]
  const scale = [inScale('b', 'Update', '2026-01-01T00:00:00Z', 'scale')]
  assert.deepEqual(
    parentManagedFields({ parent, scale, paths, apiVersion: 'apps/v1' }).map(({ manager }) => manager),
    ['b'],
  )
})

test('an apply of a scale meets the managers of the size, and takes it by force', () => {
  const Scale = message('Scale', {
    kind: [0, string],
    apiVersion: [0, string],
    metadata: [1, ObjectMeta.orEmpty()],
    spec: [2, message('ScaleSpec', { replicas: [1, int32] }).orEmpty()],
  })
  const scaleOf = (replicas: number) => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'x', uid: 'u' },
    spec: { replicas },
  })
  const parent = [entry('a', 'Apply')]
  const apply = (force: boolean) =>
    applyConfiguration({
      type: Scale,
      kind: 'Scale',
      live: withManagedFields(scaleOf(1), scaleManagedFields(parent, paths)),
      applied: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'x' }, spec: { replicas: 2 } },
      writer: { name: 'b', apiVersion: 'autoscaling/v1', subresource: 'scale', time: '2026-02-01T00:00:00Z' },
      force,
    })
  const refused = apply(false)
  assert.equal(!refused.ok && refused.message, 'Apply failed with 1 conflict: conflict with "a": .spec.replicas')
  const forced = apply(true)
  assert.ok(forced.ok)
  assert.deepEqual(parentManagedFields({ parent, scale: forced.managedFields, paths, apiVersion: 'apps/v1' }), [
    timeless(entry('b', 'Apply', { fieldsV1: REPLICAS, subresource: 'scale' })),
    entry('a', 'Apply', { fieldsV1: { 'f:spec': { 'f:selector': {} } } }),
  ])
})
