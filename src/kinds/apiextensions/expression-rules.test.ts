import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widgetsWith } from '../../../test/kits/kinds/definitions.ts'
import { check } from '../../../test/kits/kinds/kinds.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import type { ExpressionRule, Schema } from './json-schema.ts'

const AT = 'spec.validation.openAPIV3Schema'
const draft = (schema: Schema) => widgetsWith(schema)
const short = (texts: string[]) => texts.map(text => text.replaceAll(`${AT}.properties[spec]`, '$').replace(AT, '$root'))
const faults = (schema: Schema, stored?: Schema) =>
  short(check(CustomResourceDefinition, draft(schema), stored ? { old: { ...draft(stored), status: { storedVersions: ['v1'] } } } : {}))

const text: Schema = { type: 'string', maxLength: 10 }
const ruled = (rules: ExpressionRule[], more: Schema = {}): Schema => ({
  type: 'object',
  properties: { a: text, list: { type: 'array', items: text, maxItems: 10 } },
  'x-kubernetes-validations': rules,
  ...more,
})
const shown = (rule: string, more: object = {}) =>
  JSON.stringify({ Rule: rule, Message: '', MessageExpression: '', Reason: null, FieldPath: '', OptionalOldSelf: null, ...more })
    .replaceAll('<', '\\u003c')
    .replaceAll('>', '\\u003e')
const RULE = '$.x-kubernetes-validations[0]'

test('an expression can access the fields of its value and must return a bool', () => {
  assert.deepEqual(faults(ruled([{ rule: 'self.a.startsWith("x") && self.list.all(item, item != self.a)' }])), [])
  assert.deepEqual(faults(ruled([{ rule: 'self.b < 1' }])), [
    `${RULE}.rule: Invalid value: ${shown('self.b < 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b < 1\n | ....^`,
  ])
  assert.deepEqual(faults(ruled([{ rule: 'self.a' }])), [
    `${RULE}.rule: Invalid value: ${shown('self.a')}: cel expression must evaluate to a bool`,
  ])
})

test('the message of a rule is a text', () => {
  assert.deepEqual(faults(ruled([{ rule: 'true', messageExpression: '"too " + self.a' }])), [])
  assert.deepEqual(faults(ruled([{ rule: 'true', messageExpression: 'self.list' }])), [
    `${RULE}.messageExpression: Invalid value: ${shown('true', { MessageExpression: 'self.list' })}: messageExpression must evaluate to a string`,
  ])
  assert.match(
    faults(ruled([{ rule: 'true', messageExpression: 'self.' }]))[0]!,
    /messageExpression compilation failed: ERROR: <input>:1:6: Syntax error/,
  )
})

test('what lists and texts without limits could cost is too much', () => {
  const open: Schema = {
    type: 'array',
    items: { type: 'string' },
    'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x == y))' }],
  }
  const tip = '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
  assert.deepEqual(faults(open), [
    `${RULE}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${tip}`,
    `${RULE}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
    `$root: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${tip}`,
  ])
  assert.deepEqual(faults({ ...open, maxItems: 10, items: text }), [])
  const both = { ...open, description: 'changed' }
  assert.equal(faults(open, open).length, 2, 'single costs of a schema that stays are not looked at')
  assert.equal(faults(both, open).length, 3)
})

test('a rule within a list is run for each item', () => {
  const each = (maxItems: number): Schema => ({
    type: 'array',
    maxItems,
    items: { type: 'array', maxItems: 1000, items: text, 'x-kubernetes-validations': [{ rule: 'self.all(x, x != "a")' }] },
  })
  assert.deepEqual(faults(each(10)), [])
  assert.match(
    faults(each(5000))[0]!,
    /^\$\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost exceeds budget by factor of \d/,
  )
})

test('oldSelf is available where values can be correlated', () => {
  const rules = [{ rule: 'self == oldSelf' }]
  const item: Schema = { ...text, 'x-kubernetes-validations': rules }
  assert.deepEqual(faults({ type: 'array', maxItems: 3, items: item }), [
    '$.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within $',
  ])
  const keyed: Schema = {
    type: 'array',
    maxItems: 3,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: { type: 'object', required: ['k'], properties: { k: text, v: item } },
  }
  assert.deepEqual(faults(keyed), [])
  assert.deepEqual(faults({ type: 'object', maxProperties: 3, additionalProperties: item }), [])
  assert.deepEqual(faults(ruled([{ rule: 'oldSelf.hasValue() || self.a == "x"', optionalOldSelf: true }])), [])
  assert.deepEqual(faults(ruled([{ rule: 'true', optionalOldSelf: false }])), [
    `${RULE}.optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule`,
  ])
})

test('rules are rejected on values without a type', () => {
  assert.deepEqual(faults({ 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-validations': [{ rule: 'true' }] }), [
    '$.x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
  ])
})

test('names that CEL could not write are escaped, and others have rules of their own', () => {
  const named = (name: string): Schema => ({
    type: 'object',
    properties: { [name]: { ...text, 'x-kubernetes-validations': [{ rule: 'self != "a"' }] } },
  })
  for (const name of ['namespace', 'a-b', 'a.b/c', '__proto__x', '日本', '1'])
    assert.deepEqual(faults({ ...named(name), 'x-kubernetes-validations': [{ rule: 'true' }] }), [], name)
  assert.deepEqual(faults({ ...named('a-b'), 'x-kubernetes-validations': [{ rule: 'self.a__dash__b == "x"' }] }), [])
})

test('defaults satisfy the rules', () => {
  const rules = [{ rule: 'self != "bad"', message: 'must be good' }]
  assert.deepEqual(faults({ ...text, default: 'good', 'x-kubernetes-validations': rules }), [])
  assert.deepEqual(faults({ ...text, default: 'bad', 'x-kubernetes-validations': rules }), [
    '$.default: Invalid value: "bad": must be good',
  ])
  const appears = [{ rule: 'oldSelf.hasValue()', optionalOldSelf: true, message: 'must not appear' }]
  assert.deepEqual(faults({ ...text, default: 'x', 'x-kubernetes-validations': appears }), [
    '$.default: Invalid value: "x": must not appear',
  ])
})

test('a rule that is wrong in a schema that is wrong is not looked at', () => {
  assert.deepEqual(faults(ruled([{ rule: 'self.b' }], { uniqueItems: true })).length, 1)
})
