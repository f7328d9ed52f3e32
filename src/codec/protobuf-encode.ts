/**
 * From JSON values to Kubernetes protobuf, compiled once per type. Only what is present is written: to a reader of protobuf
 * a plain field that is left out and one that is zero are the same, and of the others JSON says which it is.
 */

import { parseDuration } from '../lib/duration.ts'
import type { Json } from '../lib/json-value.ts'
import { type Instant, parseMicroTime, parseTime } from '../lib/time.ts'
import type { AnyType, EitherShape, MessageShape, ScalarName } from '../schema/types.ts'
import { stringifyJson } from './json.ts'
import { type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { ProtobufWriter } from './protobuf-writer.ts'

/** The bytes of a message, without the envelope. The value must have the form that `conform` gives it. */
export function toProtobuf(type: AnyType, value: Json): Buffer {
  if (type.shape.kind !== 'message') throw new TypeError(`a ${type.shape.kind} is no message`)
  const write = contentWriter(type.shape)
  OUT.reset()
  write(OUT, value)
  return OUT.finish()
}

// Encoding is synchronous, so that one buffer serves all.
const OUT = new ProtobufWriter()

/** Writes a field with its header, or the content of a message. The writer fills its buffer from the end: last things first. */
type Write = (out: ProtobufWriter, value: any) => void

const contents = new WeakMap<MessageShape, Write>()

function contentWriter(shape: MessageShape): Write {
  let write = contents.get(shape)
  if (!write) contents.set(shape, (write = makeContentWriter(shape)))
  return write
}

function makeContentWriter(shape: MessageShape): Write {
  // Compiled at first use: types may refer to themselves.
  let writers: Write[] | undefined
  return (out, value) => {
    writers ??= writersOf(wireFieldsOf(shape))
    for (const write of writers) write(out, value)
  }
}

/** Takes the whole message and writes one of its fields each, the last first. */
function writersOf(fields: readonly WireField[]): Write[] {
  return fields.toReversed().map(field => {
    if ('embedded' in field) {
      const inner = writersOf(field.embedded)
      return (out, value) => {
        const before = out.length
        for (const write of inner) write(out, value)
        if (out.length > before) out.header(field.number, out.length - before)
      }
    }
    const { name } = field
    const write = fieldWriter(field.number, field.type)
    return (out, value) => {
      const present = value[name]
      if (present !== undefined && present !== null) write(out, present)
    }
  })
}

function fieldWriter(number: number, { shape }: AnyType): Write {
  switch (shape.kind) {
    case 'scalar':
      return scalarWriter(number, shape.name)
    case 'message':
      return delimited(number, contentWriter(shape))
    case 'either':
      return delimited(number, eitherWriter(shape))
    case 'list': {
      const item = elementWriter(number, shape.item)
      return (out, value: Json[]) => {
        for (let i = value.length - 1; i >= 0; i--) item(out, value[i])
      }
    }
    case 'map': {
      const item = elementWriter(2, shape.value)
      return (out, value: Record<string, Json>) => {
        const keys = Object.keys(value)
        for (let i = keys.length - 1; i >= 0; i--) {
          const before = out.length
          item(out, value[keys[i]!])
          out.string(1, keys[i]!)
          out.header(number, out.length - before)
        }
      }
    }
  }
}

/** An element of a list or map is written even when it is nothing. Protobuf has no lists of lists: the inner ones get a message. */
function elementWriter(number: number, type: AnyType): Write {
  const { kind } = type.shape
  const write = kind === 'list' || kind === 'map' ? delimited(number, fieldWriter(1, type)) : fieldWriter(number, type)
  return (out, value) => {
    if (value === null || value === undefined) out.header(number, 0)
    else write(out, value)
  }
}

/** One of the fields of a message; of an object that could have been true or false, both. */
function eitherWriter({ object, list, bool }: EitherShape): Write {
  // Compiled at first use: types may refer to themselves.
  let forms: Record<'object' | 'list' | 'bool', Write | undefined> | undefined
  const compiled = (form: EitherShape['list']) => form && fieldWriter(...form)
  return (out, value) => {
    forms ??= { object: compiled(object), list: compiled(list), bool: compiled(bool) }
    if (Array.isArray(value)) return forms.list?.(out, value)
    if (typeof value === 'object') forms.object?.(out, value)
    forms.bool?.(out, value !== false)
  }
}

const delimited =
  (number: number, content: Write): Write =>
  (out, value) => {
    const before = out.length
    content(out, value)
    out.header(number, out.length - before)
  }

function scalarWriter(number: number, name: ScalarName): Write {
  switch (name) {
    case 'string':
      return (out, value) => out.string(number, value)
    case 'bool':
      return (out, value) => out.bool(number, value)
    case 'int32':
    case 'int64':
      return (out, value) => out.integer(number, value)
    case 'double':
      return (out, value) => out.double(number, value)
    case 'bytes':
      return (out, value) => out.bytes(number, Buffer.from(value, 'base64'))
    case 'time':
      return delimited(number, (out, value) => writeTimestamp(out, { ...parseTime(value), nanos: 0 }))
    case 'microTime':
      return delimited(number, (out, value) => writeTimestamp(out, parseMicroTime(value)))
    case 'duration':
      return delimited(number, (out, value) => out.integer(1, parseDuration(value)))
    case 'quantity':
      return delimited(number, (out, value) => out.string(1, value))
    case 'intOrString':
      return delimited(number, writeIntOrString)
    case 'raw':
      return delimited(number, (out, value) => out.string(1, stringifyJson(value)))
  }
}

function writeTimestamp(out: ProtobufWriter, { seconds, nanos }: Instant): void {
  out.integer(2, nanos)
  out.integer(1, seconds)
}

/** Both halves are always there, and the first field says which of them counts. */
function writeIntOrString(out: ProtobufWriter, value: number | string): void {
  const isText = typeof value === 'string'
  out.string(3, isText ? value : '')
  out.integer(2, isText ? 0 : value)
  out.integer(1, isText ? 1 : 0)
}
