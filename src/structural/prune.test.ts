import assert from 'node:assert/strict'
import test from 'node:test'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { dropNulls, prune } from './prune.ts'
import { compileSchema, type JsonSchema } from './schema.ts'

const KEEP: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true }

function pruned(schema: JsonSchema, object: JsonObject): { value: Json; problems: string[] } {
  const problems: string[] = []
  return { value: prune(compileSchema(schema), object, { problems }), problems }
}

test('unknown fields are dropped and reported, in the order of their paths', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } } } },
    },
  }
  const object = { kind: 'X', zz: 1, metadata: { odd: true }, spec: { b: 1, list: [{ a: 'x', c: 2 }, { d: 3 }, 4] } }
  const { value, problems } = pruned(schema, object)
  assert.deepEqual(value, { kind: 'X', metadata: { odd: true }, spec: { list: [{ a: 'x' }, {}, 4] } })
  assert.deepEqual(problems, [
    'unknown field "spec.b"',
    'unknown field "spec.list[0].c"',
    'unknown field "spec.list[1].d"',
    'unknown field "zz"',
  ])
  assert.deepEqual(object.spec.list[0], { a: 'x', c: 2 }, 'the input is left alone')
})

test('an object without unknown fields is the same object', () => {
  const object = { spec: { a: [1, { b: 2 }] } }
  const schema = compileSchema({
    type: 'object',
    properties: { spec: { type: 'object', properties: { a: { type: 'array', items: KEEP } } } },
  })
  assert.equal(prune(schema, object), object)
})

test('what keeps unknown fields keeps them until a schema says otherwise', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { x: { ...KEEP, type: 'object', properties: { a: { type: 'object', properties: { b: {} } } } } },
  }
  assert.deepEqual(pruned(schema, { x: { free: { anything: 1 }, a: { b: 1, c: 2 } } }), {
    value: { x: { free: { anything: 1 }, a: { b: 1 } } },
    problems: ['unknown field "x.a.c"'],
  })
})

test('a list that keeps unknown fields keeps those of its items', () => {
  const items: JsonSchema = { type: 'object', properties: { a: { type: 'object', properties: { b: {} } } } }
  const schema: JsonSchema = { type: 'object', properties: { x: { ...KEEP, type: 'array', items } } }
  assert.deepEqual(pruned(schema, { x: [{ free: 1, a: { b: 1, c: 2 } }] }).value, { x: [{ free: 1, a: { b: 1 } }] })
  assert.deepEqual(pruned({ type: 'object', properties: { x: { type: 'array' } } }, { x: [{ a: 1 }] }), {
    value: { x: [{}] },
    problems: ['unknown field "x[0].a"'],
  })
})

test('entries of maps are pruned by the schema of all of them', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { m: { type: 'object', additionalProperties: { type: 'object', properties: { a: {} } } } },
  }
  assert.deepEqual(pruned(schema, { m: { k: { a: 1, b: 2 } } }), { value: { m: { k: { a: 1 } } }, problems: ['unknown field "m.k.b"'] })
})

test('an embedded object keeps apiVersion, kind and metadata', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { t: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } } },
  }
  assert.deepEqual(pruned(schema, { t: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n' }, spec: { a: 1 }, other: 1 } }), {
    value: { t: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n' }, spec: {} } },
    problems: ['unknown field "t.other"', 'unknown field "t.spec.a"'],
  })
})

test('below the root, apiVersion, kind and metadata are names like any other', () => {
  const { value, problems } = pruned({ type: 'object', properties: { spec: { type: 'object' } } }, { spec: { kind: 'x', metadata: {} } })
  assert.deepEqual({ value, problems }, { value: { spec: {} }, problems: ['unknown field "spec.kind"', 'unknown field "spec.metadata"'] })
  assert.deepEqual(prune(compileSchema({ type: 'object' }), { kind: 'x', a: 1 }, { root: false }), {})
})

test('names of prototypes are plain names', () => {
  const object = JSON.parse('{"__proto__":{"a":1},"constructor":1,"toString":2}')
  assert.deepEqual(pruned({ type: 'object' }, object).problems, [
    'unknown field "__proto__"',
    'unknown field "constructor"',
    'unknown field "toString"',
  ])
  const known: JsonSchema = { type: 'object', properties: JSON.parse('{"__proto__":{"type":"object","properties":{}}}') }
  const { value } = pruned(known, object)
  assert.deepEqual(Object.keys(value as JsonObject), ['__proto__'])
  assert.deepEqual(Object.getOwnPropertyDescriptor(value, '__proto__')?.value, {})
})

test('a null is dropped where the schema allows none and has no default', () => {
  const schema = compileSchema({
    type: 'object',
    properties: {
      plain: { type: 'string' },
      nullable: { type: 'string', nullable: true },
      filled: { type: 'string', default: 'x' },
      list: { type: 'array', items: { type: 'string' } },
      map: { type: 'object', additionalProperties: { type: 'string' } },
      free: KEEP,
    },
  })
  const object = { plain: null, nullable: null, filled: null, list: [null], map: { a: null, b: 'x' }, free: { a: null } }
  assert.deepEqual(dropNulls(schema, object), { nullable: null, filled: null, list: [null], map: { b: 'x' }, free: { a: null } })
  assert.deepEqual(object.plain, null)
})

test('fields below a member without a name are reported like others', () => {
  const problems: string[] = []
  const structural = compileSchema({ type: 'object', properties: { '': { type: 'object' } } })
  assert.deepEqual(prune(structural, { '': { metadata: null } }, { problems }), { '': {} })
  assert.deepEqual(problems, ['unknown field "metadata"'])
})
