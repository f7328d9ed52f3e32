import assert from 'node:assert/strict'
import test from 'node:test'
import type { JsonObject } from '../lib/json-value.ts'
import { publishedSchema } from './published.ts'
import { compileSchema, type JsonSchema } from './schema.ts'

const metadata = { $ref: '#/x/ObjectMeta' }
const published = (version: 2 | 3, x: JsonSchema) => {
  const { properties } = publishedSchema(compileSchema({ type: 'object', properties: { x } }), { version, metadata })
  return (properties as JsonObject)['x']
}

test('the envelope of all objects is published with the schema', () => {
  const v3 = publishedSchema(compileSchema({ type: 'object', description: 'd', properties: { spec: { type: 'object' } } }), {
    version: 3,
    metadata,
  })
  assert.deepEqual(Object.keys(v3['properties'] as JsonObject), ['apiVersion', 'kind', 'metadata', 'spec'])
  assert.deepEqual(((v3['properties'] as JsonObject)['metadata'] as JsonObject)['allOf'], [metadata])
  assert.equal(v3['description'], 'd')
  const v2 = publishedSchema(compileSchema({ type: 'object' }), { version: 2, metadata })
  assert.equal(((v2['properties'] as JsonObject)['metadata'] as JsonObject)['$ref'], metadata.$ref)
})

test('version 3 says all that the schema says', () => {
  const schema: JsonSchema = {
    type: 'object',
    nullable: true,
    default: {},
    properties: { a: { type: 'string', minLength: 0, enum: ['x'] } },
    required: ['a'],
    oneOf: [{ required: ['a'] }],
    'x-kubernetes-map-type': 'atomic',
    'x-kubernetes-validations': [{ rule: 'true' }],
  }
  assert.deepEqual(published(3, schema), schema)
})

test('an integer or a string is also said as alternatives, once', () => {
  const either = [{ type: 'integer' }, { type: 'string' }]
  const mark = { 'x-kubernetes-int-or-string': true }
  assert.deepEqual(published(3, mark), { ...mark, anyOf: either })
  assert.deepEqual(published(3, { ...mark, anyOf: either }), { ...mark, anyOf: either })
  assert.deepEqual(published(3, { ...mark, anyOf: [{ minimum: 1 }] }), { ...mark, allOf: [{ anyOf: either }], anyOf: [{ minimum: 1 }] })
  assert.deepEqual(published(2, mark), mark)
})

test('version 2 leaves out what its clients would misread', () => {
  const properties: { [name: string]: JsonSchema } = { a: { type: 'string', nullable: true }, b: { type: 'string', default: 'x' } }
  assert.deepEqual(published(2, { type: 'object', properties, required: ['a', 'b'], oneOf: [{ required: ['a'] }] }), {
    type: 'object',
    properties: { a: {}, b: { type: 'string' } },
    required: ['b'],
  })
  assert.deepEqual(published(2, { type: 'object', properties, 'x-kubernetes-preserve-unknown-fields': true }), {
    'x-kubernetes-preserve-unknown-fields': true,
  })
  assert.deepEqual(published(2, { type: 'array', nullable: true, items: { type: 'string' } }), {})
  assert.deepEqual(
    publishedSchema(compileSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }), { version: 2, metadata }),
    {
      type: 'object',
    },
  )
})

test('an embedded object has an envelope of its own', () => {
  const v3 = published(3, { type: 'object', 'x-kubernetes-embedded-resource': true, required: ['kind', 'spec'] }) as JsonObject
  assert.deepEqual(Object.keys(v3['properties'] as JsonObject), ['apiVersion', 'kind', 'metadata'])
  assert.deepEqual(v3['required'], ['kind', 'spec', 'apiVersion'])
})

test('names of prototypes are properties like any other', () => {
  const v3 = published(3, { type: 'object', properties: JSON.parse('{"__proto__":{"type":"string"}}') }) as JsonObject
  assert.deepEqual(Object.keys(v3['properties'] as JsonObject), ['__proto__'])
})
