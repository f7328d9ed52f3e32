/** The protobuf messages that represent CEL values, as constructed by `google.protobuf.Duration{seconds: 5}`. */

import { encodeBase64 } from '../../lib/base64.ts'
import { addInt, durationOf, intOverflow, multiplyInt, uintOverflow } from './int64.ts'
import { formatDurationValue, formatTimestamp, timestampOf } from './times.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  type CelInt,
  CelList,
  CelMap,
  CelTimestamp,
  CelUint,
  type CelValue,
  EntryMap,
  elementsOf,
  fault,
  listOf,
} from './values.ts'

type Fields = ReadonlyMap<string, CelValue>

/** The value of a well-known message; undefined for other types. */
export function constructWellKnown(type: string, fields: Fields): CelValue | undefined {
  const make = type.startsWith(prefix) ? makers.get(type.slice(prefix.length)) : undefined
  return make?.(fields)
}

const prefix = 'google.protobuf.'

/** A wrapper: unset is the zero value of its type, null stays null. */
const wrapper =
  (zero: CelValue, narrow: (value: CelValue) => CelValue = value => value) =>
  (fields: Fields): CelValue => {
    const value = fields.get('value')
    return value === undefined || value === null ? zero : narrow(value)
  }

const int32 = (value: CelValue): CelValue => (typeof value === 'number' && (value | 0) === value ? value : intOverflow)
const uint32 = (value: CelValue): CelValue => (value instanceof CelUint && value.value < 1n << 32n ? value : uintOverflow)
const float = (value: CelValue): CelValue => (value instanceof CelDouble ? new CelDouble(Math.fround(value.value)) : value)
const intAt = (fields: Fields, name: string): CelInt => (fields.get(name) as CelInt | undefined) ?? 0

function makeDuration(fields: Fields): CelValue {
  const seconds = multiplyInt(intAt(fields, 'seconds'), 1_000_000_000)
  return seconds instanceof CelFault ? seconds : durationOf(addInt(seconds, intAt(fields, 'nanos')))
}

function makeValue(fields: Fields): CelValue {
  const [name, value] = [...fields][0] ?? ['null_value', null]
  return name === 'null_value' ? null : jsonLike(value)
}

const makers: ReadonlyMap<string, (fields: Fields) => CelValue> = new Map<string, (fields: Fields) => CelValue>([
  ['BoolValue', wrapper(false)],
  ['BytesValue', wrapper(new Uint8Array())],
  ['StringValue', wrapper('')],
  ['DoubleValue', wrapper(new CelDouble(0))],
  ['FloatValue', wrapper(new CelDouble(0), float)],
  ['Int64Value', wrapper(0)],
  ['Int32Value', wrapper(0, int32)],
  ['UInt64Value', wrapper(new CelUint(0n))],
  ['UInt32Value', wrapper(new CelUint(0n), uint32)],
  ['Duration', makeDuration],
  ['Timestamp', fields => timestampOf(intAt(fields, 'seconds'), Number(intAt(fields, 'nanos')))],
  ['Struct', fields => jsonLike(fields.get('fields') ?? new EntryMap())],
  ['ListValue', fields => jsonLike(fields.get('values') ?? listOf([]))],
  ['Value', makeValue],
])

/** The value as JSON: numbers are doubles, times, bytes and keys are strings. */
function jsonLike(value: CelValue): CelValue {
  if (typeof value === 'number') return new CelDouble(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || value instanceof CelDouble || value instanceof CelFault) return value
  if (value instanceof CelUint) return value.value <= 2n ** 53n - 1n ? new CelDouble(Number(value.value)) : String(value.value)
  if (value instanceof Uint8Array) return encodeBase64(value)
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatDurationValue(value)
  if (value instanceof CelList) return listOf(Array.from(elementsOf(value), jsonLike))
  if (!(value instanceof CelMap)) return fault('type conversion error')
  const map = new EntryMap()
  for (const key of value.keys()) map.set(key, jsonLike(value.find(key)!))
  return map
}
