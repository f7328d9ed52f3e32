/**
 * From JSON values to CBOR as kube-apiserver writes it: strings and keys as byte strings, numbers in their shortest form, bytes of
 * declared fields as they are, with the tag for base64. Every document begins with the tag of self-described CBOR.
 *
 *   members as they come    for clients, who must not rely on an order
 *   members sorted          shorter keys first, for records: equal objects are equal bytes
 */
import { compareText } from '../lib/go-text.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import { ARGUMENT, MAJOR, SELF_DESCRIBED, TAG } from './cbor.ts'
import { elementOf, isScalarOf, memberOf, objectOf } from './type-walk.ts'

/** A document; the type tells bytes and floats from other strings and numbers. */
export function encodeCbor(value: Json, type?: AnyType): Buffer {
  const out = new CborWriter()
  out.raw(SELF_DESCRIBED)
  out.value(value, type)
  return out.finish()
}

/** A document with sorted members. */
export function encodeSortedCbor(value: Json): Buffer {
  const out = new CborWriter({ isSorted: true })
  out.raw(SELF_DESCRIBED)
  out.value(value)
  return out.finish()
}

/** Writes data items one after the other. */
export class CborWriter {
  readonly #isSorted: boolean
  #buffer = Buffer.allocUnsafe(INITIAL_BYTES)
  #length = 0

  constructor({ isSorted = false }: { readonly isSorted?: boolean } = {}) {
    this.#isSorted = isSorted
  }

  get length(): number {
    return this.#length
  }

  /** The bytes so far; the writer begins anew. */
  finish(): Buffer {
    // Not a part of a larger buffer: events of watches are kept.
    const done = Buffer.allocUnsafeSlow(this.#length)
    this.#buffer.copy(done, 0, 0, this.#length)
    this.#length = 0
    return done
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
  }

  arrayHead(length: number): void {
    this.#head(MAJOR.array, length)
  }

  mapHead(length: number): void {
    this.#head(MAJOR.map, length)
  }

  value(value: Json, type?: AnyType): void {
    if (typeof value === 'string') {
      if (isScalarOf(type, 'bytes')) this.#bytes(value)
      else this.text(value)
    } else if (typeof value === 'number') {
      if (Number.isSafeInteger(value) && !isScalarOf(type, 'double')) this.#integer(value)
      else this.#float(value)
    } else if (typeof value === 'bigint') this.#integer(value)
    else if (typeof value === 'boolean') this.#byte(value ? TRUE : FALSE)
    else if (value === null) this.#byte(NULL)
    else if (Array.isArray(value)) this.#array(value, type)
    else this.#object(value, type)
  }

  /** A string, as the bytes of its text. */
  text(text: string): void {
    const { length } = text
    // At most three bytes for each unit of UTF-16, which of a long text would be too much.
    this.#reserve(MAX_HEAD + (length > INITIAL_BYTES ? Buffer.byteLength(text) : 3 * length))
    // The text is written after a head as ASCII needs it, and moved for a longer one.
    const guessed = headSize(length)
    const start = this.#length
    const written = this.#buffer.write(text, start + guessed, 'utf8')
    const needed = headSize(written)
    if (needed !== guessed) this.#buffer.copyWithin(start + needed, start + guessed, start + guessed + written)
    this.#head(MAJOR.bytes, written)
    this.#length += written
  }

  /** Bytes that JSON has as base64. */
  #bytes(base64: string): void {
    const bytes = Buffer.from(base64, 'base64')
    this.#head(MAJOR.tag, TAG.base64)
    this.#head(MAJOR.bytes, bytes.length)
    this.raw(bytes)
  }

  #array(items: readonly Json[], type: AnyType | undefined): void {
    const element = elementOf(type)
    this.#head(MAJOR.array, items.length)
    for (const item of items) this.value(item, element)
  }

  #object(object: JsonObject, type: AnyType | undefined): void {
    const own = objectOf(type)
    const keys = Object.keys(object).filter(key => object[key] !== undefined)
    if (this.#isSorted) keys.sort(compareKeys)
    this.#head(MAJOR.map, keys.length)
    for (const key of keys) {
      this.text(key)
      this.value(object[key]!, memberOf(own, key))
    }
  }

  #integer(value: number | bigint): void {
    if (value >= 0) this.#head(MAJOR.positive, value)
    else this.#head(MAJOR.negative, typeof value === 'bigint' ? -1n - value : -1 - value)
  }

  /** The shortest float that has the value. */
  #float(value: number): void {
    this.#reserve(MAX_HEAD)
    const half = halfBitsOf(value)
    if (half !== undefined) {
      this.#buffer[this.#length] = (MAJOR.simple << 5) | ARGUMENT.two
      this.#length = this.#buffer.writeUInt16BE(half, this.#length + 1)
    } else if (Math.fround(value) === value) {
      this.#buffer[this.#length] = (MAJOR.simple << 5) | ARGUMENT.four
      this.#length = this.#buffer.writeFloatBE(value, this.#length + 1)
    } else {
      this.#buffer[this.#length] = (MAJOR.simple << 5) | ARGUMENT.eight
      this.#length = this.#buffer.writeDoubleBE(value, this.#length + 1)
    }
  }

  #head(major: number, argument: number | bigint): void {
    this.#reserve(MAX_HEAD)
    const buffer = this.#buffer
    const at = this.#length
    const size = headSize(argument)
    buffer[at] = (major << 5) | (size === 1 ? Number(argument) : HEAD_INFO[size]!)
    if (size === 2) buffer[at + 1] = Number(argument)
    else if (size === 3) buffer.writeUInt16BE(Number(argument), at + 1)
    else if (size === 5) buffer.writeUInt32BE(Number(argument), at + 1)
    else if (size === 9) buffer.writeBigUInt64BE(BigInt(argument), at + 1)
    this.#length += size
  }

  #byte(byte: number): void {
    this.#reserve(1)
    this.#buffer[this.#length++] = byte
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}

const INITIAL_BYTES = 1024
const MAX_HEAD = 9
const FALSE = 0xf4
const TRUE = 0xf5
const NULL = 0xf6

const HEAD_INFO: Readonly<Record<number, number>> = { 2: ARGUMENT.one, 3: ARGUMENT.two, 5: ARGUMENT.four, 9: ARGUMENT.eight }

function headSize(argument: number | bigint): number {
  if (argument < 24) return 1
  if (argument < 0x100) return 2
  if (argument < 0x10000) return 3
  return argument < 0x100000000 ? 5 : 9
}

/** The bits of a float of half precision; undefined where that cannot hold the value. */
function halfBitsOf(value: number): number | undefined {
  const magnitude = Math.abs(value)
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  if (magnitude === 0) return sign
  if (magnitude < 2 ** -14) {
    const fraction = magnitude * 2 ** 24
    return Number.isInteger(fraction) ? sign | fraction : undefined
  }
  if (magnitude > MAX_HALF) return undefined
  const exponent = Math.floor(Math.log2(magnitude))
  const fraction = (magnitude / 2 ** exponent - 1) * 1024
  return Number.isInteger(fraction) ? sign | ((exponent + 15) << 10) | fraction : undefined
}
const MAX_HALF = 65504

/** The order of encoded keys: a longer one has a greater head. */
const compareKeys = (a: string, b: string): number => Buffer.byteLength(a) - Buffer.byteLength(b) || compareText(a, b)
