/** A cache of compiled regular expressions: expressions match the same few patterns again and again. */

import { messageOf } from '../../lib/error-message.ts'
import { type LinearRegex, linearRegex } from '../../lib/linear-regex.ts'
import { type CelFault, fault } from './values.ts'

const MAX_CACHED = 256
const MAX_CACHED_LENGTH = 4096
const kept = new Map<string, LinearRegex | CelFault>()

/** The compiled pattern, or a fault in Go's words. */
export function regexOf(pattern: string): LinearRegex | CelFault {
  const found = kept.get(pattern)
  if (found) return found
  const made = compiled(pattern)
  if (pattern.length > MAX_CACHED_LENGTH) return made
  // The first key is the oldest.
  if (kept.size >= MAX_CACHED) for (const oldest of kept.keys()) if (kept.delete(oldest)) break
  kept.set(pattern, made)
  return made
}

function compiled(pattern: string): LinearRegex | CelFault {
  try {
    return linearRegex(pattern)
  } catch (error) {
    return fault(messageOf(error))
  }
}
