/** The `format` of a text as custom kinds may declare it: which formats are known for a type, and which texts have them. */
import { parseDuration } from '../lib/duration.ts'
import { parseInterfaceAddress, parseIP, parseIPSloppy } from '../lib/ip.ts'
import { parseUrl } from '../lib/url.ts'
import { isEmailAddress } from './email-address.ts'

/** The format if it means something for values of these types, else nothing. */
export function formatFor(format: string, types: readonly string[]): string {
  return format !== '' && isKnownFormat(format, types) ? format : ''
}

/** Whether a format is one that is checked on values of these types; others are carried along and mean nothing. */
export function isKnownFormat(format: string, types: readonly string[]): boolean {
  switch (types.length === 1 ? types[0] : 'string') {
    case 'string':
      return TEXT_FORMATS.has(normalized(format))
    case 'integer':
      return format === 'int32' || format === 'int64'
    case 'number':
      return format === 'float' || format === 'double'
    default:
      return false
  }
}

/** Whether a format is one that texts are held to. */
export const isTextFormat = (format: string): boolean => TEXT_FORMATS.has(normalized(format))

/** Whether the text has the format; a format that is not known every text has. */
export const hasFormat = (format: string, text: string): boolean => TEXT_FORMATS.get(normalized(format))?.(text) ?? true

const normalized = (format: string) => format.replaceAll('-', '')

/** Each check takes time linear in the text, or looks at its length first. */
const TEXT_FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', matching(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmailAddress],
  ['hostname', isHostname],
  ['ipv4', text => text.includes('.') && parseIPSloppy(text) !== undefined],
  ['ipv6', text => text.includes(':') && parseIP(text) !== undefined],
  ['cidr', text => parseInterfaceAddress(text) !== undefined],
  ['mac', isMac],
  ['uuid', matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid3', matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid4', matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', matching(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['isbn', text => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matching(/^(?=.{11}$)\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matching(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', isRgbColor],
  ['byte', text => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', text => isGoDuration(text) || isWordyDuration(text)],
  ['datetime', isDateTime],
  ['k8sshortname', text => text.length <= 63 && SHORT_NAME.test(text)],
  ['k8slongname', text => text.length <= 253 && text.split('.').every(part => SHORT_NAME.test(part))],
])

function matching(pattern: RegExp): (text: string) => boolean {
  return text => pattern.test(text)
}

const SHORT_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

const HOST_CHARS = 'a-zA-Z0-9\\p{S}\\p{L}'
/** Made when it is first needed: classes of Unicode take a millisecond or two, which a start would pay for. */
let hostname: RegExp | undefined
const newHostname = (): RegExp =>
  new RegExp(
    `^(?:[${HOST_CHARS}](?:-?[${HOST_CHARS}]{0,62})?|(?:[${HOST_CHARS}](?:[${HOST_CHARS}-]{0,61}[${HOST_CHARS}])?\\.)+[a-zA-Z\\p{L}]{2,63})$`,
    'u',
  )

function isHostname(text: string): boolean {
  if (text.length > 255 || Buffer.byteLength(text) > 255) return false
  hostname ??= newHostname()
  return hostname.test(text) && text.split('.').every(label => Buffer.byteLength(label) <= 63)
}

/** A URI of a request line, as Go's `url.ParseRequestURI` reads it: a fragment is no part of it. */
function isRequestUri(text: string): boolean {
  if (text === '*' || PLAIN_URL.test(text)) return true
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0]
  if (scheme === undefined) return text.startsWith('/') && !CONTROL.test(text) && !BAD_ESCAPE.test(text.split('?')[0]!)
  const authority = /^\/\/([^/?]*)/.exec(text.slice(scheme.length))?.[1]
  if (authority?.includes('#')) return false
  if (!text.startsWith('/', scheme.length)) return !CONTROL.test(text)
  return !('problem' in parseUrl(text.replaceAll('#', '%23')))
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that Go refuses.
const CONTROL = /[\x00-\x1f\x7f]/
/** The usual form, which need not be taken apart. */
const PLAIN_URL = /^[a-z]+:\/\/[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?(?:\/[A-Za-z0-9._~/-]*)?$/
const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/

/** Six, eight or twenty bytes: in pairs with colons or dashes, or in fours with dots. */
function isMac(text: string): boolean {
  if (text.length > 59) return false
  const pairs = /^[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2})*)$/.test(text) ? (text.length + 1) / 3 : 0
  const fours = /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})*$/.test(text) ? ((text.length + 1) / 5) * 2 : 0
  return [6, 8, 20].includes(pairs || fours)
}

const withoutGaps = (text: string) => text.replace(/[\t\n\f\r -]/g, '')

function isIsbn10(text: string): boolean {
  const digits = withoutGaps(text)
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]))
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = withoutGaps(text)
  if (!/^[0-9]{13}$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 12; i++) sum += (i % 2 === 0 ? 1 : 3) * Number(digits[i])
  return Number(digits[12]) === (10 - (sum % 10)) % 10
}

const CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/

function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (!CARD.test(digits)) return false
  let sum = 0
  for (let i = digits.length - 1, double = false; i >= 0; i--, double = !double) {
    const digit = Number(digits[i]) * (double ? 2 : 1)
    sum += digit >= 10 ? (digit % 10) + 1 : digit
  }
  return sum % 10 === 0
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(([^)]*)\)$/.exec(text)?.[1]?.split(',') ?? []
  return parts.length === 3 && parts.every(part => RGB_PART.test(part.replace(/[\t\n\f\r ]+/g, ' ')))
}
const RGB_PART = /^ ?(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5]) ?$/

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []
  if (year === undefined) return false
  const [y, m, d] = [Number(year), Number(month), Number(day)]
  const leap = y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0)
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1]
  return days !== undefined && d >= 1 && d <= days
}

function isDateTime(text: string): boolean {
  const [date, clock] = text.toLowerCase().split('t', 2)
  if (clock === undefined || !isDate(date!)) return false
  const [, hours, minutes, seconds] = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(clock) ?? []
  return hours !== undefined && hours <= '23' && minutes! <= '59' && seconds! <= '59'
}

function isGoDuration(text: string): boolean {
  try {
    parseDuration(text)
    return true
  } catch {
    return false
  }
}

const DURATION_WORDS = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/
const MAX_INT64 = 2n ** 63n - 1n

/** A text that holds at least one amount with a unit, such as `2 hours and 5 min`; none of its amounts may be beyond counting. */
function isWordyDuration(text: string): boolean {
  let found = false
  for (const [, digits, unit] of text.matchAll(/(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g)) {
    const amount = digits!.replace(/^0+(?=\d)/, '')
    if (amount.length > 19 || BigInt(amount) > MAX_INT64) return false
    found ||= DURATION_WORDS.test(unit!.toLowerCase())
  }
  return found
}
