/**
 * From JSON values to Kubernetes protobuf, compiled once per type, in one of two encodings that mean the same. To a reader of protobuf a
 * plain field that is left out and one that is zero are the same, and of the others JSON says which it is:
 *
 *   sparse     only present fields are written, which is shorter: for clients
 *   complete   plain fields are written even when zero, and maps in the order of their keys, byte by byte as Go writes them: what
 *              is stored where kube-apiserver reads it
 */

import { parseDuration } from '../lib/duration.ts'
import { compareText } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import { type Instant, parseMicroTime, parseTime } from '../lib/time.ts'
import type { AnyType, EitherShape, MessageShape, ScalarName } from '../schema/types.ts'
import { stringifyJson } from './json.ts'
import { type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { ProtobufWriter } from './protobuf-writer.ts'

/** The bytes of a message in the sparse encoding, without the envelope. The value must be as `conform` makes it. */
export const toProtobuf = (type: AnyType, value: Json): Buffer => encode(type, value, SPARSE)

/** The bytes of a message in the complete encoding, without the envelope unless it is given. The value must be as `conform` makes it. */
export const toCompleteProtobuf = (type: AnyType, value: Json, around?: Around): Buffer => encode(type, value, COMPLETE, around)

/** The message of which another one is a field: what of it comes before and after that field, and the number of the field. */
export type Around = { readonly before: Uint8Array; readonly number: number; readonly after: Uint8Array }

function encode({ shape }: AnyType, value: Json, encoding: Encoding, around?: Around): Buffer {
  if (shape.kind !== 'message') throw new TypeError(`a ${shape.kind} is no message`)
  const write = contentWriter(shape, encoding)
  OUT.reset()
  if (!around) {
    write(OUT, value)
    return OUT.finish()
  }
  OUT.raw(around.after)
  OUT.message(around.number, () => write(OUT, value))
  OUT.raw(around.before)
  // It is on its way to etcd.
  return OUT.finish(true)
}

// Encoding is synchronous, so that one buffer serves all.
const OUT = new ProtobufWriter()

/** Writes a field with its header, or the content of a message. The writer fills its buffer from the end: last things first. */
type Write = (out: ProtobufWriter, value: any) => void

/** An encoding with its compiled parts. */
type Encoding = { readonly isComplete: boolean; readonly contents: WeakMap<MessageShape, Write> }

const SPARSE: Encoding = { isComplete: false, contents: new WeakMap() }
const COMPLETE: Encoding = { isComplete: true, contents: new WeakMap() }

function contentWriter(shape: MessageShape, encoding: Encoding): Write {
  let write = encoding.contents.get(shape)
  if (!write) encoding.contents.set(shape, (write = makeContentWriter(shape, encoding)))
  return write
}

function makeContentWriter(shape: MessageShape, encoding: Encoding): Write {
  // Compiled at first use: types may refer to themselves.
  let writers: Write[] | undefined
  return (out, value) => {
    writers ??= writersOf(wireFieldsOf(shape), encoding)
    for (let i = 0; i < writers.length; i++) writers[i]!(out, value)
  }
}

/** Takes the whole message and writes one of its fields each, the last first. */
function writersOf(fields: readonly WireField[], encoding: Encoding): Write[] {
  return fields.toReversed().map(field => {
    if ('embedded' in field) {
      const inner = writersOf(field.embedded, encoding)
      return (out, value) => {
        const before = out.length
        for (const write of inner) write(out, value)
        if (out.length > before || encoding.isComplete) out.header(field.number, out.length - before)
      }
    }
    const { name } = field
    const write = fieldWriter(field.number, field.type, encoding)
    const zero = encoding.isComplete ? zeroWriter(field.number, field.type, encoding) : undefined
    return (out, value) => {
      const present = value[name]
      if (present !== undefined && present !== null) write(out, present)
      else if (zero !== undefined) zero(out, undefined)
    }
  })
}

/** Writes what stands for an absent field in the complete encoding; undefined where that is nothing, as for what Go has a pointer to. */
function zeroWriter(number: number, { shape, flags }: AnyType, encoding: Encoding): Write | undefined {
  if (shape.kind === 'message') {
    if (!flags.orEmpty) return undefined
    const write = delimited(number, contentWriter(shape, encoding))
    return out => write(out, NOTHING)
  }
  if (shape.kind !== 'scalar' || flags.optional) return undefined
  switch (shape.name) {
    case 'bytes':
      return undefined
    case 'string':
    case 'time':
    case 'microTime':
    case 'raw':
      return out => out.header(number, 0)
    case 'bool':
    case 'int32':
    case 'int64':
      return out => out.varint(number, 0)
    default: {
      const write = scalarWriter(number, shape.name)
      const zero = { double: 0, duration: '0s', quantity: '0', intOrString: 0 }[shape.name]
      return out => write(out, zero)
    }
  }
}
const NOTHING = Object.freeze({})

function fieldWriter(number: number, { shape }: AnyType, encoding: Encoding): Write {
  switch (shape.kind) {
    case 'scalar':
      return scalarWriter(number, shape.name)
    case 'message':
      return delimited(number, contentWriter(shape, encoding))
    case 'either':
      return delimited(number, eitherWriter(shape, encoding))
    case 'list': {
      const item = elementWriter(number, shape.item, encoding)
      return (out, value: Json[]) => {
        for (let i = value.length - 1; i >= 0; i--) item(out, value[i])
      }
    }
    case 'map': {
      const item = elementWriter(2, shape.value, encoding)
      return (out, value: Record<string, Json>) => {
        const keys = Object.keys(value)
        if (encoding.isComplete && keys.length > 1) keys.sort(compareText)
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
function elementWriter(number: number, type: AnyType, encoding: Encoding): Write {
  const { kind } = type.shape
  const write = kind === 'list' || kind === 'map' ? delimited(number, fieldWriter(1, type, encoding)) : fieldWriter(number, type, encoding)
  return (out, value) => {
    if (value === null || value === undefined) out.header(number, 0)
    else write(out, value)
  }
}

/** One of the fields of a message; of an object that could have been true or false, both. */
function eitherWriter({ object, list, bool }: EitherShape, encoding: Encoding): Write {
  // Compiled at first use: types may refer to themselves.
  let writers: Record<'object' | 'list' | 'bool', Write | undefined> | undefined
  const compiled = (field: EitherShape['list']) => field && fieldWriter(...field, encoding)
  return (out, value) => {
    writers ??= { object: compiled(object), list: compiled(list), bool: compiled(bool) }
    if (Array.isArray(value)) return writers.list?.(out, value)
    if (typeof value === 'object') writers.object?.(out, value)
    writers.bool?.(out, value !== false)
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
      return delimited(number, (out, value) => writeTimestamp(out, { seconds: secondsOf(value), nanos: 0 }))
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

/** Times of one object are often the same. */
let lastTime = { text: '', seconds: 0 }

function secondsOf(text: string): number {
  if (text !== lastTime.text) lastTime = { text, seconds: parseTime(text).seconds }
  return lastTime.seconds
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
