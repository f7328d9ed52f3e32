import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyJsonPatch, type PatchOperation } from '../patch/json-patch.ts'
import { changesBetween } from './json-changes.ts'
import { deepEqual, type Json } from './json-value.ts'
import { finish } from './step.ts'

const name = fc.constantFrom('a', 'b', 'c/d', 'e~f')
const { value } = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('x', 'y', null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

test('the changes between two values, made as a JSON Patch, turn one into the other', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      // The root of a document is an object.
      const [before, after] = [{ of: a }, { of: b }]
      const operations = [...changesBetween(before, after)] as PatchOperation[]
      assert.ok(deepEqual(finish(applyJsonPatch(before, operations)), after), JSON.stringify({ before, after, operations }))
      assert.equal(operations.length === 0, deepEqual(before, after))
    }),
    { numRuns: 200 },
  )
})

test('a field that is added is one change, however much it contains', () => {
  const after = { spec: { replicas: 2, list: [1, { a: 1 }] } }
  assert.deepEqual(
    [...changesBetween({ spec: { replicas: 1 } }, after)],
    [
      { op: 'replace', path: '/spec/replicas', value: 2 },
      { op: 'add', path: '/spec/list', value: [1, { a: 1 }] },
    ],
  )
})
