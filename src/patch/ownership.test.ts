import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { withDefaults } from '../../test/kits/kinds/kinds.ts'
import { kindOf, objectsOf, RUNS, stored, trackUpdate, types, versionsOf } from '../../test/kits/patch.ts'
import { DaemonSet } from '../kinds/apps/daemonset.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { finish } from '../lib/step.ts'
import { type ManagedFieldsEntry, ObjectMeta } from '../schema/object-meta.ts'
import { resourceOf } from '../schema/resource.ts'
import { int32, mapOf, message, string } from '../schema/types.ts'
import { compare } from './compare.ts'
import { difference, fieldSetOfNames, intersection, isEmptySet, union } from './field-set.ts'
import { readFieldsV1 } from './fields-v1.ts'
import { withManagedFields } from './managers.ts'
import { creatorsFields, MAX_UPDATE_MANAGERS, UNOWNED_FIELDS } from './ownership.ts'

const Thing = message('Thing', {
  kind: [0, string],
  apiVersion: [0, string],
  metadata: [1, ObjectMeta.orEmpty()],
  data: [2, mapOf(string)],
  status: [3, message('Status', { ready: [1, int32] }).orEmpty()],
})
const base = (data: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'x', namespace: 'n', uid: 'u', resourceVersion: '7', generation: 1, creationTimestamp: at(0) },
  data,
  status: {},
  ...more,
})
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const by = (name: string, minute: number, subresource = '') => ({ name, apiVersion: 'v1', subresource, time: at(minute) })
const resetFields = fieldSetOfNames('status')
const write = (live: JsonObject | undefined, next: JsonObject, writer: ReturnType<typeof by>) =>
  withManagedFields(next, trackUpdate({ type: Thing, live, next, writer, resetFields }))
const entries = (object: JsonObject) => ((object['metadata'] as JsonObject)['managedFields'] ?? []) as unknown as ManagedFieldsEntry[]
const managers = (object: JsonObject) => Object.fromEntries(entries(object).map(e => [e.manager, e.fieldsV1]))

test('what a creator owns does not depend on what was created before', () => {
  const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 })
  const sets = [resetFields, fieldSetOfNames('data')]
  fc.assert(
    fc.property(fc.array(fc.tuple(keys, keys, fc.constantFrom(...sets)), { maxLength: 6 }), objects => {
      for (const [data, labels, reset] of objects) {
        const next = { kind: 'Thing', apiVersion: 'v1', metadata: { name: 'x', labels: textsOf(labels) }, data: textsOf(data), status: {} }
        const created = creatorsFields({ type: Thing, resetFields: reset, writer: by('creator', 1) }, next)
        const expected = trackUpdate({ type: Thing, live: undefined, next, writer: by('creator', 1), resetFields: reset })
        assert.deepEqual(finish(created), expected)
      }
    }),
    RUNS,
  )
})
const textsOf = (keys: readonly string[]) => Object.fromEntries(keys.map(key => [key, '1']))

test('a creator owns what it set, but not what identifies the object or what the server sets', () => {
  const live = write(undefined, base({ a: '1', b: '1' }, { status: { ready: 1 } }), by('creator', 1))
  assert.deepEqual(entries(live), [
    {
      manager: 'creator',
      operation: 'Update',
      apiVersion: 'v1',
      time: at(1),
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
    },
  ])
})

test('what a writer changes is taken from its managers', () => {
  const live = write(undefined, base({ a: '1', b: '1' }), by('creator', 1))
  const next = write(live, withManagedFields(base({ a: '2', b: '1' }), entries(live)), by('patcher', 2))
  assert.deepEqual(managers(next), {
    creator: { 'f:data': { '.': {}, 'f:b': {} } },
    patcher: { 'f:data': { 'f:a': {} } },
  })
  assert.deepEqual(
    entries(next).map(entry => entry.time),
    [at(1), at(2)],
  )
})

test('removed fields have no manager, and a manager that owns nothing is removed', () => {
  const live = write(undefined, base({ a: '1' }), by('creator', 1))
  const added = write(live, base({ a: '1', b: '2' }), by('patcher', 2))
  const { data: _, ...bare } = base({})
  assert.deepEqual(managers(write(added, bare, by('cleaner', 3))), {})
})

test('a write that changes nothing leaves entries and times as they are', () => {
  const live = write(undefined, base({ a: '1' }), by('creator', 1))
  assert.deepEqual(entries(write(live, base({ a: '1' }), by('creator', 9))), entries(live))
  assert.deepEqual(entries(write(live, base({ a: '1' }), by('other', 9))), entries(live))
})

test('a writer of the same name through a subresource is another manager', () => {
  const live = write(undefined, base({ a: '1' }), by('one', 1))
  const next = base({ a: '1' }, { status: { ready: 1 } })
  const managed = trackUpdate({ type: Thing, live, next, writer: by('one', 2, 'status'), resetFields: fieldSetOfNames('data') })
  assert.deepEqual(
    managed.map(({ manager, subresource, fieldsV1 }) => [manager, subresource, fieldsV1]),
    [
      ['one', undefined, { 'f:data': { '.': {}, 'f:a': {} } }],
      ['one', 'status', { 'f:status': { 'f:ready': {} } }],
    ],
  )
})

test('clients may edit and reset managers, but cannot lose them by mistake or through a subresource', () => {
  const live = write(undefined, base({ a: '1' }), by('creator', 1))
  const sent = (managedFields: unknown): JsonObject => {
    const object = base({ a: '1' })
    return { ...object, metadata: { ...(object['metadata'] as JsonObject), managedFields: managedFields as never } }
  }
  const after = (managedFields: unknown, subresource = '') =>
    trackUpdate({ type: Thing, live, next: sent(managedFields), writer: by('x', 2, subresource) })
  assert.deepEqual(after([{}]), [])
  assert.deepEqual(after([]), [])
  assert.deepEqual(after([{}], 'status'), entries(live))
  assert.deepEqual(after([{ manager: 'x', operation: 'Nope' }]), entries(live))
  assert.deepEqual(after([{ ...entries(live)[0], fieldsV1: { bad: {} } }]), entries(live))
  assert.deepEqual(after([{ ...entries(live)[0], manager: 'renamed' }]), [{ ...entries(live)[0], manager: 'renamed' }])
})

test('an object without managers gets none by a plain update', () => {
  assert.deepEqual(trackUpdate({ type: Thing, live: base({ a: '1' }), next: base({ a: '2' }), writer: by('x', 1) }), [])
})

test('managers of versions that are no longer served are forgotten', () => {
  const live = write(undefined, base({ a: '1' }), by('creator', 1))
  const old = entries(live).map(entry => ({ ...entry, apiVersion: 'v1beta1' }))
  const next = trackUpdate({ type: Thing, live: withManagedFields(live, old), next: base({ a: '1', b: '2' }), writer: by('x', 2) })
  assert.deepEqual(
    next.map(entry => entry.manager),
    ['x'],
  )
})

test('managers of other versions keep what they own in terms of their version', () => {
  const live = write(undefined, base({ a: '1', b: '1' }), by('creator', 1))
  const old = entries(live).map(entry => ({ ...entry, apiVersion: 'v1beta1' }))
  const next = trackUpdate({
    type: Thing,
    live: withManagedFields(live, old),
    next: base({ a: '2', b: '1' }),
    writer: by('x', 2),
    versions: versionsOf(() => Thing),
  })
  assert.deepEqual(
    next.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1]),
    [
      ['creator', 'v1beta1', { 'f:data': { '.': {}, 'f:b': {} } }],
      ['x', 'v1', { 'f:data': { 'f:a': {} } }],
    ],
  )
})

test('a writer without a name is unknown', () => {
  assert.deepEqual(Object.keys(managers(write(undefined, base({ a: '1' }), by('', 1)))), ['unknown'])
})

test('beyond the cap the oldest updaters become one', () => {
  let live = write(undefined, base({ f0: '0' }), by('m0', 0))
  const data: JsonObject = { f0: '0' }
  for (let i = 1; i < 14; i++) {
    data[`f${i}`] = '1'
    live = write(live, base({ ...data }), by(`m${i}`, i))
  }
  const managed = entries(live)
  assert.equal(managed.length, MAX_UPDATE_MANAGERS)
  assert.deepEqual(managed[0], {
    manager: 'ancient-changes',
    operation: 'Update',
    apiVersion: 'v1',
    time: at(4),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { '.': {}, 'f:f0': {}, 'f:f1': {}, 'f:f2': {}, 'f:f3': {}, 'f:f4': {} } },
  })
})

test('very many updaters are merged into one, with all that they own', () => {
  const many = 20_000
  const entry = (i: number) => ({
    manager: `m${i}`,
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { [`f:k${i}`]: {} } },
  })
  const sent = withManagedFields(base({}), Array.from({ length: many }, (_, i) => entry(i)) as ManagedFieldsEntry[])
  const managed = entries(write(undefined, sent, by('writer', 1)))
  assert.equal(managed.length, MAX_UPDATE_MANAGERS)
  const owned = managed.flatMap(({ fieldsV1 }) => Object.keys(((fieldsV1 as JsonObject)['f:data'] ?? {}) as JsonObject))
  assert.equal(owned.filter(name => name.startsWith('f:k')).length, many)
})

test('a creator owns the defaults of a workload too, but not the messages that are always there', () => {
  const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } }
  const draft = { metadata: { name: 'x' }, spec: { selector: { matchLabels: { app: 'x' } }, template } }
  const { type } = resourceOf(DaemonSet, 'k8s.io')
  const writer = { ...by('parity', 1), apiVersion: 'apps/v1' }
  const [entry] = trackUpdate({ type, live: undefined, next: withDefaults(DaemonSet, draft), writer, resetFields })
  assert.deepEqual(entry?.fieldsV1, {
    'f:metadata': { 'f:annotations': { '.': {}, 'f:deprecated.daemonset.template.generation': {} } },
    'f:spec': {
      'f:revisionHistoryLimit': {},
      'f:selector': {},
      'f:template': {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:containers': {
            'k:{"name":"main"}': {
              '.': {},
              'f:image': {},
              'f:imagePullPolicy': {},
              'f:name': {},
              'f:resources': {},
              'f:terminationMessagePath': {},
              'f:terminationMessagePolicy': {},
            },
          },
          'f:dnsPolicy': {},
          'f:restartPolicy': {},
          'f:schedulerName': {},
          'f:securityContext': {},
          'f:terminationGracePeriodSeconds': {},
        },
      },
      'f:updateStrategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
    },
  })
})

const generated = types.map(kindOf).chain(type => fc.tuple(fc.constant(type), objectsOf(type), objectsOf(type)))

test('after a write the writer alone owns all that changed, and removed fields have no manager', () => {
  fc.assert(
    fc.property(generated, ([type, first, second]) => {
      const writer = (name: string, minute: number) => ({ name, apiVersion: 'example.com/v1', subresource: '', time: at(minute) })
      const next = stored(type, first, [])
      const created = trackUpdate({ type, live: undefined, next, writer: writer('a', 1) })
      // An object that no one owns anything of is not tracked before it is applied to.
      if (created.length === 0) return
      const live = stored(type, next, created)
      const after = stored(type, second, [])
      const managed = trackUpdate({ type, live, next: after, writer: writer('b', 2) })
      const { added, modified, removed } = compare(type, withManagedFields(live, []), after)
      const taken = difference(union(added, modified), UNOWNED_FIELDS)
      const owned = (name: string) => {
        const entry = managed.find(one => one.manager === name)
        const parsed = finish(readFieldsV1(entry?.fieldsV1))
        assert.ok(parsed.ok)
        return parsed.set
      }
      assert.ok(isEmptySet(difference(taken, owned('b'))))
      assert.ok(isEmptySet(intersection(taken, owned('a'))))
      assert.ok(isEmptySet(intersection(removed, union(owned('a'), owned('b')))))
      assert.deepEqual(trackUpdate({ type, live: stored(type, after, managed), next: after, writer: writer('c', 3) }), managed)
    }),
    RUNS,
  )
})
