/**
 * Cron schedules: five fields (minute, hour, day of month, month, day of week) or a word for the whole.
 *
 *     0 3 * * mon-fri      at three on working days
 *     @every 90m           every hour and a half
 *
 * Schedules are only validated here; errors have the messages of the parser that Kubernetes uses.
 */
import { DurationError, parseDuration } from './duration.ts'
import { goQuote } from './go-text.ts'
import { timeZoneFault } from './time-zone.ts'

/** What is wrong with a schedule; undefined when nothing is. */
export function cronFault(schedule: string): string | undefined {
  try {
    parse(schedule)
    return undefined
  } catch (error) {
    if (error instanceof CronError) return error.message
    throw error
  }
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

const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
const EVERY = '@every '

function parse(schedule: string): void {
  if (schedule === '') throw fault('empty spec string')
  const rest = withoutZone(schedule)
  if (rest.startsWith('@')) parseDescriptor(rest)
  else parseFields(rest.split(/\s+/).filter(field => field !== ''))
}

function parseFields(fields: readonly string[]): void {
  if (fields.length !== FIELDS.length)
    throw fault(`expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(' ')}]`)
  for (const [i, field] of fields.entries()) for (const range of field.split(',')) if (range !== '') parseRange(range, FIELDS[i]!)
}

/** A time zone may precede the fields: `CRON_TZ=Europe/Berlin 0 3 * * *`. */
function withoutZone(schedule: string): string {
  if (!/^(CRON_)?TZ=/.test(schedule)) return schedule
  const begin = schedule.indexOf('=') + 1
  const end = schedule.indexOf(' ')
  if (end < begin)
    throw fault(`invalid schedule format: runtime error: slice bounds out of range ${end < 0 ? '[:-1]' : `[${begin}:${end}]`}`)
  const zone = schedule.slice(begin, end)
  const unknown = timeZoneFault(zone)
  if (unknown !== undefined) throw fault(`provided bad location ${zone}: ${unknown}`)
  return schedule.slice(end).trim()
}

function parseDescriptor(descriptor: string): void {
  if (DESCRIPTORS.includes(descriptor)) return
  if (!descriptor.startsWith(EVERY)) throw fault(`unrecognized descriptor: ${descriptor}`)
  try {
    parseDuration(descriptor.slice(EVERY.length))
  } catch (error) {
    if (error instanceof DurationError) throw fault(`failed to parse duration ${descriptor}: ${error.message}`)
    throw error
  }
}

/** `*`, `5` or `1-5`, each also with a step: `1-30/2`. */
function parseRange(text: string, { min, max, names = [] }: Bounds): void {
  const [range = '', stepText, ...moreSlashes] = text.split('/')
  const [lowText = '', highText, ...moreHyphens] = range.split('-')
  let [low, high] = [min, max]
  if (lowText !== '*' && lowText !== '?') {
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
}

const LARGEST = 2n ** 63n - 1n

function parseNumber(text: string, first: number, names: readonly string[]): number {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return first + named
  const refuse = (why: string) => fault(`failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`)
  if (!/^[+-]?[0-9]+$/.test(text)) throw refuse('invalid syntax')
  const digits = text.replace(/^[+-]?0*/, '')
  if (digits.length > 19 || BigInt(digits || '0') > LARGEST) throw refuse('value out of range')
  const value = Number(text)
  if (value < 0) throw fault(`negative number (${value}) not allowed: ${text}`)
  return value
}
