/** Conversions between types: `int(…)`, `string(…)` and the like. */

import { isUtf8 } from 'node:buffer'
import { goFloat } from '../../lib/go-text.ts'
import { intOverflow, uintOverflow } from './int64.ts'
import { formatDurationValue, formatTimestamp, parseDurationValue, parseTimestamp, timestampOf } from './times.ts'
import { CelDouble, CelDuration, CelTimestamp, CelTypeValue, CelUint, type CelValue, fault, intOf, isInt, runtimeType } from './values.ts'

/** Converts a value; undefined when there is no such conversion. */
export type Convert = (value: CelValue) => CelValue | undefined

const cannot = (to: string): CelValue => fault(`type conversion error from 'string' to '${to}'`)

export const toInt: Convert = value => {
  if (isInt(value)) return value
  if (typeof value === 'string') return parseInt64(value) ?? cannot('int')
  if (value instanceof CelUint) return value.value < 1n << 63n ? intOf(value.value) : intOverflow
  if (value instanceof CelDouble) return doubleToInt(value.value)
  if (value instanceof CelTimestamp) return value.seconds
  return value instanceof CelDuration ? value.nanos : undefined
}

function doubleToInt(value: number): CelValue {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) return intOverflow
  return intOf(BigInt(Math.trunc(value)))
}

export const toUint: Convert = value => {
  if (value instanceof CelUint) return value
  if (isInt(value)) return value < 0 ? uintOverflow : new CelUint(BigInt(value))
  if (typeof value === 'string') {
    const parsed = /^0*[0-9]{1,20}$/.test(value) ? BigInt(value) : -1n
    return parsed >= 0n && parsed < 1n << 64n ? new CelUint(parsed) : cannot('uint')
  }
  if (!(value instanceof CelDouble)) return undefined
  return value.value >= 0 && value.value < 2 ** 64 ? new CelUint(BigInt(Math.trunc(value.value))) : uintOverflow
}

export const toDouble: Convert = value => {
  if (value instanceof CelDouble) return value
  if (isInt(value)) return new CelDouble(Number(value))
  if (value instanceof CelUint) return new CelDouble(Number(value.value))
  if (typeof value !== 'string') return undefined
  const parsed = parseFloat64(value)
  return parsed === undefined ? cannot('double') : new CelDouble(parsed)
}

export const toText: Convert = value => {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof CelDouble) return goFloat(value.value)
  if (value instanceof Uint8Array) return utf8Text(value) ?? fault('invalid UTF-8 in bytes, cannot convert to string')
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  return value instanceof CelDuration ? formatDurationValue(value) : undefined
}

export const toBytes: Convert = value => {
  if (value instanceof Uint8Array) return value
  return typeof value === 'string' ? Buffer.from(value) : undefined
}

const truths = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const untruths = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

export const toBool: Convert = value => {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  return truths.has(value) ? true : untruths.has(value) ? false : cannot('bool')
}

export const toTimestamp: Convert = value => {
  if (value instanceof CelTimestamp) return value
  if (isInt(value)) return timestampOf(value, 0)
  return typeof value === 'string' ? (parseTimestamp(value) ?? cannot('google.protobuf.Timestamp')) : undefined
}

export const toDuration: Convert = value => {
  if (value instanceof CelDuration) return value
  return typeof value === 'string' ? (parseDurationValue(value) ?? cannot('google.protobuf.Duration')) : undefined
}

export const toType: Convert = value => new CelTypeValue(runtimeType(value))

function parseInt64(text: string): CelValue | undefined {
  if (!/^[+-]?0*[0-9]{1,19}$/.test(text)) return undefined
  const parsed = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, parsed) === parsed ? intOf(parsed) : undefined
}

const decimalFloat = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const hexFloat = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?[0-9]+)$/

/** Parses a number as Go's ParseFloat does; undefined if it cannot. */
function parseFloat64(text: string): number | undefined {
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  if (/^nan$/i.test(text)) return Number.NaN
  // Underscores may separate digits.
  const plain = text.replace(/(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])/g, '')
  const value = decimalFloat.test(plain) ? Number(plain) : parseHexFloat(plain)
  return value === undefined || !Number.isFinite(value) ? undefined : value
}

function parseHexFloat(text: string): number | undefined {
  const [, sign, whole = '', fraction = '', exponent] = hexFloat.exec(text) ?? []
  if (exponent === undefined || whole + fraction === '') return undefined
  const size = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length)
  return sign === '-' ? -size : size
}

function utf8Text(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : undefined
}
