// Properties of every schema and every object, tried on many.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { validateObject, validateValue } from '../../test/kits/structural.ts'
import { deepEqual, type Json, type JsonObject } from '../lib/json-value.ts'
import { Budget } from '../schema/budget.ts'
import { refTo } from '../schema/refs.ts'
import { Correlation } from './correlation.ts'
import { conformObject } from './custom-object.ts'
import { applyDefaults } from './defaults.ts'
import { dropNulls, prune } from './prune.ts'
import { publishedSchema } from './published.ts'
import { compileSchema, type JsonSchema } from './schema.ts'
import { typeOf } from './type-of.ts'
import * as validate from './validate.ts'

const NAMES = ['a', 'b', '__proto__', 'constructor', 'metadata', 'kind', '']
const name = fc.constantFrom(...NAMES)
/** As the reader makes it: every key an own property. */
const own = <T>(entries: readonly (readonly [string, T])[]): { [key: string]: T } =>
  JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`)

const { json } = fc.letrec<{ json: Json }>(tie => ({
  json: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.constantFrom<Json>(null, true, 0, 1, 1.5, -3, 1e21, '', 'a', 'bb', '2024-01-01'),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('json')), { maxLength: 4 }).map(entries => own(entries)),
  ),
}))

const scalarSchema: fc.Arbitrary<JsonSchema> = fc.constantFrom<JsonSchema>(
  { type: 'string' },
  { type: 'string', nullable: true, minLength: 1 },
  { type: 'string', default: 'a', enum: ['a', 'bb'] },
  { type: 'string', format: 'date', pattern: '^2' },
  { type: 'integer', minimum: 0, maximum: 5, multipleOf: 2 },
  { type: 'integer', default: 1 },
  { type: 'number', exclusiveMaximum: true, maximum: 1.5 },
  { type: 'boolean' },
  { 'x-kubernetes-int-or-string': true },
  { 'x-kubernetes-preserve-unknown-fields': true },
  { type: 'string', anyOf: [{ minLength: 2 }, { pattern: '^a' }], not: { enum: ['bb'] } },
)

const { schema } = fc.letrec<{ schema: JsonSchema }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    scalarSchema,
    fc
      .record({
        items: tie('schema'),
        list: fc.constantFrom(undefined, 'atomic', 'set', 'map'),
        maxItems: fc.constantFrom(undefined, 2),
        nullable: fc.boolean(),
      })
      .map(
        ({ items, list, maxItems, nullable }): JsonSchema => ({
          type: 'array',
          items,
          nullable,
          ...(maxItems ? { maxItems } : {}),
          ...(list ? { 'x-kubernetes-list-type': list } : {}),
          ...(list === 'map' ? { 'x-kubernetes-list-map-keys': ['a'] } : {}),
        }),
      ),
    fc
      .record({
        properties: fc.array(fc.tuple(name, tie('schema')), { maxLength: 4 }),
        keep: fc.boolean(),
        embedded: fc.boolean(),
        needed: fc.array(name, { maxLength: 1 }),
      })
      .map(
        ({ properties, keep, embedded, needed }): JsonSchema => ({
          type: 'object',
          properties: own(properties),
          required: needed,
          ...(keep ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
          ...(embedded ? { 'x-kubernetes-embedded-resource': true } : {}),
          oneOf: [{ required: needed }],
        }),
      ),
    tie('schema').map((additionalProperties): JsonSchema => ({ type: 'object', additionalProperties })),
  ),
}))

const root = fc
  .array(fc.tuple(fc.constantFrom('spec', 'status', ...NAMES), schema), { maxLength: 4 })
  .map(properties => compileSchema({ type: 'object', properties: own(properties) }))
const object = fc
  .array(fc.tuple(fc.constantFrom('spec', 'status', ...NAMES), json), { maxLength: 4 })
  .map(entries => own(entries) as JsonObject)

test('pruning twice is pruning once, and says nothing the second time', () => {
  fc.assert(
    fc.property(root, object, (structural, value) => {
      const before = JSON.stringify(value)
      const once = prune(structural, value)
      const problems: string[] = []
      assert.equal(prune(structural, once, { problems }), once)
      assert.deepEqual(problems, [])
      assert.equal(JSON.stringify(value), before)
    }),
  )
})

test('property: unknown fields are reported exactly when something is pruned, except for the envelope at the root', () => {
  fc.assert(
    fc.property(root, object, (structural, value) => {
      const problems: string[] = []
      const once = prune(structural, value, { problems })
      assert.equal(once === value, problems.length === 0)
    }),
  )
})

test('defaults twice are defaults once', () => {
  fc.assert(
    fc.property(root, object, (structural, value) => {
      const before = JSON.stringify(value)
      const once = applyDefaults(structural, dropNulls(structural, value))
      assert.equal(applyDefaults(structural, once), once)
      assert.equal(JSON.stringify(value), before)
    }),
  )
})

test('an object that is pruned and valid stays valid when pruned again', () => {
  fc.assert(
    fc.property(root, object, (structural, value) => {
      const once = prune(structural, value)
      const errors = validateValue(structural, once, refTo({}))
      if (errors.length === 0) assert.deepEqual(validateValue(structural, prune(structural, once), refTo({})), [])
    }),
  )
})

test('nothing throws, whatever the object', () => {
  fc.assert(
    fc.property(root, object, object, (structural, value, old) => {
      validateObject(structural, value)
      validateObject(structural, value, { old })
      validateObject(structural, value, { old, subresource: 'status' })
      conformObject(structural, value, { malformed: 'drop' })
      typeOf(structural)
      publishedSchema(structural, { version: 2, metadata: {} })
      publishedSchema(structural, { version: 3, metadata: {} })
    }),
  )
})

test('what is stored may stay, and an update says no more than a create', () => {
  fc.assert(
    fc.property(root, object, object, (structural, value, old) => {
      const created = validateValue(structural, value, refTo({})).length
      assert.ok(validateValue(structural, value, refTo({}), old).length <= created)
      const described = prune(structural, value)
      if (new Correlation(structural, described, described).unchanged)
        assert.deepEqual(validateValue(structural, described, refTo({}), described), [])
    }),
  )
})

test('stops change nothing about what is found', () => {
  fc.assert(
    fc.property(root, object, object, (structural, value, old) => {
      const found = (stored: Json | undefined, isLarge: boolean) => validateValue(structural, value, refTo({}), stored, isLarge)
      assert.deepEqual(found(undefined, true), found(undefined, false))
      assert.deepEqual(found(old, true), found(old, false))
    }),
  )
})

test('others may run while a large value is validated', () => {
  const structural = compileSchema({ type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } })
  const value = { list: Array.from({ length: 20_000 }, () => 'x') }
  const stops = (isLarge: boolean) =>
    [...validate.validateValue(structural, value, refTo({}), { budget: new Budget(), isLarge })].filter(found => found === undefined)
  assert.equal(stops(false).length, 1)
  assert.ok(stops(true).length >= 10)
})

test('what is called unchanged is equal, but for the order of keyed lists', () => {
  fc.assert(
    fc.property(root, object, object, (structural, value, old) => {
      if (!structural.has.lists && new Correlation(structural, value, old).unchanged) assert.ok(deepEqual(value, old))
    }),
  )
})

test('schemas and objects as deep as a document may be are walked', () => {
  let deep: JsonSchema = { type: 'integer', maximum: 1, default: 0 }
  let value: Json = 5
  for (let i = 0; i < 490; i++) {
    deep = { type: 'object', properties: { x: deep }, additionalProperties: { type: 'string' } }
    value = { x: value }
  }
  const structural = compileSchema(deep)
  assert.equal(validateObject(structural, value as JsonObject).length, 1)
  assert.equal(validateObject(structural, value as JsonObject, { old: value as JsonObject }).length, 0)
  assert.equal(applyDefaults(structural, prune(structural, value)), value)
  typeOf(structural)
  publishedSchema(structural, { version: 3, metadata: {} })
})
