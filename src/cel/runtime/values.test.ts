import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { equalValues } from './equality.ts'
import { CelDouble, CelFault, CelUint, type CelValue, EntryMap, intOf, listOf, mapOf, textSize } from './values.ts'

const uint = (value: number | bigint) => new CelUint(BigInt(value))
const double = (value: number) => new CelDouble(value)

test('a map finds whole keys by any number that equals them', () => {
  const map = mapOf([
    [1, 'int'],
    [uint(2), 'uint'],
    [double(3), 'double'],
  ])
  for (const key of [1, uint(1), double(1)]) assert.equal(map.find(key), 'int')
  for (const key of [2, uint(2), double(2)]) assert.equal(map.find(key), 'uint')
  assert.equal(map.find(double(3)), 'double')
  // Doubles are no keys of CEL; cel-go finds them by doubles alone.
  assert.equal(map.find(3), undefined)
  assert.equal(map.find(double(1.5)), undefined)
  assert.equal(map.find(double(Number.NaN)), undefined)
})

test('an int and a uint are keys of their own', () => {
  const map = mapOf([
    [1, 'int'],
    [uint(1), 'uint'],
  ])
  assert.equal(map.size, 2)
  assert.equal(map.find(1), 'int')
  assert.equal(map.find(uint(1)), 'uint')
})

test('a uint finds an equal int beyond the safe range in a map', () => {
  const large = 2n ** 60n
  const map = mapOf([[intOf(large), 'large']])
  assert.equal(map.find(uint(large)), 'large')
  assert.equal(map.find(double(2 ** 60)), 'large')
})

test('any text is a key', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString'))), keys => {
      const map = mapOf(keys.map((key, i) => [key, i]))
      assert.equal(map.size, keys.length)
      keys.forEach((key, i) => {
        assert.equal(map.find(key), i)
      })
      assert.deepEqual(map.keys(), keys)
    }),
  )
  assert.equal(mapOf([]).find('__proto__'), undefined)
})

test('bytes cannot be keys', () => {
  const map = new EntryMap()
  assert.ok(map.set(new Uint8Array([1]), 1) instanceof CelFault)
  assert.equal(map.find(new Uint8Array([1])), undefined)
})

test('the size of a text is in code points', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      assert.equal(textSize(text), [...text].length)
    }),
  )
  assert.equal(textSize('\ud83d'), 1)
  assert.equal(textSize('a\udc00'), 2)
})

const scalar: fc.Arbitrary<CelValue> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -3, max: 3 }),
  fc.bigInt(2n ** 53n, 2n ** 53n + 3n),
  fc.constantFrom('', 'a', 'b'),
  fc.integer({ min: 0, max: 3 }).map(uint),
  fc.constantFrom(-1, 0, 0.5, 1, 2, Number.POSITIVE_INFINITY).map(double),
)
const value: fc.Arbitrary<CelValue> = fc.letrec<{ value: CelValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }).map(listOf),
    fc.array(fc.tuple(fc.constantFrom('k', 'l'), tie('value')), { maxLength: 2 }).map(mapOf),
  ),
})).value

test('equality is reflexive but for NaN, and symmetric', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.equal(equalValues(a, a), true)
      assert.equal(equalValues(a, b), equalValues(b, a))
    }),
  )
  const nan = double(Number.NaN)
  assert.equal(equalValues(nan, nan), false)
  assert.equal(equalValues(listOf([nan]), listOf([nan])), false)
})

test('numbers of different types are equal on the number line', () => {
  assert.equal(equalValues(1, uint(1)), true)
  assert.equal(equalValues(1, double(1)), true)
  assert.equal(equalValues(uint(1), double(1)), true)
  assert.equal(equalValues(-1, uint(2n ** 64n - 1n)), false)
  assert.equal(equalValues(1, '1'), false)
  assert.equal(equalValues(null, 0), false)
})
