import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { refTo } from '../../schema/refs.ts'
import { validateCapacity } from './capacity-rules.ts'
import type { DeviceCapacity } from './slice-shapes.ts'

const faults = (requestPolicy: object, { value = '100', isShared = true, fractions = true } = {}) => {
  const capacity = { value, requestPolicy } as DeviceCapacity
  const found = validateCapacity(capacity, refTo(capacity, 'c'), {
    isShared,
    gate: name => name === 'DRAFractionalCapacityRange' && fractions,
  })
  return [...found].map(({ field, message }) => `${field}: ${message}`.replace('c.requestPolicy', ''))
}
const range = (validRange: object, preset = '10', options: object = {}) => faults({ default: preset, validRange }, options)

test('a policy needs a device that is given out several times', () => {
  assert.deepEqual(faults({ default: '1' }), [])
  assert.deepEqual(faults({ default: '1' }, { isShared: false }), [': Forbidden: allowMultipleAllocations must be true'])
})

test('a request policy has a list of values or a range', () => {
  assert.deepEqual(faults({ default: '1', validValues: ['1'], validRange: { min: '1' } }), [
    ': Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
  ])
  assert.deepEqual(faults({ default: null, validValues: ['1'] }), ['.default: Required value: required when validValues is defined'])
  assert.deepEqual(faults({ default: null, validRange: { min: '1' } }), ['.default: Required value: required when validRange is defined'])
})

test('listed amounts ascend within the capacity and hold the default', () => {
  assert.deepEqual(faults({ default: '1Ki', validValues: ['1', '1Ki'] }, { value: '1Ki' }), [])
  assert.deepEqual(faults({ default: '2', validValues: ['2', '1', '101'] }), [
    '.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
    '.validValues[2]: Invalid value: "101": option is larger than capacity value: 100',
  ])
  assert.deepEqual(faults({ default: '3', validValues: ['1', '2'] }), [
    '.validValues: Invalid value: "3": default value is not valid according to the requestPolicy',
  ])
})

test('listed amounts are at most 10, each once', () => {
  const values = Array.from({ length: 11 }, (_, i) => String(i + 1))
  assert.deepEqual(faults({ default: '1', validValues: values }), [
    '.validValues: Too many: 11: must have at most 10 items',
    '.validValues: Invalid value: "1": default value is not valid according to the requestPolicy',
  ])
  assert.deepEqual(faults({ default: '500m', validValues: ['500m', '500m'] }), ['.validValues[1]: Duplicate value: "0.500"'])
  assert.deepEqual(faults({ default: '10k', validValues: ['10k', '10k'] }, { value: '10k' }), ['.validValues[1]: Duplicate value: "10000"'])
  assert.deepEqual(faults({ default: '1', validValues: ['500m', '1'] }), [])
  assert.deepEqual(faults({ default: '1', validValues: ['500m', '1'] }, { fractions: false }), ['.validValues[1]: Duplicate value: "1"'])
})

test('a range is within the capacity and contains the default', () => {
  assert.deepEqual(range({ min: '1', max: '100' }), [])
  assert.deepEqual(range({}), ['.validRange.min: Required value: required when validRange is defined'])
  assert.deepEqual(range({ min: '101' }), [
    '.validRange.min: Invalid value: "101": min is larger than capacity value: 100',
    '.validRange.default: Invalid value: "10": default is less than min: 101',
  ])
  assert.deepEqual(range({ min: '5', max: '4' }), [
    '.validRange.max: Invalid value: "5": min is larger than max: 4',
    '.validRange.default: Invalid value: "10": default is more than max: 4',
  ])
  assert.deepEqual(range({ min: '1', max: '200' }), ['.validRange.max: Invalid value: "200": max is larger than capacity value: 100'])
})

test('steps lead from the least amount to the default and to the most', () => {
  assert.deepEqual(range({ min: '2', max: '14', step: '4' }), [])
  assert.deepEqual(range({ min: '2', max: '15', step: '3' }), [
    '.validRange.step: Invalid value: "10": value is not a multiple of a given step (3) from (2)',
    '.validRange.step: Invalid value: "15": value is not a multiple of a given step (3) from (2)',
  ])
  assert.deepEqual(range({ min: '10', step: '0' }), ['.validRange.step: Invalid value: "0": must be greater than zero'])
  assert.deepEqual(range({ min: '10', step: '95' }), [
    '.validRange.step: Invalid value: "95": one step 105 is larger than capacity value: 100',
  ])
})

test('steps may be fractions of thousandths', () => {
  assert.deepEqual(range({ min: '500m', step: '250m' }, '1'), [])
  assert.deepEqual(range({ min: '500m', step: '300m' }, '1'), [
    '.validRange.step: Invalid value: "1": value is not a multiple of a given step (300m) from (500m)',
  ])
  assert.deepEqual(range({ min: '1u', step: '1' }, '1'), [
    '.validRange.min: Invalid value: "1u": value cannot be represented as a milli value',
  ])
})

test('steps are counted in 64 bits', () => {
  const value = '1e30'
  assert.deepEqual(range({ min: '0', max: '36893488147419103232', step: '18446744073709551616' }, '0', { value }), [
    '.validRange.max: Invalid value: "36893488147419103232": must not be larger than 9223372036854775807',
    '.validRange.step: Invalid value: "18446744073709551616": must not be larger than 9223372036854775807',
  ])
  assert.deepEqual(range({ min: '-1', step: '1' }, '0'), ['.validRange.min: Invalid value: "-1": must be greater than or equal to 0'])
})

test('for random amounts, rules terminate and never throw', () => {
  const amount = fc.oneof(
    fc.integer({ min: -1000, max: 1000 }).map(String),
    fc
      .tuple(
        fc.integer({ min: -999, max: 999 }),
        fc.constantFrom('m', 'u', 'n', 'k', 'Ki', 'E', 'e5', 'e30', 'e-30', 'e2147483647', 'e-2147483647'),
      )
      .map(([n, s]) => `${n}${s}`),
  )
  const policy = fc.record(
    {
      default: amount,
      validValues: fc.array(amount, { maxLength: 12 }),
      validRange: fc.record({ min: amount, max: amount, step: amount }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(policy, amount, fc.boolean(), (requestPolicy, value, fractions) => {
      for (const fault of faults(requestPolicy, { value, fractions }))
        assert.match(fault, /^\S*: (Invalid|Required|Forbidden|Duplicate|Too many)/)
    }),
  )
})
