/** Floating-point numbers with a given number of digits, rounded like Go: exactly, halves to even. */

/** A finite number with that many digits after the point: `2.50`. */
export function fixedText(value: number, places: number): string {
  const { sign, digits, scale } = exactDecimal(value)
  const rounded = roundTo({ digits, scale }, places)
    .toString()
    .padStart(places + 1, '0')
  const point = rounded.length - places
  return sign + (places === 0 ? rounded : `${rounded.slice(0, point)}.${rounded.slice(point)}`)
}

export interface Scientific {
  readonly sign: '' | '-'
  /** One digit, then a point and the other digits if `places` is above 0. */
  readonly mantissa: string
  readonly exponent: number
}

/** A finite number as a mantissa with `places` digits after the point, and its power of ten. */
export function scientificText(value: number, places: number): Scientific {
  const { sign, digits, scale } = exactDecimal(value)
  if (digits === 0n) return { sign, mantissa: withPoint('0'.repeat(places + 1)), exponent: 0 }
  const exponent = digits.toString().length - 1 - scale
  const rounded = roundTo({ digits, scale }, places - exponent).toString()
  // Rounding 9.99 up makes one more digit.
  const carried = rounded.length > places + 1
  return { sign, mantissa: withPoint(rounded.slice(0, places + 1)), exponent: carried ? exponent + 1 : exponent }
}

interface Decimal {
  readonly digits: bigint
  /** The number of digits after the point. */
  readonly scale: number
}

const withPoint = (digits: string): string => (digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`)

/** Every double is a whole number times a power of two, hence a finite decimal. */
function exactDecimal(value: number): Decimal & { readonly sign: '' | '-' } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const sign = bits >> 63n === 1n ? '-' : ''
  const power = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const mantissa = power === 0 ? fraction : fraction | 0x10000000000000n
  const shift = (power === 0 ? 1 : power) - 1075
  if (shift >= 0) return { sign, digits: mantissa << BigInt(shift), scale: 0 }
  return { sign, digits: mantissa * 5n ** BigInt(-shift), scale: -shift }
}

/** The digits of the number times ten to the power of `places`, rounded to a whole number. */
function roundTo({ digits, scale }: Decimal, places: number): bigint {
  if (places >= scale) return digits * 10n ** BigInt(places - scale)
  const divisor = 10n ** BigInt(scale - places)
  const quotient = digits / divisor
  const twice = (digits % divisor) * 2n
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient
}
