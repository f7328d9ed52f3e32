/** Reads the protobuf wire: tags, varints and length-delimited parts, never past their end. Errors have the messages of Go. */

import { LIMITS } from '../lib/limits.ts'
import { tooManyValues } from './decoded-size.ts'

/** Bytes that are no protobuf, or not of the message they are read as. */
export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

export const VARINT = 0
export const FIXED64 = 1
export const DELIMITED = 2
const START_GROUP = 3
const END_GROUP = 4
const FIXED32 = 5

const MAX_DEPTH = LIMITS.protobufDepth

export class ProtobufReader {
  /** How many values may be read. */
  readonly limit: number
  readonly #bytes: Buffer
  #at = 0
  /** The end of the part being read. */
  #end: number
  #depth = 0
  #values = 0
  /** The halves of the last varint. */
  #low = 0
  #high = 0
  #wireType = 0

  constructor(bytes: Uint8Array, limit: number = LIMITS.values.other.decoded.values) {
    this.limit = limit
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#end = bytes.byteLength
  }

  /** Whether nothing is left of the part being read. */
  get done(): boolean {
    return this.#at >= this.#end
  }

  /** The wire type of the field that `next` came to. */
  get wireType(): number {
    return this.#wireType
  }

  /** Goes to the next field and returns its number, or 0 at the end of the part. `message` is named in errors. */
  next(message: string): number {
    if (this.#at >= this.#end) return 0
    this.count()
    const byte = this.#bytes[this.#at]!
    // Most tags are one byte: fields below 16.
    if (byte >= 8 && byte < 0x80 && (byte & 7) !== END_GROUP) {
      this.#at++
      this.#wireType = byte & 7
      return byte >>> 3
    }
    this.#varint()
    this.#wireType = this.#low & 7
    const number = (this.#low >>> 3) | (this.#high << 29)
    if (this.#wireType === END_GROUP) throw new ProtobufError(`proto: ${message}: wiretype end group for non-group`)
    if (number <= 0) throw new ProtobufError(`proto: ${message}: illegal tag ${number} (wire type ${this.#wireType})`)
    return number
  }

  /** Counts a value that was read; throws a StatusError when there are too many. */
  count(): void {
    if (++this.#values > this.limit) throw tooManyValues(this.limit)
  }

  /** Throws unless the field at hand has this wire type. */
  expect(wireType: number, field: string): void {
    if (this.#wireType !== wireType)
      throw new ProtobufError(`proto: wrong wireType = ${this.#wireType} for field ${field.charAt(0).toUpperCase()}${field.slice(1)}`)
  }

  /** Enters a length-delimited part; `leave` takes what this returns and goes on behind the part. */
  enter(): number {
    const length = this.#length()
    if (this.#depth++ === MAX_DEPTH) throw new ProtobufError(`proto: messages are nested more than ${MAX_DEPTH} deep`)
    const outer = this.#end
    this.#end = this.#at + length
    return outer
  }

  leave(outer: number): void {
    this.#depth--
    this.#at = this.#end
    this.#end = outer
  }

  string(): string {
    const length = this.#length()
    const from = this.#at
    this.#at += length
    return length > MAX_KNOWN_LENGTH ? this.#bytes.toString('utf8', from, this.#at) : this.#shortString(from, this.#at)
  }

  /** Most short strings come again and again: the last ones read are compared in less time than a call into the engine takes. */
  #shortString(from: number, to: number): string {
    const bytes = this.#bytes
    let hash = 0
    let bits = 0
    for (let i = from; i < to; i++) {
      const byte = bytes[i]!
      bits |= byte
      hash = (Math.imul(hash, 31) + byte) | 0
    }
    if (bits >= 0x80) return bytes.toString('utf8', from, to)
    const index = (hash ^ (hash >>> 15)) & (KNOWN_STRINGS - 1)
    const known = knownStrings[index]!
    if (known.length === to - from) {
      let i = 0
      while (i < known.length && known.charCodeAt(i) === bytes[from + i]) i++
      if (i === known.length) return known
    }
    return (knownStrings[index] = bytes.toString('latin1', from, to))
  }

  /** The bytes of a length-delimited part; they share memory with the whole. */
  bytes(): Buffer {
    const length = this.#length()
    const from = this.#at
    this.#at += length
    return this.#bytes.subarray(from, this.#at)
  }

  bool(): boolean {
    this.#varint()
    return (this.#low | this.#high) !== 0
  }

  int32(): number {
    this.#varint()
    return this.#low
  }

  /** A number where that is exact, else a bigint. */
  int64(): number | bigint {
    this.#varint()
    const value = this.#high * 2 ** 32 + (this.#low >>> 0)
    return Number.isSafeInteger(value) ? value : (BigInt(this.#high) << 32n) | BigInt(this.#low >>> 0)
  }

  double(): number {
    const from = this.#at
    this.#advance(8)
    return this.#bytes.readDoubleLE(from)
  }

  /** Passes over the value of the field at hand, a group with all that is in it. */
  skip(): void {
    let groups = 0
    for (let type = this.#wireType; ; type = this.#low & 7) {
      if (type === VARINT) this.#varint()
      else if (type === FIXED64) this.#advance(8)
      else if (type === DELIMITED) this.#advance(this.#length())
      else if (type === START_GROUP) groups++
      else if (type === END_GROUP) groups--
      else if (type === FIXED32) this.#advance(4)
      else throw new ProtobufError(`proto: illegal wireType ${type}`)
      if (groups === 0) return
      this.#varint()
    }
  }

  #advance(size: number): void {
    if (this.#end - this.#at < size) throw truncated()
    this.#at += size
  }

  #length(): number {
    const left = this.#end - this.#at
    const byte = left > 0 ? this.#bytes[this.#at]! : 0x80
    if (byte < left && byte < 0x80) {
      this.#at++
      return byte
    }
    this.#varint()
    if (this.#high < 0) throw new ProtobufError('proto: negative length found during unmarshaling')
    const length = this.#low >>> 0
    if (this.#high > 0 || length > this.#end - this.#at) throw truncated()
    return length
  }

  /** Up to 64 bits into two signed halves; what a tenth byte has beyond that is lost, as Go loses it. */
  #varint(): void {
    if (this.#at < this.#end) {
      const byte = this.#bytes[this.#at]!
      if (byte < 0x80) {
        this.#at++
        this.#low = byte
        this.#high = 0
        return
      }
    }
    let low = 0
    let high = 0
    for (let shift = 0; ; shift += 7) {
      if (shift >= 64) throw new ProtobufError('proto: integer overflow')
      if (this.#at >= this.#end) throw truncated()
      const byte = this.#bytes[this.#at++]!
      const bits = byte & 0x7f
      if (shift < 32) low |= bits << shift
      if (shift === 28) high = bits >>> 4
      else if (shift > 28) high |= bits << (shift - 32)
      if (byte < 0x80) break
    }
    this.#low = low
    this.#high = high
  }
}

/** ASCII strings that were read, each at an index that follows from its bytes; the next one with the same index replaces it. */
const KNOWN_STRINGS = 4096
const MAX_KNOWN_LENGTH = 32
const knownStrings: string[] = new Array(KNOWN_STRINGS).fill('')

const truncated = () => new ProtobufError('unexpected EOF')
