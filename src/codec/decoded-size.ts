/**
 * How many values a body may hold once it is decoded: what every later step costs depends on that, not on its bytes. Keys of a large
 * mapping count as several values, as V8 takes that much longer to read, write and list them.
 */
import { type StatusError, tooLarge } from '../schema/status-error.ts'

/** How many values there may be, and how many of them a key of a large mapping counts for. */
export type ValueLimit = { readonly values: number; readonly keyWeight: number }

/** The error for a body of too many values. */
export const tooManyValues = (values: number): StatusError => tooLarge(`Request entity too large: limit is ${values} values`)

/**
 * Throws if an object holds more values than the limit, to refuse it early. Of a large mapping only the keys are counted if its first
 * value is a scalar or empty, as in maps of text and in owned fields: the exact count is that of the bytes to be stored.
 */
export function limitValues(value: object, { values, keyWeight }: ValueLimit): void {
  if (countDown(value, values, keyWeight) < 0) throw tooManyValues(values)
}

/** The rest of the limit after the values inside; below zero as soon as it is exceeded. */
function countDown(value: object, limit: number, keyWeight: number): number {
  const parts = Array.isArray(value) ? value : undefined
  const keys = parts ? NO_KEYS : Object.keys(value)
  const count = parts ? parts.length : keys.length
  let left = limit - (!parts && count > MANY_KEYS ? keyWeight * count : count)
  if (count > MANY_KEYS && !parts && isPlain((value as Record<string, unknown>)[keys[0]!])) return left
  for (let i = 0; i < count && left >= 0; i++) {
    const part: unknown = parts ? parts[i] : (value as Record<string, unknown>)[keys[i]!]
    if (typeof part === 'object' && part !== null) left = countDown(part, left, keyWeight)
  }
  return left
}

const NO_KEYS: readonly string[] = []

/** Past this many keys a mapping is large. */
export const MANY_KEYS = 1000

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null || Object.keys(value).length === 0
