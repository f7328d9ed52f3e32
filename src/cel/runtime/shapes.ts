/** Shapes read JSON as CEL values, according to a schema. A value that does not fit is a fault, with the message of Kubernetes. */

import { decodeBase64 } from '../../lib/base64.ts'
import { goType } from '../../lib/go-text.ts'
import { isObject, type Json } from '../../lib/json-value.ts'
import { checkedInt, durationOf } from './int64.ts'
import { fieldsOf, JsonFields, JsonList, JsonMap, PreservedJson, type Shape, type ShapeField, type ShapeFields } from './json-values.ts'
import { KeyedList, SetList } from './keyed-lists.ts'
import { parseDurationValue, parseTimestamp } from './times.ts'
import { CelDouble, type CelInt, CelTimestamp, type CelValue, fault, intOf, noSuchOverload } from './values.ts'

const missing = fault('invalid data, got null for schema with nullable=false')

/** A shape for one type of JSON value; null is a fault. */
function shape(read: (json: Exclude<Json, null>) => CelValue): Shape {
  return { read: json => (json === null ? missing : read(json)) }
}

/** Any JSON: whole numbers are ints, others doubles; objects are maps. */
export const dynShape: Shape = {
  read(json) {
    switch (typeof json) {
      case 'number':
      case 'bigint':
        return wholeOf(json) ?? new CelDouble(Number(json))
      case 'object':
        if (json === null) return null
        return Array.isArray(json) ? new JsonList(json, dynShape) : new JsonMap(json, dynShape)
    }
    return json
  },
}

export const boolShape = shape(json => (typeof json === 'boolean' ? json : fault(`invalid data, expected bool, got ${goType(json)}`)))

export const intShape = shape(json => wholeOf(json) ?? fault(`invalid data, expected int, got ${goType(json)}`))

export const doubleShape = shape(json =>
  typeof json === 'number' || typeof json === 'bigint'
    ? new CelDouble(Number(json))
    : fault(`invalid data, expected float, got ${goType(json)}`),
)

export const intOrStringShape = shape(json =>
  typeof json === 'string' ? json : (wholeOf(json) ?? fault('invalid data, expected XIntOrString value to be either a string or integer')),
)

/** The int of a whole number; undefined for others, and beyond 64 bits, which Go reads as floats. */
function wholeOf(json: Json): CelInt | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? json + 0 : undefined
  return typeof json === 'bigint' && BigInt.asIntN(64, json) === json ? intOf(json) : undefined
}

/** A shape for strings of a format; undefined from `read` is a fault that names the format. */
function textShape(format: string, read: (text: string) => CelValue | undefined): Shape {
  return shape(json => {
    if (typeof json !== 'string') return fault(`invalid data, expected string, got ${goType(json)}`)
    return read(json) ?? fault(`Invalid ${format} ${json}`)
  })
}

export const stringShape = textShape('string', text => text)

const epoch = new CelTimestamp(0, 0)

/** A string of format date-time is a timestamp; without a zone it is in UTC, and the empty string is the beginning of 1970. */
export const timestampShape = textShape('date-time formatted string', text =>
  text === '' ? epoch : parseTimestamp(/\d[T]\d\d:\d\d:\d\d(?:[.,]\d+)?$/.test(text) ? `${text}Z` : text),
)

/** A string of format date is the timestamp at which the day begins. */
export const dateShape = textShape('date formatted string', text =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? parseTimestamp(`${text}T00:00:00Z`) : undefined,
)

/** A string of format duration: as Go writes it, or in words such as `2 days`. */
export const durationShape = textShape(
  'duration',
  text => parseDurationValue(text) ?? wordyDuration(text) ?? fault(`Invalid duration ${text}: unable to parse ${text} as duration`),
)

const second = 1_000_000_000n
const units: readonly [RegExp, bigint][] = [
  [/^(?:ns|nano.*)$/, 1n],
  [/^(?:us|µs|micro.*)$/, 1_000n],
  [/^(?:ms|milli.*)$/, 1_000_000n],
  [/^(?:s|sec.*)$/, second],
  [/^(?:m|min.*)$/, 60n * second],
  [/^(?:h|hr|hour.*)$/, 3600n * second],
  [/^(?:d|day.*)$/, 24n * 3600n * second],
  [/^(?:w|wk|week.*)$/, 7n * 24n * 3600n * second],
]

/** The sum of all amounts with a unit anywhere in the string. */
function wordyDuration(text: string): CelValue | undefined {
  let total: bigint | undefined
  for (const [, amount, word] of text.matchAll(/(?<!\d)(\d+)(?!\d)\s*([A-Za-zµ]+)/g)) {
    const unit = units.find(([names]) => names.test(word!.toLowerCase()))?.[1]
    if (unit !== undefined) total = (total ?? 0n) + BigInt(amount!.slice(0, 20)) * unit
  }
  return total === undefined ? undefined : durationOf(checkedInt(total))
}

/** A string of format byte is base64. */
export const bytesShape = textShape('byte formatted string', text => {
  try {
    return decodeBase64(text)
  } catch {
    return undefined
  }
})

/** The shape that also accepts null. */
export const nullableShape = (of: Shape): Shape => ({ read: json => (json === null ? null : of.read(json)) })

/** JSON that expressions can only compare. */
export const preservedShape = shape(json => new PreservedJson(json))

/** Comparison and concatenation of lists: in order, as sets, or by key fields, which are named as in expressions. */
export type ListKind = 'atomic' | 'set' | { readonly keys: readonly string[] }

/** A list whose elements have a shape. */
export function listShape(element: Shape, kind: ListKind = 'atomic'): Shape {
  return shape(json => {
    if (!Array.isArray(json)) return fault('invalid data, expected an array for the provided schema with type=array')
    const list = new JsonList(json, element)
    if (kind === 'atomic') return list
    return kind === 'set' ? new SetList(list) : new KeyedList(list, kind.keys)
  })
}

const notObject = fault('invalid data, expected a map for the provided schema with type=object')

/** A map whose values have a shape. */
export const mapShape = (value: Shape): Shape => shape(json => (isObject(json) ? new JsonMap(json, value, noSuchOverload) : notObject))

/**
 * An object with the given fields, by their names in expressions. Other keys of the JSON cannot be read, only compared. `fields` is called
 * at first use, so that shapes may be recursive.
 */
export function objectShape(fields: () => ReadonlyMap<string, ShapeField>): Shape {
  let known: ShapeFields | undefined
  return shape(json => {
    if (!isObject(json)) return notObject
    known ??= fieldsOf(fields())
    return new JsonFields(json, known)
  })
}
