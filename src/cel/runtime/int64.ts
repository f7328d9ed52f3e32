/** Arithmetic on 64-bit integers with cel-go's overflow errors. */

import { CelDuration, type CelFault, type CelInt, CelUint, fault, intOf } from './values.ts'

export const intOverflow = fault('integer overflow')
export const uintOverflow = fault('unsigned integer overflow')
export const divisionByZero = fault('division by zero')
export const modulusByZero = fault('modulus by zero')

const smallest = -(1n << 63n)
const greatest = (1n << 63n) - 1n
const greatestUint = (1n << 64n) - 1n

/** The int of a result, or an overflow. */
export const checkedInt = (value: bigint): CelInt | CelFault => (value < smallest || value > greatest ? intOverflow : intOf(value))

/** The uint of a result, or an overflow. */
export const checkedUint = (value: bigint): CelUint | CelFault => (value < 0n || value > greatestUint ? uintOverflow : new CelUint(value))

export function addInt(a: CelInt, b: CelInt): CelInt | CelFault {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return checkedInt(BigInt(a) + BigInt(b))
}

export function subtractInt(a: CelInt, b: CelInt): CelInt | CelFault {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    if (Number.isSafeInteger(difference)) return difference
  }
  return checkedInt(BigInt(a) - BigInt(b))
}

export function multiplyInt(a: CelInt, b: CelInt): CelInt | CelFault {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    // Adding zero turns -0 into 0; no int is -0.
    if (Number.isSafeInteger(product)) return product + 0
  }
  return checkedInt(BigInt(a) * BigInt(b))
}

export function divideInt(a: CelInt, b: CelInt): CelInt | CelFault {
  if (b === 0) return divisionByZero
  // Without the remainder the quotient is whole, so that it cannot be rounded up.
  if (typeof a === 'number' && typeof b === 'number') return (a - (a % b)) / b + 0
  return checkedInt(BigInt(a) / BigInt(b))
}

export function moduloInt(a: CelInt, b: CelInt): CelInt | CelFault {
  if (b === 0) return modulusByZero
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  // The overflowing quotient has no remainder either.
  if (a === smallest && b === -1) return intOverflow
  return intOf(BigInt(a) % BigInt(b))
}

export const negateInt = (a: CelInt): CelInt | CelFault => (typeof a === 'number' ? 0 - a : checkedInt(-a))

/** A duration, or the fault of its computation. */
export const durationOf = (nanos: CelInt | CelFault): CelDuration | CelFault => (typeof nanos === 'object' ? nanos : new CelDuration(nanos))

/** -1, 0 or 1 as a is less than, equal to or greater than b; numbers and bigints may be mixed. */
export const order = (a: CelInt, b: CelInt): number => (a < b ? -1 : a > b ? 1 : 0)
