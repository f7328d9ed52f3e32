/** A position in CBOR that is known to be well-formed, and how heads, floats and strings are read there. */
import { ARGUMENT, MAJOR } from './cbor.ts'

export class CborCursor {
  readonly bytes: Buffer
  readonly #view: DataView
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** The initial byte of the next data item. */
  get initial(): number {
    return this.bytes[this.at]!
  }

  get major(): number {
    return this.initial >> 5
  }

  /** Reads the head of an item: its argument, a bigint past the safe range, undefined for an indefinite length. */
  head(): number | bigint | undefined {
    const info = this.bytes[this.at++]! & 0x1f
    if (info < ARGUMENT.one) return info
    if (info === ARGUMENT.indefinite) return undefined
    const size = 1 << (info - ARGUMENT.one)
    const argument = argumentAt(this.#view, this.at, size)
    this.at += size
    return argument
  }

  float(): number {
    const info = this.initial & 0x1f
    const at = this.at + 1
    this.head()
    if (info === ARGUMENT.two) return halfOf(this.#view.getUint16(at))
    return info === ARGUMENT.four ? this.#view.getFloat32(at) : this.#view.getFloat64(at)
  }

  /** The bytes of a string of definite length, whose head has been read. */
  take(length: number): Buffer {
    const start = this.at
    this.at += length
    return this.bytes.subarray(start, this.at)
  }

  /** Whether more members or elements follow: `length` is that of the head, `index` counts those before. */
  hasMore(length: number | bigint | undefined, index: number): boolean {
    if (length !== undefined) return index < length
    if (this.initial !== BREAK) return true
    this.at++
    return false
  }

  skipTags(): void {
    while (this.major === MAJOR.tag) this.head()
  }
}

/** Ends lists, mappings and strings of indefinite length. */
export const BREAK = 0xff

/** The argument of a head in 1, 2, 4 or 8 bytes. */
export function argumentAt(view: DataView, at: number, size: number): number | bigint {
  if (size === 1) return view.getUint8(at)
  if (size === 2) return view.getUint16(at)
  if (size === 4) return view.getUint32(at)
  const large = view.getBigUint64(at)
  return large <= Number.MAX_SAFE_INTEGER ? Number(large) : large
}

/** The value of a float of half precision. */
export function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
