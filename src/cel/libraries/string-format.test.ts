import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemOf, shown } from '../../../test/kits/cel/kubernetes.ts'

const cases: readonly (readonly [expression: string, result: string])[] = [
  ["'this is a string: %s\\nand an integer: %d'.format(['str', 42])", 'this is a string: str\nand an integer: 42'],
  ["'a double: %.2f'.format([1.325])", 'a double: 1.32'],
  ["'%.0f %.0f'.format([0.5, 2.5])", '0 2'],
  ["'%f'.format([1234567.891])", '1,234,567.891000'],
  ["'%.3f %f %f'.format(['NaN', 'Infinity', '-Infinity'])", 'NaN ∞ -∞'],
  ["'%e'.format([2.71828])", '2.718280×10⁰⁰'],
  ["'%e'.format([0.0001])", '1.000000×10⁻⁰⁴'],
  ["'%e'.format([-1052.032911275])", '-1.052033×10⁰³'],
  ["'%b %b %b'.format([5, true, -3])", '101 1 -11'],
  ["'%o'.format([11])", '13'],
  ["'%x %X %x %X'.format([30, 30, 'hi', b'~z'])", '1e 1E 6869 7E7A'],
  ["'%d%% of %d'.format([5u, 10])", '5% of 10'],
  ["'%s'.format([['a', 'b']])", '["a", "b"]'],
  ["'%s'.format([[1, 2u, 1.5, true, null, b'x']])", '[1, 2, 1.500000, true, null, b"x"]'],
  ["'%s'.format([{'b': 1, 'a': [duration('90s')]}])", '{"a":[duration("90s")], "b":1}'],
  ["'%s'.format([[timestamp('2023-02-03T23:31:20Z')]])", '[timestamp("2023-02-03T23:31:20Z")]'],
  ["'%s %s'.format([timestamp('2023-02-03T23:31:20Z'), duration('1h')])", '2023-02-03T23:31:20Z 3600s'],
  ["'%s %s %s'.format([1.5, type('a'), null])", '1.5 string null'],
  ["'no clauses'.format([])", 'no clauses'],
]

for (const [expression, result] of cases) test(`${expression} is ${result}`, () => assert.equal(shown(expression), result))

/** The issues of an expression whose position does not matter. */
const told = (expression: string) =>
  problemOf(expression)
    .split('\n')[0]!
    .replace(/^.*ERROR: <input>:/, '')

test('literal templates and arguments are checked at compile time', () => {
  assert.equal(told("'%d'.format(['x'])"), '1:14: error during formatting: decimal clause can only be used on integers, was given string')
  assert.equal(
    told("'%s'.format([quantity('1')])"),
    '1:22: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity',
  )
  assert.match(told("'%z'.format([1])"), /could not parse formatting clause: unrecognized formatting clause "z"$/)
  assert.match(told("'%.f'.format([1.0])"), /error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax$/)
  assert.match(told("'%.3'.format([1.0])"), /could not find end of precision specifier$/)
  assert.match(told("'%'.format([1])"), /unexpected end of string$/)
  assert.match(told("'%s %s'.format([1])"), /index 1 out of range$/)
  assert.match(told("'%s'.format([1, 2])"), /too many arguments supplied to string.format \(expected 1, got 2\)$/)
  assert.match(told("'%f'.format([1])"), /fixed-point clause can only be used on doubles, was given int$/)
})

test('other templates and arguments fail at run time', () => {
  assert.equal(
    problemOf("'%d'.format([dyn('x')])"),
    'error during formatting: decimal clause can only be used on integers, was given string',
  )
  assert.equal(problemOf("('%' + 'd').format([])"), 'index 0 out of range')
  assert.equal(
    problemOf("('%' + 's').format([[quantity('1')]])"),
    'error during formatting: no formatting function for kubernetes.Quantity',
  )
  assert.equal(problemOf("('%' + 'ä').format([1])"), 'could not parse formatting clause: unrecognized formatting clause "Ã"')
})
