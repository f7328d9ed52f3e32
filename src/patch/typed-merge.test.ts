import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { kindOf, objectsOf, RUNS, Thing, types } from '../../test/kits/patch.ts'
import { deepEqual, type JsonObject } from '../lib/json-value.ts'
import { compare } from './compare.ts'
import { difference, EMPTY_SET, type FieldSet, fieldSet, fieldSetOfNames, pathsOf, pathText, union } from './field-set.ts'
import { structureOf } from './structure.ts'
import { typedErrors } from './typed-errors.ts'
import { mergeApplied, removeItems } from './typed-merge.ts'
import { fieldSetOf, presenceOf } from './typed-sets.ts'

const texts = (found: FieldSet) => pathsOf(found).map(pathText)

test('merged items keep their position and take the order in which they are applied', () => {
  const merge = (live: string[], applied: string[]) =>
    (
      mergeApplied(Thing, { spec: { finalizers: live } }, { spec: { finalizers: applied } }) as JsonObject as never as {
        spec: { finalizers: string[] }
      }
    ).spec.finalizers
  assert.deepEqual(merge(['a', 'b', 'c'], ['c', 'x', 'a']), ['b', 'c', 'x', 'a'])
  assert.deepEqual(merge(['a', 'b'], ['a', 'b', 'c']), ['a', 'b', 'c'])
  assert.deepEqual(merge(['a', 'b', 'c'], ['b']), ['a', 'b', 'c'])
  assert.deepEqual(merge(['a', 'a', 'b'], ['a']), ['a', 'b'])
  assert.deepEqual(merge([], ['a']), ['a'])
  assert.deepEqual(merge(['a'], []), ['a'])
})

test('merging shares what it does not change', () => {
  const live = { spec: { containers: [{ name: 'a', image: 'x' }, { name: 'b' }], labels: { a: '1' } } }
  assert.equal(mergeApplied(Thing, live, { spec: { containers: [{ name: 'a', image: 'x' }] } }), live)
  const merged = mergeApplied(Thing, live, { spec: { containers: [{ name: 'a', image: 'y' }] } }) as typeof live
  assert.equal(merged.spec.labels, live.spec.labels)
  assert.equal(merged.spec.containers[1], live.spec.containers[1])
  assert.deepEqual(merged.spec.containers[0], { name: 'a', image: 'y' })
})

test('taking fields out leaves null where nothing is left', () => {
  const live = { spec: { containers: [{ name: 'a', image: 'x' }], labels: { a: '1', b: '2' } } }
  assert.deepEqual(removeItems(Thing, live, fieldSetOfNames('spec.labels.a')), { spec: { ...live.spec, labels: { b: '2' } } })
  assert.deepEqual(removeItems(Thing, live, fieldSetOfNames('spec.labels.a', 'spec.labels.b')), { spec: { ...live.spec, labels: null } })
  const item = fieldSetOf(Thing, { spec: { containers: [{ name: 'a' }] } })
  assert.deepEqual(removeItems(Thing, live, item), { spec: { ...live.spec, containers: null } })
  assert.equal(removeItems(Thing, live, fieldSetOfNames('spec.other')), live)
})

test('prototype keys are plain entries', () => {
  const live = JSON.parse('{"spec":{"labels":{"__proto__":"1","constructor":"2"}}}')
  const merged = mergeApplied(Thing, { spec: { labels: { a: 'b' } } }, live)
  assert.equal(JSON.stringify(merged), '{"spec":{"labels":{"a":"b","__proto__":"1","constructor":"2"}}}')
  assert.equal(
    JSON.stringify(removeItems(Thing, live, fieldSetOfNames('spec.labels.constructor'))),
    '{"spec":{"labels":{"__proto__":"1"}}}',
  )
})

test('merging a configuration sets what it names and nothing else', () => {
  fc.assert(
    fc.property(
      types.map(kindOf).chain(type => fc.tuple(fc.constant(type), objectsOf(type), objectsOf(type))),
      ([type, live, applied]) => {
        const copy = structuredClone(live)
        const merged = mergeApplied(type, live, applied)
        assert.deepEqual(live, copy)
        assert.deepEqual(typedErrors(type, applied), [])
        const { added, modified, removed } = compare(type, live, merged)
        assert.deepEqual(removed, EMPTY_SET)
        const named = presenceOf(structureOf(type), applied)
        assert.deepEqual(texts(difference(union(added, modified), fieldSet(false, named.children))), [])
        const missing = compare(type, applied, merged)
        assert.deepEqual([texts(missing.modified), texts(missing.removed)], [[], []])
        assert.ok(deepEqual(mergeApplied(type, merged, applied), merged))
      },
    ),
    RUNS,
  )
})

test('taking out what was added restores the object', () => {
  fc.assert(
    fc.property(
      types.map(kindOf).chain(type => fc.tuple(fc.constant(type), objectsOf(type), objectsOf(type))),
      ([type, live, applied]) => {
        const merged = mergeApplied(type, live, applied)
        const { added } = compare(type, live, merged)
        const { added: extra, removed: lost } = compare(type, live, removeItems(type, merged, added))
        assert.deepEqual([texts(extra), texts(lost)], [[], []])
      },
    ),
    RUNS,
  )
})
