import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../testing.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import type { ExpressionRule, Schema } from './json-schema.ts'
import { widgets, widgetsWith } from './testing.ts'

const AT = 'spec.validation.openAPIV3Schema'
const faults = (draft: object) =>
  check(CustomResourceDefinition, draft as never).map(text => text.replaceAll(AT, '$').replaceAll('$.properties[spec]', '$s'))
const spec = (schema: Schema, ...rules: (string | ExpressionRule)[]) =>
  faults(widgetsWith({ ...schema, 'x-kubernetes-validations': rules.map(rule => (typeof rule === 'string' ? { rule } : rule)) }))
const ADVICE = '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
const object: Schema = { type: 'object', properties: { a: { type: 'integer' }, names: { type: 'array', items: { type: 'string' } } } }

test('a rule that compiles and is cheap is fine', () => {
  assert.deepEqual(spec(object, 'self.a > 1', 'self.a >= oldSelf.a', '!has(self.names) || self.names.size() < 4'), [])
  assert.deepEqual(faults(widgets({ 'x-kubernetes-validations': [{ rule: 'self.metadata.name.size() > 2' }] })), [])
})

test('a rule that does not compile is shown with what is wrong', () => {
  const [error, ...more] = spec(object, 'self.b == 1')
  assert.deepEqual(more, [])
  assert.match(
    error!,
    /^\$s\.x-kubernetes-validations\[0\]\.rule: Invalid value: \{"Rule":"self\.b == 1".*\}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n \| self\.b == 1\n \| \.\.\.\.\^$/s,
  )
  assert.match(spec(object, 'self.a')[0]!, /: cel expression must evaluate to a bool$/)
  assert.match(
    spec(object, { rule: 'true', messageExpression: 'self.a' })[0]!,
    /\.messageExpression: Invalid value: .*: messageExpression must evaluate to a string$/,
  )
})

test('a rule must be cheap enough for all values that there can be', () => {
  assert.deepEqual(spec(object, 'self.names.all(x, self.names.all(y, x == y))'), [
    `$s.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${ADVICE}`,
    '$s.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
    `$: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${ADVICE}`,
  ])
  const items: Schema = { type: 'string', maxLength: 10, 'x-kubernetes-validations': [{ rule: 'self.contains("a")' }] }
  assert.deepEqual(spec({ type: 'array', items, maxItems: 1000 }), [])
  assert.deepEqual(spec({ type: 'array', maxItems: 5, items: { type: 'array', maxItems: 5, items } }), [])
  const unlimited: Schema = { type: 'string', 'x-kubernetes-validations': [{ rule: 'self.contains("a")' }] }
  assert.match(
    spec({ type: 'array', items: unlimited })[0]!,
    /^\$s\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost exceeds budget/,
  )
})

test('many rules that are each cheap enough may be too much together', () => {
  const rules = Array.from({ length: 14 }, (_, i) => `self.all(x, x != ${i}.0)`)
  const errors = spec({ type: 'array', items: { type: 'number' }, maxItems: 1_800_000 }, ...rules)
  assert.equal(errors.length, 5)
  assert.match(
    errors.at(-1)!,
    /^\$: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1\.\d+x/,
  )
})

test('what was before can be asked only where it can be found again', () => {
  const items: Schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    'x-kubernetes-validations': [{ rule: 'self.a == oldSelf.a' }],
  }
  assert.deepEqual(spec({ type: 'array', items, maxItems: 3 }), [
    '$s.items.x-kubernetes-validations[0].rule: Invalid value: "self.a == oldSelf.a": oldSelf cannot be used on the uncorrelatable portion of the schema within $s',
  ])
  assert.deepEqual(spec(object, { rule: 'self.a > 1', optionalOldSelf: true }), [
    '$s.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
  ])
  assert.deepEqual(spec(object, { rule: 'oldSelf.hasValue() || self.a > 1', optionalOldSelf: true }), [])
})
