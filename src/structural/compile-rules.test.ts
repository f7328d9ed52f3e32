import assert from 'node:assert/strict'
import test from 'node:test'
import { compiledRules, mostValuesOf } from './compile-rules.ts'
import { ruleTypeOf } from './rule-types.ts'
import { compileSchema, type JsonSchema, type ValidationRule } from './schema.ts'

function compiled(schema: JsonSchema, ...rules: ValidationRule[]) {
  const whole = { ...schema, 'x-kubernetes-validations': rules }
  const type = ruleTypeOf(compileSchema(whole), 'selfType')
  assert.ok(type)
  return [...compiledRules(whole, { type, ageOf: () => 'new' })]
}

function costOf(schema: JsonSchema, rule: string): number {
  const [first] = compiled(schema, { rule })
  if (!first?.condition || 'problem' in first.condition) throw new Error(JSON.stringify(first?.condition))
  return Number(first.condition.maxCost)
}

const kinds: Readonly<Record<string, JsonSchema>> = {
  number: { type: 'number' },
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  'int-or-string': { 'x-kubernetes-int-or-string': true },
  duration: { type: 'string', format: 'duration' },
  object: { type: 'object', required: ['required'], properties: { required: { type: 'string' }, optional: { type: 'string' } } },
}
const array =
  (kind: string) =>
  (max?: number): JsonSchema => ({ type: 'array', items: kinds[kind]!, ...(max === undefined ? {} : { maxItems: max }) })
const map =
  (kind: string) =>
  (max?: number): JsonSchema => ({
    type: 'object',
    additionalProperties: kinds[kind]!,
    ...(max === undefined ? {} : { maxProperties: max }),
  })
const arrays = (max?: number): JsonSchema => ({ type: 'array', items: array('number')(), ...(max === undefined ? {} : { maxItems: max }) })
const maps = (max?: number): JsonSchema => ({ type: 'array', items: map('number')(), ...(max === undefined ? {} : { maxItems: max }) })
const text = (max?: number): JsonSchema => ({ type: 'string', ...(max === undefined ? {} : { maxLength: max }) })
const bytes = (max?: number): JsonSchema => ({ ...text(max), format: 'byte' })

type Case = [schema: (max?: number) => JsonSchema, rule: string, unlimited: number, max: number, limited: number]

/** The cost of these rules by kube-apiserver: where nothing has a limit, and where the schema has this one. */
const COSTS: readonly Case[] = [
  [array('number'), 'self.all(x, true)', 4718591, 10, 32],
  [array('string'), 'self.all(x, true)', 3145727, 20, 62],
  [array('boolean'), 'self.all(x, true)', 1887437, 5, 17],
  [arrays, 'self.all(x, true)', 3145727, 100, 302],
  [array('object'), 'self.all(x, true)', 555128, 50, 152],
  [map('number'), 'self.all(x, true)', 1348169, 10, 32],
  [map('string'), 'self.all(x, true)', 1179647, 3, 11],
  [map('boolean'), 'self.all(x, true)', 943718, 100, 302],
  [text, "self.contains('test')", 314574, 10, 5],
  [text, "self.startsWith('test')", 2, 15, 2],
  [text, 'size(self + "hello") > size("hello")', 314578, 4, 7],
  [array('number'), 'self[1] == 0.0', 2, 5000, 2],
  [array('string'), 'self[1] == self[1]', 314577, 8, 314577],
  [text, 'self.matches("x")', 314574, 50, 22],
  [text, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7],
  [map('number'), 'self["x"] == 0.0', 2, 0, 2],
  [text, 'self == "x"', 2, 0, 1],
  [bytes, 'self == b"x"', 2, 0, 1],
  [array('number'), 'self.all(x, x == 0.0)', 6291454, 3 * 1024 * 2048, 25165826],
  [array('int-or-string'), 'self.all(x, true)', 4718591, 10, 32],
  [array('int-or-string'), 'self[0] == 5', 3, 10, 3],
  [array('object'), 'self[0] == null', 2, 422, 2],
  [arrays, 'self[0][0] == -1.0', 3, 51, 3],
  [maps, 'self.all(x, x.y == 25.2)', 6291452, 12, 74],
  [maps, 'self[0].x > 2.0', 4, 3000, 4],
  [array('duration'), 'self.all(x, true)', 2359295, 5, 17],
]

test('rules cost what kube-apiserver says', () => {
  for (const [schema, rule, unlimited, max, limited] of COSTS) {
    const name = `${JSON.stringify(schema())} ${rule}`
    assert.equal(costOf(schema(), rule), unlimited, name)
    assert.equal(costOf(schema(max), rule), limited, `${name} up to ${max}`)
  }
  assert.ok(costOf(array('number')(), 'self.all(x, self.all(y, true))') > 10_000_000)
  assert.equal(costOf(array('number')(10), 'self.all(x, self.all(y, true))'), 352)
})

test('asking for the type of a value that may be one of two is affordable', () => {
  for (const rule of ['type(self) == int', 'type(self) == string ? self.matches("^[0-9]+%$") : self >= 0'])
    assert.ok(costOf({ 'x-kubernetes-int-or-string': true }, rule) < 10_000_000, rule)
})

test('a text from an enum is as long as the longest of them', () => {
  assert.ok(costOf({ type: 'string', enum: ['a', 'bcdef'] }, 'self.contains("x")') < 10)
})

test('the smaller a value can be, the more of them fit a request', () => {
  const most = (schema: JsonSchema) => Number(mostValuesOf(ruleTypeOf(compileSchema(schema), 'x')!))
  assert.equal(most({ type: 'integer' }), 1572864)
  assert.equal(most({ type: 'string' }), 1048576)
  assert.equal(most({ type: 'object', required: ['ab'], properties: { ab: { type: 'integer' } } }), Math.floor(3145728 / 10))
  assert.equal(most({ type: 'object', required: ['ab'], properties: { ab: { type: 'integer', default: 1 } } }), 1048576)
})

test('what is wrong with a rule is reported in the words of kube-apiserver', () => {
  const schema: JsonSchema = { type: 'object', properties: { a: { type: 'integer' } } }
  const [odd, other, message, plain] = compiled(
    schema,
    { rule: 'self.b' },
    { rule: 'self.a' },
    { rule: 'true', messageExpression: '1' },
    { rule: 'self == oldSelf', fieldPath: '.a' },
  )
  assert.deepEqual(odd?.condition, {
    problem: "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b\n | ....^",
    usesOldSelf: false,
  })
  assert.deepEqual(other?.condition, { problem: 'cel expression must evaluate to a bool', usesOldSelf: false })
  assert.deepEqual(message?.message, { problem: 'messageExpression must evaluate to a string', usesOldSelf: false })
  assert.equal(plain?.condition?.usesOldSelf, true)
  assert.equal(plain?.fieldPath, 'a')
  assert.equal(compiled(schema, { rule: ' ' })[0]?.condition, undefined)
})

test('what a schema says too little about is not there for rules', () => {
  const type = ruleTypeOf(
    compileSchema({
      type: 'object',
      properties: {
        free: { 'x-kubernetes-preserve-unknown-fields': true },
        list: { type: 'array', items: { 'x-kubernetes-preserve-unknown-fields': true } },
        'a b': { type: 'string' },
        '1a': { type: 'string' },
        ok: { type: 'string' },
      },
    }),
    'x',
  )
  assert.deepEqual([...(type?.fields?.keys() ?? [])], ['ok'])
})

test('equal rules are compiled once for each scope', () => {
  const [a, b, c] = compiled(
    { type: 'integer' },
    { rule: 'self > 1' },
    { rule: 'self > 1', message: 'm' },
    { rule: 'self > 1', optionalOldSelf: true },
  )
  assert.equal(a?.condition, b?.condition)
  assert.notEqual(a?.condition, c?.condition)
})

test('each rule is compiled on demand', () => {
  const asked: string[] = []
  const schema: JsonSchema = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 1' }, { rule: 'self > 2' }] }
  const type = ruleTypeOf(compileSchema(schema), 'selfType')!
  const ageOf = (_: string, text: string) => {
    asked.push(text)
    return 'new' as const
  }
  const [first] = compiledRules(schema, { type, ageOf })
  assert.equal(first?.rule.rule, 'self > 1')
  assert.deepEqual(asked, ['self > 1'])
})
