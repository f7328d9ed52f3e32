/** Timestamps and durations: parsing, formatting, arithmetic and time zones. */

import { parseDuration } from '../../lib/duration.ts'
import { goQuote, plainDecimal } from '../../lib/go-text.ts'
import { parseTime } from '../../lib/time.ts'
import { timeZoneFault } from '../../lib/time-zone.ts'
import { intOverflow } from './int64.ts'
import { CelDuration, CelFault, type CelInt, CelTimestamp, fault, intOf } from './values.ts'

const timestampOverflow = fault('timestamp overflow')

const minSeconds = -62_135_596_800
const MAX_SECONDS = 253_402_300_799
const second = 1_000_000_000n

/** A timestamp, or a fault outside of the years 1 to 9999. */
export function timestampOf(seconds: CelInt, nanos: number, offset = 0): CelTimestamp | CelFault {
  if (seconds < minSeconds || seconds > MAX_SECONDS) return timestampOverflow
  return new CelTimestamp(Number(seconds), nanos, offset)
}

const timestampText = /^\d{4}-\d\d-\d\dT\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** The timestamp of a string in RFC 3339; undefined if it is none. */
export function parseTimestamp(text: string): CelTimestamp | CelFault | undefined {
  // A cheap check first: the parser would spend its time on an error message that is not used.
  if (!timestampText.test(text)) return undefined
  try {
    const { seconds, nanos } = parseTime(text)
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? []
    const offset = sign === undefined ? 0 : (Number(hours) * 3600 + Number(minutes) * 60) * (sign === '-' ? -1 : 1)
    return timestampOf(seconds, nanos, offset)
  } catch {
    return undefined
  }
}

/** `2006-01-02T15:04:05.123Z`, with all its digits, at its original offset. */
export function formatTimestamp({ seconds, nanos, offset }: CelTimestamp): string {
  const local = new Date((seconds + offset) * 1000).toISOString().slice(0, -5)
  const digits = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
  return `${local.replace(/^\+00/, '')}${digits}${formatOffset(offset)}`
}

function formatOffset(offset: number): string {
  if (offset === 0) return 'Z'
  const minutes = Math.floor(Math.abs(offset) / 60)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** The duration of a string such as `1h30m`; undefined if it is none. */
export function parseDurationValue(text: string): CelDuration | undefined {
  try {
    return new CelDuration(intOf(parseDuration(text)))
  } catch {
    return undefined
  }
}

/** Seconds as a decimal number: `5400s`, `0.000000001s`. */
export function formatDurationValue(duration: CelDuration): string {
  return `${plainDecimal(secondsOf(duration))}s`
}

const secondsOf = ({ nanos }: CelDuration): number => unitsOf(BigInt(nanos), second)

/** Sums whole units and their fraction as floats, as Go does, which may round up to the next whole. */
const unitsOf = (nanos: bigint, unit: bigint): number => Number(nanos / unit) + Number(nanos % unit) / Number(unit)

/** The whole hours, minutes, seconds or milliseconds of a duration. */
export function durationPart({ nanos }: CelDuration, part: 'hours' | 'minutes' | 'seconds' | 'milliseconds'): CelInt {
  const exact = BigInt(nanos)
  if (part === 'milliseconds') return intOf(exact / 1_000_000n)
  const unit = part === 'hours' ? 3600n * second : part === 'minutes' ? 60n * second : second
  return Math.trunc(unitsOf(exact, unit)) + 0
}

/** The timestamp plus a duration, which may be negative. */
export function addToTimestamp(moment: CelTimestamp, duration: CelDuration | CelFault): CelTimestamp | CelFault {
  if (duration instanceof CelFault) return duration
  const total = BigInt(moment.seconds) * second + BigInt(moment.nanos) + BigInt(duration.nanos)
  const nanos = ((total % second) + second) % second
  return timestampOf(intOf((total - nanos) / second), Number(nanos), moment.offset)
}

/** The duration between two timestamps. */
export function betweenTimestamps(a: CelTimestamp, b: CelTimestamp): CelDuration | CelFault {
  const seconds = BigInt(a.seconds - b.seconds) * second
  const total = seconds + BigInt(a.nanos - b.nanos)
  if (!fitsInt64(seconds) || !fitsInt64(total)) return intOverflow
  return new CelDuration(intOf(total))
}

const fitsInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/** The local time of a timestamp in a zone: an IANA name, or an offset such as `-08:00`. */
export function inTimeZone(moment: CelTimestamp, zone: string): Date | CelFault {
  const offset = zone.includes(':') ? fixedOffset(zone) : zoneOffset(moment, zone)
  return offset instanceof CelFault ? offset : new Date((moment.seconds + offset) * 1000)
}

function fixedOffset(zone: string): number | CelFault {
  const colon = zone.indexOf(':')
  const hours = atoi(zone.slice(0, colon))
  if (hours instanceof CelFault) return hours
  const minutes = atoi(zone.slice(colon + 1))
  if (minutes instanceof CelFault) return minutes
  const seconds = (hours * 60 + (zone.startsWith('-') ? -minutes : minutes)) * 60
  // Offsets of years are refused; Go's result for them is useless.
  return Math.abs(seconds) <= 86_400 * 366 ? seconds : fault(`timezone offset out of range: ${zone}`)
}

function atoi(text: string): number | CelFault {
  if (!/^[+-]?[0-9]+$/.test(text)) return fault(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`)
  if (text.replace(/^[+-]?0*/, '').length > 15) return fault(`strconv.Atoi: parsing ${goQuote(text)}: value out of range`)
  return Number(text)
}

const zones = new Map<string, Intl.DateTimeFormat>()

function zoneOffset({ seconds }: CelTimestamp, zone: string): number | CelFault {
  if (zone === '' || zone === 'UTC') return 0
  const problem = zones.has(zone) ? undefined : timeZoneFault(zone)
  if (problem !== undefined) return fault(problem)
  let format = zones.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      ...(zone === 'Local' ? {} : { timeZone: zone }),
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    zones.set(zone, format)
  }
  const parts: Record<string, string> = {}
  for (const { type, value } of format.formatToParts(seconds * 1000)) parts[type] = value
  const year = parts['era'] === 'BC' ? 1 - Number(parts['year']) : Number(parts['year'])
  const local = new Date(0)
  local.setUTCFullYear(year, Number(parts['month']) - 1, Number(parts['day']))
  local.setUTCHours(Number(parts['hour']), Number(parts['minute']), Number(parts['second']))
  return local.getTime() / 1000 - seconds
}

/** The day of the year, from 0, of a date in UTC. */
export function dayOfYear(date: Date): number {
  return Math.round((Date.UTC(2000, date.getUTCMonth(), date.getUTCDate()) - Date.UTC(2000, 0, 1)) / 86_400_000) - leapDayMissing(date)
}

// The day is counted in a leap year, which has one day more before March.
function leapDayMissing(date: Date): number {
  const year = date.getUTCFullYear()
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return !leap && date.getUTCMonth() > 1 ? 1 : 0
}
