/** Values of CEL as values of JavaScript. */
import { JsonFields, JsonList, JsonMap, PreservedJson } from '../../../src/cel/runtime/json-values.ts'
import { formatDurationValue, formatTimestamp } from '../../../src/cel/runtime/times.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  elementsOf,
  intOf,
} from '../../../src/cel/runtime/values.ts'
import { setOwn } from '../../../src/lib/json-value.ts'
import type { Value } from './public.d.ts'

export const valueFrom = (value: CelValue): Value => convert(value, new Map())

/** `known` keeps parts that a value has several times from being converted as often, which could take exponential time. */
function convert(value: CelValue, known: Map<CelValue, Value>): Value {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
  // JSON of the caller is given back as it is.
  if (value instanceof JsonList || value instanceof JsonMap || value instanceof JsonFields || value instanceof PreservedJson)
    return value.json
  if (value instanceof CelUint) return intOf(value.value)
  if (value instanceof CelDouble) return value.value
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatDurationValue(value)
  if (value instanceof CelTypeValue) return value.type.name
  if (value instanceof CelFault) return value.message
  if (known.has(value)) return known.get(value)
  const made = convertContainer(value, known)
  known.set(value, made)
  return made
}

function convertContainer(value: object & CelValue, known: Map<CelValue, Value>): Value {
  if (value instanceof CelOptional) return value.value === undefined ? undefined : convert(value.value, known)
  if (value instanceof CelList) return Array.from(elementsOf(value), element => convert(element, known))
  if (!(value instanceof CelMap)) return value.toString()
  const entries = value.keys().map((key): [Value, Value] => [convert(key, known), convert(value.find(key) ?? null, known)])
  if (!entries.every((entry): entry is [string, Value] => typeof entry[0] === 'string')) return new Map(entries)
  const object: { [key: string]: Value } = {}
  for (const [key, entry] of entries) setOwn(object, key, entry)
  return object
}
