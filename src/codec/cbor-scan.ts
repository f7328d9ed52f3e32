/**
 * The first pass over CBOR: whether the bytes are one well-formed data item without anything that is never accepted, such as NaN, big
 * integers, or more values and levels than a body may have. Lengths that a head declares are only believed as far as there are bytes,
 * so that nothing is allocated for them.
 */
import { ARGUMENT, CborError, CborFormError, MAJOR, TAG } from './cbor.ts'
import { argumentAt, BREAK, halfOf } from './cbor-cursor.ts'
import { MANY_KEYS, tooManyValues, type ValueLimit } from './decoded-size.ts'
import { MAX_DEPTH } from './json-reader.ts'

/** Throws a CborError for data that is refused, and a StatusError for too many values. */
export function scanCbor(bytes: Uint8Array, limit: ValueLimit): void {
  if (bytes.length === 0) throw new CborFormError('EOF')
  const scan = new Scan(bytes, limit)
  scan.item(0)
  if (scan.at < bytes.length)
    throw new CborFormError(`cbor: ${bytes.length - scan.at} bytes of extraneous data starting at index ${scan.at}`)
}

const TYPE_NAMES = ['positive integer', 'negative integer', 'byte string', 'UTF-8 text string', 'array', 'map', 'tag', 'primitives']

/** The name of the type that an initial byte begins. */
export const typeNameOf = (initial: number): string => TYPE_NAMES[initial >> 5]!

/** Lengths beyond this overflow an integer of Go. */
const MAX_LENGTH = 2n ** 63n
/** As kube-apiserver limits them; the body ends before. */
const MAX_MAP_PAIRS = 2_097_152
const MAX_ARRAY_ELEMENTS = 2_147_483_647

/** The position after the data item at a position; the data is known to be well-formed. */
export function endOfItem(bytes: Uint8Array, at: number): number {
  const scan = new Scan(bytes, NO_LIMIT)
  scan.at = at
  scan.item(0)
  return scan.at
}

export const NO_LIMIT: ValueLimit = { values: Number.POSITIVE_INFINITY, keyWeight: 1 }

class Scan {
  at = 0
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #limit: ValueLimit
  #values = 0

  constructor(bytes: Uint8Array, limit: ValueLimit) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#limit = limit
  }

  item(depth: number): void {
    this.#count(1)
    this.#uncounted(depth)
  }

  #uncounted(depth: number): void {
    const initial = this.#bytes[this.at]
    if (initial === undefined) throw unexpectedEnd()
    const major = initial >> 5
    const argument = this.#head(initial)
    switch (major) {
      case MAJOR.bytes:
      case MAJOR.text:
        if (argument === undefined) this.#chunks(initial)
        else this.#skip(lengthOf(argument, initial, 'causing integer overflow'))
        return
      case MAJOR.array:
      case MAJOR.map:
        this.#container(initial, argument, depth + 1)
        return
      case MAJOR.tag:
        this.#tagged(argument!, depth)
    }
  }

  #container(initial: number, argument: Argument, depth: number): void {
    if (depth > MAX_DEPTH) throw tooDeep()
    const isMap = initial >> 5 === MAJOR.map
    if (argument === undefined) {
      this.#open(isMap, depth)
      return
    }
    const length = lengthOf(argument, initial, 'it would cause integer overflow')
    if (length > (isMap ? MAX_MAP_PAIRS : MAX_ARRAY_ELEMENTS)) throw tooLong(isMap)
    for (let i = 0; i < length; i++) {
      if (isMap) this.#uncounted(depth)
      this.item(depth)
    }
    if (isMap) this.#countKeys(length)
  }

  /** A list or mapping that ends with a break. */
  #open(isMap: boolean, depth: number): void {
    let items = 0
    for (; !this.#isBreak(); items++) {
      if (isMap && items % 2 === 0) this.#uncounted(depth)
      else this.item(depth)
    }
    if (!isMap) return
    if (items % 2 === 1) throw unexpectedBreak()
    this.#countKeys(items / 2)
  }

  /** A string in parts, each of which counts as a value. */
  #chunks(initial: number): void {
    const type = typeNameOf(initial)
    while (!this.#isBreak()) {
      const next = this.#bytes[this.at]!
      if (next >> 5 !== initial >> 5) throw new CborFormError(`cbor: wrong element type ${typeNameOf(next)} for indefinite-length ${type}`)
      if ((next & 0x1f) === ARGUMENT.indefinite) throw new CborFormError(`cbor: indefinite-length ${type} chunk is not definite-length`)
      this.item(0)
    }
  }

  #tagged(first: number | bigint, depth: number): void {
    let tag = first
    let level = depth
    for (;;) {
      const initial = this.#bytes[this.at]
      if (initial === undefined) throw unexpectedEnd()
      if (tag === TAG.bignum || tag === TAG.negativeBignum) throw unacceptedForm('tag', 'bignum')
      if (initial >> 5 !== MAJOR.tag) break
      tag = this.#head(initial)!
      if (++level > MAX_DEPTH) throw tooDeep()
    }
    this.#uncounted(level)
  }

  /** Reads the head of an item: its argument, undefined for an indefinite length. */
  #head(initial: number): Argument {
    const major = initial >> 5
    const info = initial & 0x1f
    this.at++
    if (info < ARGUMENT.one) return info
    if (info > ARGUMENT.eight) {
      if (info !== ARGUMENT.indefinite || major < MAJOR.bytes || major === MAJOR.tag)
        throw new CborFormError(`cbor: invalid additional information ${info} for type ${typeNameOf(initial)}`)
      if (major === MAJOR.simple) throw unexpectedBreak()
      return undefined
    }
    const size = 1 << (info - ARGUMENT.one)
    if (this.at + size > this.#bytes.length) throw unexpectedEnd()
    const argument = argumentAt(this.#view, this.at, size)
    if (major === MAJOR.simple) this.#checkSimple(argument, size)
    this.at += size
    return argument
  }

  #checkSimple(argument: number | bigint, size: number): void {
    if (size === 1) {
      if ((argument as number) < 32) throw new CborFormError(`cbor: invalid simple value ${argument} for type primitives`)
      return
    }
    const value = size === 2 ? halfOf(argument as number) : size === 4 ? this.#view.getFloat32(this.at) : this.#view.getFloat64(this.at)
    if (Number.isNaN(value)) throw unacceptedForm('primitives', 'floating-point NaN')
    if (!Number.isFinite(value)) throw unacceptedForm('primitives', 'floating-point infinity')
  }

  #skip(length: number): void {
    if (this.#bytes.length - this.at < length) throw unexpectedEnd()
    this.at += length
  }

  /** Whether the next byte is a break, which it then moves past. */
  #isBreak(): boolean {
    const byte = this.#bytes[this.at]
    if (byte === undefined) throw unexpectedEnd()
    if (byte !== BREAK) return false
    this.at++
    return true
  }

  #count(values: number): void {
    if ((this.#values += values) > this.#limit.values) throw tooManyValues(this.#limit.values)
  }

  /** The keys of a large mapping count as further values. */
  #countKeys(keys: number): void {
    if (keys > MANY_KEYS) this.#count((this.#limit.keyWeight - 1) * keys)
  }
}

/** The argument of a head: a bigint past the safe range, undefined for an indefinite length. */
type Argument = number | bigint | undefined

function lengthOf(argument: number | bigint, initial: number, why: string): number {
  if (argument >= MAX_LENGTH) throw new CborFormError(`cbor: ${typeNameOf(initial)} length ${argument} is too large, ${why}`)
  return Number(argument)
}

const unexpectedEnd = () => new CborFormError('unexpected EOF')
const unexpectedBreak = () => new CborFormError('cbor: unexpected "break" code')
const tooDeep = () => new CborFormError(`cbor: exceeded max nested level ${MAX_DEPTH}`)
const tooLong = (isMap: boolean) =>
  isMap
    ? new CborFormError(`cbor: exceeded max number of key-value pairs ${MAX_MAP_PAIRS} for CBOR map`)
    : new CborFormError(`cbor: exceeded max number of elements ${MAX_ARRAY_ELEMENTS} for CBOR array`)

const unacceptedText = (type: string, why: string) => `cbor: data item of cbor type ${type} is not accepted by protocol: ${why}`
const unacceptedForm = (type: string, why: string) => new CborFormError(unacceptedText(type, why))

/** The error for well-formed data that Kubernetes does not accept. */
export const unaccepted = (type: string, why: string) => new CborError(unacceptedText(type, why))
