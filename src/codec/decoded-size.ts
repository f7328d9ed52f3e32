/** How many values a body may hold once it is decoded: what every later step costs depends on that, not on its bytes. */
import { LIMITS } from '../lib/limits.ts'
import { type StatusError, tooLarge } from '../schema/status-error.ts'

/** The error for a body of too many values. */
export const tooManyValues = (limit: number = LIMITS.decodedNodes): StatusError =>
  tooLarge(`Request entity too large: limit is ${limit} values`)
