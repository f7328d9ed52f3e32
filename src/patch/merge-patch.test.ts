import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson, stringifyJson } from '../codec/json.ts'
import type { Json } from '../lib/json-value.ts'
import { applyMergePatch } from './merge-patch.ts'

test('the examples of RFC 7386 hold', () => {
  const cases: [Json, Json, Json][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [document, patch, result] of cases) assert.deepEqual(applyMergePatch(document, patch), result)
})

test('what a patch creates holds no nulls, lists included, but lists keep null items', () => {
  assert.deepEqual(applyMergePatch({}, { a: [{ b: null, c: 1 }, null] }), { a: [{ c: 1 }, null] })
  assert.deepEqual(applyMergePatch({ a: { x: 1 } }, { a: [{ b: null }] }), { a: [{ b: null }] })
})

test('neither side is changed and the rest is shared', () => {
  const document = Object.freeze({ a: Object.freeze({ b: 1 }), c: Object.freeze({ d: 2 }) })
  const patch = Object.freeze({ a: Object.freeze({ b: null }) })
  const result = applyMergePatch(document, patch) as typeof document
  assert.deepEqual(result, { a: {}, c: { d: 2 } })
  assert.equal(result.c, document.c)
})

test('prototype keys are data', () => {
  const patch = parseJson('{"__proto__":{"polluted":1},"constructor":{"a":null,"b":1}}').value
  assert.equal(stringifyJson(applyMergePatch({}, patch)), '{"__proto__":{"polluted":1},"constructor":{"b":1}}')
  assert.equal(({} as { polluted?: number }).polluted, undefined)
})
