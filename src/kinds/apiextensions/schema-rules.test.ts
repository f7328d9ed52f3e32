import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widgets, widgetsWith } from '../../../test/kits/kinds/definitions.ts'
import { check } from '../../../test/kits/kinds/kinds.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import type { Schema } from './json-schema.ts'

const AT = 'spec.validation.openAPIV3Schema'
const faults = (draft: object) => check(CustomResourceDefinition, draft as never)
/** The errors of a root schema. */
const root = (schema: object) => faults(widgets(schema)).map(text => text.replace(AT, '$'))
/** The errors of the schema of `spec`. */
const spec = (schema: object) => faults(widgetsWith(schema as Schema)).map(text => text.replaceAll(`${AT}.properties[spec]`, '$'))
const stored = (draft: object) => ({ ...draft, status: { storedVersions: ['v1'] } })

test('every value has a type', () => {
  assert.deepEqual(faults(widgets({ type: '' })), [`${AT}.type: Required value: must not be empty at the root`])
  assert.deepEqual(root({ type: 'array', items: { type: 'string' } }), ['$.type: Invalid value: "array": must be object at the root'])
  assert.deepEqual(spec({ type: 'object', properties: { a: {}, b: { type: 'array', items: {} } } }), [
    '$.properties[a].type: Required value: must not be empty for specified object fields',
    '$.properties[b].items.type: Required value: must not be empty for specified array items',
  ])
  assert.deepEqual(spec({ type: 'array' }), ['$.items: Required value: must be specified'])
  assert.deepEqual(spec({ 'x-kubernetes-preserve-unknown-fields': true }), [])
  assert.deepEqual(spec({ 'x-kubernetes-int-or-string': true }), [])
  assert.deepEqual(spec({ type: 'text' }), [
    '$.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
  ])
})

test('what only restricts values says nothing else', () => {
  const nested = {
    type: 'string',
    title: 't',
    description: 'd',
    nullable: true,
    default: 1,
    additionalProperties: true,
    'x-kubernetes-list-type': 'set',
    'x-kubernetes-preserve-unknown-fields': true,
  }
  assert.deepEqual(spec({ type: 'object', allOf: [nested] }).slice(0, 8), [
    '$.allOf[0].additionalProperties: Forbidden: must be undefined to be structural',
    '$.allOf[0].default: Forbidden: must be undefined to be structural',
    '$.allOf[0].description: Forbidden: must be empty to be structural',
    '$.allOf[0].nullable: Forbidden: must be false to be structural',
    '$.allOf[0].title: Forbidden: must be empty to be structural',
    '$.allOf[0].type: Forbidden: must be empty to be structural',
    '$.allOf[0].x-kubernetes-list-type: Forbidden: must be undefined to be structural',
    '$.allOf[0].x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural',
  ])
  assert.deepEqual(spec({ type: 'object', not: { properties: { metadata: {} } } }), [
    '$.not.properties[metadata]: Forbidden: must not be specified in a nested context',
  ])
})

test('int-or-string may be written with anyOf, in two ways', () => {
  const anyOf = [{ type: 'integer' }, { type: 'string' }]
  assert.deepEqual(spec({ 'x-kubernetes-int-or-string': true, anyOf, pattern: '^[0-9]+%?$' }), [])
  assert.deepEqual(spec({ 'x-kubernetes-int-or-string': true, allOf: [{ anyOf }, { minimum: 1 }] }), [])
  assert.equal(spec({ 'x-kubernetes-int-or-string': true, anyOf: [...anyOf].reverse() }).length, 2)
  assert.deepEqual(spec({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-preserve-unknown-fields': true }), [
    '$.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
  ])
})

test('what is restricted at the top is described there, too', () => {
  const described = { properties: { spec: { type: 'object', properties: { a: { type: 'string' } } } } }
  const restricted = { anyOf: [{ properties: { spec: { properties: { b: { minLength: 1 } } } } }, { properties: { status: {} } }] }
  assert.deepEqual(root({ ...described, ...restricted }), [
    '$.properties[spec].properties[b]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[spec].properties[b]',
    '$.properties[status]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[1].properties[status]',
  ])
})

test('metadata is described by the server', () => {
  const named = { type: 'object', properties: { name: { type: 'string', pattern: '^a' } } }
  assert.deepEqual(root({ properties: { metadata: named, apiVersion: { type: 'string' }, kind: { type: 'string' } } }), [])
  assert.deepEqual(root({ properties: { metadata: { type: 'object', description: 'x' }, kind: { type: 'integer' } } }), [
    '$.properties[kind].type: Invalid value: "integer": must be string',
    '$.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ])
  assert.deepEqual(root({ additionalProperties: { type: 'string' } }), ['$.additionalProperties: Forbidden: must not be used at the root'])
})

test('unsupported keywords are rejected', () => {
  const odd = {
    id: 'x',
    $ref: 'y',
    definitions: { a: {} },
    dependencies: { a: ['b'] },
    patternProperties: { a: {} },
    additionalItems: true,
  }
  assert.deepEqual(spec({ type: 'object', ...odd }), [
    '$.id: Forbidden: id is not supported',
    '$.additionalItems: Forbidden: additionalItems is not supported',
    '$.patternProperties: Forbidden: patternProperties is not supported',
    '$.definitions: Forbidden: definitions is not supported',
    '$.dependencies: Forbidden: dependencies is not supported',
    '$.$ref: Forbidden: $ref is not supported',
  ])
  assert.deepEqual(spec({ type: 'object', $schema: 'x' }), [`${AT}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`])
  assert.deepEqual(spec({ type: 'array', items: [{ type: 'string' }] }), [
    '$.items: Forbidden: items must be a schema object and not an array',
  ])
  assert.deepEqual(spec({ type: 'array', items: { type: 'string' }, uniqueItems: true }), [
    '$.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
  ])
  assert.deepEqual(spec({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }), [
    '$.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ])
  assert.deepEqual(spec({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }), [
    '$.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined',
  ])
})

test('patterns are regular expressions in the syntax of Go', () => {
  assert.deepEqual(spec({ type: 'string', pattern: '^(?P<n>a)[[:alpha:]]+$' }), [])
  const [fault] = spec({ type: 'string', pattern: '(?=a)' })
  assert.match(
    fault!,
    /^\$\.pattern: Invalid value: "\(\?=a\)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax/,
  )
})

test('lists have a topology that fits them', () => {
  const keyed = (more: object, items: object = {}) => ({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } }, ...items },
    ...more,
  })
  assert.deepEqual(spec(keyed({})), [])
  assert.deepEqual(spec(keyed({ 'x-kubernetes-list-map-keys': ['name', 'port', 'name'] })), [
    '$.x-kubernetes-list-map-keys: Invalid value: ["name","port","name"]: entries must all be names of item properties',
    '$.x-kubernetes-list-map-keys: Invalid value: ["name","port","name"]: must not contain duplicate entries',
  ])
  assert.deepEqual(spec(keyed({}, { required: null, nullable: true, properties: { name: { type: 'string', nullable: true } } })), [
    '$.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map',
    '$.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    '$.items.properties[name].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
  ])
  assert.deepEqual(spec({ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-map-keys': ['a'] }), [
    '$.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty',
  ])
  assert.deepEqual(spec({ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'map' }), [
    '$.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
    '$.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
  ])
  assert.deepEqual(spec({ type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' }), [
    '$.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
  ])
  assert.deepEqual(spec({ type: 'string', 'x-kubernetes-list-type': 'bag', 'x-kubernetes-map-type': 'flat' }), [
    '$.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
    '$.x-kubernetes-map-type: Unsupported value: "flat": supported values: "atomic", "granular"',
    '$.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
    '$.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
  ])
})

test('with a status subresource, the root schema may not restrict the status', () => {
  const withStatus = (schema: object) => faults(widgets(schema, { version: { subresources: { status: {} } } }))
  assert.deepEqual(withStatus({ properties: { spec: { type: 'object' } }, required: ['spec'] }), [])
  const [fault, ...others] = withStatus({ maxProperties: 3 })
  assert.deepEqual(others, [])
  assert.match(
    fault!,
    /^spec\.validation\.openAPIV3Schema: Invalid value: \{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,.*"MaxProperties":3,.*"XValidations":null\}: only \[Description Type .* XPreserveUnknownFields XValidations\] fields are allowed at the root of the schema if the status subresource is enabled$/,
  )
  assert.deepEqual(root({ nullable: true }), ['$.nullable: Forbidden: nullable cannot be true at the root'])
})

test('defaults are values that their schemas allow', () => {
  assert.deepEqual(spec({ type: 'object', properties: { n: { type: 'integer', default: 3, minimum: 1 } }, default: {} }), [])
  assert.deepEqual(spec({ type: 'object', default: { a: 1 } }), ['$.default: Invalid value: {"a":1}: must not have unknown fields'])
  assert.deepEqual(
    spec({ type: 'object', properties: { n: { type: 'integer', default: 0, minimum: 1 }, s: { type: 'string', default: 5 } } }),
    [
      '$.properties[n].default: Invalid value: 0:  in body should be greater than or equal to 1',
      '$.properties[s].default: Invalid value: "integer":  in body must be of type string: "integer"',
    ],
  )
  assert.deepEqual(root({ properties: { metadata: { type: 'object', default: {} } } }), [
    '$.properties[metadata].default: Forbidden: must not be set in top-level metadata',
  ])
})

test('defaults of whole objects inside of others have a valid envelope', () => {
  const embedded = (more: object) => ({
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
    ...more,
  })
  assert.deepEqual(spec(embedded({ default: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, any: 1 } })), [])
  assert.deepEqual(
    spec(embedded({ default: { kind: '-' } })).map(text => text.slice(0, 60)),
    ['$.default.apiVersion: Required value', '$.default.kind: Invalid value: "-": may have mixed case, but'],
  )
  assert.deepEqual(spec(embedded({ default: { apiVersion: 'v1', kind: 'Pod', metadata: 5 } })).length, 1)
  const labels = (value: string) => ({
    metadata: {
      type: 'object',
      properties: { labels: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, default: { a: value } } },
    },
  })
  assert.deepEqual(spec(embedded({ properties: labels('b') })), [])
  assert.match(
    spec(embedded({ properties: labels('-') }))[0]!,
    /^\$\.properties\[metadata\]\.properties\[labels\]\.default: Invalid value: \{"a":"-"\}: must result in valid metadata: metadata\.labels: Invalid value: "-": a valid label/,
  )
})

test('errors in validation rules are reported before the rules are compiled', () => {
  const ruled = (...rules: object[]) => spec({ type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-validations': rules })
  assert.deepEqual(ruled({ rule: ' ' }, { rule: 'true', message: ' ' }, { rule: 'true', message: 'a\nb' }, { rule: 'true\n&& true' }), [
    '$.x-kubernetes-validations[0].rule: Required value: rule is not specified',
    '$.x-kubernetes-validations[1].message: Invalid value: " ": must be non-empty if specified',
    '$.x-kubernetes-validations[2].message: Invalid value: "a\\nb": must not contain line breaks',
    '$.x-kubernetes-validations[3].message: Required value: message must be specified if rule contains line breaks',
  ])
  assert.deepEqual(
    ruled({ rule: 'true', messageExpression: ' ', reason: 'Because', fieldPath: '.b' }, { rule: 'false', fieldPath: '.a' }),
    [
      '$.x-kubernetes-validations[0].messageExpression: Required value: messageExpression must be non-empty if specified',
      '$.x-kubernetes-validations[0].reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
      '$.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": must be a valid path',
    ],
  )
})

test('what a stored definition does wrong, its next version may do as well', () => {
  const wrong = widgetsWith({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } })
  assert.equal(faults(wrong).length, 1)
  assert.deepEqual(check(CustomResourceDefinition, wrong, { old: stored(wrong) }), [])
  const unpruned = (value: number) => widgetsWith({ type: 'object', default: { a: value } })
  assert.deepEqual(check(CustomResourceDefinition, unpruned(2), { old: stored(unpruned(1)) }), [])
  assert.equal(check(CustomResourceDefinition, unpruned(2), { old: stored(widgetsWith({ type: 'object' })) }).length, 1)
})
