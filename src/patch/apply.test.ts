import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { applyConfiguration, kindOf, objectsOf, RUNS, stored, trackUpdate, types, versionsOf } from '../../test/kits/patch.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { finish } from '../lib/step.ts'
import { type ManagedFieldsEntry, ObjectMeta } from '../schema/object-meta.ts'
import { type AnyType, atomic, int32, keyed, mapOf, message, set, string } from '../schema/types.ts'
import type { Applied, Apply } from './apply.ts'
import { compare } from './compare.ts'
import { difference, type FieldSet, fieldSet, fieldSetOfNames, pathsOf, pathText, union } from './field-set.ts'
import { readFieldsV1 } from './fields-v1.ts'
import { keepTimesIfUnchanged, managedFieldsOf, withManagedFields } from './managers.ts'
import { structureOf } from './structure.ts'
import { presenceOf } from './typed-sets.ts'

const Port = message('Port', { port: [1, int32.always()], protocol: [2, string.default('TCP')], name: [3, string] })
const Container = message('Container', {
  name: [1, string.always()],
  image: [2, string],
  args: [3, atomic(string)],
  ports: [4, keyed(Port, 'port', 'protocol')],
})
const Thing = message('Thing', {
  kind: [0, string],
  apiVersion: [0, string],
  metadata: [1, ObjectMeta.orEmpty()],
  spec: [
    2,
    message('Spec', {
      replicas: [1, int32.optional()],
      paused: [2, string],
      containers: [3, keyed(Container, 'name').always()],
      finalizers: [4, set(string)],
      config: [5, mapOf(string)],
    }).orEmpty(),
  ],
  status: [3, message('Status', { ready: [1, int32.always()] }).orEmpty()],
})
const resetFields = fieldSetOfNames('status')
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const config = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Thing',
  metadata: { name: 'x', namespace: 'n', ...metadata },
  spec,
})

/** An object and the writes to it, each a minute after the last, stored as the server would. */
class Store {
  object: JsonObject | undefined
  #minute = 0
  readonly #type: AnyType
  constructor(type: AnyType = Thing) {
    this.#type = type
  }

  apply(name: string, applied: JsonObject, more: Partial<Apply> = {}): Applied {
    const apiVersion = applied['apiVersion'] as string
    const writer = { name, apiVersion, subresource: '', time: at(++this.#minute) }
    const kind = 'Thing'
    const result = applyConfiguration({ type: this.#type, kind, live: this.object, applied, force: false, writer, resetFields, ...more })
    if (result.ok) this.#put(result.object, result.managedFields)
    return result
  }
  update(name: string, next: JsonObject): void {
    const apiVersion = next['apiVersion'] as string
    const writer = { name, apiVersion, subresource: '', time: at(++this.#minute) }
    const settled = stored(this.#type, next, [])
    this.#put(settled, trackUpdate({ type: this.#type, live: this.object, next: settled, writer, resetFields }))
  }
  #put(object: JsonObject, managedFields: readonly ManagedFieldsEntry[]): void {
    const next = stored(this.#type, object, managedFields)
    this.object = this.object === undefined ? next : keepTimesIfUnchanged(this.object, next)
  }

  get spec(): Json {
    return this.object?.['spec'] ?? null
  }
  get managers(): Record<string, Json> {
    return Object.fromEntries((managedFieldsOf(this.object!) ?? []).map(e => [`${e.manager} ${e.operation}`, e.fieldsV1 as Json]))
  }
  ownedBy(name: string): FieldSet {
    const parsed = finish(readFieldsV1(managedFieldsOf(this.object!)?.find(entry => entry.manager === name)?.fieldsV1 as Json))
    assert.ok(parsed.ok)
    return parsed.set
  }
}

const message409 = (result: Applied) => (result.ok || result.reason !== 'conflict' ? assert.fail('no conflict') : result)

test('an apply creates, owns, conflicts, forces and releases', () => {
  const store = new Store()
  assert.ok(store.apply('one', config({ replicas: 1, containers: [{ name: 'main', image: 'a:1' }] }, { labels: { a: '1' } })).ok)
  assert.deepEqual<Record<string, Json>>(store.managers, {
    'one Apply': {
      'f:metadata': { 'f:labels': { 'f:a': {} } },
      'f:spec': { 'f:containers': { 'k:{"name":"main"}': { '.': {}, 'f:image': {}, 'f:name': {} } }, 'f:replicas': {} },
    },
  })
  const conflict = message409(store.apply('two', config({ replicas: 2 })))
  assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "one": .spec.replicas')
  assert.deepEqual(conflict.causes, [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.replicas' }])
  assert.ok(store.apply('two', config({ replicas: 2 }), { force: true }).ok)
  assert.deepEqual(store.managers['two Apply'], { 'f:spec': { 'f:replicas': {} } })
  assert.ok(store.apply('one', config({ containers: [{ name: 'main', image: 'a:1' }] })).ok)
  assert.deepEqual(store.spec, { replicas: 2, containers: [{ name: 'main', image: 'a:1' }] })
  assert.ok(store.apply('two', config({})).ok)
  assert.deepEqual(store.managers['two Apply'], { 'f:spec': {} })
  assert.deepEqual(store.spec, { containers: [{ name: 'main', image: 'a:1' }] })
})

test('conflicts with several managers are reported by manager', () => {
  const store = new Store()
  store.update('creator', config({ replicas: 1, containers: [{ name: 'main', image: 'a:1', ports: [{ port: 80 }] }], config: { k: 'v' } }))
  store.apply('two', config({ paused: 'no' }))
  const changed = config({ replicas: 2, paused: 'yes', containers: [{ name: 'main', image: 'a:2' }], config: { k: 'w' } })
  const conflict = message409(store.apply('three', changed))
  assert.equal(
    conflict.message,
    [
      'Apply failed with 4 conflicts: conflicts with "creator" using apps/v1:',
      '- .spec.replicas',
      '- .spec.config.k',
      '- .spec.containers[name="main"].image',
      'conflicts with "two":',
      '- .spec.paused',
    ].join('\n'),
  )
  assert.deepEqual(
    conflict.causes.map(cause => [cause.field, cause.message]),
    [
      ['.spec.replicas', 'conflict with "creator" using apps/v1'],
      ['.spec.config.k', 'conflict with "creator" using apps/v1'],
      ['.spec.containers[name="main"].image', 'conflict with "creator" using apps/v1'],
      ['.spec.paused', 'conflict with "two"'],
    ],
  )
})

test('the same value has several managers, and stays until the last lets go', () => {
  const store = new Store()
  store.apply('one', config({ replicas: 3 }))
  assert.ok(store.apply('two', config({ replicas: 3 })).ok)
  assert.deepEqual(Object.keys(store.managers).sort(), ['one Apply', 'two Apply'])
  store.apply('one', config({}))
  assert.deepEqual((store.spec as JsonObject)['replicas'], 3)
  store.apply('two', config({}))
  assert.equal((store.spec as JsonObject)['replicas'], undefined)
})

test('items of lists and entries of maps merge by key and go with their manager', () => {
  const store = new Store()
  store.apply('one', config({ containers: [{ name: 'a' }], finalizers: ['x'], config: { a: '1' } }))
  store.apply('two', config({ containers: [{ name: 'b', ports: [{ port: 80 }] }], finalizers: ['x', 'y'], config: { b: '2' } }))
  assert.deepEqual(store.spec, {
    containers: [{ name: 'a' }, { name: 'b', ports: [{ port: 80 }] }],
    finalizers: ['x', 'y'],
    config: { a: '1', b: '2' },
  })
  store.apply('two', config({}))
  assert.deepEqual(store.spec, { containers: [{ name: 'a' }], finalizers: ['x'], config: { a: '1' } })
})

test('an applier that gives up an item leaves what others set in it', () => {
  const store = new Store()
  store.apply('one', config({ containers: [{ name: 'a', image: '1' }] }))
  store.apply('two', config({ containers: [{ name: 'a', args: ['x'] }] }))
  store.apply('one', config({}))
  assert.deepEqual(store.spec, { containers: [{ name: 'a', args: ['x'] }] })
})

test('defaults that no one applied go with the item they are part of', () => {
  const store = new Store()
  store.apply('one', config({ containers: [{ name: 'a' }] }))
  const [defaulted] = [structuredClone(store.object!)]
  ;(defaulted['spec'] as { containers: JsonObject[] }).containers[0]!['image'] = 'default'
  store.object = defaulted
  store.apply('one', config({}))
  assert.deepEqual(store.spec, { containers: null })
})

test('managers that set fields before the first apply are kept', () => {
  const store = new Store()
  store.object = stored(Thing, config({ replicas: 1, config: { a: '1' } }), [])
  const conflict = message409(store.apply('one', config({ replicas: 2 })))
  assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas')
  assert.ok(store.apply('one', config({ config: { b: '2' } })).ok)
  assert.deepEqual(store.managers, {
    'one Apply': { 'f:spec': { 'f:config': { 'f:b': {} } } },
    'before-first-apply Update': { 'f:spec': { 'f:config': { '.': {}, 'f:a': {} }, 'f:replicas': {} } },
  })
})

test('kubectl takes over what it applied from the client side, and keeps the annotation true', () => {
  const last = config({ replicas: 1, paused: 'a' })
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `${JSON.stringify(last)}\n` }
  const client = config({ replicas: 1, paused: 'a' }, { annotations })
  const store = new Store()
  store.update('kubectl-client-side-apply', client)
  assert.equal(message409(store.apply('argo', config({ replicas: 2 }))).causes.length, 1)
  assert.ok(store.apply('kubectl', config({ replicas: 2 })).ok)
  assert.equal((store.spec as JsonObject)['replicas'], 2)
  const { annotations: after } = store.object!['metadata'] as { annotations: Record<string, string> }
  assert.equal(
    after['kubectl.kubernetes.io/last-applied-configuration'],
    '{"apiVersion":"apps/v1","kind":"Thing","metadata":{"name":"x","namespace":"n"},"spec":{"replicas":2}}\n',
  )
})

test('kubectl does not take over what changed since it applied', () => {
  const last = config({ replicas: 1, paused: 'a' })
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last) }
  const store = new Store()
  store.update('kubectl-client-side-apply', config({ replicas: 1, paused: 'a' }, { annotations }))
  store.update('hpa', config({ replicas: 5, paused: 'a' }, { annotations }))
  const conflict = message409(store.apply('kubectl', config({ replicas: 2, paused: 'b' })))
  assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "hpa" using apps/v1: .spec.replicas')
})

test('an apply through the status owns status alone', () => {
  const store = new Store()
  store.update('creator', config({ replicas: 1 }))
  const applied = { ...config({ replicas: 9 }), status: { ready: 1 } }
  const writer = { name: 'controller', apiVersion: 'apps/v1', subresource: 'status', time: at(30) }
  const result = applyConfiguration({
    type: Thing,
    kind: 'Thing',
    live: store.object,
    applied,
    force: false,
    writer,
    resetFields: fieldSetOfNames('spec'),
  })
  assert.ok(result.ok)
  assert.deepEqual(
    result.managedFields.map(({ manager, subresource, fieldsV1 }) => [manager, subresource, fieldsV1]),
    [
      ['controller', 'status', { 'f:status': { 'f:ready': {} } }],
      ['creator', undefined, { 'f:spec': { 'f:replicas': {} } }],
    ],
  )
})

test('a configuration must be of the kind and version of its path, without managers, and fit the type', () => {
  const text = (applied: JsonObject) => {
    const writer = { name: 'x', apiVersion: 'apps/v1', subresource: '', time: at(1) }
    const result = applyConfiguration({ type: Thing, kind: 'Thing', live: undefined, applied, force: false, writer })
    return result.ok ? undefined : result.message
  }
  const { apiVersion: _, ...unversioned } = config({})
  assert.equal(text(unversioned), 'invalid object type: /, Kind=Thing')
  assert.equal(text({ ...config({}), apiVersion: 'v1', kind: 'Secret' }), 'invalid object type: /v1, Kind=Secret')
  assert.equal(text({ ...config({}), apiVersion: 'apps/v2' }), 'invalid object type: apps/v2, Kind=Thing')
  assert.equal(text(config({}, { managedFields: [] })), 'metadata.managedFields must be nil')
  assert.equal(text(config({}, { managedFields: null })), undefined)
  assert.equal(
    text(config({ nope: 1 })),
    'failed to create typed patch object (n/x; apps/v1, Kind=Thing): .spec.nope: field not declared in schema',
  )
})

test('what an applier applied in an older version is removed through that version', () => {
  const store = new Store()
  store.apply('one', config({ replicas: 1, paused: 'a' }))
  const entries = managedFieldsOf(store.object!)!.map(entry => ({ ...entry, apiVersion: 'apps/v1beta1' }))
  store.object = withManagedFields(store.object!, entries)
  const typeIn = (apiVersion: string) => (apiVersion.startsWith('apps/') ? Thing : undefined)
  assert.ok(store.apply('one', config({ replicas: 1 }), { versions: versionsOf(typeIn) }).ok)
  assert.deepEqual(store.spec, { replicas: 1, containers: null })
  assert.equal(store.object!['apiVersion'], 'apps/v1')
  assert.deepEqual(
    managedFieldsOf(store.object!)!.map(entry => entry.apiVersion),
    ['apps/v1'],
  )
})

test('prototype keys are plain entries that have managers', () => {
  const store = new Store()
  store.apply('one', config(JSON.parse('{"config":{"__proto__":"1","constructor":"2"}}')))
  assert.equal(JSON.stringify((store.spec as JsonObject)['config']), '{"__proto__":"1","constructor":"2"}')
  assert.equal(JSON.stringify(store.managers['one Apply']), '{"f:spec":{"f:config":{"f:__proto__":{},"f:constructor":{}}}}')
  store.apply('one', config(JSON.parse('{"config":{"constructor":"2"}}')))
  assert.equal(JSON.stringify((store.spec as JsonObject)['config']), '{"constructor":"2"}')
})

const generated = (count: number) =>
  types.map(kindOf).chain(type => fc.tuple(fc.constant(type), fc.array(objectsOf(type), { minLength: count, maxLength: count })))
const paths = (fields: FieldSet) => pathsOf(fields).map(pathText)

test('applying twice changes nothing, not even a time', () => {
  fc.assert(
    fc.property(generated(3), ([type, [created, other, applied]]) => {
      const store = new Store(type)
      store.update('creator', created!)
      store.apply('other', other!, { force: true })
      store.apply('one', applied!, { force: true })
      const once = store.object
      assert.ok(store.apply('one', applied!).ok)
      assert.deepEqual(store.object, once)
    }),
    RUNS,
  )
})

test('applying and giving up again restores what others own', () => {
  fc.assert(
    fc.property(generated(2), ([type, [theirs, ours]]) => {
      const store = new Store(type)
      store.apply('other', theirs!)
      const before = store.object!
      if (!store.apply('one', ours!).ok) return
      const { apiVersion, kind, metadata } = ours as JsonObject
      assert.ok(store.apply('one', { apiVersion: apiVersion!, kind: kind!, metadata: { name: (metadata as JsonObject)['name']! } }).ok)
      const { added, modified, removed } = compare(type, withManagedFields(before, []), withManagedFields(store.object!, []))
      assert.deepEqual([paths(added), paths(modified), paths(removed)], [[], [], []])
      assert.deepEqual(managedFieldsOf(store.object!), managedFieldsOf(before))
    }),
    RUNS,
  )
})

test('an apply changes nothing it does not name, and owns all it names', () => {
  fc.assert(
    fc.property(generated(2), ([type, [created, applied]]) => {
      const store = new Store(type)
      store.update('creator', created!)
      const before = withManagedFields(store.object!, [])
      assert.ok(store.apply('one', applied!, { force: true }).ok)
      const { added, modified, removed } = compare(type, before, withManagedFields(store.object!, []))
      const named = fieldSet(false, presenceOf(structureOf(type), applied!).children)
      assert.deepEqual(paths(removed), [])
      assert.deepEqual(paths(difference(union(added, modified), named)), [])
      assert.deepEqual(paths(difference(store.ownedBy('one'), named)), [])
    }),
    RUNS,
  )
})

test('without force either no field of another manager changes, or every such field is a conflict', () => {
  fc.assert(
    fc.property(generated(2), ([type, [theirs, ours]]) => {
      const store = new Store(type)
      store.apply('other', theirs!)
      const [before, owned] = [withManagedFields(store.object!, []), store.ownedBy('other')]
      const result = store.apply('one', ours!)
      const forced = new Store(type)
      forced.object = withManagedFields(before, managedFieldsOf(store.object!) ?? [])
      if (result.ok) assert.deepEqual(paths(difference(owned, store.ownedBy('other'))), [])
      else {
        assert.equal(result.reason, 'conflict')
        forced.apply('one', ours!, { force: true })
        const lost = paths(difference(owned, forced.ownedBy('other')))
        assert.deepEqual(result.reason === 'conflict' && result.causes.map(({ field }) => field), lost)
      }
    }),
    RUNS,
  )
})

test('of very many conflicts as many are named as an answer can hold', () => {
  const labels = (value: string) => Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, value]))
  const store = new Store()
  store.apply('other', config({}, { labels: labels('a') }))
  const refused = message409(store.apply('one', config({}, { labels: labels('b') })))
  assert.equal(refused.causes.length, 2000)
  assert.match(refused.message, /^Apply failed with 3000 conflicts: conflicts with "other":\n- \.metadata\.labels\.k0\n/)
  assert.match(refused.message, /\nand 1000 more$/)
})
