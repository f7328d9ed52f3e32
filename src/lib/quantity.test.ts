import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as q from './quantity.ts'

const { parseQuantity: parse } = q

test('quantities are printed in canonical form', () => {
  const cases: [string, string][] = [
    ['0', '0'],
    ['0Ki', '0'],
    ['-0', '0'],
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1.5', '1500m'],
    ['1024Ki', '1Mi'],
    ['1e3', '1e3'],
    ['1e4', '10e3'],
    ['1E3', '1E3'],
    ['12345678', '12345678'],
    ['1000', '1k'],
    ['1000000', '1M'],
    ['100m', '100m'],
    ['128974848', '128974848'],
    ['129e6', '129e6'],
    ['123Mi', '123Mi'],
    ['1Ei', '1Ei'],
    ['512Ki', '512Ki'],
    ['8Ki', '8Ki'],
    ['0.5Gi', '512Mi'],
    ['0.1Ki', '102400m'],
    ['0.5Ki', '512'],
    ['1.0Ki', '1Ki'],
    ['0.0001m', '100n'],
    ['0.0000001m', '1n'],
    ['-0.0000001m', '-1n'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['1.0000000001', '1000000001n'],
    ['-500m', '-500m'],
    ['-1024Ki', '-1Mi'],
    ['1P', '1P'],
    ['1E', '1E'],
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775808', '9223372036854775808'],
    ['8Ei', '9223372036854775807'],
    ['100Ei', '9223372036854775807'],
    ['-100Ei', '-9223372036854775807'],
    ['1e-9', '1e-9'],
    ['1e-10', '1e-9'],
    ['1e-1000000', '1e-9'],
    ['.', '0'],
    ['+', '0'],
    ['.5', '500m'],
    [' 1 ', '1'],
  ]
  for (const [text, canonical] of cases) assert.equal(q.canonicalQuantity(text), canonical, text)
})

test('text that is already canonical is kept', () => {
  for (const text of ['1.500', '007', '+5', '+1Ki', '01Mi', '1.123k', '5e+3', '1e0', '5.']) assert.equal(q.canonicalQuantity(text), text)
})

test('invalid quantities have the messages of kube-apiserver', () => {
  const format = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  const suffix = "unable to parse quantity's suffix"
  const cases: [string, string][] = [
    ['', format],
    ['x', format],
    ['1.2.3', format],
    ['1 Ki', format],
    ['1KiB', format],
    ['--1', suffix],
    ['1mi', suffix],
    ['1e', suffix],
    ['1ki', suffix],
    ['1+5', suffix],
    ['1e99999999999', suffix],
    ['9'.repeat(5000), 'unable to parse numeric part of quantity'],
  ]
  for (const [text, message] of cases) {
    assert.throws(() => parse(text), { name: 'QuantityError', message }, text)
    assert.ok(!q.isQuantity(text))
  }
  assert.ok(q.isQuantity('1Gi'))
})

test('values are rounded away from zero and capped at 64 bits', () => {
  assert.equal(q.integerValue(parse('1.5')), 2n)
  assert.equal(q.integerValue(parse('-1.5')), -2n)
  assert.equal(q.integerValue(parse('1Mi')), 1048576n)
  assert.equal(q.integerValue(parse('1n')), 1n)
  assert.equal(q.milliValue(parse('1.0001')), 1001n)
  for (const zero of ['0', '0n', '0e1000000000']) assert.equal(q.milliValue(parse(zero)), 0n)
  assert.equal(q.integerValue(parse('1e1000000000')), 2n ** 63n - 1n)
  assert.equal(q.milliValue(parse('-1e30')), -(2n ** 63n - 1n))
})

test('quantities compare by value, however large their exponents', () => {
  const compare = (a: string, b: string) => q.compareQuantity(parse(a), parse(b))
  assert.equal(compare('1000m', '1'), 0)
  assert.equal(compare('1Ki', '1k'), 1)
  assert.equal(compare('-1', '0'), -1)
  assert.equal(compare('-2', '-1'), -1)
  assert.equal(compare('0', '0e1000000000'), 0)
  assert.equal(compare('1e2000000000', '1e1000000000'), 1)
  assert.equal(compare('-1e2000000000', '1n'), -1)
})

test('sums and differences keep the format of the first', () => {
  assert.equal(q.addQuantity(parse('512Mi'), parse('512Mi')).text, '1Gi')
  assert.equal(q.addQuantity(parse('0'), parse('1Ki')).text, '1Ki')
  assert.equal(q.addQuantity(parse('100m'), parse('1')).text, '1100m')
  assert.equal(q.subtractQuantity(parse('1'), parse('250m')).text, '750m')
  assert.equal(q.subtractQuantity(parse('1'), parse('1')).text, '0')
  assert.equal(q.addQuantity(parse('1Ki'), parse('1e2000000001')).text, '1e2000000001')
})

const suffixes = fc.constantFrom(
  '',
  'n',
  'u',
  'm',
  'k',
  'M',
  'G',
  'T',
  'P',
  'E',
  'Ki',
  'Mi',
  'Gi',
  'Ti',
  'Pi',
  'Ei',
  'e3',
  'E-3',
  'e+7',
  'e-8',
)
const texts = fc
  .tuple(fc.constantFrom('', '-', '+'), fc.stringMatching(/^[0-9]{1,20}$/), fc.stringMatching(/^(\.[0-9]{0,12})?$/), suffixes)
  .map(parts => parts.join(''))

test('the canonical text means the same and is canonical itself', () => {
  fc.assert(
    fc.property(texts, text => {
      const quantity = parse(text)
      const again = parse(quantity.text)
      assert.equal(q.compareQuantity(quantity, again), 0, quantity.text)
      assert.equal(again.text, quantity.text)
    }),
    { numRuns: 500 },
  )
})

test('comparison is a total order that agrees with negation and integer values', () => {
  fc.assert(
    fc.property(texts, texts, (left, right) => {
      const [a, b] = [parse(left), parse(right)]
      assert.equal(q.compareQuantity(a, b), 0 - q.compareQuantity(b, a))
      if (q.compareQuantity(a, b) <= 0) assert.ok(q.integerValue(a) <= q.integerValue(b))
      const difference = q.quantitySign(q.subtractQuantity(a, b))
      assert.equal(difference, q.compareQuantity(a, b))
    }),
    { numRuns: 500 },
  )
})
