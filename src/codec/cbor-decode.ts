/**
 * From CBOR to the JSON value that Kubernetes reads in it: strings are byte strings or text, bytes that are marked for a text encoding
 * become that text, tags without such a meaning are as good as absent, and a key that is there twice is always an error.
 */
import { goQuote } from '../lib/go-text.ts'
import { type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { formatTime, parseTime, TimeError } from '../lib/time.ts'
import { truncate } from '../lib/truncate.ts'
import { writtenNumber } from '../lib/written-number.ts'
import type { AnyType } from '../schema/types.ts'
import { ARGUMENT, CborError, CborFormError, CborTypeError, MAJOR, TAG } from './cbor.ts'
import { readCommonCbor } from './cbor-common.ts'
import { CborCursor } from './cbor-cursor.ts'
import { endOfItem, NO_LIMIT, scanCbor, typeNameOf, unaccepted } from './cbor-scan.ts'
import type { ReadOptions } from './json-reader.ts'
import { elementOf, isScalarOf, memberOf, objectOf } from './type-walk.ts'

export type CborOptions = Pick<ReadOptions, 'numbers' | 'limit'> & {
  /** The type of the value: no text is accepted for bytes. */
  readonly type?: AnyType | undefined
}

/**
 * Reads one data item; throws a CborError with the message of Go's decoder, or a StatusError when it holds too many values. Written
 * numbers are floats, which no integer field takes, whatever their value.
 */
export function decodeCbor(bytes: Uint8Array, { numbers = 'values', limit = NO_LIMIT, type }: CborOptions = {}): Json {
  const isWritten = numbers === 'written'
  const common = readCommonCbor(bytes, { limit, floatText: isWritten ? floatText : undefined, acceptsText: type === undefined })
  return common !== undefined ? common : decodeExactly(bytes, { numbers, limit, type })
}

/** The same in two passes, for data that is uncommon or wrong. */
export function decodeExactly(bytes: Uint8Array, { numbers = 'values', limit = NO_LIMIT, type }: CborOptions = {}): Json {
  scanCbor(bytes, limit)
  return new Reader(new CborCursor(bytes), numbers === 'written').value(type)
}

/** The name of the type of a whole, well-formed data item, without its tags. */
export function cborTypeName(bytes: Uint8Array): string {
  const cursor = new CborCursor(bytes)
  cursor.skipTags()
  return typeNameOf(cursor.initial)
}

/** The members of the outermost mapping that have these names and are texts; the data is known to be well-formed. */
export function cborTexts(bytes: Uint8Array, names: readonly string[]): Readonly<Record<string, string>> {
  const cursor = new CborCursor(bytes)
  const found: Record<string, string> = {}
  cursor.skipTags()
  if (cursor.major !== MAJOR.map) return found
  const length = cursor.head()
  const read = (): string | undefined => {
    if (cursor.major === MAJOR.text || cursor.major === MAJOR.bytes) return stringAt(cursor).toString()
    cursor.at = endOfItem(bytes, cursor.at)
    return undefined
  }
  for (let i = 0; cursor.hasMore(length, i); i++) {
    const key = read()
    const text = read()
    if (key !== undefined && text !== undefined && names.includes(key)) found[key] = text
  }
  return found
}

/** Reads data that is known to be well-formed. */
class Reader {
  readonly #in: CborCursor
  readonly #isWritten: boolean
  #depth = 0
  /** The member of the outermost mapping that is being read. */
  #field: string | undefined
  /** The tags around the item that name the text encoding of bytes, innermost last. */
  readonly #encodings: (number | bigint)[] = []

  constructor(cursor: CborCursor, isWritten: boolean) {
    this.#in = cursor
    this.#isWritten = isWritten
  }

  value(type?: AnyType): Json {
    switch (this.#in.major) {
      case MAJOR.positive:
      case MAJOR.negative:
        return this.#integer()
      case MAJOR.bytes:
        return this.#encoded()
      case MAJOR.text:
        if (isScalarOf(type, 'bytes')) throw this.#mismatch(this.#in.initial, '[]uint8')
        return this.#text()
      case MAJOR.array:
        return this.#array(elementOf(type))
      case MAJOR.map:
        return this.#map(objectOf(type))
      case MAJOR.tag:
        return this.#tagged(type)
      default:
        return this.#simple()
    }
  }

  #integer(): number | bigint {
    const { initial, major } = this.#in
    const argument = this.#in.head()!
    const isNegative = major === MAJOR.negative
    if (typeof argument === 'number' && argument < Number.MAX_SAFE_INTEGER) return isNegative ? -1 - argument : argument
    const exact = isNegative ? -1n - BigInt(argument) : BigInt(argument)
    if (BigInt.asIntN(64, exact) !== exact) throw this.#mismatch(initial, 'int64', `${exact} overflows Go's int64`)
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact
  }

  #array(element: AnyType | undefined): Json[] {
    const items: Json[] = []
    const length = this.#in.head()
    this.#depth++
    for (let i = 0; this.#in.hasMore(length, i); i++) items.push(this.value(element))
    this.#depth--
    return items
  }

  #map(type: AnyType | undefined): JsonObject {
    const object: JsonObject = {}
    const length = this.#in.head()
    const isOutermost = this.#depth++ === 0
    for (let i = 0; this.#in.hasMore(length, i); i++) {
      const key = this.#key()
      if (isOutermost) this.#field = key
      // An inherited name also reads as defined: only then the exact question is asked.
      if (object[key] !== undefined && Object.hasOwn(object, key)) {
        const message = `cbor: found duplicate map key ${goQuote(key)} at map element index ${i}`
        throw isOutermost ? new CborFormError(message) : new CborError(message)
      }
      setOwn(object, key, this.value(memberOf(type, key)))
    }
    this.#depth--
    return object
  }

  /** A key is a string; null is the empty one. */
  #key(): string {
    const before = this.#encodings.length
    while (this.#in.major === MAJOR.tag) this.#pushEncoding(this.#in.head()!)
    const key = this.#untaggedKey()
    this.#encodings.length = before
    return key
  }

  #untaggedKey(): string {
    const { initial, major } = this.#in
    if (major === MAJOR.bytes) return this.#encoded()
    if (major === MAJOR.text) return this.#text()
    if (major === MAJOR.simple && this.#simple() === null) return ''
    throw this.#mismatch(initial, 'string')
  }

  #mismatch(initial: number, expected: string, why?: string): CborTypeError {
    return new CborTypeError({ sent: typeNameOf(initial), expected, field: this.#field, ...(why !== undefined && { why }) })
  }

  #tagged(type: AnyType | undefined): Json {
    this.#checkTags()
    const tag = this.#in.head()!
    if (tag === TAG.time) return this.#time()
    if (tag === TAG.epoch) return this.#epoch()
    const before = this.#encodings.length
    this.#pushEncoding(tag)
    const value = this.value(type)
    this.#encodings.length = before
    return value
  }

  /** Tags of times have contents of certain types. */
  #checkTags(): void {
    const start = this.#in.at
    while (this.#in.major === MAJOR.tag) {
      const tag = this.#in.head()!
      const initial = this.#in.initial
      const major = initial >> 5
      if (tag === TAG.time && major !== MAJOR.text) throw mustPrecede(tag, 'text string', initial)
      if (tag === TAG.epoch && major > MAJOR.negative && (initial < FLOATS[0] || initial > FLOATS[1]))
        throw mustPrecede(tag, 'integer or floating-point number', initial)
    }
    this.#in.at = start
  }

  #pushEncoding(tag: number | bigint): void {
    if (tag === TAG.base64url || tag === TAG.base64 || tag === TAG.base16) this.#encodings.push(tag)
  }

  #time(): string {
    const text = this.#text()
    try {
      parseTime(text)
      return withShortestFraction(text)
    } catch (error) {
      if (error instanceof TimeError)
        throw new CborError(`cbor: cannot set ${truncate(text, LIMITS.errorValueLength)} for time.Time: ${error.message}`)
      throw error
    }
  }

  #epoch(): string {
    const number = this.#in.major === MAJOR.simple ? this.#in.float() : this.#integer()
    const seconds = Math.floor(Number(number))
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND) throw new CborError(NO_YEAR)
    const nanos = Math.trunc((Number(number) - seconds) * 1e9)
    return withShortestFraction(`${formatTime({ seconds, nanos }).slice(0, -1)}.${String(nanos).padStart(9, '0')}Z`)
  }

  #simple(): Json {
    if ((this.#in.initial & 0x1f) >= ARGUMENT.two) {
      const number = this.#in.float()
      return this.#isWritten ? writtenNumber(floatText(number)) : number
    }
    const argument = this.#in.head()!
    if (argument === 20) return false
    if (argument === 21) return true
    if (argument === 22) return null
    throw unaccepted('primitives', `simple value ${argument} is not recognized`)
  }

  #text(): string {
    const bytes = stringAt(this.#in)
    const text = bytes.toString()
    // Only a replaced byte makes the exact question necessary.
    if (text.includes('\ufffd')) checkText(bytes)
    return text
  }

  /** A byte string as text: as it is, or in the encoding that a tag names. */
  #encoded(): string {
    const bytes = stringAt(this.#in)
    switch (this.#encodings.at(-1)) {
      case undefined:
        return bytes.toString()
      case TAG.base64url:
        return bytes.toString('base64url')
      case TAG.base64:
        return bytes.toString('base64')
      default:
        return bytes.toString('hex')
    }
  }
}

/** The bytes of a string, put together where it comes in parts; each part of a text is text of its own. */
function stringAt(cursor: CborCursor): Buffer {
  const isText = cursor.major === MAJOR.text
  const length = cursor.head()
  if (length !== undefined) return cursor.take(length as number)
  const chunks: Buffer[] = []
  while (cursor.hasMore(undefined, 0)) {
    const chunk = cursor.take(cursor.head() as number)
    if (isText) checkText(chunk)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The initial bytes of floats. */
const FLOATS = [0xf9, 0xfb] as const
/** The first and last second of the years that RFC 3339 can write. */
const FIRST_SECOND = Date.parse('0000-01-01T00:00:00Z') / 1000
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000
const NO_YEAR =
  'cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: Time.MarshalText: year outside of range [0,9999]'

/** A time as Go writes it: nanoseconds without trailing zeros, and `Z` for no offset. */
const withShortestFraction = (time: string): string =>
  time.replace(/[.,](\d{1,9})\d*/, (_, digits: string) => `.${digits}`.replace(/\.?0+$/, '')).replace(/[+-]00:00$/, 'Z')

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function checkText(bytes: Uint8Array): void {
  try {
    UTF8.decode(bytes)
  } catch {
    throw new CborError('cbor: invalid UTF-8 string')
  }
}

/** A float as it would be written, never as an integer. */
export function floatText(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}

const mustPrecede = (tag: number | bigint, expected: string, initial: number) =>
  new CborError(`cbor: tag number ${tag} must be followed by ${expected}, got ${typeNameOf(initial)}`)
