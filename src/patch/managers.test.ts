import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish } from '../lib/step.ts'
import type { ManagedFieldsEntry } from '../schema/object-meta.ts'
import { fieldSetOfNames } from './field-set.ts'
import { keepTimesIfUnchanged, managerOf, managerText, managerWithTwo, readManagers, withManagedFields, writeManagers } from './managers.ts'

const entry = (more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: 'a',
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': {} },
  ...more,
})

test('a manager is named by the parameter, else by the user agent up to its slash', () => {
  assert.equal(managerOf('given', 'kubectl/v1.37'), 'given')
  assert.equal(managerOf(null, 'kubectl/v1.37 (linux/arm64)'), 'kubectl')
  assert.equal(managerOf('', 'Mozilla\u0007 x\u00a0y'), 'Mozilla xy')
  assert.equal(managerOf('', 'é'.repeat(100)), 'é'.repeat(64))
  assert.equal(managerOf('', ''), '')
})

test('entries come back as they were, in the order the API keeps', () => {
  const entries = [
    entry({ manager: 'z', operation: 'Apply' }),
    entry({ manager: 'b', time: '2026-01-01T00:00:00Z' }),
    entry({ manager: 'a', time: '2026-01-02T00:00:00Z', subresource: 'status' }),
  ]
  const read = finish(readManagers([...entries].reverse()))
  assert.ok(read.ok)
  assert.deepEqual(finish(writeManagers(read.managers)), entries)
})

test('appliers are the same in every version, updaters are not', () => {
  const count = (...entries: ManagedFieldsEntry[]) => {
    const read = finish(readManagers(entries))
    return read.ok ? read.managers.size : read.message
  }
  assert.equal(count(entry({ operation: 'Apply' }), entry({ operation: 'Apply', apiVersion: 'v2' })), 1)
  assert.equal(count(entry(), entry({ apiVersion: 'v2' })), 2)
  assert.equal(count(entry(), entry({ subresource: 'status' })), 2)
})

test('entries that cannot be read say why', () => {
  const message = (more: Partial<ManagedFieldsEntry>) => {
    const read = finish(readManagers([entry(more)]))
    return read.ok ? undefined : read.message
  }
  assert.equal(message({ operation: 'Delete' }), 'operation must be `Apply` or `Update`')
  assert.equal(message({ apiVersion: '' }), 'apiVersion must not be empty')
  assert.equal(message({ fieldsType: '' }), 'missing fieldsType in managed fields entry 0')
  assert.equal(message({ fieldsType: 'FieldsV2' }), 'invalid fieldsType "FieldsV2" in managed fields entry 0')
  assert.match(message({ fieldsV1: { x: {} } }) ?? '', /key must be 2 characters long/)
})

test('conflicts name managers with their version and subresource', () => {
  const fields = fieldSetOfNames('a')
  assert.equal(managerText({ name: 'a"b', operation: 'Update', apiVersion: 'apps/v1', subresource: '', fields }), '"a\\"b" using apps/v1')
  assert.equal(
    managerText({ name: 'c', operation: 'Update', apiVersion: 'v1', subresource: 'status', fields }),
    '"c" with subresource "status" using v1',
  )
  assert.equal(managerText({ name: 'c', operation: 'Apply', apiVersion: 'v1', subresource: '', fields }), '"c"')
})

test('times move back when nothing else moved', () => {
  const object = (data: string, ...entries: ManagedFieldsEntry[]) => withManagedFields({ data, metadata: { name: 'x' } }, entries)
  const before = object('1', entry())
  const later = entry({ time: '2026-02-01T00:00:00Z' })
  assert.deepEqual(keepTimesIfUnchanged(before, object('1', later)), before)
  assert.deepEqual(keepTimesIfUnchanged(before, object('2', later)), object('2', later))
  const other = entry({ time: '2026-02-01T00:00:00Z', fieldsV1: { 'f:other': {} } })
  assert.deepEqual(keepTimesIfUnchanged(before, object('1', other)), object('1', other))
  assert.deepEqual(keepTimesIfUnchanged(before, object('1', later, other)), object('1', later, other))
})

test('a manager with two entries is found, among few and among many', () => {
  const entryOf = (manager: string, more: object = {}) =>
    ({ manager, operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z', ...more }) as ManagedFieldsEntry
  const others = Array.from({ length: 20 }, (_, i) => entryOf(`other-${i}`))
  const different = [
    entryOf('a'),
    entryOf('a', { apiVersion: 'v2' }),
    entryOf('a', { subresource: 'status' }),
    entryOf('a', { operation: 'Apply' }),
  ]
  const applied = [entryOf('a', { operation: 'Apply' }), entryOf('a', { operation: 'Apply', apiVersion: 'v2' })]
  const updated = [entryOf('a'), entryOf('a', { time: '2026-02-01T00:00:00Z' })]
  const scaled = [entryOf('a'), { manager: 'a', operation: 'Update', apiVersion: 'v1' }]
  for (const more of [[], others]) {
    assert.equal(managerWithTwo([...different, ...more]), undefined)
    assert.equal(managerWithTwo([...scaled, ...more]), undefined)
    assert.equal(managerWithTwo([...more, ...applied]), 'a')
    assert.equal(managerWithTwo([...updated, ...more]), 'a')
  }
})
