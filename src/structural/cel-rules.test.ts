import assert from 'node:assert/strict'
import test from 'node:test'
import { validateObject } from '../../test/kits/structural.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { compileSchema, type JsonSchema, type ValidationRule } from './schema.ts'

/** The errors of a spec, as `field: message` lines. */
function faults(spec: JsonSchema, value: Json, old?: Json): string[] {
  const structural = compileSchema({ type: 'object', properties: { spec } })
  const whole = (json: Json): JsonObject => ({ apiVersion: 'x.example/v1', kind: 'X', metadata: { name: 'n' }, spec: json })
  return validateObject(structural, whole(value), old === undefined ? {} : { old: whole(old) }).map(e => `${e.field}: ${e.message}`)
}
const rules = (...list: (string | ValidationRule)[]) => ({
  'x-kubernetes-validations': list.map(rule => (typeof rule === 'string' ? { rule } : rule)),
})
const INT: JsonSchema = { type: 'integer' }

test('a rule that does not hold is reported with its message, or with itself', () => {
  const schema: JsonSchema = { type: 'object', properties: { min: INT, max: INT }, ...rules('self.min <= self.max') }
  assert.deepEqual(faults(schema, { min: 1, max: 2 }), [])
  assert.deepEqual(faults(schema, { min: 3, max: 2 }), ['spec: Invalid value: failed rule: self.min <= self.max'])
  assert.deepEqual(faults({ ...schema, ...rules({ rule: 'self.min <= self.max', message: ' too small ' }) }, { min: 3, max: 2 }), [
    'spec: Invalid value: too small',
  ])
  assert.deepEqual(faults({ type: 'object', properties: { n: { ...INT, ...rules('self > 2') } } }, { n: 1 }), [
    'spec.n: Invalid value: 1: failed rule: self > 2',
  ])
})

test('a rule may give the reason and the field to blame', () => {
  const rule = { rule: 'self.a == self.b', message: 'm', fieldPath: '.a' }
  const schema = (more: Partial<ValidationRule>): JsonSchema => ({
    type: 'object',
    properties: { a: INT, b: INT },
    ...rules({ ...rule, ...more }),
  })
  assert.deepEqual(faults(schema({}), { a: 1, b: 2 }), ['spec.a: Invalid value: m'])
  assert.deepEqual(faults(schema({ reason: 'FieldValueForbidden' }), { a: 1, b: 2 }), ['spec.a: Forbidden: m'])
  assert.deepEqual(faults(schema({ reason: 'FieldValueRequired' }), { a: 1, b: 2 }), ['spec.a: Required value: m'])
  assert.deepEqual(faults(schema({ reason: 'FieldValueDuplicate' }), { a: 1, b: 2 }), ['spec.a: Duplicate value'])
})

test('a message may be an expression, and falls back to the static message when it fails', () => {
  const schema = (messageExpression: string): JsonSchema => ({
    type: 'object',
    properties: { a: INT },
    ...rules({ rule: 'self.a > 2', message: 'plain', messageExpression }),
  })
  assert.deepEqual(faults(schema('"a is " + string(self.a)'), { a: 1 }), ['spec: Invalid value: a is 1'])
  assert.deepEqual(faults(schema('"a" + string(1 / (self.a - 1))'), { a: 1 }), ['spec: Invalid value: plain'])
  assert.deepEqual(faults(schema('" "'), { a: 1 }), ['spec: Invalid value: plain'])
  assert.deepEqual(faults(schema(String.raw`"a\nb"`), { a: 1 }), ['spec: Invalid value: plain'])
})

test('what a rule cannot evaluate is reported', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { m: { type: 'object', additionalProperties: INT }, x: { 'x-kubernetes-int-or-string': true } },
  }
  assert.deepEqual(faults({ ...schema, ...rules('self.m["k"] > 1') }, { m: {} }), [
    'spec: Invalid value: "object": no such key: k evaluating rule: self.m["k"] > 1',
  ])
  assert.deepEqual(faults({ ...schema, ...rules('self.x > 1') }, { x: 'a' }), [
    `spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.x > 1`,
  ])
})

test('rules about changes run only where something was before', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'string', ...rules({ rule: 'self == oldSelf', message: 'immutable' }) } },
  }
  assert.deepEqual(faults(schema, { a: 'x' }), [])
  assert.deepEqual(faults(schema, { a: 'y' }, { a: 'x' }), ['spec.a: Invalid value: "y": immutable'])
  assert.deepEqual(faults(schema, { a: 'y' }, {}), [])
  const optional: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'string', ...rules({ rule: 'oldSelf.hasValue() || self == "first"', optionalOldSelf: true }) } },
  }
  assert.deepEqual(faults(optional, { a: 'x' }), ['spec.a: Invalid value: "x": failed rule: oldSelf.hasValue() || self == "first"'])
  assert.deepEqual(faults(optional, { a: 'x' }, { a: 'y' }), [])
})

test('items of keyed lists and entries of maps know what they were', () => {
  const rule = rules({ rule: 'self.n >= oldSelf.n', message: 'shrinks' })
  const items: JsonSchema = { type: 'object', properties: { name: { type: 'string' }, n: INT }, ...rule }
  const list: JsonSchema = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }
  assert.deepEqual(
    faults(
      list,
      [
        { name: 'b', n: 9 },
        { name: 'a', n: 1 },
      ],
      [{ name: 'a', n: 2 }],
    ),
    ['spec[1]: Invalid value: shrinks'],
  )
  assert.deepEqual(faults({ type: 'object', additionalProperties: items }, { k: { n: 1 } }, { k: { n: 2 } }), [
    'spec[k]: Invalid value: shrinks',
  ])
})

test('what did not change is tolerated and reported as a warning', () => {
  const structural = compileSchema({
    type: 'object',
    properties: { spec: { type: 'object', properties: { a: { ...INT, ...rules('self > 5') } } } },
  })
  const object = { spec: { a: 1 } }
  const warnings: string[] = []
  assert.deepEqual(validateObject(structural, object, { old: object, warn: text => warnings.push(text) }), [])
  assert.deepEqual(warnings, ['spec.a: Invalid value: 1: failed rule: self > 5'])
})

test('the root knows its name and not the rest of its metadata', () => {
  const structural = compileSchema({
    type: 'object',
    properties: { spec: INT },
    ...rules('self.metadata.name.startsWith("a")', 'self.kind == "X"'),
  })
  const object = (name: string) => ({ kind: 'X', apiVersion: 'v1', metadata: { name }, spec: 1 })
  assert.deepEqual(validateObject(structural, object('ab')), [])
  assert.deepEqual(
    validateObject(structural, object('b')).map(e => `${e.field}: ${e.message}`),
    ['<nil>: Invalid value: failed rule: self.metadata.name.startsWith("a")'],
  )
})

test('names that are no identifiers are escaped', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { 'a-b.c/d': INT, namespace: INT, __x: INT },
    ...rules('self.a__dash__b__dot__c__slash__d + self.__namespace__ + self.__underscores__x == 6'),
  }
  assert.deepEqual(faults(schema, { 'a-b.c/d': 1, namespace: 2, __x: 3 }), [])
})

test('texts with a format are what the format means', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      at: { type: 'string', format: 'date-time' },
      day: { type: 'string', format: 'date' },
      wait: { type: 'string', format: 'duration' },
      data: { type: 'string', format: 'byte' },
    },
    ...rules(
      'self.at > timestamp("2024-01-01T00:00:00Z")',
      'self.day.getFullYear() == 2024',
      'self.wait < duration("2h")',
      'self.data == b"abc"',
    ),
  }
  assert.deepEqual(faults(schema, { at: '2024-02-01T00:00:00Z', day: '2024-03-01', wait: '90m', data: 'YWJj' }), [])
})

test('rules are not run on an object that is wrong in its types', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: INT }, ...rules('self.a > 1') }
  assert.deepEqual(faults(schema, { a: 'x' }), [
    'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
    '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  ])
})

test('schemas that only restrict have rules too', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { a: INT },
    ...rules('true'),
    allOf: [{ properties: { a: { ...rules('self > 2') } }, ...rules({ rule: 'self.a < 9', message: 'large' }) }],
  }
  assert.deepEqual(faults(schema, { a: 1 }), ['spec.a: Invalid value: 1: failed rule: self > 2'])
  assert.deepEqual(faults(schema, { a: 10 }), ['spec: Invalid value: large'])
})

test('a rule that costs too much ends all rules', () => {
  const list: JsonSchema = { type: 'array', items: INT, ...rules('self.all(a, self.all(b, self.all(c, a + b + c >= 0)))') }
  const [error, ...more] = faults(list, Array(200).fill(1))
  assert.deepEqual(more, [])
  assert.match(
    error!,
    /^spec: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self\.all/,
  )
})

test('all rules on an object share a budget', () => {
  const list: JsonSchema = { type: 'array', items: { type: 'array', items: INT, ...rules('self.all(a, self.all(b, a + b >= 0))') } }
  const errors = faults(list, Array(100).fill(Array(200).fill(1)))
  assert.match(
    errors.join('\n'),
    /^spec\[\d+\]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run$/,
  )
})

test('errors of very many broken rules are bounded', () => {
  const schema: JsonSchema = { type: 'array', items: { ...INT, ...rules({ rule: 'self > 1', message: 'x'.repeat(1000) }) } }
  assert.ok(faults(schema, Array(20_000).fill(0)).join('').length < 2_500_000)
})
