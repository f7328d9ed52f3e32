/** Values of expressions as JSON. */

import { formatDurationValue, formatTimestamp } from '../../cel/runtime/times.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  elementsOf,
} from '../../cel/runtime/values.ts'
import { encodeBase64 } from '../../lib/base64.ts'
import { formatDuration } from '../../lib/duration.ts'
import { GoValue } from '../../lib/go-text.ts'
import { type Json, type JsonObject, setOwn } from '../../lib/json-value.ts'

/** Throws an Error for values without JSON. */
export const toJson = (value: CelValue): Json => jsonOf(value, false)

/** The same for a check of types: scalars that Kubernetes keeps as values of other types than those of JSON are GoValues. */
export const toTypedJson = (value: CelValue): Json => jsonOf(value, true)

function jsonOf(value: CelValue, isTyped: boolean): Json {
  const foreign = isTyped ? foreignValue(value) : undefined
  if (foreign) return foreign as unknown as Json
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value
  if (value instanceof CelList) return [...elementsOf(value)].map(item => jsonOf(item, isTyped))
  if (value instanceof CelMap) {
    const object: JsonObject = {}
    for (const key of value.keys()) {
      const member = value.find(key)!
      // An optional field without a value is left out.
      if (member instanceof CelOptional && member.value === undefined) continue
      setOwn(object, String(key), jsonOf(member instanceof CelOptional ? member.value! : member, isTyped))
    }
    return object
  }
  if (value instanceof CelUint) return value.value
  if (value instanceof CelDouble) return value.value
  if (value instanceof Uint8Array) return encodeBase64(value)
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatDurationValue(value)
  if (value instanceof CelFault) throw new Error(value.message)
  throw new Error('an expression evaluated to a type that has no JSON')
}

function foreignValue(value: CelValue): GoValue | undefined {
  if (value === null) return new GoValue('NULL_VALUE', '0', 'structpb.NullValue')
  if (value instanceof CelUint) return new GoValue(String(value.value), `0x${value.value.toString(16)}`, 'uint64')
  if (value instanceof Uint8Array) {
    const bytes = [...value.subarray(0, MAX_SHOWN_BYTES)]
    const syntax = bytes.map(byte => `0x${byte.toString(16)}`).join(', ')
    return new GoValue(`[${bytes.join(' ')}]`, `[]uint8{${syntax}}`, '[]uint8')
  }
  if (value instanceof CelDuration) return new GoValue(formatDuration(BigInt(value.nanos)), String(value.nanos), 'time.Duration')
  if (value instanceof CelTimestamp) {
    const print = formatTimestamp(value).replace('T', ' ').replace(/Z$/, ' +0000 UTC')
    const [year, month, ...rest] = print.match(/\d+/g)!.slice(0, 6).map(Number)
    return new GoValue(print, `time.Date(${year}, time.${MONTHS[month! - 1]}, ${rest.join(', ')}, ${value.nanos}, time.UTC)`, 'time.Time')
  }
  return undefined
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** Messages show the beginning of long values. */
const MAX_SHOWN_BYTES = 256
