/** Reads and writes protobuf, as far as the messages of gRPC calls need it. */

/** A message that is being written. Fields with a default value are left out, as proto3 does. */
export class Writer {
  #bytes: Buffer
  #length: number
  /** Where the lengths of the messages belong that have begun and not ended. */
  readonly #open: number[] = []

  /** Leaves room at the start, for the header of a frame. */
  constructor({ reserve = 0, size = 256 }: { readonly reserve?: number; readonly size?: number } = {}) {
    this.#bytes = Buffer.allocUnsafe(Math.max(size, reserve))
    this.#length = reserve
  }

  number(field: number, value: number): this {
    if (value === 0) return this
    this.#reserve(20)
    this.#varint(field << 3)
    this.#varint(value)
    return this
  }

  flag(field: number, value: boolean): this {
    return this.number(field, Number(value))
  }

  bytes(field: number, value: Uint8Array): this {
    return value.length === 0 ? this : this.#piece(field, value)
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value))
  }

  /** Begins a message inside; an empty one is written, as it differs from none. */
  begin(field: number): this {
    this.#reserve(20)
    this.#varint((field << 3) | 2)
    this.#open.push(this.#length)
    // Most lengths take one byte.
    this.#length++
    return this
  }

  /** Ends the message that was begun last. */
  end(): this {
    const at = this.#open.pop()!
    const length = this.#length - at - 1
    if (length >= 0x80) {
      let more = 1
      for (let rest = length; rest >= 0x4000; rest = Math.floor(rest / 0x80)) more++
      this.#reserve(more)
      this.#bytes.copyWithin(at + 1 + more, at + 1, this.#length)
      this.#length += more
    }
    const after = this.#length
    this.#length = at
    this.#varint(length)
    this.#length = after
    return this
  }

  /** The written bytes; the writer must not be used afterwards. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #piece(field: number, value: Uint8Array): this {
    this.#reserve(value.length + 20)
    this.#varint((field << 3) | 2)
    this.#varint(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  #varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

/** One field of a message: numbers are exact up to 2^53, and `bytes` shares memory with the message. */
export type Field = { readonly field: number; readonly number: number; readonly bytes: Buffer }

const NOTHING = Buffer.alloc(0)

/**
 * Calls back for every field of a message, in its order. The field is the same object each time. Throws a RangeError for
 * bytes that are no message.
 */
export function readFields(message: Buffer, take: (field: Field) => void): void {
  const current = { field: 0, number: 0, bytes: NOTHING as Buffer }
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = message[at++]
      if (byte === undefined || scale > 2 ** 63) throw new RangeError('a protobuf message is cut off')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    current.field = Math.floor(tag / 8)
    current.number = 0
    current.bytes = NOTHING
    switch (tag % 8) {
      case 0:
        current.number = varint()
        break
      case 1:
        at += 8
        break
      case 2: {
        const length = varint()
        current.bytes = message.subarray(at, at + length)
        at += length
        break
      }
      case 5:
        at += 4
        break
      default:
        throw new RangeError('a protobuf message has an unknown type of field')
    }
    if (at > message.length) throw new RangeError('a protobuf message is cut off')
    take(current)
  }
}
