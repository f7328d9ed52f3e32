/** How many values a body may hold once it is decoded: what every later step costs depends on that, not on its bytes. */
import { LIMITS } from '../lib/limits.ts'
import { type StatusError, tooLarge } from '../schema/status-error.ts'

/** The error for a body of too many values. */
export const tooManyValues = (limit: number = LIMITS.decodedNodes): StatusError =>
  tooLarge(`Request entity too large: limit is ${limit} values`)

/** Throws if an object holds more values than the limit. */
export function limitValues(value: object, limit: number): void {
  if (countDown(value, limit) < 0) throw tooManyValues(limit)
}

/** What is left of the limit after the values inside; below zero as soon as nothing is. */
function countDown(value: object, limit: number): number {
  let left = limit
  for (const key in value) {
    const part: unknown = (value as Record<string, unknown>)[key]
    left = typeof part === 'object' && part !== null ? countDown(part, left - 1) : left - 1
    if (left < 0) return left
  }
  return left
}
