import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fixedText, scientificText } from './float-text.ts'

test('numbers are rounded to the nearest, halves to even', () => {
  assert.deepEqual(
    [0.5, 1.5, 2.5, 3.5, 0.05].map(value => fixedText(value, 0)),
    ['0', '2', '2', '4', '0'],
  )
  assert.equal(fixedText(1.325, 2), '1.32')
  assert.equal(fixedText(-0.125, 2), '-0.12')
  assert.equal(fixedText(1e21, 1), '1000000000000000000000.0')
  assert.equal(fixedText(5e-324, 3), '0.000')
})

test('scientific notation has the right exponent', () => {
  assert.deepEqual(scientificText(1052.032911275, 6), { sign: '', mantissa: '1.052033', exponent: 3 })
  assert.deepEqual(scientificText(-9.9999999, 2), { sign: '-', mantissa: '1.00', exponent: 1 })
  assert.deepEqual(scientificText(0, 2), { sign: '', mantissa: '0.00', exponent: 0 })
  assert.deepEqual(scientificText(0.00025, 0), { sign: '', mantissa: '3', exponent: -4 })
})

test('printed numbers are parsed back within their precision', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
      fc.integer({ min: 0, max: 20 }),
      (value, places) => {
        assert.ok(Math.abs(Number(fixedText(value, places)) - value) <= 0.5 * 10 ** -places + Math.abs(value) * 1e-15)
        const { sign, mantissa, exponent } = scientificText(value, 17)
        assert.equal(Number(`${sign}${mantissa}e${exponent}`), value)
      },
    ),
  )
})
