import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepEqual, type Json, jsonTypeName } from './json-value.ts'
import { settleNumbers, writtenNumber, writtenText } from './written-number.ts'

test('a written number is a scalar that says how it was written', () => {
  const number = writtenNumber('1.0')
  assert.deepEqual([writtenText(number), writtenText(1), writtenText('1.0'), writtenText(null)], ['1.0', undefined, undefined, undefined])
  assert.equal(jsonTypeName(number), 'number')
  assert.ok(deepEqual({ a: [number] }, { a: [writtenNumber('1.0')] }))
  assert.ok(!deepEqual(number, writtenNumber('1')))
  assert.ok(!deepEqual(number, 1))
})

test('settling makes doubles of written numbers and leaves the rest as it is', () => {
  const plain: Json = { a: [1, { b: 2n }], c: null }
  assert.equal(settleNumbers(plain), plain)
  const sent: Json = { plain, list: [1, writtenNumber('2.50')], ['__proto__']: writtenNumber('1e3') }
  const settled = settleNumbers(sent) as { [key: string]: Json }
  assert.equal(settled['plain'], plain)
  assert.deepEqual(Object.entries(settled), [
    ['plain', plain],
    ['list', [1, 2.5]],
    ['__proto__', 1000],
  ])
  assert.equal(Object.getPrototypeOf(settled), Object.prototype)
  assert.equal(writtenText((sent['list'] as Json[])[1]), '2.50')
})

test('a number that no double can represent is rejected', () => {
  const message = 'json: cannot unmarshal number -1e400 into Go value of type float64'
  assert.throws(() => settleNumbers([{ a: writtenNumber('-1e400') }]), { name: 'NumberRangeError', message })
})
