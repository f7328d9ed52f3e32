/**
 * CBOR as clients of Kubernetes send it, and as it is stored: definite lengths, strings as keys, no tags but those of the document and
 * of bytes. Such documents are read in one pass, in a quarter of the time. All others, whether wrong or rare, go to the exact reader.
 */
import { type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { writtenNumber } from '../lib/written-number.ts'
import { MAJOR, SELF_DESCRIBED, TAG } from './cbor.ts'
import { halfOf } from './cbor-cursor.ts'
import { MANY_KEYS, type ValueLimit } from './decoded-size.ts'
import { MAX_DEPTH } from './json-reader.ts'

export type CommonOptions = {
  readonly limit: ValueLimit
  /** How a float is kept where a type decides what it means; undefined where none does. */
  readonly floatText: ((value: number) => string) | undefined
  /** Whether texts are accepted as values: for bytes they are not. */
  readonly acceptsText: boolean
}

/** The value of one data item, or undefined if the exact reader has to read it. */
export function readCommonCbor(bytes: Uint8Array, options: CommonOptions): Json | undefined {
  const reader = new CommonReader(bytes, options)
  try {
    const value = reader.value(0)
    return reader.isAtEnd ? value : undefined
  } catch (error) {
    if (error === UNCOMMON) return undefined
    throw error
  }
}

/** Thrown where the exact reader has to begin anew. */
const UNCOMMON = new Error('not common')
const [, ...SELF_DESCRIBED_TAG] = SELF_DESCRIBED
const SELF_DESCRIBED_NUMBER = (SELF_DESCRIBED_TAG[0]! << 8) | SELF_DESCRIBED_TAG[1]!

class CommonReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #options: CommonOptions
  readonly #end: number
  #at = 0
  #left: number

  constructor(bytes: Uint8Array, options: CommonOptions) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#options = options
    this.#end = bytes.byteLength
    this.#left = options.limit.values
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  value(depth: number): Json {
    if (--this.#left < 0 || this.#at >= this.#end) throw UNCOMMON
    const initial = this.#bytes[this.#at++]!
    const major = initial >> 5
    if (major === MAJOR.simple) return this.#simple(initial)
    const argument = this.#argument(initial & 0x1f)
    switch (major) {
      case MAJOR.positive:
        return argument
      case MAJOR.negative:
        return -1 - argument
      case MAJOR.bytes:
        return this.#string(argument)
      case MAJOR.text:
        if (!this.#options.acceptsText) throw UNCOMMON
        return this.#text(argument)
      case MAJOR.array:
        return this.#array(argument, depth + 1)
      case MAJOR.map:
        return this.#map(argument, depth + 1)
      default:
        return this.#tagged(argument, depth)
    }
  }

  #array(length: number, depth: number): Json[] {
    if (depth > MAX_DEPTH || length > this.#left) throw UNCOMMON
    const items: Json[] = []
    for (let i = 0; i < length; i++) items.push(this.value(depth))
    return items
  }

  #map(length: number, depth: number): JsonObject {
    if (depth > MAX_DEPTH || length > this.#left) throw UNCOMMON
    if (length > MANY_KEYS) this.#left -= (this.#options.limit.keyWeight - 1) * length
    const object: JsonObject = {}
    for (let i = 0; i < length; i++) {
      const key = this.#key()
      // An inherited name also reads as defined: the exact reader tells it from a key that is there twice.
      if (object[key] !== undefined) throw UNCOMMON
      setOwn(object, key, this.value(depth))
    }
    return object
  }

  #key(): string {
    if (this.#at >= this.#end) throw UNCOMMON
    const initial = this.#bytes[this.#at++]!
    const major = initial >> 5
    if (major !== MAJOR.bytes && major !== MAJOR.text) throw UNCOMMON
    const length = this.#argument(initial & 0x1f)
    if (length > MAX_KNOWN_LENGTH || length === 0) return major === MAJOR.bytes ? this.#string(length) : this.#text(length)
    const start = this.#at
    if (start + length > this.#end) throw UNCOMMON
    const index = (this.#bytes[start]! * 31 + this.#bytes[start + length - 1]! * 7 + length) & (KNOWN_KEYS - 1)
    const known = knownKeys[index]!
    if (this.#isAt(known, length)) {
      this.#at += length
      return known
    }
    const key = major === MAJOR.bytes ? this.#string(length) : this.#text(length)
    if (key.length === length) knownKeys[index] = key
    return key
  }

  /** Whether a text of ASCII is what follows. */
  #isAt(text: string, length: number): boolean {
    if (text.length !== length) return false
    for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== this.#bytes[this.#at + i]) return false
    return true
  }

  #string(length: number): string {
    const start = this.#at
    this.#at += length
    if (this.#at > this.#end) throw UNCOMMON
    return this.#bytes.toString('utf8', start, this.#at)
  }

  /** Text that may be broken is looked at by the exact reader. */
  #text(length: number): string {
    const text = this.#string(length)
    if (text.includes('\ufffd')) throw UNCOMMON
    return text
  }

  #tagged(tag: number, depth: number): Json {
    if (tag === SELF_DESCRIBED_NUMBER && depth === 0 && this.#at === SELF_DESCRIBED.length) {
      this.#left++
      return this.value(0)
    }
    const initial = this.#bytes[this.#at]
    if (tag !== TAG.base64 || initial === undefined || initial >> 5 !== MAJOR.bytes) throw UNCOMMON
    this.#at++
    const length = this.#argument(initial & 0x1f)
    const start = this.#at
    this.#at += length
    if (this.#at > this.#end) throw UNCOMMON
    return this.#bytes.toString('base64', start, this.#at)
  }

  #simple(initial: number): Json {
    switch (initial) {
      case 0xf4:
        return false
      case 0xf5:
        return true
      case 0xf6:
        return null
      case 0xf9:
      case 0xfa:
      case 0xfb:
        return this.#float(1 << (initial - 0xf8))
      default:
        throw UNCOMMON
    }
  }

  #float(size: number): Json {
    const at = this.#at
    this.#at += size
    if (this.#at > this.#end) throw UNCOMMON
    const value = size === 2 ? halfOf(this.#view.getUint16(at)) : size === 4 ? this.#view.getFloat32(at) : this.#view.getFloat64(at)
    if (!Number.isFinite(value)) throw UNCOMMON
    const { floatText } = this.#options
    return floatText ? writtenNumber(floatText(value)) : value
  }

  /** The argument of a head; lengths that are not given, and numbers past the safe range, are not common. */
  #argument(info: number): number {
    if (info < 24) return info
    const at = this.#at
    const size = 1 << (info - 24)
    if (info > 27 || at + size > this.#end) throw UNCOMMON
    this.#at += size
    if (size === 1) return this.#bytes[at]!
    if (size === 2) return this.#view.getUint16(at)
    if (size === 4) return this.#view.getUint32(at)
    const high = this.#view.getUint32(at)
    if (high >= 1 << 21) throw UNCOMMON
    return high * 2 ** 32 + this.#view.getUint32(at + 4)
  }
}

/** Keys that were read, each at an index that follows from its bytes: the same few come again and again. */
const KNOWN_KEYS = 512
const MAX_KNOWN_LENGTH = 32
const knownKeys: string[] = new Array(KNOWN_KEYS).fill('')
