import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { deepEqual, type Json, type JsonObject } from '../lib/json-value.ts'
import { atomic, bool, int32, keyed, mapOf, message, raw, set, string } from '../schema/types.ts'
import { compare } from './compare.ts'
import { difference, EMPTY_SET, type FieldSet, fieldSet, fieldSetOfNames, isEmptySet, pathsOf, pathText, union } from './field-set.ts'
import { toFieldsV1 } from './fields-v1.ts'
import { emptyValueOf, structureOf } from './structure.ts'
import { kindOf, objectsOf, RUNS, types } from './testing.ts'
import { typedErrors, typedErrorText } from './typed-errors.ts'
import { extractItems, mergeApplied, removeItems } from './typed-merge.ts'
import { fieldSetOf, fitToSchema, presenceOf } from './typed-sets.ts'

const Port = message('Port', { containerPort: [1, int32.always()], protocol: [2, string.default('TCP')], name: [3, string] })
const Container = message('Container', {
  name: [1, string.always()],
  image: [2, string],
  args: [3, atomic(string)],
  ports: [4, keyed(Port, 'containerPort', 'protocol').mergedBy('containerPort')],
  limits: [5, mapOf(string)],
  tty: [6, bool],
})
const Selector = message('Selector', { matchLabels: [1, mapOf(string)] }).atomic()
const Spec = message('Spec', {
  containers: [1, keyed(Container, 'name').mergedBy('name').always()],
  finalizers: [2, set(string).mergedBy()],
  selector: [3, Selector.always()],
  labels: [4, mapOf(string)],
  replicas: [5, int32.optional()],
  data: [6, raw],
})
const Thing = message('Thing', { spec: [1, Spec.orEmpty()] })

const texts = (found: FieldSet) => pathsOf(found).map(pathText)
const changes = (a: Json, b: Json) => {
  const { added, modified, removed } = compare(Thing, a, b)
  return { added: texts(added), modified: texts(modified), removed: texts(removed) }
}

test('a configuration names its values, items and entries, and messages only where they are empty', () => {
  const applied = {
    spec: {
      containers: [{ name: 'a', ports: [{ containerPort: 80 }], limits: { cpu: '1' } }],
      finalizers: ['x'],
      selector: { matchLabels: { a: 'b' } },
      labels: {},
      data: { any: { thing: 1 } },
      replicas: null,
    },
  }
  assert.deepEqual(toFieldsV1(fieldSetOf(Thing, applied)), {
    'f:spec': {
      'f:containers': {
        'k:{"name":"a"}': {
          '.': {},
          'f:limits': { 'f:cpu': {} },
          'f:name': {},
          'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
        },
      },
      'f:data': {},
      'f:finalizers': { 'v:"x"': {} },
      'f:labels': {},
      'f:replicas': {},
      'f:selector': {},
    },
  })
})

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

test('merged items keep their place and take the order in which they are applied', () => {
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

test('raw data that merges is owned field by field, with lists as a whole', () => {
  const Loose = message('Loose', { data: [1, raw.mergedBy()] })
  const [live, applied] = [{ data: { a: { b: 1 }, l: [1], s: 'x' } }, { data: { a: { c: 2 }, l: [2], s: { now: 'a map' } } }]
  assert.deepEqual(toFieldsV1(fieldSetOf(Loose, applied)), {
    'f:data': { 'f:a': { '.': {}, 'f:c': {} }, 'f:l': {}, 'f:s': { '.': {}, 'f:now': {} } },
  })
  const merged = mergeApplied(Loose, live, applied)
  assert.deepEqual(merged, { data: { a: { b: 1, c: 2 }, l: [2], s: { now: 'a map' } } })
  assert.deepEqual(mergeApplied(Loose, applied, live), { data: { a: { c: 2, b: 1 }, l: [1], s: 'x' } })
  assert.deepEqual(typedErrors(Loose, live), [])
  const { added, modified } = compare(Loose, live, merged)
  assert.deepEqual([texts(added), texts(modified)], [['.data.a.c'], ['.data.l', '.data.s']])
  assert.deepEqual(texts(fieldSetOf(Loose, { data: 7 })), ['.data'])
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
  assert.deepEqual(extractItems(Thing, live, fieldSetOfNames('spec.labels.a')), { spec: { labels: { a: '1' } } })
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

test('a configuration that does not fit says where and why', () => {
  const text = (value: Json) => typedErrorText(typedErrors(Thing, value))
  assert.equal(text({ spec: { nope: 1 } }), '.spec.nope: field not declared in schema')
  assert.equal(text({ spec: { replicas: 'x' } }), '.spec.replicas: expected numeric (int or float), got string')
  assert.equal(
    text({ spec: { containers: [{ name: 'a', image: 1 }] } }),
    '.spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:1}',
  )
  assert.equal(text({ spec: { containers: { a: 1 } } }), '.spec.containers: expected list, got &{map[a:1]}')
  assert.equal(text({ spec: { containers: [{ name: 'a', tty: 'no' }] } }), '.spec.containers[name="a"].tty: expected boolean, got &{no}')
  assert.equal(text({ spec: [] }), '.spec: expected map, got &{[]}')
  assert.equal(text({ spec: { finalizers: ['x', 'x'] } }), '.spec.finalizers: duplicate entries for key [="x"]')
  assert.equal(
    text({ spec: { containers: [null] } }),
    '.spec.containers: element 0: associative list with keys may not have a null element',
  )
  assert.equal(
    text({ spec: { finalizers: [{}] } }),
    ".spec.finalizers: element 0: associative list without keys has an element that's a map type",
  )
  assert.equal(text({ spec: { a: 1, b: 2 } }), 'errors:\n  .spec.a: field not declared in schema\n  .spec.b: field not declared in schema')
  assert.deepEqual(typedErrors(Thing, { spec: { replicas: null, containers: null } }), [])
})

test('who owned parts of what became atomic owns the whole', () => {
  const old = fieldSetOfNames('spec.selector.matchLabels.a', 'spec.labels.a')
  assert.deepEqual(texts(fitToSchema(Thing, old)), ['.spec.selector', '.spec.labels.a'])
  const fine = fieldSetOfNames('spec.selector', 'spec.labels.a')
  assert.equal(fitToSchema(Thing, fine), fine)
})

test('comparing objects tells exactly what turns one into the other', () => {
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
