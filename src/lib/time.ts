// Times in the formats of the API: RFC 3339 in UTC, to the second or to the microsecond, and ages for people.

import { goTimeQuote } from './go-text.ts'

/** A point in time: whole seconds since 1970 UTC, negative before, and the nanoseconds after them. */
export interface Instant {
  readonly seconds: number
  readonly nanos: number
}

/** A string that is no time; the message is the one Go's parser gives. */
export class TimeError extends Error {
  override readonly name = 'TimeError'
}

/** The instant of a clock reading in milliseconds. */
export function instantOf(milliseconds: number): Instant {
  const seconds = Math.floor(milliseconds / 1000)
  return { seconds, nanos: Math.round((milliseconds - seconds * 1000) * 1e6) }
}

/** Formats a clock reading as metav1.Time: `2006-01-02T15:04:05Z`. */
export const timestampOf = (reading: Date | number): string => formatTime(instantOf(reading.valueOf()))

/** Formats a clock reading as metav1.MicroTime: `2006-01-02T15:04:05.000000Z`. */
export const microTimestampOf = (reading: Date | number): string => formatMicroTime(instantOf(reading.valueOf()))

/** Formats the day of a clock reading: `2006-01-02`. */
export const dateOf = (reading: Date | number): string => timestampOf(reading).slice(0, DATE_LENGTH)
const DATE_LENGTH = '2006-01-02'.length

/** Whether a string is such a day. */
export const isDate = (text: string | undefined): text is string =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text))

/** Reads a metav1.Time as milliseconds since 1970; `absent` when there is none. Throws TimeError. */
export const millisecondsAt = (timestamp: string | null | undefined, absent = 0): number =>
  timestamp ? millisecondsOf(parseTime(timestamp)) : absent

/** Milliseconds since 1970 of an instant, fractions dropped. */
export function millisecondsOf({ seconds, nanos }: Instant): number {
  return seconds * 1000 + Math.floor(nanos / 1e6)
}

/** Parses a time as metav1.Time does: any fraction and any offset are valid; throws TimeError. */
export function parseTime(text: string): Instant {
  // Almost all times are as the API writes them, and most are those of few seconds: the reader takes long.
  const plain = { seconds: text.length === PLAIN_LENGTH ? Date.parse(text) / 1000 : Number.NaN, nanos: 0 }
  return !Number.isNaN(plain.seconds) && formatTime(plain) === text ? plain : new TimeReader(text, 'second').read()
}
const PLAIN_LENGTH = '2006-01-02T15:04:05Z'.length

/** Parses a time as metav1.MicroTime does: exactly six digits of fraction; throws TimeError. */
export function parseMicroTime(text: string): Instant {
  return new TimeReader(text, 'microsecond').read()
}

/** `2006-01-02T15:04:05Z`: fractions are dropped. */
export function formatTime({ seconds }: Instant): string {
  // The argument is almost always the current second or, when objects are read, one of a few times that they share.
  const index = seconds & (KNOWN_TIMES - 1)
  if (knownSeconds[index] !== seconds) {
    knownTexts[index] = `${dateAndTime(seconds)}Z`
    knownSeconds[index] = seconds
  }
  return knownTexts[index]!
}
/** The last times that were formatted, each at an index that follows from its second. */
const KNOWN_TIMES = 256
const knownSeconds = new Float64Array(KNOWN_TIMES).fill(Number.NaN)
const knownTexts: string[] = new Array(KNOWN_TIMES).fill('')

/** `2006-01-02T15:04:05.000000Z`: below a microsecond is dropped. */
export function formatMicroTime({ seconds, nanos }: Instant): string {
  const micros = Math.floor(nanos / 1000)
  return `${formatTime({ seconds, nanos }).slice(0, -1)}.${two(Math.floor(micros / 10_000))}${two(Math.floor(micros / 100) % 100)}${two(micros % 100)}Z`
}

/** Whether the instant is year 1 of Go, which the API writes as null. */
export function isZeroTime({ seconds, nanos }: Instant): boolean {
  return seconds === ZERO_SECONDS && nanos === 0
}

/** An age with two or three significant figures, as table columns show it. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000)
  // Clocks of machines differ a little: slightly in the future is now.
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`
}

const ZERO_SECONDS = -62135596800

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}

function dateAndTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  const day = `${year(date.getUTCFullYear())}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`
  return `${day}T${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`
}

function year(value: number): string {
  return value < 0 || value > 9999 ? signedYear(value) : `${two(Math.floor(value / 100))}${two(value % 100)}`
}

const signedYear = (value: number): string => `${value < 0 ? '-' : ''}${String(Math.abs(value)).padStart(4, '0')}`

/** Two digits; anything but an integer from 0 to 99 is formatted as it is. */
const two = (value: number): string => TWO_DIGITS[value] ?? String(value)
const TWO_DIGITS: readonly string[] = Array.from({ length: 100 }, (_, i) => String(i).padStart(2, '0'))

const LAYOUTS = { second: '2006-01-02T15:04:05Z07:00', microsecond: '2006-01-02T15:04:05.000000Z07:00' }

/** Parses element by element as Go does, because its errors name the element and the rest of the string. */
class TimeReader {
  readonly #text: string
  readonly #precision: keyof typeof LAYOUTS
  #rest: string

  constructor(text: string, precision: keyof typeof LAYOUTS) {
    this.#text = text
    this.#precision = precision
    this.#rest = text
  }

  read(): Instant {
    const year = Number(this.#take(/^[0-9]{4}/, '2006'))
    this.#skip('-')
    const month = this.#number(/^[0-9]{2}/, '01', { name: 'month', from: 1, to: 12 })
    this.#skip('-')
    const day = Number(this.#take(/^[0-9]{2}/, '02'))
    this.#skip('T')
    const hour = this.#number(/^[0-9]{1,2}/, '15', { name: 'hour', from: 0, to: 23 })
    this.#skip(':')
    const minute = this.#number(/^[0-9]{2}/, '04', { name: 'minute', from: 0, to: 59 })
    this.#skip(':')
    const second = this.#number(/^[0-9]{2}/, '05', { name: 'second', from: 0, to: 59 })
    const nanos = this.#fraction()
    const offset = this.#offset()
    if (this.#rest !== '') throw this.#error(`: extra text: ${goTimeQuote(this.#rest)}`)
    if (day < 1 || day > daysIn(year, month)) throw this.#error(': day out of range')
    return { seconds: secondsOfDay(year, month, day) + hour * 3600 + minute * 60 + second - offset, nanos }
  }

  #fraction(): number {
    const fraction =
      this.#precision === 'microsecond'
        ? this.#take(/^[.,][0-9]{6}/, '.000000')
        : /^[.,][0-9]/.test(this.#rest)
          ? this.#take(/^[.,][0-9]+/, '05')
          : '.'
    return Number(fraction.slice(1, 10).padEnd(9, '0'))
  }

  /** Seconds east of UTC. */
  #offset(): number {
    if (this.#rest.startsWith('Z')) {
      this.#rest = this.#rest.slice(1)
      return 0
    }
    const zone = this.#take(/^[+-][0-9]{2}:[0-9]{2}/, 'Z07:00')
    const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))]
    // Go accepts 24 hours and 60 minutes, since people write them.
    if (hours > 24) throw this.#error(': time zone offset hour out of range')
    if (minutes > 60) throw this.#error(': time zone offset minute out of range')
    return (hours * 60 + minutes) * (zone.startsWith('-') ? -60 : 60)
  }

  #number(pattern: RegExp, element: string, range: { name: string; from: number; to: number }): number {
    const value = Number(this.#take(pattern, element))
    if (value < range.from || value > range.to) throw this.#error(`: ${range.name} out of range`)
    return value
  }

  #take(pattern: RegExp, element: string): string {
    const match = pattern.exec(this.#rest)?.[0]
    if (match === undefined) throw this.#cannotParse(element)
    this.#rest = this.#rest.slice(match.length)
    return match
  }

  #skip(separator: string): void {
    if (!this.#rest.startsWith(separator)) throw this.#cannotParse(separator)
    this.#rest = this.#rest.slice(1)
  }

  #cannotParse(element: string): TimeError {
    return this.#error(` as ${goTimeQuote(LAYOUTS[this.#precision])}: cannot parse ${goTimeQuote(this.#rest)} as ${goTimeQuote(element)}`)
  }

  #error(message: string): TimeError {
    return new TimeError(`parsing time ${goTimeQuote(this.#text)}${message}`)
  }
}

/** Seconds from 1970 to the beginning of a day; Date.UTC would move the years 0 to 99 into the twentieth century. */
function secondsOfDay(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) / 1000
}

function daysIn(year: number, month: number): number {
  return new Date(new Date(0).setUTCFullYear(year, month, 0)).getUTCDate()
}
