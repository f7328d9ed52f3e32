import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MAX_DEPTH, parseJson } from '../codec/json.ts'
import type { Json } from '../lib/json-value.ts'
import { finish } from '../lib/step.ts'
import { applyJsonPatch, PatchError, type PatchOperation, parseJsonPatch } from './json-patch.ts'

const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
  return value
}
const apply = (document: Json, ...operations: PatchOperation[]) => finish(applyJsonPatch(freeze(document), freeze(operations)))
const fails = (document: Json, operation: PatchOperation, message: string) =>
  assert.throws(() => apply(document, operation), new PatchError(message))

test('all operations work together as the server applies them', () => {
  const document = { metadata: { labels: { x: '1', 'a/b': '2' } } }
  const result = apply(
    document,
    { op: 'test', path: '/metadata/labels/x', value: '1' },
    { op: 'replace', path: '/metadata/labels/x', value: '9' },
    { op: 'remove', path: '/metadata/labels/a~1b' },
    { op: 'add', path: '/metadata/annotations', value: { k: 'v' } },
    { op: 'copy', from: '/metadata/labels/x', path: '/metadata/annotations/c' },
    { op: 'move', from: '/metadata/annotations/k', path: '/metadata/annotations/m' },
  )
  assert.deepEqual(result, { metadata: { labels: { x: '9' }, annotations: { c: '9', m: 'v' } } })
})

test('lists take indices, the end and negative indices', () => {
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'add', path: '/a/0', value: 0 }), { a: [0, 1, 2] })
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'add', path: '/a/2', value: 3 }), { a: [1, 2, 3] })
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'add', path: '/a/-', value: 3 }), { a: [1, 2, 3] })
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'add', path: '/a/-1', value: 3 }), { a: [1, 2, 3] })
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'remove', path: '/a/-1' }), { a: [1] })
  assert.deepEqual(apply({ a: [1, 2] }, { op: 'replace', path: '/a/1', value: 5 }), { a: [1, 5] })
  assert.deepEqual(apply([[1]], { op: 'add', path: '/0/0', value: 2 }), [[2, 1]])
  fails(
    { a: [1] },
    { op: 'add', path: '/a/3', value: 0 },
    "error in add for path: '/a/3': Unable to access invalid index: 3: invalid index referenced",
  )
  fails(
    { a: [1] },
    { op: 'replace', path: '/a/1', value: 0 },
    'replace operation does not apply: doc is missing key: /a/1: Unable to access invalid index: 1: invalid index referenced',
  )
  fails({ a: [1] }, { op: 'remove', path: '/a/x' }, `error in remove for path: '/a/x': strconv.Atoi: parsing "x": invalid syntax`)
})

test('paths that are not there are refused', () => {
  fails({}, { op: 'remove', path: '/a' }, "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value")
  fails({}, { op: 'add', path: '/a/b', value: 1 }, 'add operation does not apply: doc is missing path: "/a/b": missing value')
  fails({ a: null }, { op: 'add', path: '/a/b', value: 1 }, 'add operation does not apply: doc is missing path: "/a/b": missing value')
  fails({ a: 's' }, { op: 'replace', path: '/a/b', value: 1 }, 'replace operation does not apply: doc is missing path: /a/b: missing value')
  fails({}, { op: 'add', path: '', value: {} }, 'add operation does not apply: doc is missing path: "": missing value')
  fails({}, { op: 'add', value: {} }, 'add operation failed to decode path: missing value')
  fails(
    { a: 1 },
    { op: 'move', from: '/a', path: '/a/b' },
    'move operation does not apply: doc is missing destination path: /a/b: missing value',
  )
  fails({}, { op: 'move', from: '/a', path: '/b' }, "error in move for path: 'a': Unable to remove nonexistent key: a: missing value")
  fails({}, { op: 'fly', path: '/x' }, 'Unexpected kind: fly')
  fails({}, {}, 'Unexpected kind: unknown')
  fails(
    {},
    { op: 'add', path: '/constructor/x', value: 1 },
    'add operation does not apply: doc is missing path: "/constructor/x": missing value',
  )
})

test('the leniencies of kube-apiserver are kept', () => {
  assert.deepEqual(apply({}, { op: 'replace', path: '/a', value: 1 }), { a: 1 })
  assert.deepEqual(apply({}, { op: 'add', path: '/a' }), { a: null })
  assert.deepEqual(apply({}, { op: 'copy', from: '/a', path: '/b' }), { b: null })
  assert.deepEqual(apply({}, { op: 'add', path: 'x/a', value: 1 }), { a: 1 })
  assert.deepEqual(apply({ a: 1 }, { op: 'replace', path: '', value: { b: 2 } }), { b: 2 })
  assert.deepEqual(apply({}, { op: 'test', path: '/a' }), {})
  fails({}, { op: 'replace', path: '', value: 1 }, 'replace operation value must be object or array: %!w(<nil>)')
})

test('tests compare by value', () => {
  const document = { n: 9007199254740993n, m: 1, o: { a: [1, { b: 2 }] }, z: null }
  for (const [path, value] of [
    ['/n', 9007199254740993n],
    ['/m', 1n],
    ['/o', { a: [1, { b: 2 }] }],
    ['/z', null],
    ['', document],
  ] as [string, Json][])
    assert.equal(apply(document, { op: 'test', path, value }), document)
  fails(document, { op: 'test', path: '/n', value: 9007199254740992 }, 'testing value /n failed: test failed')
  fails(document, { op: 'test', path: '/z', value: 0 }, 'testing value /z failed: test failed')
  fails(document, { op: 'test', path: '/m' }, 'testing value /m failed: test failed')
  fails(document, { op: 'test', path: '', value: {} }, 'testing value  failed: test failed')
})

test('what is not touched is shared, what is copied is not', () => {
  const document = { a: { x: {} }, b: { y: [] as Json[] } }
  const result = apply(document, { op: 'add', path: '/a/z', value: 1 }) as typeof document
  assert.equal(result.b, document.b)
  assert.equal(result.a.x, document.a.x)
  assert.deepEqual(
    apply(
      document,
      { op: 'copy', from: '/b', path: '/c' },
      { op: 'add', path: '/c/y/-', value: 1 },
      { op: 'add', path: '/b/y/-', value: 2 },
    ),
    { a: { x: {} }, b: { y: [2] }, c: { y: [1] } },
  )
})

test('an added value can be changed by later operations without changing the patch', () => {
  assert.deepEqual(apply({}, { op: 'add', path: '/a', value: { b: {} } }, { op: 'add', path: '/a/b/c', value: 1 }), { a: { b: { c: 1 } } })
})

test('prototype keys are data', () => {
  const { value } = parseJson('{"__proto__":{"a":1}}')
  const result = finish(
    applyJsonPatch(value, [
      { op: 'add', path: '/__proto__/b', value: 2 },
      { op: 'copy', from: '/__proto__', path: '/c' },
    ]),
  )
  assert.equal(JSON.stringify(result), '{"__proto__":{"a":1,"b":2},"c":{"a":1,"b":2}}')
  assert.equal(({} as { b?: number }).b, undefined)
})

test('copies are limited in size and nesting in depth', () => {
  const doubling = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/${i}` }))
  assert.throws(() => apply({ a: 'x' }, ...doubling), /missing from path/)
  const grow = Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/a', path: `/a/${i}` }))
  assert.throws(() => apply({ a: { v: 'x'.repeat(100) } }, ...grow), /^PatchError: Unable to complete the copy, the accumulated size/)
  const nest = Array.from({ length: MAX_DEPTH + 5 }, (_, i) => ({ op: 'add', path: '/a'.repeat(i + 1), value: {} }))
  assert.throws(() => apply({}, ...nest), /exceeds max depth/)
})

test('many operations on one large object cost one copy of it', () => {
  const large = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]))
  const operations = Array.from({ length: 10_000 }, (_, i) => ({ op: 'replace', path: `/k${i}`, value: -i }))
  assert.equal((finish(applyJsonPatch(large, operations)) as Record<string, Json>)['k9999'], -9999)
})

test('adding and removing at one place gives the document back', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (document, key, value) => {
      fc.pre(!Object.hasOwn(document, key))
      const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      const result = finish(
        applyJsonPatch(document as Json, [
          { op: 'add', path, value: value as Json },
          { op: 'test', path, value: value as Json },
          { op: 'remove', path },
        ]),
      )
      assert.deepEqual({ ...(result as object) }, { ...document })
    }),
  )
})

test('a patch document is read with the errors of the server', () => {
  const { operations, unknownFields } = parseJsonPatch([{ op: 'add', path: '/a', value: null, foo: 1 }, null])
  assert.deepEqual(operations, [{ op: 'add', path: '/a', value: null }, {}])
  assert.deepEqual(unknownFields, ['[0].foo'])
  assert.deepEqual(parseJsonPatch(null).operations, [])
  const refuses = (value: Json, message: string) => assert.throws(() => parseJsonPatch(value), new PatchError(message))
  refuses({ op: 'add' }, 'json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp')
  refuses([1], 'json: cannot unmarshal number into Go value of type handlers.jsonPatchOp')
  refuses([{ op: true }], 'json: cannot unmarshal bool into Go struct field jsonPatchOp.op of type string')
})
