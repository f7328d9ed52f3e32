// Resource quantities: fixed-point numbers with suffixes, in the canonical form of the API server.

/** The notation of a quantity: 12M, 12Mi or 12e6. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent'

/** A parsed quantity: `unscaled` times ten to the power of `scale`, and its canonical text. */
export interface Quantity {
  readonly unscaled: bigint
  readonly scale: number
  readonly format: QuantityFormat
  readonly text: string
}

/** A string that is no quantity; the message is the API server's. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError'
}

/** Parses a quantity as the API server does, rounding up to nano units; throws QuantityError. */
export function parseQuantity(text: string): Quantity {
  const [, sign, leading = '', integer = '', fraction = '', suffix = ''] = SHAPE.exec(text) ?? []
  if (sign === undefined || text === '') throw new QuantityError(FORMAT_MESSAGE)
  const { base, exponent, format } = interpretSuffix(suffix)
  const whole = integer === '' ? '0' : integer
  const digits = whole + fraction
  // Converting digits is quadratic, and no real quantity is this long.
  if (leading.length + digits.length > MAX_DIGITS) throw new QuantityError(NUMERIC_MESSAGE)
  const magnitude = base === 2 ? binary(digits, fraction, exponent) : { unscaled: BigInt(digits), scale: exponent - fraction.length }
  const kept = keepsText({ format, whole, fraction, exponent }) ? text : undefined
  const rounded = roundUpTo(magnitude, NANO)
  const capped = base === 2 && compareMagnitude(rounded, MAX_INT64) > 0 ? MAX_INT64 : rounded
  const unscaled = sign === '-' ? -capped.unscaled : capped.unscaled
  return { unscaled, scale: capped.scale, format, text: kept ?? canonicalText({ unscaled, scale: capped.scale }, format) }
}

/** The canonical form of a quantity, surrounding space ignored; throws QuantityError. */
export function canonicalQuantity(text: string): string {
  return parseQuantity(text.trim()).text
}

/** Whether the text is a quantity. */
export function isQuantity(text: string): boolean {
  try {
    parseQuantity(text)
    return true
  } catch {
    return false
  }
}

/** The quantity of a fixed-point number, written in the given format. */
export function quantityOf(unscaled: bigint, scale = 0, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { unscaled, scale, format, text: canonicalText({ unscaled, scale }, format) }
}

/** -1, 0 or 1 as the first is smaller, equal or greater in value. */
export function compareQuantity(a: Quantity, b: Quantity): -1 | 0 | 1 {
  const sign = quantitySign(a)
  if (sign !== quantitySign(b)) return sign < quantitySign(b) ? -1 : 1
  if (sign === 0) return 0
  return sign > 0 ? compareMagnitude(a, b) : compareMagnitude(absolute(b), absolute(a))
}

/** -1, 0 or 1 as the quantity is negative, zero or positive. */
export function quantitySign({ unscaled }: Quantity): -1 | 0 | 1 {
  return unscaled > 0n ? 1 : unscaled < 0n ? -1 : 0
}

/** The sum, written in the format of the first unless that is zero. */
export function addQuantity(a: Quantity, b: Quantity): Quantity {
  if (a.unscaled === 0n) return b
  if (b.unscaled === 0n) return a
  // So far apart that the smaller is lost; writing out the zeros between them would exhaust memory.
  if (Math.abs(a.scale - b.scale) > MAX_ALIGNMENT) return a.scale > b.scale ? a : quantityOf(b.unscaled, b.scale, a.format)
  const scale = Math.min(a.scale, b.scale)
  return quantityOf(withScale(a, scale) + withScale(b, scale), scale, a.format)
}

/** The difference, written in the format of the first unless that is zero. */
export function subtractQuantity(a: Quantity, b: Quantity): Quantity {
  return addQuantity(a, quantityOf(-b.unscaled, b.scale, b.format))
}

/** The value as an integer, rounded away from zero, at most what 64 bits hold. */
export function integerValue(quantity: Quantity): bigint {
  return scaledValue(quantity, 0)
}

/** The value in thousandths, rounded away from zero, at most what 64 bits hold. */
export function milliValue(quantity: Quantity): bigint {
  return scaledValue(quantity, -3)
}

const PATTERN = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
const FORMAT_MESSAGE = `quantities must match the regular expression '${PATTERN}'`
const NUMERIC_MESSAGE = 'unable to parse numeric part of quantity'
const SUFFIX_MESSAGE = "unable to parse quantity's suffix"

// The accepted syntax: sign, leading zeros, integer digits, fraction, suffix. It is wider than the error message says: `.` is zero.
const SHAPE = /^([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/

const NANO = -9
const MAX_DIGITS = 1000
/** Numbers with up to this many digits fit 64 bits. */
const MAX_FAST_DIGITS = 18
const MAX_EXPONENT = 2 ** 31 - 1
/** The largest difference between the scales of two summands. */
const MAX_ALIGNMENT = 10_000

interface Magnitude {
  readonly unscaled: bigint
  readonly scale: number
}

const MAX_INT64: Magnitude = { unscaled: 2n ** 63n - 1n, scale: 0 }

const DECIMAL_SUFFIXES = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
])
const DECIMAL_BY_EXPONENT = new Map([...DECIMAL_SUFFIXES].map(([suffix, exponent]) => [exponent, suffix]))
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function interpretSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = DECIMAL_SUFFIXES.get(suffix)
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' }
  const power = BINARY_SUFFIXES.indexOf(suffix)
  if (power > 0) return { base: 2, exponent: power * 10, format: 'BinarySI' }
  const exponent = /^[eE][+-]?[0-9]+$/.test(suffix) ? Number(suffix.slice(1)) : Number.NaN
  if (!(Math.abs(exponent) <= MAX_EXPONENT)) throw new QuantityError(SUFFIX_MESSAGE)
  return { base: 10, exponent, format: 'DecimalExponent' }
}

function binary(digits: string, fraction: string, exponent: number): Magnitude {
  return { unscaled: BigInt(digits) << BigInt(exponent), scale: -fraction.length }
}

/**
 * Whether the API server returns the string unchanged. It does so for numbers that look canonical at a glance, with checks that let some
 * others pass: `1.500` and `007` stay as they are, while `1.50` becomes `1500m`.
 */
function keepsText(parts: { format: QuantityFormat; whole: string; fraction: string; exponent: number }): boolean {
  const { format, whole, fraction, exponent } = parts
  if (format === 'BinarySI') {
    const precision = 15 - whole.length - Math.trunc((exponent * 3) / 10) - 1
    return fraction === '' && precision >= 0 && Number(whole) % 8 !== 0
  }
  const digits = whole + fraction
  const scale = exponent - fraction.length
  return digits.length <= MAX_FAST_DIGITS && scale >= NANO && scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0')
}

function canonicalText(value: Magnitude, format: QuantityFormat): string {
  if (value.unscaled === 0n) return '0'
  if (format !== 'BinarySI') return decimalText(value, format)
  // A huge sum, a fraction or a number below 1024 is clearer in decimal.
  if (value.scale > MAX_ALIGNMENT) return decimalText(value, 'DecimalSI')
  const integer = value.scale >= 0 ? withScale(value, 0) : exactQuotient(value.unscaled, -value.scale)
  if (integer === undefined || (integer > -1024n && integer < 1024n)) return decimalText(value, 'DecimalSI')
  let rest = integer
  let power = 0
  for (; rest % 1024n === 0n && power < BINARY_SUFFIXES.length - 1; rest /= 1024n) power++
  return `${rest}${BINARY_SUFFIXES[power]}`
}

function decimalText({ unscaled, scale }: Magnitude, format: QuantityFormat): string {
  const text = unscaled.toString()
  const zeros = text.length - text.replace(/0+$/, '').length
  const least = scale + zeros
  const exponent = Math.floor(least / 3) * 3
  const mantissa = text.slice(0, text.length - zeros) + '0'.repeat(least - exponent)
  const suffix = format === 'DecimalSI' ? DECIMAL_BY_EXPONENT.get(exponent) : undefined
  // Past exa there is no suffix. kube-apiserver drops it and returns another number; here the exponent keeps the value.
  return mantissa + (suffix ?? (exponent === 0 ? '' : `e${exponent}`))
}

/** Rounds a magnitude up to a multiple of ten to the power of `scale`, so that no request becomes zero. */
function roundUpTo(value: Magnitude, scale: number): Magnitude {
  if (value.scale >= scale) return value
  if (value.unscaled === 0n) return { unscaled: 0n, scale }
  const places = scale - value.scale
  // More places than digits: the value is less than one unit.
  if (places > MAX_DIGITS + 30) return { unscaled: 1n, scale }
  const divisor = 10n ** BigInt(places)
  return { unscaled: (value.unscaled + divisor - 1n) / divisor, scale }
}

function compareMagnitude(a: Magnitude, b: Magnitude): -1 | 0 | 1 {
  if (a.unscaled === 0n || b.unscaled === 0n) return order(a.unscaled, b.unscaled)
  // The position of the first digit decides first, so that huge exponents are never written out.
  const [leadA, leadB] = [a.unscaled.toString().length + a.scale, b.unscaled.toString().length + b.scale]
  if (leadA !== leadB) return order(leadA, leadB)
  const scale = Math.min(a.scale, b.scale)
  return order(withScale(a, scale), withScale(b, scale))
}

function order<T extends bigint | number>(a: T, b: T): -1 | 0 | 1 {
  return a < b ? -1 : a > b ? 1 : 0
}

function absolute({ unscaled, scale }: Magnitude): Magnitude {
  return { unscaled: unscaled < 0n ? -unscaled : unscaled, scale }
}

function scaledValue(quantity: Quantity, scale: number): bigint {
  const { unscaled } = quantity
  const magnitude = absolute(quantity)
  const rounded = roundUpTo(magnitude, scale)
  const limit = { unscaled: MAX_INT64.unscaled, scale }
  const value = compareMagnitude(rounded, limit) >= 0 ? limit.unscaled : withScale(rounded, scale)
  return unscaled < 0n ? -value : value
}

/** The unscaled value at a scale not above the present one. */
function withScale({ unscaled, scale }: Magnitude, lower: number): bigint {
  return unscaled === 0n ? 0n : unscaled * 10n ** BigInt(scale - lower)
}

function exactQuotient(unscaled: bigint, places: number): bigint | undefined {
  const divisor = 10n ** BigInt(places)
  return unscaled % divisor === 0n ? unscaled / divisor : undefined
}
