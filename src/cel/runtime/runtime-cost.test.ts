import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '../../../test/kits/cel/compile.ts'
import { fromJson, run, testEnv } from '../../../test/kits/cel/program.ts'
import { boolType, bytesType, type CelType, dynType, intType, listType, mapType, stringType } from '../checker/types.ts'
import type { Bindings } from './program.ts'
import { listOf } from './values.ts'

interface Case {
  readonly types?: { readonly [name: string]: CelType }
  readonly bindings?: Bindings
}

/** The cost of an expression without constant folding and with charged presence tests, as in cel-go's own tests. */
function costOf(source: string, { types = {}, bindings = {} }: Case = {}): number {
  const program = compile(testEnv(types), source, { optimize: false, presenceTestHasCost: true })
  return program.evaluate(bindings).cost
}

const long = 'a'.repeat(500)
const texts = mapType(stringType, stringType)
const nested = mapType(stringType, mapType(stringType, stringType))

test('literals are free; making lists, maps and calls is not', () => {
  const costs: [string, number][] = [
    ['"Hello World!"', 0],
    ['[1, 2, 3]', 10],
    ['{"a": 1, "b": 2, "c": 3}', 30],
    ['google.protobuf.Duration{seconds: 5}', 40],
    ['1 < 2', 1],
    ['1 == 2', 1],
    ['2 in [1, 2, 3]', 13],
    ['1 + 1', 1],
    ['1 % 1', 1],
    ['size("123")', 1],
    ['string(1)', 1],
    ["'123'.matches('[0-9]')", 2],
    ["'12345678901234567890' == '123456789012345678901234567890'", 2],
  ]
  for (const [source, cost] of costs) assert.equal(costOf(source), cost, source)
})

test('selections cost one each, and one for what they start from', () => {
  const text = { types: { input: texts }, bindings: { input: fromJson({ key: 'v' }) } }
  assert.equal(costOf('input', text), 1)
  assert.equal(costOf("input['key']", text), 2)
  assert.equal(costOf("input['ke' + 'y']", text), 3)
  assert.equal(costOf('input.key', text), 2)
  assert.equal(costOf("{'key': 1}.key", text), 32)
  const list = { types: { input: listType(stringType), i: intType }, bindings: { input: listOf(['v']), i: 0 } }
  assert.equal(costOf('input[0]', list), 2)
  assert.equal(costOf('input[3-3]', list), 3)
  assert.equal(costOf('input[i]', list), 2)
})

test('presence tests cost one more where the environment says so', () => {
  const types = { input: nested }
  const bindings = { input: fromJson({ a: { b: '0' } }) }
  assert.equal(costOf('has(input.a.b)', { types, bindings }), 3)
  const free = compile(testEnv(types), 'has(input.a.b)', { optimize: false, presenceTestHasCost: false })
  assert.equal(free.evaluate(bindings).cost, 2)
  assert.equal(free.evaluate({ input: fromJson({}) }).cost, 1)
})

test('logic costs what its terms cost, as far as they are evaluated', () => {
  const types = { a: boolType, b: boolType, c: boolType, d: boolType }
  const all = (value: boolean) => ({ types, bindings: { a: value, b: value, c: value, d: value } })
  assert.equal(costOf('false || false'), 0)
  assert.equal(costOf('a || b || c || d', all(false)), 4)
  assert.equal(costOf('a && b && c && d', all(true)), 4)
  assert.equal(costOf('a && b && c && d', all(false)), 1)
  assert.equal(costOf('(1 > 2 || 2 > 1) == true'), 3)
})

test('a conditional costs its condition and its branch, whose variable is free', () => {
  assert.equal(costOf('true ? 1 : 2'), 0)
  assert.equal(costOf('false ? false : 1 > 3'), 1)
  assert.equal(costOf('(1 > 2 ? 5 : 3) > 1'), 2)
  const types = { x: intType, m: texts, list: listType(intType) }
  const bindings = { x: 1, m: fromJson({ a: 'b' }), list: listOf([1]) }
  assert.equal(costOf('(x > 2 ? list : list).all(y, true)', { types, bindings }), 6)
  assert.equal(costOf('true ? m.a : "c"', { types, bindings }), 1)
})

test('functions on strings cost by their sizes', () => {
  const types = { input: stringType, other: stringType, raw: bytesType }
  const bindings = { input: long, other: long, raw: Buffer.from(long) }
  const costs: [string, number][] = [
    ['string(raw)', 51],
    ['bytes(input)', 51],
    ['input.contains(other)', 2502],
    ["input.matches('[0-9]')", 103],
    ["input.matches('\\\\d+a\\\\d+b')", 103],
    ['input.size()', 2],
  ]
  for (const [source, cost] of costs) assert.equal(costOf(source, { types, bindings }), cost, source)
  assert.equal(costOf('input.startsWith(other)', { types, bindings: { ...bindings, input: 'idc', other: 'b'.repeat(500) } }), 52)
  assert.equal(costOf('"abcdefg".contains(input + other)', { types, bindings: { input: 'val1', other: 'val2222222', raw: 0 } }), 6)
})

test('loops cost what each iteration evaluates', () => {
  const costs: [string, number][] = [
    ['[1, 2, 3].all(x, true)', 20],
    ['[].all(x, true)', 11],
    ["[{'k1': 1}, {'k2': 2}].all(x, true)", 77],
    ['[1,2,3,4,5].filter(x, x % 2 == 0)', 62],
    ['[1,2,3,4,5].map(x, x)', 86],
    ['[1,2,3,4,5].map(x, x).filter(x, x % 2 == 0)', 138],
    ['[1,2,3,4,5].map(x, x).exists(x, x == 5) == true', 118],
    ['[1,2,3,4,5].map(x, x).map(x, x)', 162],
    ['[1,2,3,4,5].map(x, [x, x]).filter(z, z.size() == 2)', 232],
    ['[1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1))', 171],
    ['[1,2,3,4,5].map(x, x).map(x, x) + [1]', 173],
    ['[1,2,3].all(i, i in [1,2,3].map(j, j + j))', 86],
  ]
  for (const [source, cost] of costs) assert.equal(costOf(source), cost, source)
  const map = { types: { input: mapType(stringType, dynType) }, bindings: { input: fromJson({ a: { n: 0 } }) } }
  assert.equal(costOf('input.all(k, input[k].n > 3)', map), 9)
  assert.equal(costOf('input.all(k, input[k].all(k, true) && k.contains(k))', { ...map, bindings: { input: fromJson({}) } }), 2)
})

test('what Kubernetes evaluates ahead of time is free', () => {
  for (const source of ['[1, 2, 3]', '{"a": [1]}', "duration('1h')", 'type(1)', '1 in [1, 2]']) assert.equal(run(source).cost, 0, source)
  assert.equal(run('x in ["a", "b"]', { x: 'b' }).cost, 1)
  assert.equal(run('[1, 2].map(x, x)').cost, 1 + 2 * (1 + 1 + 1 + 10))
})
