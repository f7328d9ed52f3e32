import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineKind } from '../schema/kind.ts'
import { resourceOf } from '../schema/resource.ts'
import { int64, message } from '../schema/types.ts'
import { metadataOf, metadataOnly } from './metadata-only.ts'
import { singleTableMetadata, type TableOptions, tableOf } from './table.ts'

const base = { group: '', version: 'v1', kind: 'Thing', scope: 'Cluster', names: { plural: 'things' } } as const
const options: TableOptions = { apiVersion: 'meta.k8s.io/v1', includeObject: 'None', columns: true, now: new Date('2026-01-02T03:04:05Z') }
const json = (more: object = {}) =>
  Buffer.from(
    JSON.stringify({
      kind: 'Thing',
      apiVersion: 'v1',
      metadata: { name: 'a', resourceVersion: '5', creationTimestamp: '2026-01-02T03:04:00Z' },
      ...more,
    }),
  )

const plain = resourceOf(defineKind(base), 'k8s.io')
const wide = resourceOf(
  defineKind({
    ...base,
    spec: message('ThingSpec', { size: [1, int64, 'Its size.'] }),
    columns: { Size: ['integer', o => o.spec.size, 'How big.'], Secret: ['string', () => undefined, 'Only wide.', 'wide'] },
  }),
  'k8s.io',
)
const counted = resourceOf(defineKind({ ...base, bodyAnnotations: ['counter'] }), 'k8s.io')
const named = resourceOf(
  defineKind({
    ...base,
    columns: { When: ['string', () => 'now', 'First.'], Name: ['string', o => o.metadata.name, 'Own.', { format: 'name', wide: true }] },
  }),
  'k8s.io',
)

test('a kind without columns shows its name and when it was created', () => {
  const table = JSON.parse(tableOf(plain, [json()], { resourceVersion: '9' }, options))
  assert.deepEqual(
    table.columnDefinitions.map((c: { name: string; type: string; format: string }) => [c.name, c.type, c.format]),
    [
      ['Name', 'string', 'name'],
      ['Created At', 'date', ''],
    ],
  )
  assert.deepEqual([table.kind, table.apiVersion, table.metadata], ['Table', 'meta.k8s.io/v1', { resourceVersion: '9' }])
  assert.deepEqual(table.rows, [{ cells: ['a', '2026-01-02T03:04:00Z'], object: null }])
})

test('a kind with columns shows them after its name', () => {
  const table = JSON.parse(tableOf(wide, [json({ spec: { size: 3 } })], {}, options))
  assert.deepEqual(table.columnDefinitions[1], { name: 'Size', type: 'integer', format: '', description: 'How big.', priority: 0 })
  assert.equal(table.columnDefinitions[2].priority, 1)
  assert.deepEqual(table.rows[0].cells, ['a', 3, null])
})

test('a kind may put its name elsewhere', () => {
  const table = JSON.parse(tableOf(named, [json()], {}, options))
  assert.deepEqual(
    table.columnDefinitions.map((c: { name: string }) => c.name),
    ['When', 'Name'],
  )
})

test('integers beyond doubles keep their digits', () => {
  const text = tableOf(
    wide,
    [Buffer.from('{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"},"spec":{"size":9223372036854775807}}')],
    {},
    options,
  )
  assert.match(text, /"cells":\["a",9223372036854775807,null\]/)
})

test('an object without the fields of its columns is still a row', () => {
  const bookmark = Buffer.from('{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"8"}}')
  const table = JSON.parse(tableOf(wide, [bookmark], singleTableMetadata(bookmark), options))
  assert.deepEqual([table.metadata, table.rows[0].cells], [{ resourceVersion: '8' }, ['', '<unknown>', null]])
})

test('rows carry metadata or the whole object on request', () => {
  const row = (includeObject: TableOptions['includeObject']) =>
    JSON.parse(tableOf(plain, [json()], {}, { ...options, includeObject })).rows[0].object
  assert.deepEqual(row('Object'), JSON.parse(json().toString()))
  assert.deepEqual(row('Metadata').kind, 'PartialObjectMetadata')
})

test('metadata is cut out of any object exactly', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.jsonValue(),
      fc.dictionary(fc.string(), fc.jsonValue()),
      (before, metadata, after) => {
        const rest = Object.fromEntries(Object.entries(before).filter(([key]) => key !== 'metadata'))
        const bytes = Buffer.from(
          JSON.stringify({
            kind: 'X',
            ...rest,
            metadata,
            ...Object.fromEntries(Object.entries(after).filter(([key]) => key !== 'metadata')),
          }),
        )
        assert.deepEqual(JSON.parse(Buffer.from(metadataOf(bytes)).toString()), JSON.parse(JSON.stringify(metadata)))
      },
    ),
  )
})

test('annotations that belong to the body stay with it', () => {
  const kept = (annotations: object) => {
    const bytes = Buffer.from(JSON.stringify({ kind: 'Thing', apiVersion: 'v1', metadata: { name: 'a', annotations } }))
    return JSON.parse(metadataOnly(counted, bytes, 'meta.k8s.io/v1').toString()).metadata
  }
  assert.deepEqual(kept({ counter: '1' }), { name: 'a' })
  assert.deepEqual(kept({ counter: '1', other: '2' }), { name: 'a', annotations: { other: '2' } })
})

test('an object without metadata has none', () => {
  assert.equal(
    metadataOnly(plain, Buffer.from('{"kind":"X"}'), 'meta.k8s.io/v1').toString(),
    '{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}',
  )
  assert.equal(Buffer.from(metadataOf(Buffer.from('{}'))).toString(), '{}')
})
