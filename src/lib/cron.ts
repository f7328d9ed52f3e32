/**
 * Cron schedules: five fields (minute, hour, day of month, month, day of week) or a word for the whole.
 *
 *     0 3 * * mon-fri      at three on working days
 *     @every 90m           every hour and a half
 *
 * Errors have the messages of the parser that Kubernetes uses, and times are found the way it finds them, also where clocks are changed.
 */
import { DurationError, parseDuration } from './duration.ts'
import { goQuote } from './go-text.ts'
import { LIMITS } from './limits.ts'
import { clockOf, timeZoneFault, type ZoneClock } from './time-zone.ts'
import { cutAt, truncate } from './truncate.ts'

export interface CronSchedule {
  /** The first time after the given one, in milliseconds since 1970; undefined when there is none within five years. */
  next(after: number): number | undefined
}

type Parsed = { readonly ok: true; readonly schedule: CronSchedule } | { readonly ok: false; readonly fault: string }

/** Parses a schedule, or describes its error. A zone at its beginning takes precedence over the `zone` parameter; the default is UTC. */
export function parseCron(text: string, zone = ''): Parsed {
  try {
    return { ok: true, schedule: parse(text, zone) }
  } catch (error) {
    if (error instanceof CronError) return { ok: false, fault: error.message }
    throw error
  }
}

/** The error of a schedule; undefined when it is valid. */
export function cronFault(schedule: string): string | undefined {
  const parsed = parseCron(schedule)
  return parsed.ok ? undefined : parsed.fault
}

class CronError extends Error {}
const fault = (message: string) => new CronError(message)
/** A schedule may be as long as a request; messages show its beginning. */
const shown = (text: string) => truncate(text, LIMITS.errorValueLength)

type Bounds = { readonly min: number; readonly max: number; readonly names?: readonly string[] }
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const FIELDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
]

const DESCRIPTORS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])
const EVERY = '@every '

function parse(text: string, zone: string): CronSchedule {
  if (text === '') throw fault('empty spec string')
  const { rest, zone: own = zone } = takeZone(text)
  if (rest.startsWith(EVERY)) return parseInterval(rest)
  const fields = rest.startsWith('@') ? DESCRIPTORS.get(rest) : rest
  if (fields === undefined) throw fault(`unrecognized descriptor: ${shown(rest)}`)
  return parseFields(fields, clockOf(own))
}

function parseFields(text: string, clock: ZoneClock): CronSchedule {
  const { fields, count } = fieldsOf(text)
  if (count !== FIELDS.length) {
    const found = cutAt(text, LIMITS.errorValueLength).trim().replace(/\s+/g, ' ')
    throw fault(`expected exactly ${FIELDS.length} fields, found ${count}: [${found}${text.length > LIMITS.errorValueLength ? '…' : ''}]`)
  }
  const [minute, hour, day, month, weekday] = fields.map((field, i) => parseField(field, FIELDS[i]!))
  const times = { minute: minute!, hour: hour!, day: day!, month: month!, weekday: weekday! }
  return { next: after => nextTime(times, clock, after) }
}

/** The first fields of a schedule, as many as there should be, and how many there are. */
function fieldsOf(text: string): { readonly fields: readonly string[]; readonly count: number } {
  const fields: string[] = []
  let count = 0
  let end = 0
  for (;;) {
    let begin = end
    while (begin < text.length && isSpace(text.charCodeAt(begin))) begin++
    if (begin === text.length) return { fields, count }
    end = spaceAfter(text, begin)
    if (++count <= FIELDS.length) fields.push(text.slice(begin, end))
  }
}

/** The place of the next space, or the end. Short fields are read one by one, a long one is searched, which is faster by far. */
function spaceAfter(text: string, begin: number): number {
  for (let i = begin; i < begin + SHORT_FIELD; i++) if (i >= text.length || isSpace(text.charCodeAt(i))) return i
  const space = /\s/g
  space.lastIndex = begin + SHORT_FIELD
  return space.exec(text)?.index ?? text.length
}
const SHORT_FIELD = 16

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13) || (code > 127 && /\s/.test(String.fromCharCode(code)))

/** The values that a field allows, each as a 1 at its place; `isAny` when it does not restrict anything. */
type Field = { readonly values: Uint8Array; readonly isAny: boolean; readonly isEmpty: boolean }

/** A list of ranges. It may have a million of them, so that usual ones are read where they stand. */
function parseField(field: string, bounds: Bounds): Field {
  const values = new Uint8Array(bounds.max + 1)
  const known = new Map<string, Range>()
  let [isAny, isEmpty] = [false, true]
  for (let begin = 0; begin < field.length; begin++) {
    const numbersEnd = readNumbers(field, begin, values, bounds.min)
    if (numbersEnd > begin) {
      begin = numbersEnd - 1
      isEmpty = false
      continue
    }
    if (field.charCodeAt(begin) === COMMA) continue
    const usual = usualRange(field, begin, bounds)
    const comma = usual.length > 0 ? begin + usual.length : field.indexOf(',', begin)
    const end = comma < 0 ? field.length : comma
    const range = usual.length > 0 ? usual : knownRange(field.slice(begin, end), bounds, known)
    if (!(isAny && range.isAny)) for (let value = range.low; value <= range.high; value += range.step) values[value] = 1
    isAny ||= range.isAny
    isEmpty = false
    begin = end
  }
  return { values, isAny, isEmpty }
}

/** Reads numbers that are in bounds and end with a comma, the most common parts of long lists, and returns where something else begins. */
function readNumbers(field: string, begin: number, values: Uint8Array, min: number): number {
  let end = begin
  let value = 0
  for (let at = begin; at < field.length; at++) {
    const digit = field.charCodeAt(at) - ZERO
    if (digit >= 0 && digit <= 9 && value < values.length) value = value * 10 + digit
    else if (digit !== COMMA - ZERO || at === end || value < min || value >= values.length) return end
    else {
      values[value] = 1
      value = 0
      end = at + 1
    }
  }
  return end
}

/** A range that is not usual, parsed once if it is short. */
function knownRange(text: string, bounds: Bounds, known: Map<string, Range>): Range {
  let range = known.get(text)
  if (range) return range
  range = parseRange(text, bounds)
  if (text.length <= MAX_KNOWN_LENGTH && known.size < MAX_KNOWN) known.set(text, range)
  return range
}
/** Ranges of a field that are not parsed again where they are repeated. */
const MAX_KNOWN = 5_000
const MAX_KNOWN_LENGTH = 8

/** The range that was read last, which is overwritten by the next one. */
const READ = { low: 0, high: 0, step: 1, isAny: false, length: 0 }
const STAR = 42
const COMMA = 44
const HYPHEN = 45
const SLASH = 47
const ZERO = 48

/** A valid range of numbers with up to three digits; its length is 0 for anything else. */
function usualRange(field: string, begin: number, { min, max }: Bounds): typeof READ {
  READ.length = 0
  let at = begin
  const isWhole = field.charCodeAt(at) === STAR
  const first = isWhole ? 1 : digitsAt(field, at)
  at += first
  READ.low = isWhole ? min : digitsValue(field, at, first)
  READ.high = isWhole ? max : READ.low
  READ.step = 1
  const hasHigh = !isWhole && field.charCodeAt(at) === HYPHEN
  if (hasHigh) {
    const second = digitsAt(field, ++at)
    at += second
    READ.high = digitsValue(field, at, second)
  }
  if (field.charCodeAt(at) === SLASH) {
    if (!hasHigh) READ.high = max
    const third = digitsAt(field, ++at)
    at += third
    READ.step = digitsValue(field, at, third)
  }
  READ.isAny = isWhole && READ.step === 1
  const isEnd = at === field.length || field.charCodeAt(at) === COMMA
  if (isEnd && READ.low >= min && READ.high <= max && READ.low <= READ.high && READ.step >= 1) READ.length = at - begin
  return READ
}

/** How many digits there are at a place: three at most. */
function digitsAt(text: string, at: number): number {
  let digits = 0
  while (digits < 3 && text.charCodeAt(at + digits) >= ZERO && text.charCodeAt(at + digits) <= ZERO + 9) digits++
  return digits
}

/** The value of so many digits before a place; -1 if there are none. */
function digitsValue(text: string, end: number, digits: number): number {
  let value = digits === 0 ? -1 : 0
  for (let at = end - digits; at < end; at++) value = value * 10 + text.charCodeAt(at) - ZERO
  return value
}

/** Splits off a time zone before the fields: `CRON_TZ=Europe/Berlin 0 3 * * *`. */
function takeZone(schedule: string): { readonly rest: string; readonly zone?: string } {
  if (!/^(CRON_)?TZ=/.test(schedule)) return { rest: schedule }
  const begin = schedule.indexOf('=') + 1
  const end = schedule.indexOf(' ')
  if (end < begin)
    throw fault(`invalid schedule format: runtime error: slice bounds out of range ${end < 0 ? '[:-1]' : `[${begin}:${end}]`}`)
  const zone = schedule.slice(begin, end)
  const unknown = timeZoneFault(zone)
  if (unknown !== undefined) throw fault(`provided bad location ${shown(zone)}: ${shown(unknown)}`)
  return { rest: schedule.slice(end).trim(), zone }
}

/** Intervals are whole seconds, at least one. */
function parseInterval(descriptor: string): CronSchedule {
  try {
    const seconds = Number(parseDuration(descriptor.slice(EVERY.length)) / 1_000_000_000n)
    return { next: after => (Math.floor(after / 1000) + Math.max(seconds, 1)) * 1000 }
  } catch (error) {
    if (error instanceof DurationError) throw fault(`failed to parse duration ${shown(descriptor)}: ${error.message}`)
    throw error
  }
}

type Range = { readonly low: number; readonly high: number; readonly step: number; readonly isAny: boolean }

/** `*`, `5` or `1-5`, each also with a step: `1-30/2`. */
function parseRange(text: string, { min, max, names = [] }: Bounds): Range {
  const slash = text.indexOf('/')
  const range = slash < 0 ? text : text.slice(0, slash)
  const hyphen = range.indexOf('-')
  const lowText = hyphen < 0 ? range : range.slice(0, hyphen)
  const nextHyphen = hyphen < 0 ? -1 : range.indexOf('-', hyphen + 1)
  const highText = hyphen < 0 ? undefined : range.slice(hyphen + 1, nextHyphen < 0 ? undefined : nextHyphen)
  let [low, high] = [min, max]
  const isWhole = lowText === '*' || lowText === '?'
  if (!isWhole) {
    low = parseNumber(lowText, min, names)
    high = highText === undefined ? low : parseNumber(highText, min, names)
    if (nextHyphen >= 0) throw fault(`too many hyphens: ${shown(text)}`)
  }
  if (slash >= 0 && text.includes('/', slash + 1)) throw fault(`too many slashes: ${shown(text)}`)
  const step = slash < 0 ? 1 : parseNumber(text.slice(slash + 1), 0, [])
  if (slash >= 0 && highText === undefined) high = max
  if (low < min) throw fault(`beginning of range (${low}) below minimum (${min}): ${shown(text)}`)
  if (high > max) throw fault(`end of range (${high}) above maximum (${max}): ${shown(text)}`)
  if (low > high) throw fault(`beginning of range (${low}) beyond end of range (${high}): ${shown(text)}`)
  if (step === 0) throw fault(`step of range should be a positive number: ${shown(text)}`)
  return { low, high, step, isAny: isWhole && step === 1 }
}

const MAX_INT64 = 2n ** 63n - 1n

function parseNumber(text: string, first: number, names: readonly string[]): number {
  const value = smallNumber(text)
  if (value !== undefined) return value
  const named = text.length === NAME_LENGTH ? names.indexOf(text.toLowerCase()) : -1
  if (named >= 0) return first + named
  const refuse = (why: string) => fault(`failed to parse int from ${shown(text)}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`)
  if (!/^[+-]?[0-9]+$/.test(text)) throw refuse('invalid syntax')
  const digits = text.replace(/^[+-]?0*/, '')
  if (digits.length > 19 || BigInt(digits || '0') > MAX_INT64) throw refuse('value out of range')
  const negative = text.startsWith('-') && digits !== ''
  if (negative) throw fault(`negative number (-${digits}) not allowed: ${shown(text)}`)
  return Number(digits || '0')
}

/** All names of months and days are as long. */
const NAME_LENGTH = 3

/** The value of one or two digits, which most numbers of schedules are. */
function smallNumber(text: string): number | undefined {
  if (text.length === 0 || text.length > 2) return undefined
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}

type Times = Readonly<Record<'minute' | 'hour' | 'day' | 'month' | 'weekday', Field>>

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const YEARS = 5

/** Advances field by field, the largest first; when a field wraps around, the search restarts at the larger ones. */
function nextTime(times: Times, clock: ZoneClock, after: number): number | undefined {
  if (Object.values(times).some(({ isEmpty }) => isEmpty)) return undefined
  let time = (Math.floor(after / SECOND_MS) + 1) * SECOND_MS
  let shown = clock.shownAt(time)
  /** Whether the smaller fields are at their beginning. */
  let isReset = false
  const lastYear = shown.getUTCFullYear() + YEARS
  const move = (to: number) => {
    isReset = true
    time = to
    shown = clock.shownAt(time)
  }
  const moveTo = (month: number, day: number, hour: number) => move(clock.timeOf(shown.getUTCFullYear(), month, day, hour))
  const advance = (): boolean => {
    while (times.month.values[shown.getUTCMonth() + 1] !== 1) {
      if (!isReset) moveTo(shown.getUTCMonth(), 1, 0)
      moveTo(shown.getUTCMonth() + 1, shown.getUTCDate(), shown.getUTCHours())
      if (shown.getUTCMonth() === 0) return false
    }
    while (!isDay(times, shown)) {
      if (!isReset) moveTo(shown.getUTCMonth(), shown.getUTCDate(), 0)
      moveTo(shown.getUTCMonth(), shown.getUTCDate() + 1, shown.getUTCHours())
      // Some days do not begin at midnight.
      const hour = shown.getUTCHours()
      if (hour !== 0) move(time + (hour > 12 ? 24 - hour : -hour) * HOUR_MS)
      if (shown.getUTCDate() === 1) return false
    }
    while (times.hour.values[shown.getUTCHours()] !== 1) {
      if (!isReset) moveTo(shown.getUTCMonth(), shown.getUTCDate(), shown.getUTCHours())
      move(time + HOUR_MS)
      if (shown.getUTCHours() === 0) return false
    }
    while (times.minute.values[shown.getUTCMinutes()] !== 1) {
      move((isReset ? time : Math.floor(time / MINUTE_MS) * MINUTE_MS) + MINUTE_MS)
      if (shown.getUTCMinutes() === 0) return false
    }
    if (shown.getUTCSeconds() === 0) return true
    move(Math.ceil(time / MINUTE_MS) * MINUTE_MS)
    return false
  }
  while (shown.getUTCFullYear() <= lastYear) if (advance()) return time
  return undefined
}

/** Where both day of month and weekday are restricted, either may match, as in Vixie cron. */
function isDay({ day, weekday }: Times, shown: Date): boolean {
  const [isInMonth, isInWeek] = [day.values[shown.getUTCDate()] === 1, weekday.values[shown.getUTCDay()] === 1]
  return day.isAny || weekday.isAny ? isInMonth && isInWeek : isInMonth || isInWeek
}
