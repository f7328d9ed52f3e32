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
  if (text.length > LIMITS.scheduleLength) throw fault(`schedule is longer than ${LIMITS.scheduleLength} characters`)
  const { rest, zone: own = zone } = takeZone(text)
  if (rest.startsWith(EVERY)) return parseInterval(rest)
  const fields = rest.startsWith('@') ? DESCRIPTORS.get(rest) : rest
  if (fields === undefined) throw fault(`unrecognized descriptor: ${rest}`)
  return parseFields(
    fields.split(/\s+/).filter(field => field !== ''),
    clockOf(own),
  )
}

function parseFields(fields: readonly string[], clock: ZoneClock): CronSchedule {
  if (fields.length !== FIELDS.length)
    throw fault(`expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]`)
  const [minute, hour, day, month, weekday] = fields.map((field, i) => parseField(field, FIELDS[i]!))
  const times = { minute: minute!, hour: hour!, day: day!, month: month!, weekday: weekday! }
  return { next: after => nextTime(times, clock, after) }
}

/** The values that a field allows; `isAny` when it does not restrict anything. */
type Field = { readonly values: ReadonlySet<number>; readonly isAny: boolean }

function parseField(field: string, bounds: Bounds): Field {
  const ranges = field
    .split(',')
    .filter(range => range !== '')
    .map(range => parseRange(range, bounds))
  return { values: new Set(ranges.flatMap(({ values }) => [...values])), isAny: ranges.some(({ isAny }) => isAny) }
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
  if (unknown !== undefined) throw fault(`provided bad location ${zone}: ${unknown}`)
  return { rest: schedule.slice(end).trim(), zone }
}

/** Intervals are whole seconds, at least one. */
function parseInterval(descriptor: string): CronSchedule {
  try {
    const seconds = Number(parseDuration(descriptor.slice(EVERY.length)) / 1_000_000_000n)
    return { next: after => (Math.floor(after / 1000) + Math.max(seconds, 1)) * 1000 }
  } catch (error) {
    if (error instanceof DurationError) throw fault(`failed to parse duration ${descriptor}: ${error.message}`)
    throw error
  }
}

/** `*`, `5` or `1-5`, each also with a step: `1-30/2`. */
function parseRange(text: string, { min, max, names = [] }: Bounds): Field {
  const [range = '', stepText, ...moreSlashes] = text.split('/')
  const [lowText = '', highText, ...moreHyphens] = range.split('-')
  let [low, high] = [min, max]
  const isWhole = lowText === '*' || lowText === '?'
  if (!isWhole) {
    low = parseNumber(lowText, min, names)
    high = highText === undefined ? low : parseNumber(highText, min, names)
    if (moreHyphens.length > 0) throw fault(`too many hyphens: ${text}`)
  }
  if (moreSlashes.length > 0) throw fault(`too many slashes: ${text}`)
  const step = stepText === undefined ? 1 : parseNumber(stepText, 0, [])
  if (stepText !== undefined && highText === undefined) high = max
  if (low < min) throw fault(`beginning of range (${low}) below minimum (${min}): ${text}`)
  if (high > max) throw fault(`end of range (${high}) above maximum (${max}): ${text}`)
  if (low > high) throw fault(`beginning of range (${low}) beyond end of range (${high}): ${text}`)
  if (step === 0) throw fault(`step of range should be a positive number: ${text}`)
  const values = new Set<number>()
  for (let value = low; value <= high; value += step) values.add(value)
  return { values, isAny: isWhole && step === 1 }
}

const MAX_INT64 = 2n ** 63n - 1n

function parseNumber(text: string, first: number, names: readonly string[]): number {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return first + named
  const refuse = (why: string) => fault(`failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`)
  if (!/^[+-]?[0-9]+$/.test(text)) throw refuse('invalid syntax')
  const digits = text.replace(/^[+-]?0*/, '')
  if (digits.length > 19 || BigInt(digits || '0') > MAX_INT64) throw refuse('value out of range')
  const value = Number(text)
  if (value < 0) throw fault(`negative number (${value}) not allowed: ${text}`)
  return value
}

type Times = Readonly<Record<'minute' | 'hour' | 'day' | 'month' | 'weekday', Field>>

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const YEARS = 5

/** Advances field by field, the largest first; when a field wraps around, the search restarts at the larger ones. */
function nextTime(times: Times, clock: ZoneClock, after: number): number | undefined {
  if (Object.values(times).some(({ values }) => values.size === 0)) return undefined
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
    while (!times.month.values.has(shown.getUTCMonth() + 1)) {
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
    while (!times.hour.values.has(shown.getUTCHours())) {
      if (!isReset) moveTo(shown.getUTCMonth(), shown.getUTCDate(), shown.getUTCHours())
      move(time + HOUR_MS)
      if (shown.getUTCHours() === 0) return false
    }
    while (!times.minute.values.has(shown.getUTCMinutes())) {
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
  const [isInMonth, isInWeek] = [day.values.has(shown.getUTCDate()), weekday.values.has(shown.getUTCDay())]
  return day.isAny || weekday.isAny ? isInMonth && isInWeek : isInMonth || isInWeek
}
