import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addInt, checkedUint, divideInt, moduloInt, multiplyInt, negateInt, order, subtractInt } from './int64.ts'
import { CelFault, type CelInt, intOf } from './values.ts'

const limit = 2n ** 63n
const edges = [0n, 1n, -1n, 2n ** 53n, -(2n ** 53n), 2n ** 53n - 1n, limit - 1n, -limit, 3n, -7n]
const int64 = fc.oneof(fc.bigInt(-limit, limit - 1n), fc.constantFrom(...edges), fc.bigInt(-1000n, 1000n))

type Exact = (a: bigint, b: bigint) => bigint
type Checked = (a: CelInt, b: CelInt) => CelInt | CelFault

/** The result of exact arithmetic: the int in its canonical form, or the error message. */
function told(result: bigint): CelInt | string {
  return result < -limit || result >= limit ? 'integer overflow' : intOf(result)
}

const plain = (result: CelInt | CelFault): CelInt | string => (result instanceof CelFault ? result.message : result)

const operations: [string, Checked, Exact, string?][] = [
  ['+', addInt, (a, b) => a + b],
  ['-', subtractInt, (a, b) => a - b],
  ['*', multiplyInt, (a, b) => a * b],
  ['/', divideInt, (a, b) => a / b, 'division by zero'],
]

for (const [name, checked, exact, atZero] of operations) {
  test(`${name} agrees with exact arithmetic, and each result is in its one form`, () => {
    fc.assert(
      fc.property(int64, int64, (a, b) => {
        const expected = atZero !== undefined && b === 0n ? atZero : told(exact(a, b))
        const result = plain(checked(intOf(a), intOf(b)))
        assert.equal(result, expected)
        assert.equal(Object.is(result, -0), false)
      }),
      { numRuns: 2000 },
    )
  })
}

test('the remainder agrees with exact arithmetic', () => {
  fc.assert(
    fc.property(int64, int64, (a, b) => {
      const overflows = a === -limit && b === -1n
      const expected = b === 0n ? 'modulus by zero' : overflows ? 'integer overflow' : intOf(a % b)
      const result = plain(moduloInt(intOf(a), intOf(b)))
      assert.equal(result, expected)
      assert.equal(Object.is(result, -0), false)
    }),
    { numRuns: 2000 },
  )
})

test('the least int has no negative', () => {
  assert.equal(plain(negateInt(-limit)), 'integer overflow')
  assert.equal(negateInt(0), 0)
  assert.equal(Object.is(negateInt(0), -0), false)
  assert.equal(negateInt(limit - 1n), -(limit - 1n))
})

test('ints are ordered whether they are numbers or bigints', () => {
  fc.assert(
    fc.property(int64, int64, (a, b) => {
      assert.equal(order(intOf(a), intOf(b)), a < b ? -1 : a > b ? 1 : 0)
    }),
  )
})

test('uints end at 0 and at 2^64 - 1', () => {
  assert.equal((checkedUint(-1n) as CelFault).message, 'unsigned integer overflow')
  assert.equal((checkedUint(2n ** 64n) as CelFault).message, 'unsigned integer overflow')
  assert.deepEqual({ ...checkedUint(2n ** 64n - 1n) }, { value: 2n ** 64n - 1n })
})
