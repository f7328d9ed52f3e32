import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { AnyObject } from '../schema/object-meta.ts'
import {
  asStored,
  ExpectedBytes,
  encodeObject,
  encodeStored,
  encodeWrite,
  parseObject,
  replaceRevision,
  revisionOffset,
  withoutRevision,
  withRevision,
} from './stored-bytes.ts'

const object = (more: object = {}, metadata: object = {}): AnyObject =>
  ({ ...more, apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels: { a: 'b' }, uid: '1', name: 'a', ...metadata } }) as AnyObject
const RESERVED = '"resourceVersion":""'

test('stored bytes begin with kind, apiVersion and the identity, and have an empty resourceVersion', () => {
  const stored = encodeStored(object({ data: { k: 'v' } }, { resourceVersion: '7' }))
  assert.equal(
    stored.toString(),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"1","resourceVersion":"","labels":{"a":"b"}},"data":{"k":"v"}}',
  )
})

test('a revision is put in, replaced and left out, whatever texts the object holds', () => {
  const texts = fc.oneof(fc.string(), fc.constant(RESERVED), fc.constant('resourceVersion'))
  const metadata = fc.record({ name: texts, generateName: texts, namespace: texts, uid: texts, labels: fc.dictionary(texts, texts) })
  fc.assert(
    fc.property(metadata, fc.dictionary(texts, texts), fc.nat(), fc.nat(), (meta, data, first, second) => {
      const given = object({ data }, meta)
      const stored = encodeStored(given)
      const sent = withRevision(stored, first)
      assert.deepEqual(parseObject(sent), parseObject(encodeObject(given, String(first))))
      const replaced = replaceRevision(sent, revisionOffset(stored), { from: first, to: second })
      assert.deepEqual(replaced, withRevision(stored, second))
      assert.deepEqual(withoutRevision(stored), encodeObject(given, undefined))
    }),
  )
})

test('bytes that were made for an expected revision are those of the one that it became', () => {
  const revisions = fc.oneof(fc.nat(), fc.nat(20), fc.constant(2 ** 53 - 1))
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), revisions, revisions, (data, expected, revision) => {
      const stored = encodeStored(object({ data }))
      assert.deepEqual(ExpectedBytes.of(stored, expected)!.at(revision), withRevision(stored, revision))
    }),
  )
})

test('bytes without an empty resourceVersion have no offset', () => {
  assert.equal(revisionOffset(Buffer.from('{"metadata":{"name":"a"}}')), -1)
  assert.equal(ExpectedBytes.of(Buffer.from('{"metadata":{"name":"a"}}'), 7), undefined)
})

test('a write past the limit of one object is refused', () => {
  const limit = { values: 10_000, keyWeight: 8 }
  assert.throws(() => encodeWrite(object({ data: { k: 'x'.repeat(9 << 20) } }), limit), { code: 413 })
  const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`${i}`, 0]))
  assert.doesNotThrow(() => encodeWrite(object({ data: keys(1_200) }), limit))
  assert.throws(() => encodeWrite(object({ data: keys(1_300) }), limit), { code: 413 })
  assert.doesNotThrow(() => encodeWrite(object({ data: Array.from({ length: 9_900 }, () => 0) }), limit))
  assert.throws(() => encodeWrite(object({ data: Array.from({ length: 10_100 }, () => 0) }), limit), { code: 413 })
})

test('numbers past the safe range are read exactly, wherever they stand', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.string(), (number, before) => {
      const exact = Number.isSafeInteger(Number(number)) ? Number(number) : number
      assert.deepEqual(parseObject(encodeStored(object({ data: { before, number } })))['data'], { before, number: exact })
    }),
  )
})

test('an object is copied as it would be read from its bytes', () => {
  const more = { data: { a: undefined, b: [1, undefined, { c: -0 }], d: null, e: 2n ** 60n } }
  const given = object(more, { generateName: '', namespace: '', selfLink: '/a', creationTimestamp: undefined })
  assert.deepEqual(asStored(given, 7), parseObject(withRevision(encodeStored(given), 7)))
})
