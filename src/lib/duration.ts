// Durations as Go writes them, such as `1m30s`, to and from nanoseconds.

import { goTimeQuote } from './go-text.ts'
import { LIMITS } from './limits.ts'

/** A string that is not a duration; the message is that of Go. */
export class DurationError extends Error {
  override readonly name = 'DurationError'
}

const SECOND = 1_000_000_000n
const MINUTE = 60n * SECOND
const HOUR = 60n * MINUTE
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', SECOND],
  ['m', MINUTE],
  ['h', HOUR],
])
const MAX_INT64 = 2n ** 63n - 1n

/** The nanoseconds of a string such as `1h15m30.918s`; throws DurationError. */
export function parseDuration(text: string): bigint {
  const negative = text.startsWith('-')
  let rest = negative || text.startsWith('+') ? text.slice(1) : text
  if (rest === '0') return 0n
  if (rest === '' || text.length > LIMITS.durationLength) throw invalid(text)
  let total = 0n
  while (rest !== '') {
    const [, whole = '', fraction = ''] = /^([0-9]*)(?:\.([0-9]*))?/.exec(rest)!
    if (whole === '' && fraction === '') throw invalid(text)
    rest = rest.slice(whole.length + (rest[whole.length] === '.' ? 1 + fraction.length : 0))
    const [name = ''] = /^[^0-9.]*/.exec(rest)!
    if (name === '') throw new DurationError(`time: missing unit in duration ${goTimeQuote(text)}`)
    const unit = UNITS.get(name)
    if (unit === undefined) throw new DurationError(`time: unknown unit ${goTimeQuote(name)} in duration ${goTimeQuote(text)}`)
    rest = rest.slice(name.length)
    // More digits than this overflow 64 bits of nanoseconds, or are below one.
    if (whole.replace(/^0+/, '').length > 19) throw invalid(text)
    const digits = fraction.slice(0, 18)
    total += BigInt(whole || '0') * unit + (BigInt(digits || '0') * unit) / 10n ** BigInt(digits.length)
    if (total > MAX_INT64 + (negative ? 1n : 0n)) throw invalid(text)
  }
  return negative ? -total : total
}

/** The shortest usual form of a duration: `1h0m5s`, `2.5s`, `300ms`, `0s`. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  const sign = nanoseconds < 0n ? '-' : ''
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (size < 1_000n) return `${sign}${size}ns`
  if (size < 1_000_000n) return `${sign}${decimal(size, 1_000n)}µs`
  if (size < SECOND) return `${sign}${decimal(size, 1_000_000n)}ms`
  const hours = size / HOUR
  const minutes = (size % HOUR) / MINUTE
  const seconds = `${decimal(size % MINUTE, SECOND)}s`
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = String(value % unit)
    .padStart(String(unit).length - 1, '0')
    .replace(/0+$/, '')
  return fraction === '' ? String(value / unit) : `${value / unit}.${fraction}`
}

const invalid = (text: string) => new DurationError(`time: invalid duration ${goTimeQuote(text)}`)
