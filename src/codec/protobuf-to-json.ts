/**
 * From Kubernetes protobuf straight to JSON text, compiled once per type: no value is built on the way, so that a store full of
 * protobuf is read in several times as fast. The text is what `conform` makes of the message: zero values are left out where the
 * type says so, and fields are in declared order.
 *
 * Fields come by ascending number and are written in declared order. So a message is read twice: first where each field is, then
 * what is there. Of a config map `metadata {name: "a", uid: "1"}, data {k: "v"}`:
 *
 *     0a 06 0a 01 61 2a 01 31 12 06 0a 01 6b 12 01 76      metadata at 1, data at 9, the others nowhere
 *           └ name at 3, uid at 6                          {"metadata":{"name":"a","uid":"1"},"data":{"k":"v"}}
 *
 * It reads what Go writes: a plain field once, the parts of a list together, maps by their keys. Whatever else bytes can hold is
 * left to the general decoder, `fromProtobuf` and `conform`, which also report what is wrong with them.
 */
import { formatDuration } from '../lib/duration.ts'
import type { Json } from '../lib/json-value.ts'
import { canonicalQuantity } from '../lib/quantity.ts'
import { formatMicroTime, formatTime } from '../lib/time.ts'
import { conform } from '../schema/conform.ts'
import type { AnyType, MessageShape, ScalarName, Wire } from '../schema/types.ts'
import { stringifyJson } from './json.ts'
import { CLOSE, CLOSE_LIST, COLON, COMMA, JsonText, OPEN, OPEN_LIST, QUOTE } from './json-text.ts'
import { type WireField, wireFieldsOf } from './protobuf-fields.ts'
import { DELIMITED, FIXED64, VARINT } from './protobuf-reader.ts'

/** Reads an object from `start` on; undefined when the bytes have to be read by the general decoder. */
export type JsonOfProtobuf = (bytes: Uint8Array, start?: number, end?: number) => Buffer | undefined

/**
 * Compiles a type of objects: `head` are the members that come before its fields, `metadata` the text of some fields of its
 * metadata, whatever is read for them; empty for those that are left out. Undefined for types that have to be read by the general decoder.
 */
export function jsonOfProtobuf(
  type: AnyType,
  { head, metadata }: { readonly head: string; readonly metadata: Replaced },
): JsonOfProtobuf | undefined {
  if (type.shape.kind !== 'message' || !isReadable(type, new Set())) return undefined
  const meta = type.shape.fields['metadata']
  const top = new Reading(type, meta && { ofMetadata: new Reading(meta[1], { replaced: metadata }) })
  const before = Buffer.from(`{${head}`)
  return (bytes, start = 0, end = bytes.length) => {
    TEXT.begin(bytes)
    TEXT.copy(before)
    if (!top.read(start, end)) return undefined
    TEXT.byte(CLOSE)
    return TEXT.finish()
  }
}

/** Whether all that the type is made of is read here. */
function isReadable({ shape }: AnyType, around: Set<MessageShape>): boolean {
  if (shape.kind === 'scalar') return true
  if (shape.kind === 'list') return shape.item.shape.kind !== 'list' && shape.item.shape.kind !== 'map' && isReadable(shape.item, around)
  if (shape.kind === 'map') return shape.value.shape.kind !== 'map' && isReadable(shape.value, around)
  if (shape.kind !== 'message') return false
  if (around.has(shape)) return true
  around.add(shape)
  return Object.values(shape.fields).every(([, type]) => isReadable(type, around))
}

const TEXT = new JsonText()

/** Writes the value at `TEXT.at`; false when it finds something unusual, and what has been written is then of no use. */
type Put = () => boolean

/** How one field is read and written. */
type Slot = {
  /** `"name":` */
  readonly key: Buffer
  /** What is written when the field is absent, or zero and left out; empty for nothing. */
  readonly absent: Buffer
  readonly isLeftOutWhenZero: boolean
  /** What it consists of; what is constant is written as when it is absent, whatever was read. */
  readonly parts: 'one' | 'items' | 'entries' | 'constant'
  /** How long the tag is that stands before each part of a list or map. */
  readonly tagLength: number
  /** What stands before the value of an entry. */
  readonly valueTag: number
  readonly put: Put
}

/** What stands at each number of a message: a field, or an embedded message, whose slot says that it was met. */
type Table = (FieldTarget | undefined)[]
type FieldTarget = { readonly slot: number; readonly wireType: number; readonly isRepeated: boolean; readonly embedded: Table | undefined }

type Replaced = Readonly<Record<string, string>>

/** How messages of a type are read and written. */
class Reading {
  readonly #type: AnyType
  readonly #replaced: Replaced
  readonly #ofMetadata: Reading | undefined
  /** In declared order. Compiled at first use: types may refer to themselves. */
  #slots: readonly Slot[] | undefined
  #table: Table = []
  /** How many slots there are, those of embedded messages included. */
  #size = 0

  constructor(type: AnyType, { replaced = {}, ofMetadata }: { readonly replaced?: Replaced; readonly ofMetadata?: Reading } = {}) {
    this.#type = type
    this.#replaced = replaced
    this.#ofMetadata = ofMetadata
  }

  /** Writes the members of the message between two offsets; false when it cannot. */
  read(from: number, end: number): boolean {
    const slots = (this.#slots ??= this.#compile())
    const base = TEXT.enter(this.#size)
    if (!scan(this.#table, from, end, base)) return false
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!
      // Not kept in variables: a message inside may make the arrays grow.
      const start = TEXT.starts[base + i]!
      if (start === 0 || slot.parts === 'constant' || (slot.isLeftOutWhenZero && TEXT.bytes[start] === 0)) {
        if (slot.absent.length > 0) {
          TEXT.separate()
          TEXT.copy(slot.absent)
        }
        continue
      }
      TEXT.separate()
      TEXT.copy(slot.key)
      TEXT.at = start
      if (!(slot.parts === 'one' ? slot.put() : putAll(slot, TEXT.counts[base + i]!)) || TEXT.isFailed) return false
    }
    TEXT.depth = base
    return true
  }

  #compile(): Slot[] {
    const { fields } = this.#type.shape as MessageShape
    const names = Object.keys(fields).filter(name => fields[name]![0] !== 0)
    this.#size = names.length
    this.#table = this.#tableOf(wireFieldsOf(this.#type.shape as MessageShape), names)
    const absent = conform(this.#type, {}).value as Readonly<Record<string, Json>>
    return names.map(name => {
      const [wire, type] = fields[name]!
      const replaced = this.#replaced[name]
      if (replaced !== undefined) return constantSlot(replaced)
      return slotOf(name, type, {
        number: innermost(wire),
        absent: absent[name],
        ...(this.#ofMetadata && name === 'metadata' && { reading: this.#ofMetadata }),
      })
    })
  }

  #tableOf(fields: readonly WireField[], names: readonly string[]): Table {
    const table: Table = []
    for (const field of fields) {
      const { number } = field
      table[number] =
        'embedded' in field
          ? { slot: this.#size++, wireType: DELIMITED, isRepeated: false, embedded: this.#tableOf(field.embedded, names) }
          : { slot: names.indexOf(field.name), wireType: wireTypeOf(field.type), isRepeated: isRepeated(field.type), embedded: undefined }
    }
    return table
  }
}

const innermost = (wire: Wire): number => (typeof wire === 'number' ? wire : innermost(wire[1]))
const isRepeated = ({ shape }: AnyType) => shape.kind === 'list' || shape.kind === 'map'

/** Notes where each field of a message is; false for what Go does not write. */
function scan(table: Table, from: number, end: number, base: number): boolean {
  const { bytes, starts, counts } = TEXT
  let at = from
  let last = 0
  while (at < end) {
    let tag = bytes[at++]!
    if (tag >= 0x80) {
      const high = bytes[at++]!
      if (high >= 0x80) return false
      tag = (tag & 0x7f) | (high << 7)
    }
    // No field has the number 0.
    if (tag < 8) return false
    const wireType = tag & 7
    const start = at
    if (wireType === DELIMITED) {
      let length = bytes[at++]!
      if (length >= 0x80) {
        TEXT.at = start
        length = TEXT.small()
        at = TEXT.at
        // Not as short as it could be: nothing must be zero but a single zero byte.
        if (bytes[at - 1] === 0) return false
      }
      at += length
    } else if (wireType === VARINT) {
      while (bytes[at]! >= 0x80) at++
      if ((bytes[at++] === 0 && at > start + 1) || at > start + 10) return false
    } else if (wireType === FIXED64) at += 8
    else return false
    // Beyond the last byte there is no length, and it is no number then.
    if (!(at <= end)) return false
    const field = table[tag >>> 3]
    if (field !== undefined) {
      if (field.wireType !== wireType) return false
      const slot = base + field.slot
      if (starts[slot] === 0) {
        starts[slot] = start
        counts[slot] = 1
      } else if (field.isRepeated && tag === last) counts[slot]!++
      else return false
      if (field.embedded !== undefined) {
        TEXT.at = start
        const length = TEXT.small()
        if (!scan(field.embedded, TEXT.at, TEXT.at + length, base)) return false
      }
    }
    last = tag
  }
  return !TEXT.isFailed
}

/** The parts of a list or map, one behind the other. */
function putAll({ parts, tagLength, valueTag, put }: Slot, count: number): boolean {
  const isMap = parts === 'entries'
  TEXT.byte(isMap ? OPEN : OPEN_LIST)
  let key = 0
  let keyEnd = 0
  for (let i = 0; i < count; i++) {
    if (i > 0) {
      TEXT.byte(COMMA)
      TEXT.at += tagLength
    }
    if (isMap) {
      const [before, beforeEnd] = [key, keyEnd]
      const length = TEXT.small()
      const end = TEXT.at + length
      if (TEXT.bytes[TEXT.at++] !== KEY_TAG) return TEXT.fail()
      const keyLength = TEXT.small()
      key = TEXT.at
      keyEnd = key + keyLength
      // A key that comes twice counts once.
      if (keyEnd >= end || (i > 0 && !isAscending(before, beforeEnd, key, keyEnd))) return TEXT.fail()
      TEXT.quoted(keyLength)
      TEXT.byte(COLON)
      if (TEXT.bytes[TEXT.at++] !== valueTag) return TEXT.fail()
      if (!put() || TEXT.at !== end) return false
    } else if (!put()) return false
  }
  TEXT.byte(isMap ? CLOSE : CLOSE_LIST)
  return true
}
const KEY_TAG = 0x0a

function isAscending(a: number, aEnd: number, b: number, bEnd: number): boolean {
  const { bytes } = TEXT
  for (; a < aEnd && b < bEnd; a++, b++) if (bytes[a] !== bytes[b]) return bytes[a]! < bytes[b]!
  return a === aEnd && b < bEnd
}

const NOTHING = Buffer.alloc(0)

const constantSlot = (text: string): Slot => ({
  key: NOTHING,
  absent: Buffer.from(text),
  isLeftOutWhenZero: false,
  parts: 'constant',
  tagLength: 0,
  valueTag: 0,
  put: () => true,
})

type Slotted = { readonly number: number; readonly absent: Json | undefined; readonly reading?: Reading }

function slotOf(name: string, type: AnyType, { number, absent, reading }: Slotted): Slot {
  const { shape, flags } = type
  const key = `${JSON.stringify(name)}:`
  const keepsZero = flags.optional === true || flags.always === true
  return {
    key: Buffer.from(key),
    absent: absent === undefined ? NOTHING : Buffer.from(key + stringifyJson(absent)),
    isLeftOutWhenZero: shape.kind === 'scalar' && (EMPTY_IS_ABSENT.has(shape.name) || (!keepsZero && ZERO_IS_ZERO.has(shape.name))),
    parts: shape.kind === 'list' ? 'items' : shape.kind === 'map' ? 'entries' : 'one',
    tagLength: number < 16 ? 1 : 2,
    valueTag: shape.kind === 'map' ? (2 << 3) | wireTypeOfValue(shape.value) : 0,
    put:
      shape.kind === 'list' ? putOf(shape.item) : shape.kind === 'map' ? putOf(shape.value) : reading ? messagePut(reading) : putOf(type),
  }
}
/** Scalars whose zero is a single zero byte, and messages that JSON writes as a plain value and that are nothing when empty. */
const ZERO_IS_ZERO: ReadonlySet<ScalarName> = new Set(['string', 'bool', 'int32', 'int64', 'bytes'])
const EMPTY_IS_ABSENT: ReadonlySet<ScalarName> = new Set(['time', 'microTime', 'raw'])

function wireTypeOf({ shape }: AnyType): number {
  if (shape.kind === 'list') return wireTypeOf(shape.item)
  if (shape.kind !== 'scalar') return DELIMITED
  if (shape.name === 'bool' || shape.name === 'int32' || shape.name === 'int64') return VARINT
  return shape.name === 'double' ? FIXED64 : DELIMITED
}

/** A list within a map has a message of its own. */
const wireTypeOfValue = (type: AnyType) => (type.shape.kind === 'list' ? DELIMITED : wireTypeOf(type))

const readings = new WeakMap<MessageShape, Reading>()

function putOf(type: AnyType): Put {
  const { shape } = type
  if (shape.kind === 'scalar') return scalarPut(shape.name)
  if (shape.kind === 'list') return wrappedPut(shape.item)
  if (shape.kind !== 'message') throw new TypeError(`a ${shape.kind} cannot be read like this`)
  let reading = readings.get(shape)
  if (!reading) readings.set(shape, (reading = new Reading(type)))
  return messagePut(reading)
}

const messagePut =
  (reading: Reading): Put =>
  () => {
    const length = TEXT.small()
    const end = TEXT.at + length
    TEXT.byte(OPEN)
    if (!reading.read(TEXT.at, end)) return false
    TEXT.byte(CLOSE)
    TEXT.at = end
    return true
  }

/** A list within a map. */
function wrappedPut(item: AnyType): Put {
  const put = putOf(item)
  const tag = 8 + wireTypeOf(item)
  return () => {
    const length = TEXT.small()
    const end = TEXT.at + length
    TEXT.byte(OPEN_LIST)
    while (TEXT.at < end) {
      if (TEXT.bytes[TEXT.at++] !== tag) return TEXT.fail()
      TEXT.separate()
      if (!put()) return false
    }
    TEXT.byte(CLOSE_LIST)
    return true
  }
}

function scalarPut(name: ScalarName): Put {
  switch (name) {
    case 'string':
      return () => TEXT.quoted(TEXT.small())
    case 'bool':
      return () => TEXT.copy(TEXT.small() === 0 ? FALSE : TRUE)
    case 'int32':
      return () => TEXT.number(int32())
    case 'int64':
      return () => TEXT.number(TEXT.integer())
    case 'double':
      return putDouble
    case 'bytes':
      return () => TEXT.base64(TEXT.small())
    case 'time':
      return () => putTime(false)
    case 'microTime':
      return () => putTime(true)
    case 'duration':
      return putDuration
    case 'quantity':
      return putQuantity
    case 'intOrString':
      return putIntOrString
    case 'raw':
      return putRaw
  }
}
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')

/** A number of 32 bits; Go writes no more of one. */
function int32(): number {
  const value = Number(TEXT.integer())
  if (value !== (value | 0)) TEXT.fail()
  return value
}

function putDouble(): boolean {
  const value = TEXT.bytes.readDoubleLE(TEXT.at)
  TEXT.at += 8
  // What JSON cannot write, and zeros that may have to be left out.
  if (!Number.isFinite(value) || value === 0) return TEXT.fail()
  return TEXT.ascii(JSON.stringify(value))
}

/** The years 1 to 9999, without the zero of Go that stands for no time. */
const FIRST_SECOND = -62_135_596_799
const LAST_SECOND = 253_402_300_799

/** Times of one object are often the same. */
let lastTime = { seconds: 0, text: Buffer.from('"1970-01-01T00:00:00Z"') }

function putTime(isMicro: boolean): boolean {
  const length = TEXT.small()
  const end = TEXT.at + length
  if (TEXT.bytes[TEXT.at++] !== 0x08) return TEXT.fail()
  const seconds = Number(TEXT.integer())
  let nanos = 0
  if (TEXT.at < end) {
    if (TEXT.bytes[TEXT.at++] !== 0x10) return TEXT.fail()
    nanos = Number(TEXT.integer())
  }
  if (TEXT.at !== end || seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos > 999_999_999) return TEXT.fail()
  if (isMicro) {
    TEXT.byte(QUOTE)
    TEXT.ascii(formatMicroTime({ seconds, nanos }))
    TEXT.byte(QUOTE)
    return true
  }
  if (seconds !== lastTime.seconds) lastTime = { seconds, text: Buffer.from(`"${formatTime({ seconds, nanos: 0 })}"`) }
  return TEXT.copy(lastTime.text)
}

function putDuration(): boolean {
  const length = TEXT.small()
  const end = TEXT.at + length
  if (TEXT.bytes[TEXT.at++] !== 0x08) return TEXT.fail()
  const nanos = TEXT.integer()
  if (TEXT.at !== end) return TEXT.fail()
  return TEXT.ascii(`"${formatDuration(BigInt(nanos)).replace('µ', '\\u00b5')}"`)
}

/** Few different quantities are stored, many times each. */
const quantities = new Map<string, Buffer>()
const KNOWN_QUANTITIES = 4096

function putQuantity(): boolean {
  const length = TEXT.small()
  const end = TEXT.at + length
  if (TEXT.bytes[TEXT.at++] !== 0x0a) return TEXT.fail()
  const size = TEXT.small()
  if (TEXT.at + size !== end) return TEXT.fail()
  // Not Latin-1, of which another character counts as a space.
  const written = TEXT.bytes.toString('utf8', TEXT.at, end)
  let text = quantities.get(written)
  if (text === undefined) {
    try {
      text = Buffer.from(JSON.stringify(canonicalQuantity(written)))
    } catch {
      return TEXT.fail()
    }
    if (quantities.size === KNOWN_QUANTITIES) quantities.clear()
    quantities.set(written, text)
  }
  TEXT.at = end
  return TEXT.copy(text)
}

function putIntOrString(): boolean {
  const length = TEXT.small()
  const end = TEXT.at + length
  if (TEXT.bytes[TEXT.at++] !== 0x08) return TEXT.fail()
  const type = TEXT.small()
  if (type > 1 || TEXT.bytes[TEXT.at++] !== 0x10) return TEXT.fail()
  const number = int32()
  if (TEXT.bytes[TEXT.at++] !== 0x1a) return TEXT.fail()
  const size = TEXT.small()
  if (TEXT.at + size !== end) return TEXT.fail()
  if (type === 1) return TEXT.quoted(size)
  TEXT.at = end
  return TEXT.number(number)
}

function putRaw(): boolean {
  const length = TEXT.small()
  const end = TEXT.at + length
  if (TEXT.bytes[TEXT.at++] !== 0x0a) return TEXT.fail()
  const size = TEXT.small()
  if (TEXT.at + size !== end) return TEXT.fail()
  return TEXT.raw(size)
}
