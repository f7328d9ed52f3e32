/** Durations in the arguments of commands. */
import { UsageError } from '../flags/usage-error.ts'
import { parseDuration } from '../lib/duration.ts'

/** Milliseconds of a text such as `5m`, above zero. Throws UsageError, which names the flag. */
export function millisecondsIn(text: string, flag: string): number {
  try {
    const ms = Number(parseDuration(text)) / 1e6
    if (ms > 0) return ms
  } catch {
    // The message below says it better.
  }
  throw new UsageError(`${flag} takes a duration such as 30s or 5m, above 0, not "${text}"`)
}
