/**
 * Reads Kubernetes protobuf into JSON values, compiled once per type. The result is what `conform` makes of the same message sent as
 * JSON: zero values are left out where the type says so, quantities are canonical, and fields stand in declared order.
 *
 * A message is read in two passes, because its fields may come in any order and a message that comes in several parts is merged. The
 * first pass fills the slots of the message, one for each declared field; the second makes the object from them. A config map with
 * `data {k: "v"}` and then `metadata {name: "a", namespace: ""}`:
 *
 *     12 06 0a 01 6b 12 01 76        slots [ , {k: "v"}, , ]                    slot 1 is `data`
 *     0a 05 0a 01 61 1a 00           slots [["a", …], {k: "v"}, , ]             slot 0 is `metadata`, with slots of its own
 *                                    {"metadata":{"name":"a"},"data":{"k":"v"}}
 *
 * Unknown fields are skipped, and of a scalar that comes twice the last value counts, as protobuf requires.
 */

import { formatDuration } from '../lib/duration.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { canonicalQuantity } from '../lib/quantity.ts'
import { formatMicroTime, formatTime, isZeroTime } from '../lib/time.ts'
import { absentValue, zeroOf } from '../schema/conform.ts'
import type { AnyType, EitherShape, MessageShape, ScalarName } from '../schema/types.ts'
import { JsonError, parseJson } from './json.ts'
import { isEnveloped, openEnvelope } from './protobuf-envelope.ts'
import { type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { DELIMITED, FIXED64, ProtobufError, ProtobufReader, VARINT } from './protobuf-reader.ts'

/** Values that fields have whatever a message says; undefined for fields to leave out. */
export type Given = { readonly [field: string]: Json | Given | undefined }

export type ProtobufOptions = {
  /** How many values the message may hold; without it, as many as a client may send. */
  readonly values?: number
  readonly given?: Given
}

/** The value of a message without envelope; throws ProtobufError, and a StatusError when it holds too many values. */
export function fromProtobuf(
  type: AnyType,
  bytes: Uint8Array,
  { values = LIMITS.values.other.decoded.values, given }: ProtobufOptions = {},
): JsonObject {
  if (type.shape.kind !== 'message') throw new TypeError(`a ${type.shape.kind} is no message`)
  const codec = messageCodec(type.shape)
  const slots = codec.slots()
  codec.read(new ProtobufReader(bytes, values), slots)
  if (given) codec.give(slots, given)
  return codec.build(slots)
}

/** The values of a message by the position of their fields; undefined where nothing was read. A message inside is its own slots. */
type Slots = any[]
/** Reads the field at hand into the slots of its message. */
type ReadField = (reader: ProtobufReader, slots: Slots) => void
/** Reads one value; undefined for an empty one that stands for nothing, such as an empty time. */
type ReadValue = (reader: ProtobufReader) => any
/** Makes the final value from a slot; undefined when it is left out. */
type Build = (read: any) => any

const codecs = new WeakMap<MessageShape, MessageCodec>()

function messageCodec(shape: MessageShape): MessageCodec {
  let codec = codecs.get(shape)
  if (!codec) codecs.set(shape, (codec = new MessageCodec(shape)))
  return codec
}

/** Fields by their numbers. */
type Table = (ReadField | undefined)[]

/** Reads the messages of one type. */
class MessageCodec {
  readonly #shape: MessageShape
  readonly #names: readonly string[]
  // Compiled at first use: types may refer to themselves.
  #table: Table | undefined
  #builds: readonly (Build | undefined)[] = []
  /** Makes the value of each field that was not sent. */
  #absent: readonly ((() => Json) | undefined)[] = []

  constructor(shape: MessageShape) {
    this.#shape = shape
    this.#names = Object.keys(shape.fields)
  }

  slots(): Slots {
    return new Array(this.#names.length)
  }

  /** Reads all that is left of the part at hand. */
  read(reader: ProtobufReader, slots: Slots): void {
    readContent(this.#shape.name, (this.#table ??= this.#compile()), reader, slots)
  }

  /** Reads a message that is a field of another one. */
  readPart(reader: ProtobufReader, slots: Slots): void {
    const outer = reader.enter()
    this.read(reader, slots)
    reader.leave(outer)
  }

  /** Replaces values in the slots. */
  give(slots: Slots, given: Given): void {
    for (const name in given) {
      const slot = this.#names.indexOf(name)
      if (slot < 0) throw new TypeError(`${this.#shape.name} has no field ${name}`)
      const { shape } = this.#shape.fields[name]![1]
      if (shape.kind !== 'message') slots[slot] = given[name]
      else messageCodec(shape).give((slots[slot] ??= []), given[name] as Given)
    }
  }

  build(slots: Slots): JsonObject {
    if (!this.#table) this.#table = this.#compile()
    const names = this.#names
    const builds = this.#builds
    const absent = this.#absent
    const out: JsonObject = {}
    for (let i = 0; i < names.length; i++) {
      let value = slots[i]
      if (value !== undefined) {
        const build = builds[i]
        if (build !== undefined) value = build(value)
      }
      if (value === undefined) {
        const make = absent[i]
        if (make === undefined) continue
        value = make()
      }
      out[names[i]!] = value
    }
    return out
  }

  #compile(): Table {
    const types = this.#names.map(name => this.#shape.fields[name]![1])
    this.#builds = types.map(buildOf)
    this.#absent = types.map(absentOf)
    return tableOf(wireFieldsOf(this.#shape), this.#names, this.#shape.name)
  }
}

function readContent(message: string, table: Table, reader: ProtobufReader, slots: Slots): void {
  for (let number = reader.next(message); number !== 0; number = reader.next(message)) {
    const read = table[number]
    if (read === undefined) reader.skip()
    else read(reader, slots)
  }
}

function tableOf(fields: readonly WireField[], names: readonly string[], message: string): Table {
  const table: Table = []
  for (const field of fields)
    table[field.number] =
      'embedded' in field
        ? embeddedReader(message, tableOf(field.embedded, names, message))
        : fieldReader(field.name, field.type, names.indexOf(field.name))
  return table
}

function readPart(message: string, table: Table, reader: ProtobufReader, slots: Slots): void {
  const outer = reader.enter()
  readContent(message, table, reader, slots)
  reader.leave(outer)
}

/** Reads an embedded message, whose fields are among those of the message that it is in. */
function embeddedReader(message: string, table: Table): ReadField {
  return (reader, slots) => {
    reader.expect(DELIMITED, message)
    readPart(message, table, reader, slots)
  }
}

function fieldReader(name: string, type: AnyType, slot: number): ReadField {
  const { shape } = type
  switch (shape.kind) {
    case 'scalar': {
      const wireType = wireTypeOf(shape.name)
      const read = scalarReader(shape.name)
      const dropsZero = leavesOutZero(type)
      return (reader, slots) => {
        reader.expect(wireType, name)
        const value = read(reader)
        slots[slot] = dropsZero && !value ? undefined : value
      }
    }
    case 'message': {
      const codec = messageCodec(shape)
      return (reader, slots) => {
        reader.expect(DELIMITED, name)
        codec.readPart(reader, (slots[slot] ??= codec.slots()))
      }
    }
    case 'either': {
      const table = eitherTable(shape)
      return (reader, slots) => {
        reader.expect(DELIMITED, name)
        readPart(shape.name, table, reader, (slots[slot] ??= []))
      }
    }
    case 'list':
      return listReader(name, shape.item, slot)
    case 'map':
      return mapReader(name, shape.value, slot)
  }
}

/** A message that has one of several fields, in this order of slots. */
const EITHER = ['object', 'list', 'bool'] as const

const eitherTable = (shape: EitherShape): Table =>
  tableOf(
    EITHER.flatMap(name => (shape[name] ? [{ number: shape[name][0], name, type: shape[name][1] }] : [])),
    EITHER,
    shape.name,
  )

function listReader(name: string, type: AnyType, slot: number): ReadField {
  const wireType = elementWireType(type)
  const read = elementReader(name, type)
  return (reader, slots) => {
    const list: any[] = (slots[slot] ??= [])
    if (reader.wireType === wireType) {
      list.push(read(reader))
      return
    }
    // Scalars may come packed: many in one part.
    reader.expect(DELIMITED, name)
    const outer = reader.enter()
    while (!reader.done) {
      reader.count()
      list.push(read(reader))
    }
    reader.leave(outer)
  }
}

function mapReader(name: string, type: AnyType, slot: number): ReadField {
  const wireType = elementWireType(type)
  const read = elementReader(name, type)
  const none = type.shape.kind === 'scalar' ? () => zeroOf(type) : () => []
  return (reader, slots) => {
    reader.expect(DELIMITED, name)
    const map = (slots[slot] ??= {})
    const outer = reader.enter()
    let key = ''
    let value: any
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
    setOwn(map, key, value === undefined ? none() : value)
  }
}

/** Reads one element of a list or map. A list or map inside comes in a message of its own, as its field 1. */
function elementReader(name: string, type: AnyType): ReadValue {
  const { shape } = type
  if (shape.kind === 'scalar') {
    const read = scalarReader(shape.name)
    const zero = zeroOf(type)
    return reader => read(reader) ?? zero
  }
  if (shape.kind === 'message') {
    const codec = messageCodec(shape)
    return reader => {
      const slots = codec.slots()
      codec.readPart(reader, slots)
      return slots
    }
  }
  const message = shape.kind === 'either' ? shape.name : name
  const table = shape.kind === 'either' ? eitherTable(shape) : tableOf([{ number: 1, name: ITEMS, type }], [ITEMS], name)
  return reader => {
    const slots: Slots = []
    readPart(message, table, reader, slots)
    return slots
  }
}
const ITEMS = 'items'

/** Makes the value of a field from the slot that was read; undefined where the slot is the value already. */
function buildOf(type: AnyType): Build | undefined {
  const { shape } = type
  switch (shape.kind) {
    case 'scalar':
      return undefined
    case 'message': {
      const codec = messageCodec(shape)
      return slots => codec.build(slots)
    }
    case 'either':
      return eitherBuild(shape)
    case 'list': {
      const build = elementBuild(shape.item)
      const keepsEmpty = keepsZero(type)
      return (list: any[]) => {
        if (list.length === 0 && !keepsEmpty) return undefined
        if (build) for (let i = 0; i < list.length; i++) list[i] = build(list[i])
        return list
      }
    }
    case 'map': {
      const build = elementBuild(shape.value)
      return (
        build &&
        (map => {
          for (const key of Object.keys(map)) map[key] = build(map[key])
          return map
        })
      )
    }
  }
}

/** The same for an element of a list or map, which is always written. */
function elementBuild(type: AnyType): Build | undefined {
  const { shape } = type
  const build = buildOf(type)
  if (shape.kind === 'scalar' || shape.kind === 'message') return build
  if (shape.kind === 'either') return slots => build!(slots) ?? zeroOf(type)
  // The only slot of the message that it came in.
  return ([value]) => (value === undefined ? undefined : build ? build(value) : value) ?? zeroOf(type)
}

function eitherBuild({ object, list, bool }: EitherShape): Build {
  // Made at first use: types may refer to themselves.
  let buildObject: Build | undefined
  let buildList: Build | undefined
  return ([readObject, readList, readBool]: Slots) => {
    if (readObject !== undefined) return (buildObject ??= buildOf(object[1])!)(readObject)
    if (readList !== undefined) return (buildList ??= buildOf(list![1])!)(readList)
    return readBool ?? (bool && keepsZero(bool[1]) ? false : undefined)
  }
}

/** Makes the value of a field that was not sent; undefined where it has none. */
function absentOf(type: AnyType): (() => Json) | undefined {
  if (type.flags.orEmpty && type.shape.kind === 'message') {
    const codec = messageCodec(type.shape)
    return () => codec.build([])
  }
  const value = absentValue(type)
  return value === undefined ? undefined : () => value
}

const keepsZero = ({ flags }: AnyType): boolean => flags.optional === true || flags.always === true
const leavesOutZero = (type: AnyType): boolean => !keepsZero(type) && type.shape.kind === 'scalar' && ZERO_IS_ABSENT.has(type.shape.name)
/** Scalars whose zero is the same as none. */
const ZERO_IS_ABSENT: ReadonlySet<ScalarName> = new Set(['string', 'bool', 'int32', 'int64', 'double', 'bytes'])
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
      return reader => readTime(reader, false)
    case 'microTime':
      return reader => readTime(reader, true)
    case 'duration':
      return reader => formatDuration(BigInt(readWrapped(reader, DURATION) ?? 0))
    case 'quantity':
      return reader => quantityOf(readWrapped(reader, QUANTITY) ?? '0')
    case 'intOrString':
      return readIntOrString
    case 'raw':
      return readRaw
  }
}

/** A message that JSON writes as one plain value: its only field has the number 1. */
type Wrapper<T> = {
  readonly message: string
  readonly field: string
  readonly wireType: number
  readonly read: (reader: ProtobufReader) => T
}
const DURATION: Wrapper<number | bigint> = { message: 'Duration', field: 'duration', wireType: VARINT, read: reader => reader.int64() }
const QUANTITY: Wrapper<string> = { message: 'Quantity', field: 'string', wireType: DELIMITED, read: reader => reader.string() }
const RAW: Wrapper<Uint8Array> = { message: 'RawExtension', field: 'raw', wireType: DELIMITED, read: reader => reader.bytes() }

function readWrapped<T>(reader: ProtobufReader, { message, field, wireType, read }: Wrapper<T>): T | undefined {
  let value: T | undefined
  const outer = reader.enter()
  for (let number = reader.next(message); number !== 0; number = reader.next(message)) {
    if (number === 1) {
      reader.expect(wireType, field)
      value = read(reader)
    } else reader.skip()
  }
  reader.leave(outer)
  return value
}

// JSON writes the years 0 to 9999.
const FIRST_SECOND = -62_167_219_200
const LAST_SECOND = 253_402_300_799

/** An empty timestamp and the zero time of Go are no time at all. Only a MicroTime has nanoseconds. */
function readTime(reader: ProtobufReader, isMicro: boolean): string | undefined {
  let isEmpty = true
  let seconds = 0
  let nanos = 0
  const outer = reader.enter()
  for (let number = reader.next('Timestamp'); number !== 0; number = reader.next('Timestamp')) {
    if (number === 1) {
      reader.expect(VARINT, 'seconds')
      seconds = Number(reader.int64())
    } else if (number === 2 && isMicro) {
      reader.expect(VARINT, 'nanos')
      nanos = reader.int32()
    } else {
      reader.skip()
      continue
    }
    isEmpty = false
  }
  reader.leave(outer)
  if (isEmpty) return undefined
  const micros = Math.trunc(nanos / 1000)
  const whole = seconds + Math.floor(micros / 1e6)
  if (whole < FIRST_SECOND || whole > LAST_SECOND) throw new ProtobufError('Time.MarshalJSON: year outside of range [0,9999]')
  const instant = { seconds: whole, nanos: (micros - Math.floor(micros / 1e6) * 1e6) * 1000 }
  if (isZeroTime(instant)) return undefined
  return isMicro ? formatMicroTime(instant) : formatTime(instant)
}

/** Few different quantities are stored, many times each. */
const quantities = new Map<string, string>()
const MAX_QUANTITIES = 4096

function quantityOf(text: string): string {
  let canonical = quantities.get(text)
  if (canonical !== undefined) return canonical
  try {
    canonical = canonicalQuantity(text)
  } catch (error) {
    throw new ProtobufError((error as Error).message)
  }
  if (quantities.size === MAX_QUANTITIES) quantities.clear()
  if (text.length <= MAX_QUANTITY_LENGTH) quantities.set(text, canonical)
  return canonical
}
const MAX_QUANTITY_LENGTH = 64

function readIntOrString(reader: ProtobufReader): Json {
  let type: number | bigint = 0
  let intVal = 0
  let strVal = ''
  const outer = reader.enter()
  for (let number = reader.next('IntOrString'); number !== 0; number = reader.next('IntOrString')) {
    if (number === 1) {
      reader.expect(VARINT, 'type')
      type = reader.int64()
    } else if (number === 2) {
      reader.expect(VARINT, 'intVal')
      intVal = reader.int32()
    } else if (number === 3) {
      reader.expect(DELIMITED, 'strVal')
      strVal = reader.string()
    } else reader.skip()
  }
  reader.leave(outer)
  if (type !== 0 && type !== 1) throw new ProtobufError('impossible IntOrString.Type')
  return type === 0 ? intVal : strVal
}

/** Any JSON. Clients may put a whole object there, in its envelope: one that is JSON inside is read, another cannot be. */
function readRaw(reader: ProtobufReader): Json | undefined {
  let bytes = readWrapped(reader, RAW) ?? NOTHING
  if (isEnveloped(bytes)) {
    const { kind, raw, contentType } = openEnvelope(bytes)
    if (contentType !== 'application/json')
      throw new ProtobufError(`proto: RawExtension: an embedded ${goQuote(kind)} must be JSON, not ${goQuote(contentType)}`)
    bytes = raw
  }
  if (bytes.length === 0) return undefined
  try {
    // The last value of a key that comes twice counts either way.
    return (
      parseJson(bytes, reader.limit === Number.POSITIVE_INFINITY ? TRUSTED : { limit: { values: reader.limit, keyWeight: 1 } }).value ??
      undefined
    )
  } catch (error) {
    if (error instanceof JsonError) throw new ProtobufError(error.message)
    throw error
  }
}
const NOTHING = new Uint8Array(0)
const TRUSTED = { trusted: true }

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ProtobufError(`json: unsupported value: ${value}`)
  return value
}
