/** Numbers as Go holds them: what fits 64 bits and was written without a fraction is an integer, all else a double. */
import type { Json } from '../lib/json-value.ts'

/** Whether the value is an integer of 64 bits. */
export function isInteger(value: Json | undefined): value is number | bigint {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value)
}

/** The 64-bit integer nearest to a double, without its fraction. */
export function truncated(value: number): bigint {
  if (Number.isNaN(value)) return 0n
  if (value >= 2 ** 63) return 2n ** 63n - 1n
  return value <= -(2 ** 63) ? -(2n ** 63n) : BigInt(Math.trunc(value))
}

const EPSILON = 1e-9

/** Whether a double is a whole number, allowing for how doubles come about; one that is not exact beyond 2^53 is none. */
export function isWhole(value: number): boolean {
  if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return false
  if (Number.isInteger(value)) return true
  const whole = Math.trunc(value)
  return whole > 0 && (value - whole) / (value + whole) < EPSILON
}
