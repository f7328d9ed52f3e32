/**
 * Writes protobuf from the end to the beginning, so that the length of a message is known when its header is written
 * and nothing is measured twice:
 *
 *   message(2, () => string(1, 'ab'))      buffer, filled from the right
 *     'ab'                                               61 62
 *     header of string 1, two bytes                0a 02 61 62
 *     header of message 2, four bytes        12 04 0a 02 61 62
 */
export class ProtobufWriter {
  #buffer = Buffer.allocUnsafeSlow(INITIAL)
  /** Where the written part starts. */
  #start = INITIAL

  /** How many bytes are written. */
  get length(): number {
    return this.#buffer.length - this.#start
  }

  /** A length-delimited text. */
  string(number: number, value: string): void {
    if (value.length <= SHORT && this.#ascii(value)) {
      this.header(number, value.length)
      return
    }
    const length = Buffer.byteLength(value)
    this.#reserve(length)
    this.#start -= length
    this.#buffer.write(value, this.#start)
    this.header(number, length)
  }

  bytes(number: number, value: Uint8Array): void {
    this.raw(value)
    this.header(number, value.byteLength)
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    this.#reserve(value.byteLength)
    this.#start -= value.byteLength
    this.#buffer.set(value, this.#start)
  }

  bool(number: number, value: boolean): void {
    this.#rawVarint(value ? 1 : 0)
    this.#rawVarint(number * 8)
  }

  /** A whole number that is not negative and is exact in a double. */
  varint(number: number, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a natural number`)
    this.#rawVarint(value)
    this.#rawVarint(number * 8)
  }

  /** A signed whole number of up to 64 bits; negative ones take ten bytes, as int32 and int64 do. */
  integer(number: number, value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) this.#rawVarint(value)
    else this.#longVarint(BigInt.asUintN(64, BigInt(value)))
    this.#rawVarint(number * 8)
  }

  double(number: number, value: number): void {
    this.#reserve(8)
    this.#start -= 8
    this.#buffer.writeDoubleLE(value, this.#start)
    this.#rawVarint(number * 8 + 1)
  }

  /** A whole number of 64 bits that is not negative, in eight bytes. */
  fixed64(number: number, value: bigint): void {
    this.#reserve(8)
    this.#start -= 8
    this.#buffer.writeBigUInt64LE(value, this.#start)
    this.#rawVarint(number * 8 + 1)
  }

  /** An embedded message; `content` writes its fields, last first. */
  message(number: number, content: () => void): void {
    const before = this.length
    content()
    this.header(number, this.length - before)
  }

  /** Writes the tag and length that make the last `length` bytes the content of a field. */
  header(number: number, length: number): void {
    if (number < 16 && length < 128) {
      this.#reserve(2)
      this.#buffer[--this.#start] = length
      this.#buffer[--this.#start] = number * 8 + 2
      return
    }
    this.#rawVarint(length)
    this.#rawVarint(number * 8 + 2)
  }

  /** A copy of the bytes written so far. Unless they are gone soon they are not from the shared pool: a slice keeps all of it alive. */
  finish(isGoneSoon = false): Buffer {
    const out = isGoneSoon ? Buffer.allocUnsafe(this.length) : Buffer.allocUnsafeSlow(this.length)
    this.#buffer.copy(out, 0, this.#start)
    return out
  }

  /** Begins anew. A buffer that has grown large is let go. */
  reset(): void {
    if (this.#buffer.length > LARGE) this.#buffer = Buffer.allocUnsafeSlow(INITIAL)
    this.#start = this.#buffer.length
  }

  /** Writes a text of ASCII; false when it is none. */
  #ascii(value: string): boolean {
    const { length } = value
    this.#reserve(length)
    const buffer = this.#buffer
    const start = this.#start - length
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      buffer[start + i] = code
    }
    this.#start = start
    return true
  }

  #rawVarint(value: number): void {
    if (value < 128) {
      this.#reserve(1)
      this.#buffer[--this.#start] = value
      return
    }
    let size = 1
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
    this.#reserve(size)
    this.#start -= size
    let rest = value
    for (let i = 0; i < size; i++) {
      this.#buffer[this.#start + i] = (rest % 128) + (i < size - 1 ? 128 : 0)
      rest = Math.floor(rest / 128)
    }
  }

  #longVarint(value: bigint): void {
    const groups: number[] = []
    for (let rest = value; groups.length === 0 || rest > 0n; rest >>= 7n) groups.push(Number(rest & 0x7fn))
    this.#reserve(groups.length)
    this.#start -= groups.length
    groups.forEach((group, i) => {
      this.#buffer[this.#start + i] = group + (i < groups.length - 1 ? 128 : 0)
    })
  }

  #reserve(size: number): void {
    if (this.#start >= size) return
    const written = this.length
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, written + size))
    this.#buffer.copy(grown, grown.length - written, this.#start)
    this.#start = grown.length - written
    this.#buffer = grown
  }
}

/** A string up to this length is written in less time than a call into the engine takes. */
const SHORT = 64
const INITIAL = 1 << 16
const LARGE = 1 << 20
