// The meaning of a plain YAML scalar to Kubernetes: the YAML 1.1 rules of go-yaml, where times stay text and 1:30 is no number.

/** A resolved scalar: its tag and, unless it is text, its value. */
export type Resolved =
  | { readonly tag: 'null' }
  | { readonly tag: 'bool'; readonly value: boolean }
  | { readonly tag: 'int'; readonly value: number | bigint }
  | { readonly tag: 'float'; readonly value: number }
  | { readonly tag: 'timestamp' | 'str' | 'merge' }

/** Resolves the text of a plain scalar. */
export function resolveScalar(text: string): Resolved {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  const first = text.charCodeAt(0)
  if (first === 0x2e) return float(/^\.[0-9]+([eE][-+]?[0-9]+)?$/.test(text) ? Number(text) : Number.NaN)
  if (!(first === 0x2b || first === 0x2d || (first >= 0x30 && first <= 0x39))) return TEXT
  if (isTimestamp(text)) return { tag: 'timestamp' }
  const plain = text.replaceAll('_', '')
  const integer = parseInteger(plain)
  if (integer !== undefined) return { tag: 'int', value: integer }
  return float(FLOAT.test(plain) ? Number(plain) : Number.NaN)
}

/** A number as Go's %g writes it, which is how go-yaml writes floats and float keys: 1.5, 1e+06. */
export function formatFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [mantissa = '', exponentText = ''] = value.toExponential().split('e')
  const exponent = Number(exponentText)
  // Without a given precision Go decides as if it were six digits.
  if (exponent >= -4 && exponent < 6) return plainDecimal(mantissa, exponent)
  const sign = exponent < 0 ? '-' : '+'
  return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, '0')}`
}

const TEXT: Resolved = { tag: 'str' }
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/

const WORDS = new Map<string, Resolved>([
  ...['', '~', 'null', 'Null', 'NULL'].map((text): [string, Resolved] => [text, { tag: 'null' }]),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((text): [string, Resolved] => [
    text,
    { tag: 'bool', value: true },
  ]),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((text): [string, Resolved] => [
    text,
    { tag: 'bool', value: false },
  ]),
  ...['.nan', '.NaN', '.NAN'].map((text): [string, Resolved] => [text, { tag: 'float', value: Number.NaN }]),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((text): [string, Resolved] => [text, { tag: 'float', value: Infinity }]),
  ...['-.inf', '-.Inf', '-.INF'].map((text): [string, Resolved] => [text, { tag: 'float', value: -Infinity }]),
  ['<<', { tag: 'merge' }],
])

function float(value: number): Resolved {
  return Number.isFinite(value) ? { tag: 'float', value } : TEXT
}

const INTEGER = /^([-+]?)(?:0[bB]([01]+)|0[oO]?([0-7]+)|0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*))$/
/** More digits than 64 bits have in any base. */
const MAX_INTEGER_LENGTH = 70

function parseInteger(text: string): number | bigint | undefined {
  const [, sign, binary, octal, hex, decimal] = (text.length <= MAX_INTEGER_LENGTH && INTEGER.exec(text)) || []
  if (sign === undefined) return undefined
  const magnitude = BigInt(
    binary !== undefined ? `0b${binary}` : octal !== undefined ? `0o${octal}` : hex !== undefined ? `0x${hex}` : (decimal ?? '0'),
  )
  // Only a number without a sign may use the 64th bit.
  const limit = sign === '' ? 2n ** 64n - 1n : sign === '-' ? 2n ** 63n : 2n ** 63n - 1n
  if (magnitude > limit) return undefined
  const value = sign === '-' ? -magnitude : magnitude
  return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
}

const TIMESTAMP =
  /^[0-9]{4}-([0-9]{1,2})-([0-9]{1,2})(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})| ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?)?$/

/** A date or time stays text when read; it only must be quoted when written. */
function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text)
  if (match === null) return false
  const [month, day, hour, minute, second] = [match[1], match[2], match[3] ?? match[6], match[4] ?? match[7], match[5] ?? match[8]].map(
    part => Number(part ?? 0),
  )
  return inRange(month, 1, 12) && inRange(day, 1, 31) && inRange(hour, 0, 23) && inRange(minute, 0, 59) && inRange(second, 0, 59)
}

function inRange(value: number | undefined, low: number, high: number): boolean {
  return value !== undefined && value >= low && value <= high
}

function plainDecimal(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, '0')
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}
