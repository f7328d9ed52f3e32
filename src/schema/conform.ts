/**
 * Conforms decoded JSON to its type: drops and reports unknown fields, refuses wrong types, leaves out zero values where the type does,
 * normalizes times and quantities, and sorts fields in declared order. The input is never changed.
 */
import { canonicalBase64 } from '../lib/base64.ts'
import { formatDuration, parseDuration } from '../lib/duration.ts'
import { goQuote, goType as goTypeOf } from '../lib/go-text.ts'
import { type Duplicate, isObject, type Json, type JsonObject, jsonTypeName, setOwn } from '../lib/json-value.ts'
import { canonicalQuantity } from '../lib/quantity.ts'
import { formatMicroTime, formatTime, type Instant, isZeroTime, parseMicroTime, parseTime } from '../lib/time.ts'
import { settleNumbers, writtenText } from '../lib/written-number.ts'
import type { AnyType, EitherShape, MessageShape, ScalarShape } from './types.ts'

/** A value that cannot be read as its type. Clients see the message after `cannot be handled as a …:`. */
export class ConformError extends Error {
  /** The message for a value that was merged as decoded values, instead of the text that was sent. */
  readonly converting: string
  /** The value of a wrong type, where the object was sent as CBOR. */
  readonly mismatch: CborMismatch | undefined

  constructor(message: string, converting = message, mismatch?: CborMismatch) {
    super(message)
    this.converting = converting
    this.mismatch = mismatch
  }
}

/** A value of a wrong type in CBOR: the name of its own type, the expected one, and the field of the object that it is in. */
export type CborMismatch = { readonly sent: string; readonly expected: string; readonly field: string | undefined; readonly why: string }

export type Conformed = {
  readonly value: any
  /** `unknown field "…"` and `duplicate field "…"`, in the order of the document; the first hundred. */
  readonly problems: readonly string[]
}

export function conform(type: AnyType, value: Json, duplicates: readonly Duplicate[] = []): Conformed {
  const walk: Walk = { problems: [], path: [], fields: [], struct: '', duplicates }
  return { value: readerOf(type)(value, walk) ?? zeroOf(type), problems: walk.problems }
}

/**
 * Conforms a value that was sent as CBOR. kube-apiserver's decoder refuses numbers as quantities, and reports only one unknown field, by
 * its position in the mapping.
 */
export function conformCbor(type: AnyType, value: Json): Conformed {
  const cbor: CborWalk = {}
  const walk: Walk = { problems: [], path: [], fields: [], struct: '', duplicates: [], cbor }
  const conformed = readerOf(type)(value, walk) ?? zeroOf(type)
  const { unknown } = cbor
  return { value: conformed, problems: unknown ? [`cbor: found unknown field at map element index ${unknown.index}`] : [] }
}

/** The position of a walk: `path` with indexes for problems, `fields` and `struct` for Go's messages about types. */
type Walk = {
  readonly problems: string[]
  readonly path: (string | number)[]
  readonly fields: string[]
  struct: string
  readonly duplicates: readonly Duplicate[]
  readonly cbor?: CborWalk | undefined
}

/** The state of a walk through a value that was sent as CBOR. */
type CborWalk = {
  /** The field of the whole object, where a part is read as a document of its own. */
  readonly field?: string | undefined
  /** The unknown field to report: where its message is, and its position there. */
  unknown?: { readonly path: readonly (string | number)[]; readonly index: number }
}
/** Returns undefined for values that are not written: absent, null, and zero where zero is the same as absent. */
type Reader = (value: Json, walk: Walk) => any

const readers = new WeakMap<AnyType, Reader>()

function readerOf(type: AnyType): Reader {
  let reader = readers.get(type)
  if (!reader) readers.set(type, (reader = makeReader(type)))
  return reader
}

function makeReader(type: AnyType): Reader {
  const { shape, flags } = type
  const keepsZero = flags.optional === true || flags.always === true
  switch (shape.kind) {
    case 'scalar':
      return scalarReader(shape, keepsZero)
    case 'message':
      return messageReader(shape)
    case 'either':
      return eitherReader(shape)
    case 'list': {
      const item = elementReader(shape.item)
      return (value, walk) => {
        if (value === null) return undefined
        if (!Array.isArray(value)) throw mismatch(value, type, walk)
        if (value.length === 0 && !keepsZero) return undefined
        const out = new Array(value.length)
        for (let i = 0; i < value.length; i++) {
          walk.path.push(i)
          out[i] = item(value[i]!, walk)
          walk.path.pop()
        }
        return out
      }
    }
    case 'map': {
      const item = elementReader(shape.value)
      const isText = shape.value.shape.kind === 'scalar' && shape.value.shape.name === 'string'
      return (value, walk) => {
        if (value === null) return undefined
        if (!isObject(value)) throw mismatch(value, type, walk)
        const keys = Object.keys(value)
        if (keys.length === 0 && !keepsZero) return undefined
        const out: Record<string, any> = {}
        for (const key of keys) {
          reportDuplicates(value, key, walk)
          const part = value[key]!
          // Strings stay as they are, empty or not: most maps are labels, annotations and data.
          if (isText && typeof part === 'string') {
            setOwn(out, key, part)
            continue
          }
          walk.path.push(key)
          setOwn(out, key, item(part, walk))
          walk.path.pop()
        }
        return out
      }
    }
  }
}

/** Elements of lists and maps are always written: null and zero become the zero value, and an empty list stays one. */
function elementReader(type: AnyType): Reader {
  const read = readerOf(type)
  const { shape } = type
  if (shape.kind === 'list') return (value, walk) => (Array.isArray(value) && value.length === 0 ? [] : (read(value, walk) ?? null))
  return (value, walk) => read(value, walk) ?? (shape.kind === 'message' ? read({}, walk) : zeroOf(type))
}

function messageReader(shape: MessageShape): Reader {
  const names = Object.keys(shape.fields)
  const types = names.map(name => shape.fields[name]![1])
  const index = new Map(names.map((name, i) => [name, i]))
  const isFilled = types.map(({ flags }) => flags.orEmpty === true || flags.always === true)
  const filled = names.flatMap((_, i) => (isFilled[i] ? [i] : []))
  // Compiled at first use: types may refer to themselves.
  let read: Reader[] | undefined
  return (value, walk) => {
    if (value === null) return undefined
    if (!isObject(value)) throw mismatchAs(value, `v1.${shape.name}`, walk)
    const keys = Object.keys(value)
    const out: Record<string, any> = {}
    if (keys.length === 0) {
      for (const i of filled) out[names[i]!] = absent(types[i]!, walk)
      return out
    }
    read ??= types.map(readerOf)
    const slots = new Array(names.length)
    const outer = walk.struct
    for (const key of keys) {
      const i = index.get(key)
      if (i !== undefined) reportDuplicates(value, key, walk)
      walk.path.push(key)
      if (i === undefined) reportUnknown(walk, keys)
      else {
        walk.fields.push(key)
        walk.struct = shape.name
        slots[i] = read[i]!(value[key]!, walk)
        walk.fields.pop()
      }
      walk.path.pop()
    }
    walk.struct = outer
    // Types of dozens of fields, of which a value has a few, would take most of the time to look for the others.
    const order = keys.length < names.length / MANY_ABSENT ? inOrder(keys, index, filled) : undefined
    const count = order ? order.length : names.length
    for (let n = 0; n < count; n++) {
      const i = order ? order[n]! : n
      const slot = slots[i] ?? (isFilled[i] ? absent(types[i]!, walk) : undefined)
      if (slot !== undefined) out[names[i]!] = slot
    }
    return out
  }
}

/** A type has this many times as many fields as a value of it where only those that the value has are visited. */
const MANY_ABSENT = 4

/** The fields that a value has, and those that are always filled, in declared order. */
function inOrder(keys: readonly string[], index: ReadonlyMap<string, number>, filled: readonly number[]): number[] {
  const order = filled.slice()
  for (const key of keys) {
    const i = index.get(key)
    if (i !== undefined && !filled.includes(i)) order.push(i)
  }
  return order.sort(ascending)
}
const ascending = (a: number, b: number): number => a - b

/** The content is read as a document of its own: unknown fields inside are not reported, and the paths of errors begin there. */
function eitherReader({ object, list, bool, otherwise }: EitherShape): Reader {
  return (value, { duplicates, cbor, fields }) => {
    const alternative = isObject(value) ? object : Array.isArray(value) ? list : typeof value === 'boolean' ? bool : undefined
    const inside = cbor && { field: cbor.field ?? fields[0] }
    if (alternative) return readerOf(alternative[1])(value, { problems: [], path: [], fields: [], struct: '', duplicates, cbor: inside })
    if (otherwise !== undefined && value !== null) throw new ConformError(otherwise)
    return undefined
  }
}

/** The value of an absent field; undefined for none. */
const absent = (type: AnyType, walk: Walk): any => (type.flags.orEmpty ? readerOf(type)({}, walk) : absentValue(type))

/** The value of an absent field that is no empty message; undefined for none. */
export function absentValue(type: AnyType): Json | undefined {
  if (!type.flags.always) return undefined
  // A field that distinguishes absent from zero and is always written is written as null. So are bytes, which are a slice in Go.
  const isBytes = type.shape.kind === 'scalar' && type.shape.name === 'bytes'
  return type.flags.optional || isBytes ? null : zeroOf(type)
}

/** The zero value of a type; null for those that are no scalars. */
export function zeroOf({ shape }: AnyType): any {
  if (shape.kind !== 'scalar') return null
  switch (shape.name) {
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return 0
    case 'quantity':
      return '0'
    case 'time':
    case 'microTime':
    case 'raw':
      return null
    default:
      return ''
  }
}

function scalarReader(shape: ScalarShape, keepsZero: boolean): Reader {
  const drop = <T>(value: T, isZero: boolean) => (isZero && !keepsZero ? undefined : value)
  switch (shape.name) {
    case 'string':
      return (value, walk) => {
        if (value === null) return undefined
        if (typeof value !== 'string') throw mismatchAs(value, 'string', walk)
        return drop(value, value === '')
      }
    case 'duration':
      return (value, walk) => {
        if (value === null) return undefined
        if (typeof value !== 'string') throw misread(value, 'string', walk)
        return reading(() => formatDuration(parseDuration(value)))
      }
    case 'bool':
      return (value, walk) => {
        if (value === null) return undefined
        if (typeof value !== 'boolean') throw mismatchAs(value, 'bool', walk)
        return drop(value, !value)
      }
    case 'int32':
    case 'int64': {
      const [least, greatest] = shape.name === 'int32' ? INT32 : INT64
      return (value, walk) => {
        if (value === null) return undefined
        const whole = typeof value === 'bigint' || Number.isInteger(value)
        if (!whole || (value as number) < least || (value as number) > greatest) throw mismatchAs(value, shape.name, walk)
        return drop(value === 0 ? 0 : value, value === 0)
      }
    }
    case 'double':
      return (value, walk) => {
        if (value === null) return undefined
        const number = typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number(writtenText(value) ?? Number.NaN)
        if (!Number.isFinite(number)) throw mismatchAs(value, 'float64', walk)
        return drop(number, number === 0)
      }
    case 'bytes':
      return (value, walk) => {
        if (value === null) return undefined
        if (typeof value !== 'string') throw mismatchAs(value, '[]uint8', walk)
        return drop(value === '' ? '' : reading(() => canonicalBase64(value), base64Prefixes(walk)), value === '')
      }
    case 'time':
      return timeReader(parseTime, formatTime)
    case 'microTime':
      return timeReader(parseMicroTime, formatMicroTime)
    case 'quantity':
      return (value, walk) => {
        if (value === null) return undefined
        if (walk.cbor && typeof value !== 'string') throw misread(value, 'string', walk)
        const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : (writtenText(value) ?? value)
        // Any other value is parsed as a quantity, which fails.
        return reading(() => canonicalQuantity(typeof text === 'string' ? text : '{}'))
      }
    case 'intOrString':
      return (value, walk) => {
        if (value === null) return undefined
        if (typeof value === 'string') return value
        if (!Number.isInteger(value) || (value as number) < INT32[0] || (value as number) > INT32[1]) throw misread(value, 'int32', walk)
        return value
      }
    case 'raw':
      return value => (value === null ? undefined : reading(() => settleNumbers(value)))
  }
}

const INT32 = [-(2 ** 31), 2 ** 31 - 1] as const
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n] as const

const timeReader =
  (parse: (text: string) => Instant, format: (instant: Instant) => string): Reader =>
  (value, walk) => {
    if (value === null) return undefined
    if (typeof value !== 'string') throw misread(value, 'string', walk)
    const instant = reading(() => parse(value))
    return isZeroTime(instant) ? undefined : format(instant)
  }

/** Texts before the message of an error: always, and where the value was merged as a decoded one. */
type Prefixes = { readonly always?: string; readonly converting?: string }

function reading<T>(read: () => T, { always = '', converting = '' }: Prefixes = {}): T {
  try {
    return read()
  } catch (error) {
    const { message } = error as Error
    throw new ConformError(always + message, converting + message)
  }
}

const base64Prefixes = ({ cbor }: Walk): Prefixes =>
  cbor ? { always: 'cbor: failed to decode base64 from byte string: ' } : { converting: 'error decoding from json: ' }

function reportDuplicates(owner: JsonObject, key: string, walk: Walk): void {
  if (walk.duplicates.length === 0) return
  for (const d of walk.duplicates) if (d.owner === owner && d.key === key) report(walk, () => `duplicate field ${goQuote(d.path)}`)
}

/** The number of reported problems, as in Kubernetes. */
const MAX_PROBLEMS = 100

function report({ problems }: Walk, problem: () => string): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem())
}

/** Reports the last field of the path. CBOR: of the first message that has one, and of the one around it instead if that has one, too. */
function reportUnknown(walk: Walk, keys: readonly string[]): void {
  const { cbor } = walk
  if (!cbor) {
    report(walk, () => `unknown field ${goQuote(pathText(walk.path))}`)
    return
  }
  const path = walk.path.slice(0, -1)
  const known = cbor.unknown?.path
  if (known && !(path.length < known.length && path.every((step, i) => step === known[i]))) return
  cbor.unknown = { path, index: keys.indexOf(walk.path.at(-1) as string) }
}

function pathText(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`
  return text
}

const mismatch = (value: Json, type: AnyType, walk: Walk) => mismatchAs(value, goType(type), walk)

/** Go's error message for a value of the wrong type. */
function mismatchAs(value: Json, expected: string, walk: Walk): ConformError {
  return new ConformError(
    `json: cannot unmarshal ${sentAs(value, expected)} into ${goTarget(walk)} of type ${expected}`,
    notRestored(value, expected),
    cborMismatch(value, expected, walk),
  )
}

/** Go's message for a value that a type with its own decoder cannot read: it names only the value. */
function misread(value: Json, expected: string, walk: Walk): ConformError {
  const what = `json: cannot unmarshal ${sentAs(value, expected)} into`
  const converting = `${what} Go value of type ${expected}`
  return new ConformError(`${what} ${goTarget(walk)} of type ${expected}`, converting, cborMismatch(value, expected, walk))
}

function cborMismatch(value: Json, expected: string, { cbor, fields }: Walk): CborMismatch | undefined {
  if (!cbor) return undefined
  const isInteger = typeof value === 'bigint' || Number.isInteger(value)
  const why = isInteger && NUMERIC.has(expected) ? `${value} overflows ${expected}` : Array.isArray(value) ? arrayAs(expected) : ''
  return { sent: cborTypeOf(value), expected, field: cbor.field ?? fields[0], why }
}

const arrayAs = (expected: string): string =>
  expected.startsWith('v1.') ? 'cannot decode CBOR array to struct without toarray option' : ''

/** The name of the type that a value had in CBOR. Clients in Go send strings as byte strings. */
export function cborTypeOf(value: Json): string {
  if (Array.isArray(value)) return 'array'
  if (isObject(value)) return 'map'
  if (typeof value === 'string') return 'byte string'
  if (typeof value === 'number' || typeof value === 'bigint') return value < 0 ? 'negative integer' : 'positive integer'
  return 'primitives'
}

const NUMERIC = new Set(['int32', 'int64', 'float64'])

function sentAs(value: Json, expected: string): string {
  const type = jsonTypeName(value)
  return type === 'number' && NUMERIC.has(expected) ? `number ${writtenText(value) ?? value}` : type
}

const goTarget = ({ fields, struct }: Walk) => (fields.length === 0 ? 'Go value' : `Go struct field ${struct}.${fields.join('.')}`)

/** Go's message when it fills a struct from decoded values instead of text. */
function notRestored(value: Json, expected: string): string {
  const type = goTypeOf(value)
  const kind = Array.isArray(value) ? 'slice' : isObject(value) ? 'map' : type
  if (expected.startsWith('[]')) return `cannot restore slice from ${kind}`
  if (expected.startsWith('map[')) return `cannot restore map from ${kind}`
  if (expected.startsWith('v1.')) return `cannot restore struct from: ${kind}`
  const isConvertible = expected === 'string' ? type === 'int64' : NUMERIC.has(expected) && (type === 'int64' || type === 'float64')
  return isConvertible ? `cannot convert ${type} to ${expected}` : `unrecognized type: ${expected}`
}

function goType({ shape }: AnyType): string {
  switch (shape.kind) {
    case 'message':
    case 'either':
      return `v1.${shape.name}`
    case 'list':
      return `[]${goType(shape.item)}`
    case 'map':
      return `map[string]${goType(shape.value)}`
    case 'scalar':
      return GO_SCALARS[shape.name] ?? shape.name
  }
}
const GO_SCALARS: Readonly<Record<string, string>> = {
  double: 'float64',
  bytes: '[]uint8',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  duration: 'v1.Duration',
  quantity: 'resource.Quantity',
  intOrString: 'intstr.IntOrString',
  raw: 'runtime.RawExtension',
}
