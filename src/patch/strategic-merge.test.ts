import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { kindOf, objectsOf, RUNS, strategicDiff, types } from '../../test/kits/patch.ts'
import { deepEqual, type Json, type JsonObject } from '../lib/json-value.ts'
import { atomic, int32, int64, keyed, mapOf, message, raw, set, string } from '../schema/types.ts'
import { strategicMerge } from './strategic-merge.ts'
import { structureOf } from './structure.ts'

const Env = message('Env', { name: [1, string.always()], value: [2, string] })
const Container = message('Container', {
  name: [1, string.always()],
  image: [2, string],
  env: [3, keyed(Env, 'name').mergedBy('name')],
  args: [4, atomic(string)],
})
const Strategy = message('Strategy', { type: [1, string], rolling: [2, message('Rolling', { surge: [1, int32] })] })
const Thing = message('Thing', {
  containers: [1, keyed(Container, 'name').mergedBy('name')],
  finalizers: [2, set(string).mergedBy()],
  ports: [3, set(int32).mergedBy()],
  strategy: [4, Strategy.retainingKeys()],
  labels: [5, mapOf(string)],
  big: [6, int64],
  data: [7, raw],
  rules: [8, atomic(Env)],
  whole: [9, Strategy.replacedByPatches()],
})

function merged(original: JsonObject, patch: JsonObject): JsonObject {
  const copies = structuredClone([original, patch])
  const result = strategicMerge(Thing, original, patch)
  assert.deepEqual([original, patch], copies)
  assert.ok(result.ok, result.ok ? '' : result.message)
  return result.object
}
function refused(original: JsonObject, patch: JsonObject): string {
  const result = strategicMerge(Thing, original, patch)
  return result.ok ? assert.fail('merged') : `${result.code} ${result.message}`
}
test('a message may be replaced as a whole', () => {
  const original = { whole: { type: 'a', rolling: { surge: 1 } }, strategy: { type: 'a', rolling: { surge: 1 } } }
  const patch = { whole: { type: 'b' }, strategy: { type: 'b' } }
  assert.deepEqual(merged(original, patch), { whole: { type: 'b' }, strategy: { type: 'b', rolling: { surge: 1 } } })
})

const two = {
  containers: [
    { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] },
    { name: 'b', image: 'b:1' },
  ],
}
const named = (...names: string[]) => names.map(name => ({ name }))

test('items merge by their key, at every depth', () => {
  assert.deepEqual(merged(two, { containers: [{ name: 'a', image: 'a:2', env: [{ name: 'Y', value: '2' }] }] }), {
    containers: [
      {
        name: 'a',
        image: 'a:2',
        env: [
          { name: 'Y', value: '2' },
          { name: 'X', value: '1' },
        ],
      },
      { name: 'b', image: 'b:1' },
    ],
  })
})

test('$patch deletes an item, replaces a list or a map, and deletes a map', () => {
  assert.deepEqual(merged(two, { containers: [{ name: 'b', $patch: 'delete' }] }), { containers: [two.containers[0]] })
  assert.deepEqual(merged(two, { containers: [{ $patch: 'replace' }, { name: 'z', image: 'z' }] }), {
    containers: [{ name: 'z', image: 'z' }],
  })
  assert.deepEqual(merged({ labels: { a: '1' } }, { labels: { $patch: 'replace', b: '2' } }), { labels: { b: '2' } })
  assert.deepEqual(merged({ labels: { a: '1' } }, { labels: { $patch: 'delete' } }), { labels: {} })
  assert.deepEqual(merged(two, { $patch: 'replace', labels: { a: '1' } }), { labels: { a: '1' } })
})

test('$patch merge says what happens anyway', () => {
  assert.deepEqual(merged({ labels: { a: '1' } }, { labels: { $patch: 'merge', b: '2' } }), { labels: { a: '1', b: '2' } })
  assert.deepEqual(merged(two, { containers: [{ name: 'b', $patch: 'merge', image: 'b:2' }] }), {
    containers: [two.containers[0], { name: 'b', image: 'b:2' }],
  })
})

test('$setElementOrder orders what it names and leaves the rest where it was', () => {
  const order = (names: string[], live: string[], sent?: string[]) =>
    (
      merged(
        { containers: named(...live) },
        { '$setElementOrder/containers': named(...names), ...(sent ? { containers: named(...sent) } : {}) },
      ).containers as { name: string }[]
    ).map(item => item.name)
  assert.deepEqual(order(['y', 'z'], ['z'], ['y']), ['y', 'z'])
  assert.deepEqual(order(['b', 'a'], ['a', 'b']), ['b', 'a'])
  assert.deepEqual(order(['c', 'a'], ['a', 'b', 'c']), ['b', 'c', 'a'])
  assert.deepEqual(order(['c', 'a', 'd'], ['s', 'a', 'c'], ['d']), ['s', 'c', 'a', 'd'])
  assert.deepEqual(merged({ finalizers: ['a', 'b'] }, { '$setElementOrder/finalizers': ['c', 'b', 'a'], finalizers: ['c'] }), {
    finalizers: ['c', 'b', 'a'],
  })
  assert.deepEqual(merged({}, { '$setElementOrder/containers': named('a') }), {})
  const adding = { '$setElementOrder/containers': named('a'), containers: named('a') }
  assert.deepEqual(merged({ containers: null }, adding), { containers: named('a') })
  assert.deepEqual(merged(two, { '$setElementOrder/containers': [], containers: null }), {})
})

test('plain values merge as a set, and $deleteFromPrimitiveList takes them out', () => {
  assert.deepEqual(merged({ finalizers: ['a', 'b'] }, { finalizers: ['c'] }), { finalizers: ['c', 'a', 'b'] })
  assert.deepEqual(merged({ finalizers: ['a', 'b'] }, { '$deleteFromPrimitiveList/finalizers': ['a', 'x'] }), { finalizers: ['b'] })
  assert.deepEqual(merged({ ports: [1, 2] }, { '$deleteFromPrimitiveList/ports': [1], ports: [3] }).ports, [3, 2])
  assert.deepEqual(merged({}, { '$deleteFromPrimitiveList/finalizers': ['a'] }), {})
})

test('$retainKeys removes every field it does not name', () => {
  const live = { strategy: { type: 'RollingUpdate', rolling: { surge: 1 } } }
  assert.deepEqual(merged(live, { strategy: { $retainKeys: ['type'], type: 'Recreate' } }), { strategy: { type: 'Recreate' } })
  assert.equal(refused(live, { strategy: { $retainKeys: ['type'], rolling: { surge: 2 } } }), '400 invalid patch format of retainKeys')
  assert.equal(refused(live, { strategy: { $retainKeys: 'type' } }), '400 invalid patch format of retainKeys')
})

test('null deletes, and a value that is added as a whole has no nulls and no directives', () => {
  assert.deepEqual(merged({ labels: { a: '1', b: '2' } }, { labels: { a: null } }), { labels: { b: '2' } })
  assert.deepEqual(merged({}, { labels: { a: null, b: '2' }, strategy: { $patch: 'delete' }, big: null }), { labels: { b: '2' } })
  assert.deepEqual(
    merged(
      {},
      {
        containers: [
          { name: 'a', image: null },
          { name: 'b', $patch: 'delete' },
        ],
      },
    ),
    { containers: named('a') },
  )
})

test('lists without a merge strategy are replaced', () => {
  assert.deepEqual(merged({ rules: [{ name: 'a' }] }, { rules: [{ name: 'b' }] }), { rules: [{ name: 'b' }] })
})

test('fields that the type does not know are taken over for the decoder to report', () => {
  assert.deepEqual(merged({ labels: {} }, { nope: { a: 1 }, labels: { x: 'y' } }), { labels: { x: 'y' }, nope: { a: 1 } })
  assert.deepEqual(merged({ data: { a: { b: 1 }, c: [1] } }, { data: { a: { d: 2 }, c: [2] } }), { data: { a: { b: 1, d: 2 }, c: [2] } })
})

test('prototype keys are plain data', () => {
  const patch = JSON.parse('{"labels":{"__proto__":"x","constructor":"y"}}')
  assert.equal(JSON.stringify(merged({ labels: { a: 'b' } }, patch)), '{"labels":{"a":"b","__proto__":"x","constructor":"y"}}')
  assert.equal(JSON.stringify(merged({}, patch)), JSON.stringify(patch))
  assert.equal(({} as { x?: string }).x, undefined)
})

test('integers beyond 2^53 stay exact', () => {
  assert.deepEqual(merged({ big: 1 }, { big: 2n ** 60n + 1n }), { big: 2n ** 60n + 1n })
})

test('patches that make no sense say why', () => {
  assert.equal(refused(two, { containers: [{ image: 'x' }] }), '422 map: map[image:x] does not contain declared merge key: name')
  assert.equal(
    refused(two, { containers: [{ $patch: 'delete' }] }),
    '422 map: map[$patch:delete] does not contain declared merge key: name',
  )
  assert.equal(refused(two, { $patch: 'nonsense' }), '422 unknown patch type: nonsense in map: map[$patch:nonsense]')
  assert.equal(refused(two, { containers: [{ name: 'a', $patch: 'x' }] }), '422 unknown patch type: x in map: map[$patch:x name:a]')
  assert.equal(refused(two, { containers: [1] }), `422 list element types are not identical: [[${printed(two.containers)}] [1]]`)
  assert.equal(refused(two, { containers: [[]] }), '422 lists of lists are not supported')
  assert.equal(refused(two, { '$setElementOrder/containers': 1 }), '422 expected a []interface {}, but received a int64')
  assert.equal(refused(two, { $setElementOrder: [] }), '400 invalid patch format of setElementOrder list')
  assert.equal(refused(two, { $deleteFromPrimitiveList: [] }), '400 invalid patch format of primitive list')
  assert.equal(
    refused(two, { '$setElementOrder/containers': named('b', 'a'), containers: named('a', 'b') }),
    "422 The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
  )
})

const printed = (containers: { name: string; image: string; env?: { name: string; value: string }[] }[]) =>
  containers
    .map(
      ({ name, image, env }) =>
        `map[${env ? `env:[${env.map(e => `map[name:${e.name} value:${e.value}]`)}] ` : ''}image:${image} name:${name}]`,
    )
    .join(' ')

const pairs = types.map(kindOf).chain(type => fc.tuple(fc.constant(type), objectsOf(type), objectsOf(type)))

test('merging the difference of two objects into one gives the other', () => {
  fc.assert(
    fc.property(pairs, ([type, from, to]) => {
      const result = strategicMerge(type, from, strategicDiff(structureOf(type), from, to))
      assert.ok(result.ok, result.ok ? '' : result.message)
      assert.deepEqual(result.object, to)
    }),
    RUNS,
  )
})

test('a patch leaves what it does not name as it is, and the object itself unchanged', () => {
  fc.assert(
    fc.property(pairs, ([type, live, patch]) => {
      const copy = structuredClone(live)
      const { spec, ...rest } = patch
      const result = strategicMerge(type, live, rest)
      assert.ok(result.ok)
      assert.deepEqual(live, copy)
      assert.equal(result.object['spec'], live['spec'])
      const whole = strategicMerge(type, live, patch)
      assert.ok(whole.ok, whole.ok ? '' : whole.message)
      assert.deepEqual(live, copy)
      for (const key of Object.keys((live['spec'] as JsonObject | undefined) ?? {})) {
        if (!Object.hasOwn((spec as JsonObject | undefined) ?? {}, key)) {
          assert.equal((whole.object['spec'] as JsonObject)[key], (live['spec'] as JsonObject)[key])
        }
      }
    }),
    RUNS,
  )
})

test('the same patch twice is the same as once', () => {
  fc.assert(
    fc.property(pairs, ([type, live, patch]) => {
      const once = strategicMerge(type, live, patch)
      assert.ok(once.ok)
      const twice = strategicMerge(type, once.object, patch)
      assert.ok(twice.ok && deepEqual(twice.object, once.object))
    }),
    RUNS,
  )
})

test('any JSON is either merged or refused, never a crash', () => {
  const keys = fc.constantFrom(
    'containers',
    'finalizers',
    'labels',
    'strategy',
    '$patch',
    '$retainKeys',
    '$setElementOrder/containers',
    '$deleteFromPrimitiveList/finalizers',
    '__proto__',
    'name',
  )
  const { json } = fc.letrec<{ json: Json }>(tie => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Json[]>(null, true, 1, 'delete', 'replace', 'merge', 'a'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(keys, tie('json'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
    ),
  }))
  const object = fc.dictionary(keys, json, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>
  fc.assert(
    fc.property(object, object, (original, patch) => {
      const before = JSON.stringify([original, patch])
      strategicMerge(Thing, original, patch)
      assert.equal(JSON.stringify([original, patch]), before)
    }),
    RUNS,
  )
})
