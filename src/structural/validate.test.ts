import assert from 'node:assert/strict'
import test from 'node:test'
import { validateValue } from '../../test/kits/structural.ts'
import type { Json } from '../lib/json-value.ts'
import { refTo } from '../schema/refs.ts'
import { compileSchema, type JsonSchema } from './schema.ts'

/** The errors of `spec.x`, as `field: message` lines. */
function faults(schema: JsonSchema, value: Json, old?: Json): string[] {
  const root = compileSchema({ type: 'object', properties: { spec: { type: 'object', properties: { x: schema } } } })
  const stored = old === undefined ? undefined : { spec: { x: old } }
  return validateValue(root, { spec: { x: value } }, refTo({}), stored).map(e => `${e.field}: ${e.message}`)
}

test('a value of the wrong type is named by its type', () => {
  const wrong = (type: string, found: string) => [`spec.x: Invalid value: "${found}": spec.x in body must be of type ${type}: "${found}"`]
  assert.deepEqual(faults({ type: 'integer' }, 'a'), wrong('integer', 'string'))
  assert.deepEqual(faults({ type: 'string' }, 1), wrong('string', 'integer'))
  assert.deepEqual(faults({ type: 'string' }, 1.5), wrong('string', 'number'))
  assert.deepEqual(faults({ type: 'boolean' }, []), wrong('boolean', 'array'))
  assert.deepEqual(faults({ type: 'array' }, {}), wrong('array', 'object'))
  assert.deepEqual(faults({ type: 'object' }, true), wrong('object', 'boolean'))
  assert.deepEqual(faults({ type: 'object' }, null), wrong('object', 'null'))
  assert.deepEqual(faults({ type: 'string', nullable: true }, null), [])
  assert.deepEqual(faults({ type: 'number' }, 1), [])
})

test('the reason of an error says whether the type or the value is wrong', () => {
  const root = compileSchema({ type: 'object', properties: { a: { type: 'integer', maximum: 3 } } })
  const reasons = (a: Json) => validateValue(root, { a }, refTo({})).map(e => e.reason)
  assert.deepEqual(reasons('x'), ['FieldValueTypeInvalid'])
  assert.deepEqual(reasons(4), ['FieldValueInvalid'])
})

test('an integer or a string is both and nothing else', () => {
  const schema: JsonSchema = { 'x-kubernetes-int-or-string': true }
  assert.deepEqual(faults(schema, 1), [])
  assert.deepEqual(faults(schema, '10%'), [])
  assert.deepEqual(faults(schema, true), ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'])
})

test('an integer with a fraction is refused twice, as its type and as its range', () => {
  assert.deepEqual(faults({ type: 'integer' }, 1.5), [
    'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
  ])
})

test('integers are exact to 64 bits and doubles beyond', () => {
  assert.deepEqual(faults({ type: 'integer' }, 9223372036854775807n), [])
  assert.deepEqual(faults({ type: 'integer', maximum: 9007199254740992 }, 9007199254740993n), [
    'spec.x: Invalid value: 9007199254740993: spec.x in body should be less than or equal to 9007199254740992',
  ])
  assert.deepEqual(faults({ type: 'integer' }, 9223372036854775808n), [
    'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
  ])
  assert.deepEqual(faults({ type: 'integer', format: 'int32' }, 2 ** 31), [
    '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
  ])
  assert.deepEqual(faults({ type: 'number', format: 'float' }, 1e300), [
    '<nil>: Invalid value: "": Checked value must be of type number with format float in spec.x',
  ])
})

test('limits of numbers', () => {
  assert.deepEqual(faults({ type: 'integer', minimum: 1 }, 0), [
    'spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1',
  ])
  assert.deepEqual(faults({ type: 'integer', minimum: 1, exclusiveMinimum: true }, 1), [
    'spec.x: Invalid value: 1: spec.x in body should be greater than 1',
  ])
  assert.deepEqual(faults({ type: 'integer', maximum: 10 }, 11), [
    'spec.x: Invalid value: 11: spec.x in body should be less than or equal to 10',
  ])
  assert.deepEqual(faults({ type: 'number', maximum: 10.5, exclusiveMaximum: true }, 10.75), [
    'spec.x: Invalid value: 10.75: spec.x in body should be less than 10.5',
  ])
  assert.deepEqual(faults({ type: 'number', maximum: 1000000 }, 1234567.5), [
    'spec.x: Invalid value: 1.2345675e+06: spec.x in body should be less than or equal to 1e+06',
  ])
  assert.deepEqual(faults({ type: 'integer', multipleOf: 3 }, 10), ['spec.x: Invalid value: 10: spec.x in body should be a multiple of 3'])
  assert.deepEqual(faults({ type: 'number', multipleOf: 0.1 }, 0.3), [])
  assert.deepEqual(faults({ type: 'number', multipleOf: 0.25 }, 0.3), [
    'spec.x: Invalid value: 0.3: spec.x in body should be a multiple of 0.25',
  ])
})

test('limits of texts count characters, and the first violated one is reported', () => {
  assert.deepEqual(faults({ type: 'string', maxLength: 5 }, 'abcdef'), ['spec.x: Too long: may not be more than 5 bytes'])
  assert.deepEqual(faults({ type: 'string', maxLength: 1 }, 'ab'), ['spec.x: Too long: may not be more than 1 byte'])
  assert.deepEqual(faults({ type: 'string', maxLength: 2, minLength: 2 }, '😀😀'), [])
  assert.deepEqual(faults({ type: 'string', minLength: 3, pattern: '^a' }, '😀😀'), [
    'spec.x: Invalid value: "😀😀": spec.x in body should be at least 3 chars long',
  ])
  assert.deepEqual(faults({ type: 'string', pattern: '^a+$' }, 'b'), [`spec.x: Invalid value: "b": spec.x in body should match '^a+$'`])
  assert.deepEqual(faults({ type: 'string', pattern: '(' }, 'b'), [
    'spec.x: Invalid value: "b": spec.x in body should match \'(, but pattern is invalid: error parsing regexp: missing closing ): `(`\'',
  ])
})

test('a text without its format has the wrong type', () => {
  assert.deepEqual(faults({ type: 'string', format: 'ipv4' }, '1.2.3'), [
    'spec.x: Invalid value: "1.2.3": spec.x in body must be of type ipv4: "1.2.3"',
  ])
  assert.deepEqual(faults({ type: 'string', format: 'date' }, 5), [
    'spec.x: Invalid value: "int64": spec.x in body must be of type date: "int64"',
  ])
  assert.deepEqual(faults({ type: 'string', format: 'made-up' }, 'anything'), [])
})

test('an enum lists what it supports', () => {
  assert.deepEqual(faults({ type: 'string', enum: ['a', 'b'] }, 'c'), ['spec.x: Unsupported value: "c": supported values: "a", "b"'])
  assert.deepEqual(faults({ type: 'integer', enum: [1, 2] }, 3), ['spec.x: Unsupported value: 3: supported values: "1", "2"'])
  assert.deepEqual(faults({ type: 'integer', enum: [1, 2] }, 2), [])
  assert.deepEqual(faults({ type: 'string', nullable: true, enum: ['a', null] }, null), [
    'spec.x: Unsupported value: null: supported values: "a", "null"',
  ])
})

test('limits of lists and their items', () => {
  const schema: JsonSchema = { type: 'array', minItems: 2, maxItems: 3, items: { type: 'string' } }
  assert.deepEqual(faults(schema, ['a', 1, 'b']), [
    'spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer"',
  ])
  assert.deepEqual(faults(schema, ['a']), ['spec.x: Invalid value: 1: spec.x in body should have at least 2 items'])
  assert.deepEqual(faults(schema, ['a', 'b', 'c', 'd']), ['spec.x: Too many: 4: must have at most 3 items'])
  assert.deepEqual(faults({ type: 'array', uniqueItems: true }, [{ a: 1 }, { a: 1 }]), [
    'spec.x: Invalid value: "": spec.x in body shouldn\'t contain duplicates',
  ])
})

test('limits of objects, and members by name', () => {
  assert.deepEqual(faults({ type: 'object', minProperties: 1 }, {}), [
    'spec.x: Invalid value: 0: spec.x in body should have at least 1 properties',
  ])
  assert.deepEqual(faults({ type: 'object', maxProperties: 1 }, { a: 1, b: 2 }), ['spec.x: Too many: 2: must have at most 1 item'])
  assert.deepEqual(faults({ type: 'object', additionalProperties: { type: 'string' } }, { a: 1 }), [
    'spec.x.a: Invalid value: "integer": spec.x.a in body must be of type string: "integer"',
  ])
  assert.deepEqual(faults({ type: 'object', additionalProperties: false }, { a: 1 }), [
    'spec.x: Invalid value: "a": spec.x.a in body is a forbidden property',
  ])
  assert.deepEqual(faults({ type: 'object', required: ['a', 'toString'] }, {}), [
    'spec.x.a: Required value',
    'spec.x.toString: Required value',
  ])
})

test('at the root a missing field has no dot before it and a whole has no path', () => {
  const root = compileSchema({ type: 'object', required: ['spec'], minProperties: 1 })
  assert.deepEqual(
    validateValue(root, {}, refTo({})).map(e => `${e.field}: ${e.message}`),
    ['<nil>: Invalid value: 0:  in body should have at least 1 properties', 'spec: Required value'],
  )
})

test('below a base, paths of fields have the base and the text does not', () => {
  const status = compileSchema({ type: 'object', properties: { replicas: { type: 'integer' } } })
  assert.deepEqual(
    validateValue(status, { replicas: 'a' }, refTo({}, 'status')).map(e => `${e.field}: ${e.message}`),
    ['status.replicas: Invalid value: "string": replicas in body must be of type integer: "string"'],
  )
})

test('of alternatives the one that fits best explains itself', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'integer' } },
    oneOf: [{ required: ['a'] }, { required: ['b'] }],
  }
  assert.deepEqual(faults(schema, {}), [
    '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found none valid',
    'spec.x.a: Required value',
  ])
  assert.deepEqual(faults(schema, { a: 'x', b: 1 }), [
    '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
  ])
  assert.deepEqual(faults(schema, { a: 'x' }), [])
  assert.deepEqual(faults({ type: 'string', anyOf: [{ pattern: '^a' }, { maxLength: 1 }] }, 'bb'), [
    '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
    `spec.x: Invalid value: "bb": spec.x in body should match '^a'`,
  ])
  assert.deepEqual(faults({ type: 'string', allOf: [{ pattern: '^a' }, { maxLength: 1 }] }, 'bb'), [
    `spec.x: Invalid value: "bb": spec.x in body should match '^a'`,
    'spec.x: Too long: may not be more than 1 byte',
    '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf). None validated',
  ])
  assert.deepEqual(faults({ type: 'string', not: { pattern: '^a' } }, 'a'), [
    '<nil>: Invalid value: "": "spec.x" must not validate the schema (not)',
  ])
})

test('what was stored wrong may stay as it is', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: { type: 'integer', maximum: 3 }, b: { type: 'string', enum: ['x'] } } }
  const old = { a: 5, b: 'y' }
  assert.deepEqual(faults(schema, old, old), [])
  assert.deepEqual(faults(schema, { a: 5, b: 'z' }, old), ['spec.x.b: Unsupported value: "z": supported values: "x"'])
  assert.deepEqual(faults(schema, { a: 5, b: 'x' }, old), [])
  assert.deepEqual(faults(schema, { a: 6, b: 'x' }, old), [
    'spec.x.a: Invalid value: 6: spec.x.a in body should be less than or equal to 3',
  ])
})

test('items of a keyed list are the same by their keys, those of any other list are not', () => {
  const items: JsonSchema = { type: 'object', properties: { name: { type: 'string' }, n: { type: 'integer', maximum: 3 } } }
  const keyed: JsonSchema = { type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }
  const old = [{ name: 'a', n: 9 }]
  assert.deepEqual(
    faults(
      keyed,
      [
        { name: 'b', n: 1 },
        { name: 'a', n: 9 },
      ],
      old,
    ),
    [],
  )
  assert.deepEqual(
    faults(
      { type: 'array', items },
      [
        { name: 'b', n: 1 },
        { name: 'a', n: 9 },
      ],
      old,
    ),
    ['spec.x[1].n: Invalid value: 9: spec.x[1].n in body should be less than or equal to 3'],
  )
})

test('the names of every object are plain data', () => {
  const schema: JsonSchema = { type: 'object', properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"integer"}}') }
  assert.deepEqual(faults(schema, JSON.parse('{"__proto__":1,"constructor":"x"}')), [
    'spec.x.__proto__: Invalid value: "integer": spec.x.__proto__ in body must be of type string: "integer"',
    'spec.x.constructor: Invalid value: "string": spec.x.constructor in body must be of type integer: "string"',
  ])
  assert.deepEqual(faults({ type: 'object', required: ['constructor', '__proto__'] }, {}), [
    'spec.x.constructor: Required value',
    'spec.x.__proto__: Required value',
  ])
})

test('an object with very many errors is rejected with bounded errors', () => {
  const values = Array.from({ length: 20_000 }, (_, i) => `value-${i}`)
  const list = Array.from({ length: 20_000 }, (_, i) => `other-${i}`)
  const errors = faults({ type: 'array', items: { type: 'string', enum: values } }, list)
  assert.ok(errors.length > 0 && errors.join('').length < 4_000_000)
})

const TOO_MUCH_WORK = { code: 413, message: /takes more work than one request may cost/ }

test('alternatives that multiply with the keys of an object are refused', () => {
  const anyOf = Array.from({ length: 10_000 }, (_, i) => ({ minProperties: 100_000 + i }))
  const schema = compileSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true, anyOf })
  const object = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, i]))
  assert.ok(validateValue(schema, { ...object(10) }, refTo({})).length > 0)
  assert.throws(() => validateValue(schema, object(20_000), refTo({})), TOO_MUCH_WORK)
})

test('alternatives that multiply with the items of a list are refused', () => {
  const anyOf = Array.from({ length: 2000 }, (_, i) => ({ pattern: `^a${i}$` }))
  const greedy = compileSchema({ type: 'object', properties: { list: { type: 'array', items: { type: 'string', anyOf } } } })
  const of = (length: number, text: string) => validateValue(greedy, { list: Array(length).fill(text) }, refTo({}))
  assert.equal(of(10, 'a1999').length, 0)
  assert.throws(() => of(50_000, 'a1999'), TOO_MUCH_WORK)
  assert.throws(() => of(50_000, 'nothing'), TOO_MUCH_WORK)
})

test('a long text that meets a pattern of a large machine is refused rather than matched for minutes', () => {
  const pattern = '.*a(.{500})b(.{400})[0-9]'
  assert.deepEqual(faults({ type: 'string', pattern }, `${'a'.repeat(501)}b${'a'.repeat(400)}1`), [])
  assert.throws(() => faults({ type: 'string', pattern }, 'ab'.repeat(500_000)), TOO_MUCH_WORK)
})
