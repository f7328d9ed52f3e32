/**
 * From Kubernetes protobuf to JSON values, compiled once per type. What comes out is what a client could have sent as JSON:
 * `conform` makes it an object of its type. Unknown fields are skipped; a message that occurs twice is merged, as protobuf requires.
 */

import { formatDuration } from '../lib/duration.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { formatMicroTime, formatTime, type Instant } from '../lib/time.ts'
import type { AnyType, EitherShape, MessageShape, ScalarName } from '../schema/types.ts'
import { JsonError, parseJson } from './json.ts'
import { isEnveloped, openEnvelope } from './protobuf-envelope.ts'
import { type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { DELIMITED, FIXED64, ProtobufError, ProtobufReader, VARINT } from './protobuf-reader.ts'

/** The value of a message without envelope; throws ProtobufError. */
export function fromProtobuf(type: AnyType, bytes: Uint8Array): JsonObject {
  if (type.shape.kind !== 'message') throw new TypeError(`a ${type.shape.kind} is no message`)
  const out: JsonObject = {}
  contentReader(type.shape)(new ProtobufReader(bytes), out)
  return out
}

/** Reads all that is left of the part at hand into a message. */
type ReadContent = (reader: ProtobufReader, out: JsonObject) => void
/** Reads one value. */
type ReadValue = (reader: ProtobufReader) => Json

const contents = new WeakMap<MessageShape, ReadContent>()

function contentReader(shape: MessageShape): ReadContent {
  let read = contents.get(shape)
  if (!read) {
    // Compiled at first use: types may refer to themselves.
    let compiled: ReadContent | undefined
    read = (reader, out) => {
      compiled ??= fieldsReader(shape.name, wireFieldsOf(shape))
      compiled(reader, out)
    }
    contents.set(shape, read)
  }
  return read
}

function fieldsReader(message: string, fields: readonly WireField[]): ReadContent {
  const byNumber: ReadContent[] = []
  for (const field of fields)
    byNumber[field.number] =
      'embedded' in field ? embeddedReader(message, fieldsReader(message, field.embedded)) : fieldReader(field.name, field.type)
  return (reader, out) => {
    for (let number = reader.next(message); number !== 0; number = reader.next(message)) {
      const read = byNumber[number]
      if (read === undefined) reader.skip()
      else read(reader, out)
    }
  }
}

/** Reads an embedded message into the one that it is in. */
function embeddedReader(name: string, content: ReadContent): ReadContent {
  return (reader, out) => {
    reader.expect(DELIMITED, name)
    const outer = reader.enter()
    content(reader, out)
    reader.leave(outer)
  }
}

function fieldReader(name: string, type: AnyType): ReadContent {
  const { shape } = type
  switch (shape.kind) {
    case 'scalar': {
      const wireType = wireTypeOf(shape.name)
      const read = scalarReader(shape.name)
      return (reader, out) => {
        reader.expect(wireType, name)
        out[name] = read(reader)
      }
    }
    case 'message': {
      const read = embeddedReader(name, contentReader(shape))
      return (reader, out) => read(reader, (out[name] ??= {}) as JsonObject)
    }
    case 'either': {
      const read = eitherReader(shape)
      return (reader, out) => {
        reader.expect(DELIMITED, name)
        out[name] = read(reader)
      }
    }
    case 'list':
      return listReader(name, shape.item)
    case 'map':
      return mapReader(name, shape.value)
  }
}

/** A message that has one of several fields: an object or a list where there is one, or else what is true or false. */
function eitherReader({ name, object, list, bool }: EitherShape): ReadValue {
  // Compiled at first use: types may refer to themselves.
  let content: ReadContent | undefined
  const fields = Object.entries({ object, list, bool }).flatMap(([field, alternative]) =>
    alternative ? [{ number: alternative[0], name: field, type: alternative[1] }] : [],
  )
  return reader => {
    content ??= fieldsReader(name, fields)
    const out: JsonObject = {}
    const outer = reader.enter()
    content(reader, out)
    reader.leave(outer)
    return out['object'] ?? out['list'] ?? (bool ? (out['bool'] ?? false) : null)
  }
}

function listReader(name: string, type: AnyType): ReadContent {
  const wireType = elementWireType(type)
  const read = elementReader(name, type)
  return (reader, out) => {
    const list = (out[name] ??= []) as Json[]
    if (reader.wireType === DELIMITED && wireType !== DELIMITED) {
      const outer = reader.enter()
      while (!reader.done) {
        reader.count()
        list.push(read(reader))
      }
      reader.leave(outer)
      return
    }
    reader.expect(wireType, name)
    list.push(read(reader))
  }
}

function mapReader(name: string, type: AnyType): ReadContent {
  const wireType = elementWireType(type)
  const read = elementReader(name, type)
  return (reader, out) => {
    reader.expect(DELIMITED, name)
    const map = (out[name] ??= {}) as JsonObject
    const outer = reader.enter()
    let key = ''
    // What has no value has the zero value, which is what null becomes for an element.
    let value: Json = null
    for (let number = reader.next(name); number !== 0; number = reader.next(name)) {
      if (number === 1) {
        reader.expect(DELIMITED, name)
        key = reader.string()
      } else if (number === 2) {
        reader.expect(wireType, name)
        value = read(reader)
      } else reader.skip()
    }
    reader.leave(outer)
    setOwn(map, key, value)
  }
}

/** One element of a list or map. Lists inside them come in a message of their own, as its field 1. */
function elementReader(name: string, type: AnyType): ReadValue {
  const { shape } = type
  if (shape.kind === 'scalar') return scalarReader(shape.name)
  if (shape.kind === 'either') return eitherReader(shape)
  const content = shape.kind === 'message' ? contentReader(shape) : fieldsReader(name, [{ number: 1, name: ITEMS, type }])
  const isWrapped = shape.kind !== 'message'
  return reader => {
    const out: JsonObject = {}
    const outer = reader.enter()
    content(reader, out)
    reader.leave(outer)
    return isWrapped ? (out[ITEMS] ?? (shape.kind === 'list' ? [] : {})) : out
  }
}
const ITEMS = 'items'

const elementWireType = ({ shape }: AnyType) => (shape.kind === 'scalar' ? wireTypeOf(shape.name) : DELIMITED)

function wireTypeOf(name: ScalarName): number {
  if (name === 'bool' || name === 'int32' || name === 'int64') return VARINT
  return name === 'double' ? FIXED64 : DELIMITED
}

function scalarReader(name: ScalarName): ReadValue {
  switch (name) {
    case 'string':
      return reader => reader.string()
    case 'bool':
      return reader => reader.bool()
    case 'int32':
      return reader => reader.int32()
    case 'int64':
      return reader => reader.int64()
    case 'double':
      return reader => finite(reader.double())
    case 'bytes':
      return reader => reader.bytes().toString('base64')
    case 'time':
      return reader => timeOf(readParts(reader, TIME), formatTime)
    case 'microTime':
      return reader => timeOf(readParts(reader, MICRO_TIME), formatMicroTime)
    case 'duration':
      return reader => formatDuration(BigInt((readParts(reader, DURATION)['duration'] as number | bigint | undefined) ?? 0))
    case 'quantity':
      return reader => readParts(reader, QUANTITY)['string'] ?? '0'
    case 'intOrString':
      return readIntOrString
    case 'raw':
      return readRaw
  }
}

type Parts = {
  readonly name: string
  readonly fields: readonly (readonly [name: string, scalar: 'string' | 'int32' | 'int64' | 'bytes'])[]
}
// A time has seconds alone: nanoseconds that a client sends with it do not count.
const TIME: Parts = { name: 'Timestamp', fields: [['seconds', 'int64']] }
const MICRO_TIME: Parts = {
  name: 'Timestamp',
  fields: [
    ['seconds', 'int64'],
    ['nanos', 'int32'],
  ],
}
const DURATION: Parts = { name: 'Duration', fields: [['duration', 'int64']] }
const QUANTITY: Parts = { name: 'Quantity', fields: [['string', 'string']] }
const INT_OR_STRING: Parts = {
  name: 'IntOrString',
  fields: [
    ['type', 'int64'],
    ['intVal', 'int32'],
    ['strVal', 'string'],
  ],
}
const RAW: Parts = { name: 'RawExtension', fields: [['raw', 'bytes']] }

/** The fields of a message that JSON writes as one plain value, numbered in order. Bytes stay bytes. */
function readParts(reader: ProtobufReader, { name, fields }: Parts): Record<string, any> {
  const parts: Record<string, any> = {}
  const outer = reader.enter()
  for (let number = reader.next(name); number !== 0; number = reader.next(name)) {
    const field = fields[number - 1]
    if (field === undefined) {
      reader.skip()
      continue
    }
    const [key, scalar] = field
    reader.expect(wireTypeOf(scalar), key)
    parts[key] = reader[scalar]()
  }
  reader.leave(outer)
  return parts
}

// JSON writes the years 0 to 9999.
const FIRST_SECOND = -62_167_219_200
const LAST_SECOND = 253_402_300_799

/** An empty timestamp is no time at all. */
function timeOf({ seconds, nanos }: Record<string, any>, format: (instant: Instant) => string): Json {
  if (seconds === undefined && nanos === undefined) return null
  const micros = Math.trunc((nanos ?? 0) / 1000)
  const whole = Number(seconds ?? 0) + Math.floor(micros / 1e6)
  if (whole < FIRST_SECOND || whole > LAST_SECOND) throw new ProtobufError('Time.MarshalJSON: year outside of range [0,9999]')
  return format({ seconds: whole, nanos: (micros - Math.floor(micros / 1e6) * 1e6) * 1000 })
}

function readIntOrString(reader: ProtobufReader): Json {
  const { type = 0, intVal = 0, strVal = '' } = readParts(reader, INT_OR_STRING)
  if (type !== 0 && type !== 1) throw new ProtobufError('impossible IntOrString.Type')
  return type === 0 ? intVal : strVal
}

/** Any JSON. Clients may put a whole object there, in its envelope: one that is JSON inside is read, another cannot be. */
function readRaw(reader: ProtobufReader): Json {
  let bytes: Uint8Array = readParts(reader, RAW)['raw'] ?? NOTHING
  if (isEnveloped(bytes)) {
    const { kind, raw, contentType } = openEnvelope(bytes)
    if (contentType !== 'application/json')
      throw new ProtobufError(`proto: RawExtension: an embedded ${goQuote(kind)} must be JSON, not ${goQuote(contentType)}`)
    bytes = raw
  }
  if (bytes.length === 0) return null
  try {
    return parseJson(bytes, { nodes: LIMITS.decodedNodes }).value
  } catch (error) {
    if (error instanceof JsonError) throw new ProtobufError(error.message)
    throw error
  }
}
const NOTHING = new Uint8Array(0)

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ProtobufError(`json: unsupported value: ${value}`)
  return value
}
