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
  #buffer = Buffer.allocUnsafe(1 << 16)
  /** Where the written part starts. */
  #start = this.#buffer.length

  /** A length-delimited text. */
  string(number: number, value: string): void {
    const length = Buffer.byteLength(value)
    this.#reserve(length)
    this.#start -= length
    this.#buffer.write(value, this.#start)
    this.#header(number, 2, length)
  }

  bool(number: number, value: boolean): void {
    this.varint(number, value ? 1 : 0)
  }

  /** A whole number that is not negative and is exact in a double. */
  varint(number: number, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not a natural number`)
    this.#rawVarint(value)
    this.#rawVarint(number * 8)
  }

  double(number: number, value: number): void {
    this.#reserve(8)
    this.#start -= 8
    this.#buffer.writeDoubleLE(value, this.#start)
    this.#rawVarint(number * 8 + 1)
  }

  /** An embedded message; `content` writes its fields, last first. */
  message(number: number, content: () => void): void {
    const before = this.#buffer.length - this.#start
    content()
    this.#header(number, 2, this.#buffer.length - this.#start - before)
  }

  /** The bytes written so far. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(this.#start))
  }

  #header(number: number, wireType: number, length: number): void {
    this.#rawVarint(length)
    this.#rawVarint(number * 8 + wireType)
  }

  #rawVarint(value: number): void {
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

  #reserve(size: number): void {
    if (this.#start >= size) return
    const written = this.#buffer.length - this.#start
    const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, written + size))
    this.#buffer.copy(grown, grown.length - written, this.#start)
    this.#start = grown.length - written
    this.#buffer = grown
  }
}
