import assert from 'node:assert/strict'
import test from 'node:test'
import { linearRegex } from './linear-regex.ts'

test('an expression matches anywhere in the text', () => {
  assert.equal(linearRegex('b+').test('abba'), true)
  assert.equal(linearRegex('^b+').test('abba'), false)
})

test('invalid expressions have the error message of Go', () => {
  assert.throws(() => linearRegex('('), { message: 'error parsing regexp: missing closing ): `(`' })
  assert.throws(() => linearRegex('a**'), { message: 'error parsing regexp: invalid nested repetition operator: `**`' })
})

test('a pattern that is exponential with backtracking takes linear time', () => {
  assert.equal(linearRegex('^(a+)+$').test(`${'a'.repeat(20_000)}b`), false)
})

test('the cost of a match grows with the text and the size of the expression', () => {
  const [small, large] = [linearRegex('a.b'), linearRegex('a.{500}b')]
  assert.ok(large.stepsFor('xxxx') > 50 * small.stepsFor('xxxx'))
  assert.equal(large.stepsFor('x'.repeat(100)), 100 * large.stepsFor('x'))
})
