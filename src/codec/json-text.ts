/** The bytes of a protobuf message that is read, and the JSON text that is written from it. */
import { isUtf8 } from 'node:buffer'

export const COMMA = 0x2c
export const QUOTE = 0x22
const BACKSLASH = 0x5c
export const OPEN = 0x7b
export const CLOSE = 0x7d
export const OPEN_LIST = 0x5b
export const CLOSE_LIST = 0x5d
export const COLON = 0x3a

/** Everything is synchronous, so that one of them serves all. */
export class JsonText {
  bytes: Buffer = NO_BYTES
  /** Behind what was read last. */
  at = 0
  /** Something was found that has to be read by the general decoder. */
  isFailed = false
  /** Where the fields of the messages being read are, and how many parts each has; those of the innermost message last. */
  starts = new Int32Array(1024)
  counts = new Int32Array(1024)
  depth = 0
  #out = Buffer.allocUnsafeSlow(1 << 16)
  #length = 0

  begin(bytes: Uint8Array): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.isFailed = false
    this.depth = 0
    this.#length = 0
    if (this.#out.length > LARGE) this.#out = Buffer.allocUnsafeSlow(1 << 16)
  }

  finish(): Buffer {
    // Not from the shared pool: what is read is often kept.
    const text = Buffer.allocUnsafeSlow(this.#length)
    this.#out.copy(text, 0, 0, this.#length)
    this.bytes = NO_BYTES
    return text
  }

  /** Leaves it to the general decoder. */
  fail(): false {
    this.isFailed = true
    return false
  }

  /** Makes room for the fields of a message, all of them nowhere. */
  enter(fields: number): number {
    const base = this.depth
    this.depth += fields
    if (this.depth > this.starts.length) {
      const { starts, counts } = this
      this.starts = new Int32Array(this.depth * 2)
      this.counts = new Int32Array(this.depth * 2)
      this.starts.set(starts)
      this.counts.set(counts)
    }
    for (let i = base; i < this.depth; i++) this.starts[i] = 0
    return base
  }

  /** A length or a number of up to 28 bits, from `at` on; what is larger fails, and what has more bytes than it needs: Go writes none. */
  small(): number {
    const { bytes } = this
    let value = bytes[this.at++]!
    if (value < 0x80) return value
    value &= 0x7f
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = bytes[this.at++]!
      value |= (byte & 0x7f) << shift
      if (byte >= 0x80) continue
      if (byte === 0) this.fail()
      return value
    }
    this.fail()
    return 0
  }

  /** A signed number of up to 64 bits, read in two halves; what has more bytes than it needs, or more bits, fails. */
  integer(): number | bigint {
    const { bytes } = this
    let low = 0
    let high = 0
    for (let shift = 0; shift < 64; shift += 7) {
      const byte = bytes[this.at++]
      if (byte === undefined) break
      const bits = byte & 0x7f
      if (shift < 32) low |= bits << shift
      if (shift === 28) high = bits >>> 4
      else if (shift > 28) high |= bits << (shift - 32)
      if (byte < 0x80) {
        if ((byte === 0 && shift > 0) || (byte > 1 && shift === 63)) break
        const value = high * 2 ** 32 + (low >>> 0)
        return Number.isSafeInteger(value) ? value : (BigInt(high) << 32n) | BigInt(low >>> 0)
      }
    }
    this.fail()
    return 0
  }

  byte(code: number): void {
    if (this.#length === this.#out.length) this.#reserve(1)
    this.#out[this.#length++] = code
  }

  /** A comma, unless an object or list has just been opened. */
  separate(): void {
    const last = this.#out[this.#length - 1]
    if (last !== OPEN && last !== OPEN_LIST) this.byte(COMMA)
  }

  copy(text: Buffer): boolean {
    const { length } = text
    this.#reserve(length)
    const out = this.#out
    const start = this.#length
    if (length > SHORT) text.copy(out, start)
    else for (let i = 0; i < length; i++) out[start + i] = text[i]!
    this.#length += length
    return true
  }

  ascii(text: string): boolean {
    const { length } = text
    this.#reserve(length)
    const out = this.#out
    const start = this.#length
    for (let i = 0; i < length; i++) out[start + i] = text.charCodeAt(i)
    this.#length += length
    return true
  }

  number(value: number | bigint): boolean {
    if (typeof value === 'number' && value >= 0 && value < 10) this.byte(0x30 + value)
    else this.ascii(String(value))
    return true
  }

  /** The bytes from `at` on as a text in quotes. */
  quoted(length: number): boolean {
    this.#reserve(length + 2)
    const { bytes, at } = this
    const out = this.#out
    let n = this.#length
    out[n++] = QUOTE
    for (let i = at; i < at + length; i++) {
      const byte = bytes[i]!
      if (byte < 0x20 || byte >= 0x80 || byte === QUOTE || byte === BACKSLASH) return this.#escaped(length)
      out[n++] = byte
    }
    out[n++] = QUOTE
    this.#length = n
    this.at = at + length
    return true
  }

  #escaped(length: number): boolean {
    const text = JSON.stringify(this.bytes.toString('utf8', this.at, this.at + length))
    this.#reserve(text.length * 3)
    this.#length += this.#out.write(text, this.#length)
    this.at += length
    return true
  }

  base64(length: number): boolean {
    this.byte(QUOTE)
    this.#reserve(Math.ceil(length / 3) * 4 + 4)
    this.#length += this.#out.write(this.bytes.toString('base64', this.at, this.at + length), this.#length, 'latin1')
    this.at += length
    this.byte(QUOTE)
    return true
  }

  /** The bytes from `at` on as they are, if they are one list or object in JSON, as far as brackets tell: a parser sees to the rest. */
  raw(length: number): boolean {
    const { bytes, at } = this
    const end = at + length
    if (bytes[at] !== OPEN && bytes[at] !== OPEN_LIST) return this.fail()
    let depth = 0
    let isAscii = true
    for (let i = at; i < end; i++) {
      const byte = bytes[i]!
      if (byte === QUOTE) {
        for (i++; i < end && bytes[i] !== QUOTE; i++) {
          if (bytes[i]! >= 0x80) isAscii = false
          else if (bytes[i] === BACKSLASH) i++
        }
        if (i >= end) return this.fail()
      } else if (byte === OPEN || byte === OPEN_LIST) depth++
      else if (byte === CLOSE || byte === CLOSE_LIST) {
        if (--depth === 0 && i !== end - 1) return this.fail()
      }
    }
    if (depth !== 0 || !(isAscii || isUtf8(bytes.subarray(at, end)))) return this.fail()
    this.#reserve(length)
    bytes.copy(this.#out, this.#length, at, end)
    this.#length += length
    this.at = end
    return true
  }

  #reserve(size: number): void {
    if (this.#out.length - this.#length >= size) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#out.length * 2, this.#length + size))
    this.#out.copy(grown, 0, 0, this.#length)
    this.#out = grown
  }
}
const NO_BYTES = Buffer.alloc(0)
/** What is no longer than this is copied in less time than a call into the engine takes. */
const SHORT = 32
const LARGE = 1 << 20
