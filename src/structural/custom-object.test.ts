import assert from 'node:assert/strict'
import test from 'node:test'
import { validateObject } from '../../test/kits/structural.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { ConformError } from '../schema/conform.ts'
import type { FieldError } from '../schema/refs.ts'
import { conformObject } from './custom-object.ts'
import { coerceEmbedded } from './embedded.ts'
import { compileSchema, type JsonSchema } from './schema.ts'

const lines = (errors: readonly FieldError[]) => errors.map(e => `${e.field}: ${e.message}`)
const under = (spec: JsonSchema) => compileSchema({ type: 'object', properties: { spec } })

test('a set holds no value twice, and a keyed list no keys', () => {
  const structural = under({
    type: 'object',
    properties: {
      set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      one: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'], items: { type: 'object' } },
      two: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['b', 'a'], items: { type: 'object' } },
    },
  })
  const object = {
    spec: {
      set: ['x', 'y', 'x', 'x'],
      one: [{ a: 1 }, { a: 1 }, {}, {}],
      two: [
        { b: 2, a: 1 },
        { a: 1, b: 2, c: 3 },
      ],
    },
  }
  assert.deepEqual(lines(validateObject(structural, object)), [
    'spec.set[2]: Duplicate value: "x"',
    'spec.one[1]: Duplicate value: {"a":1}',
    'spec.one[3]: Duplicate value: {}',
    'spec.two[1]: Duplicate value: {"a":1,"b":2}',
  ])
  assert.deepEqual(validateObject(structural, { spec: { set: ['z', 'z'] } }, { old: object }), [], 'what was broken may stay broken')
  assert.deepEqual(lines(validateObject(structural, { spec: { set: ['z', 'z'] } }, { old: { spec: {} } })), [
    'spec.set[1]: Duplicate value: "z"',
  ])
})

test('within maps a path names the entry', () => {
  const set: JsonSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'integer' } }
  const structural = under({ type: 'object', additionalProperties: set })
  assert.deepEqual(lines(validateObject(structural, { spec: { 'a.b': [1, 1] } })), ['spec[a.b][1]: Duplicate value: 1'])
})

test('an embedded object needs an envelope', () => {
  const structural = under({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true })
  assert.deepEqual(lines(validateObject(structural, { spec: {} })), ['spec.apiVersion: Required value', 'spec.kind: Required value'])
  assert.deepEqual(
    lines(validateObject(structural, { spec: { apiVersion: 'a/b/c', kind: 'x.y', metadata: { name: '..', labels: { '#': 'ok' } } } })),
    [
      'spec.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      `spec.kind: Invalid value: "x.y": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
      `spec.metadata.name: Invalid value: "..": may not be '..'`,
      `spec.metadata.labels: Invalid value: "#": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  )
  assert.deepEqual(validateObject(structural, { spec: { apiVersion: 'v1', kind: 'Pod', metadata: {} } }), [])
})

test('an embedded object in proper form stays the very same value', () => {
  const structural = under({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true })
  const inForm = { spec: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', labels: { b: 'c' } } } }
  assert.equal(coerceEmbedded(structural, inForm), inForm)
  const notInForm = { spec: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', labels: {} } } }
  assert.deepEqual(coerceEmbedded(structural, notInForm), { spec: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a' } } })
})

test('decoding puts the envelope of an embedded object in form, or refuses it', () => {
  const structural = under({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true })
  const object: JsonObject = {
    zz: 1,
    spec: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'n', odd: 1, creationTimestamp: null }, any: null },
  }
  const problems: string[] = []
  assert.deepEqual(conformObject(structural, object, { problems }), {
    spec: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'n' }, any: null },
  })
  assert.deepEqual(problems, ['unknown field "zz"', 'unknown field "spec.metadata.odd"'])
  const malformed: JsonObject = { spec: { apiVersion: 5, kind: 'Pod', metadata: { name: 1, labels: { a: 'b' } } } }
  assert.throws(() => conformObject(structural, malformed), new ConformError('spec.apiVersion: Invalid value: 5: must be a string'))
  assert.deepEqual(conformObject(structural, malformed, { malformed: 'drop' }), { spec: { kind: 'Pod', metadata: { labels: { a: 'b' } } } })
})

test('a write of the status is judged by the schema of the status', () => {
  const structural = compileSchema({
    type: 'object',
    properties: { spec: { type: 'integer' }, status: { type: 'object', properties: { n: { type: 'integer', maximum: 3 } } } },
  })
  assert.deepEqual(lines(validateObject(structural, { spec: 'bad', status: { n: 4 } }, { old: { spec: 'bad' }, subresource: 'status' })), [
    'status.n: Invalid value: 4: n in body should be less than or equal to 3',
  ])
  const old = { spec: 1, status: { n: 9 } }
  assert.deepEqual(validateObject(structural, { spec: 1, status: { n: 9 } }, { old, subresource: 'status' }), [])
})
