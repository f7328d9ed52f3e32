import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { kindOf, objectsOf, RUNS, Thing, types } from '../../test/kits/patch.ts'
import type { Json } from '../lib/json-value.ts'
import { compare } from './compare.ts'
import { difference, type FieldSet, fieldSet, isEmptySet, pathsOf, pathText, union } from './field-set.ts'
import { emptyValueOf, structureOf } from './structure.ts'
import { presenceOf } from './typed-sets.ts'

const texts = (found: FieldSet) => pathsOf(found).map(pathText)
const changes = (a: Json, b: Json) => {
  const { added, modified, removed } = compare(Thing, a, b)
  return { added: texts(added), modified: texts(modified), removed: texts(removed) }
}

test('what is compared with the empty object owns nothing that is there anyway', () => {
  assert.deepEqual(emptyValueOf(Thing), { spec: { containers: null, selector: null } })
  assert.deepEqual(changes(emptyValueOf(Thing), { spec: { containers: [{ name: 'a' }], selector: {}, labels: { a: 'b' } } }), {
    added: ['.spec.labels', '.spec.containers[name="a"]', '.spec.containers[name="a"].name', '.spec.labels.a'],
    modified: ['.spec.selector'],
    removed: [],
  })
})

test('the order of keyed lists and sets does not count, that of atomic lists does', () => {
  const of = (...names: string[]) => ({ spec: { containers: names.map(name => ({ name, args: ['1', '2'] })), finalizers: names } })
  assert.deepEqual(changes(of('a', 'b'), of('b', 'a')), { added: [], modified: [], removed: [] })
  const [a, b] = [of('a'), { spec: { containers: [{ name: 'a', args: ['2', '1'] }], finalizers: ['a'] } }]
  assert.deepEqual(changes(a, b).modified, ['.spec.containers[name="a"].args'])
})

test('items that repeat a key are owned together', () => {
  const once = { spec: { finalizers: ['x'] } }
  const twice = { spec: { finalizers: ['x', 'x'] } }
  assert.deepEqual(changes(once, twice), { added: ['.spec.finalizers[="x"]'], modified: [], removed: ['.spec.finalizers[="x"]'] })
  assert.deepEqual(changes(twice, once), { added: ['.spec.finalizers[="x"]'], modified: [], removed: ['.spec.finalizers[="x"]'] })
  assert.deepEqual(changes(twice, structuredClone(twice)), { added: [], modified: [], removed: [] })
})

test('a list that is null and one that is empty differ', () => {
  assert.deepEqual(changes({ spec: { finalizers: null } }, { spec: { finalizers: [] } }).modified, ['.spec.finalizers'])
})

test('comparing objects yields exactly the fields that differ', () => {
  fc.assert(
    fc.property(
      types.map(kindOf).chain(type => fc.tuple(fc.constant(type), objectsOf(type), objectsOf(type))),
      ([type, a, b]) => {
        const { added, modified, removed } = compare(type, a, b)
        const back = compare(type, b, a)
        assert.deepEqual(texts(added), texts(back.removed))
        assert.deepEqual(texts(removed), texts(back.added))
        assert.deepEqual(texts(modified), texts(back.modified))
        const structure = structureOf(type)
        const before = fieldSet(false, presenceOf(structure, a).children)
        const after = fieldSet(false, presenceOf(structure, b).children)
        assert.deepEqual(texts(union(difference(before, removed), added)), texts(after))
        assert.ok(isEmptySet(compare(type, a, structuredClone(a)).modified))
      },
    ),
    RUNS,
  )
})
