import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../codec/json.ts'
import { ConformError, conform } from './conform.ts'
import { atomic, bytes, double, int32, int64, intOrString, mapOf, message, quantity, raw, string, time } from './types.ts'

const Inner = message('InnerSpec', { size: [1, int32, ''] })
const Thing = message('Thing', {
  small: [1, int32.optional(), ''],
  large: [2, int64.optional(), ''],
  share: [3, double.optional(), ''],
  amount: [4, quantity, ''],
  either: [5, intOrString, ''],
  free: [6, raw, ''],
  name: [7, string, ''],
  inner: [8, Inner, ''],
  sizes: [9, atomic(int32), ''],
  parts: [10, mapOf(string), ''],
  time: [11, time, ''],
  secret: [12, bytes, ''],
})

const read = (text: string) => conform(Thing, parseJson(text, { numbers: 'written' }).value).value

function refusal(text: string): ConformError {
  try {
    read(text)
  } catch (error) {
    if (error instanceof ConformError) return error
    throw error
  }
  throw new assert.AssertionError({ message: `${text} is taken` })
}

test('integers are written as integers, within their range', () => {
  assert.deepEqual(read('{"small":-0,"large":9223372036854775807}'), { small: 0, large: 9223372036854775807n })
  assert.deepEqual(read('{"small":-2147483648,"large":-9223372036854775808}'), { small: -2147483648, large: -9223372036854775808n })
  const long = '1'.repeat(400)
  for (const number of ['1.0', '1.50', '1e3', '1E+2', '-0.0', '0e0', '2147483648', '9223372036854775808', '1e400', long])
    assert.equal(
      refusal(`{"small":${number}}`).message,
      `json: cannot unmarshal number ${number} into Go struct field Thing.small of type int32`,
    )
  for (const number of ['1.0', '1e3', '9223372036854775808', '-9223372036854775809', long])
    assert.equal(
      refusal(`{"large":${number}}`).message,
      `json: cannot unmarshal number ${number} into Go struct field Thing.large of type int64`,
    )
  assert.equal(refusal('{"either":1.0}').message, 'json: cannot unmarshal number 1.0 into Go struct field Thing.either of type int32')
  assert.equal(refusal('{"sizes":[1,2.0]}').message, 'json: cannot unmarshal number 2.0 into Go struct field Thing.sizes of type int32')
})

test('other fields make of a number what it is there', () => {
  assert.deepEqual(read('{"share":1.0,"amount":1e3,"free":{"a":[1.0,2e1,{"b":0.5}]}}'), {
    share: 1,
    amount: '1e3',
    free: { a: [1, 20, { b: 0.5 }] },
  })
  assert.equal(read('{"amount":1000}').amount, '1k')
  assert.equal(read('{"amount":0.10}').amount, '100m')
  assert.equal(refusal('{"share":-1e400}').message, 'json: cannot unmarshal number -1e400 into Go struct field Thing.share of type float64')
  assert.equal(refusal('{"name":1.0}').message, 'json: cannot unmarshal number into Go struct field Thing.name of type string')
  assert.equal(refusal('{"inner":1.0}').message, 'json: cannot unmarshal number into Go struct field Thing.inner of type v1.InnerSpec')
  assert.equal(refusal('{"free":1e400}').message, 'json: cannot unmarshal number 1e400 into Go value of type float64')
  // A member without a declared field may be any number.
  assert.deepEqual(conform(Thing, parseJson('{"unheard":1e400}', { numbers: 'written' }).value).problems, ['unknown field "unheard"'])
})

test('a list in a map is written as it was sent, empty or null', () => {
  const Held = message('Held', { lists: [1, mapOf(atomic(string)), ''] })
  const lists = { a: [], b: null, c: [''], d: ['x'] }
  assert.deepEqual(conform(Held, { lists }).value, { lists })
})

test('what was merged as values is refused in the words of a conversion', () => {
  const told = (value: unknown) => {
    try {
      return conform(Thing, value as never).value
    } catch (error) {
      return (error as ConformError).converting
    }
  }
  assert.deepEqual(told({ small: 1.0 }), { small: 1 })
  assert.equal(told({ small: 1.5 }), 'cannot convert float64 to int32')
  assert.equal(told({ large: 1.5 }), 'cannot convert float64 to int64')
  assert.equal(told({ small: '1' }), 'unrecognized type: int32')
  assert.equal(told({ name: 1 }), 'cannot convert int64 to string')
  assert.equal(told({ name: 1.5 }), 'unrecognized type: string')
  assert.equal(told({ name: {} }), 'unrecognized type: string')
  assert.equal(told({ share: 'x' }), 'unrecognized type: float64')
  assert.equal(told({ inner: [] }), 'cannot restore struct from: slice')
  assert.equal(told({ sizes: {} }), 'cannot restore slice from map')
  assert.equal(told({ secret: 1 }), 'cannot restore slice from int64')
  assert.equal(told({ parts: true }), 'cannot restore map from bool')
  assert.equal(told({ time: 1 }), 'json: cannot unmarshal number into Go value of type string')
  assert.equal(told({ either: 1.5 }), 'json: cannot unmarshal number 1.5 into Go value of type int32')
})
