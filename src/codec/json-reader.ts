// The exact JSON reader: Go's grammar and error texts, duplicate keys with their paths, 64-bit integers kept.

import { type Duplicate, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { NumberRangeError, writtenNumber } from '../lib/written-number.ts'
import { MANY_KEYS, tooManyValues, type ValueLimit } from './decoded-size.ts'

export const MAX_DEPTH = LIMITS.jsonDepth

/** How many duplicates are reported: as many as Kubernetes lists strict decoding errors. */
const MAX_DUPLICATES = 100
/** Duplicates far inside have long paths, and many can have the same one: past this many steps, no more are looked at. */
const MAX_DUPLICATE_STEPS = 100_000

/** The longest integer literal read exactly: enough for 64 bits, and no quadratic conversion of hostile digits. */
const MAX_INTEGER_LENGTH = 20

/** A document that is no JSON: the message is the one Go's decoder gives, the offset counts the bytes read. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/** A document that is JSON, with a number that no double can hold. */
export class JsonRangeError extends JsonError {}

/** A parsed document and the keys it gave more than once, in document order. */
export interface Parsed {
  readonly value: Json
  readonly duplicates: readonly Duplicate[]
}

/** The way numbers are read: `values` as the doubles and integers of 64 bits that Go makes of them where it knows no type, `written` for a type to decide. */
export type Numbers = 'values' | 'written'

export type ReadOptions = {
  readonly numbers?: Numbers
  /** How many values the document may hold; without it, any number. */
  readonly limit?: ValueLimit | undefined
  /** The document was written by this server: no key is in it twice, so that none is looked for. */
  readonly trusted?: boolean
}

/** Reads one JSON document exactly; throws JsonError, or a StatusError when it holds too many values. */
export function readJson(text: string, options: ReadOptions = {}): Parsed {
  const reader = new Reader(text, options)
  const value = reader.document()
  return { value, duplicates: reader.duplicates }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

const NO_LIMIT: ValueLimit = { values: Number.POSITIVE_INFINITY, keyWeight: 1 }

class Reader {
  readonly duplicates: Duplicate[] = []
  readonly #text: string
  readonly #numbers: Numbers
  readonly #limit: ValueLimit
  #nodes = 0
  #at = 0
  /** Keys and indices from the root to the value being read. */
  readonly #path: (string | number)[] = []
  readonly #reported = new Set<string>()
  readonly #duplicatesOf = new Map<JsonObject, Set<string>>()
  /** How many steps the paths of duplicates had, reported or not. */
  #duplicateSteps = 0

  constructor(text: string, { numbers = 'values', limit = NO_LIMIT }: ReadOptions) {
    this.#text = text
    this.#numbers = numbers
    this.#limit = limit
  }

  document(): Json {
    const value = this.#value(this.#skipSpace())
    if (!Number.isNaN(this.#skipSpace())) throw this.#unexpected('after top-level value')
    return value
  }

  #value(code: number): Json {
    if (++this.#nodes > this.#limit.values) throw tooManyValues(this.#limit.values)
    switch (code) {
      case OPEN_BRACE:
        return this.#object()
      case OPEN_BRACKET:
        return this.#array()
      case QUOTE:
        return this.#string()
      case 0x74:
        return this.#literal('true', true)
      case 0x66:
        return this.#literal('false', false)
      case 0x6e:
        return this.#literal('null', null)
      default:
        if (code === 0x2d || isDigit(code)) return this.#number(code)
        throw this.#unexpected('looking for beginning of value')
    }
  }

  #object(): JsonObject {
    if (this.#path.length >= MAX_DEPTH) throw this.#unexpected('exceeded max depth')
    const object: JsonObject = {}
    this.#at++
    let code = this.#skipSpace()
    if (code === CLOSE_BRACE) {
      this.#at++
      return object
    }
    for (let members = 1; ; members++) {
      if (code !== QUOTE) throw this.#unexpected('looking for beginning of object key string')
      const key = this.#string()
      if (this.#skipSpace() !== COLON) throw this.#unexpected('after object key')
      this.#at++
      // An inherited name also reads as defined: only then the exact question is asked.
      if (object[key] !== undefined && Object.hasOwn(object, key)) this.#duplicate(object, key)
      this.#path.push(key)
      const value = this.#value(this.#skipSpace())
      this.#path.pop()
      setOwn(object, key, value)
      code = this.#skipSpace()
      if (code === COMMA) {
        this.#at++
        code = this.#skipSpace()
      } else if (code === CLOSE_BRACE) {
        this.#at++
        if (members > MANY_KEYS) this.#addKeys(members)
        return object
      } else throw this.#unexpected('after object key:value pair')
    }
  }

  /** The keys of a large mapping count as further values. */
  #addKeys(members: number): void {
    const { values, keyWeight } = this.#limit
    this.#nodes += (keyWeight - 1) * members
    if (this.#nodes > values) throw tooManyValues(values)
  }

  #array(): Json[] {
    if (this.#path.length >= MAX_DEPTH) throw this.#unexpected('exceeded max depth')
    const array: Json[] = []
    this.#at++
    let code = this.#skipSpace()
    if (code === CLOSE_BRACKET) {
      this.#at++
      return array
    }
    for (;;) {
      this.#path.push(array.length)
      const value = this.#value(code)
      this.#path.pop()
      array.push(value)
      code = this.#skipSpace()
      if (code === COMMA) {
        this.#at++
        code = this.#skipSpace()
      } else if (code === CLOSE_BRACKET) {
        this.#at++
        return array
      } else throw this.#unexpected('after array element')
    }
  }

  #string(): string {
    const text = this.#text
    const start = this.#at + 1
    for (let i = start; ; i++) {
      const code = text.charCodeAt(i)
      if (code === QUOTE) {
        this.#at = i + 1
        return text.slice(start, i)
      }
      if (code === BACKSLASH || !(code >= 0x20)) {
        this.#at = i
        return this.#escapedString(start)
      }
    }
  }

  /** The rest of a string whose first escape, control character or end of input is at the cursor. */
  #escapedString(start: number): string {
    const text = this.#text
    let out = text.slice(start, this.#at)
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === QUOTE) {
        this.#at++
        // Go replaces each half of a broken surrogate pair, which is what toWellFormed does.
        return wellFormed(out)
      }
      if (code === BACKSLASH) out += this.#escape()
      else if (code >= 0x20) {
        const from = this.#at
        let i = from + 1
        for (let next = text.charCodeAt(i); next >= 0x20 && next !== QUOTE && next !== BACKSLASH; next = text.charCodeAt(i)) i++
        out += text.slice(from, i)
        this.#at = i
      } else throw this.#unexpected('in string literal')
    }
  }

  #escape(): string {
    this.#at++
    const code = this.#text.charCodeAt(this.#at)
    if (code === 0x75) return this.#unicodeEscape()
    const plain = ESCAPES.get(code)
    if (plain === undefined) throw this.#unexpected('in string escape code')
    this.#at++
    return plain
  }

  #unicodeEscape(): string {
    const start = this.#at + 1
    for (this.#at = start; this.#at < start + 4; this.#at++)
      if (!isHexDigit(this.#text.charCodeAt(this.#at))) throw this.#unexpected('in \\u hexadecimal character escape')
    return String.fromCharCode(Number.parseInt(this.#text.slice(start, this.#at), 16))
  }

  #literal<T>(word: string, value: T): T {
    for (let i = 1; i < word.length; i++) {
      this.#at++
      if (this.#text.charCodeAt(this.#at) !== word.charCodeAt(i)) throw this.#unexpected(`in literal ${word} (expecting '${word[i]}')`)
    }
    this.#at++
    return value
  }

  #number(first: number): Json {
    const start = this.#at
    let code = first === 0x2d ? this.#next() : first
    if (!isDigit(code)) throw this.#unexpected('in numeric literal')
    if (code === 0x30) code = this.#next()
    else while (isDigit(code)) code = this.#next()
    const integer = code !== 0x2e && code !== 0x65 && code !== 0x45
    if (code === 0x2e) code = this.#digits(this.#next(), 'after decimal point in numeric literal')
    if (code === 0x65 || code === 0x45) {
      code = this.#next()
      if (code === 0x2b || code === 0x2d) code = this.#next()
      this.#digits(code, 'in exponent of numeric literal')
    }
    const literal = this.#text.slice(start, this.#at)
    const value = Number(literal)
    if (integer && Number.isSafeInteger(value)) return value
    if (integer && literal.length <= MAX_INTEGER_LENGTH) {
      const exact = BigInt(literal)
      if (BigInt.asIntN(64, exact) === exact) return exact
    }
    if (this.#numbers === 'written') return writtenNumber(literal)
    if (!Number.isFinite(value)) throw new JsonRangeError(new NumberRangeError(literal).message, this.#offset())
    return value
  }

  #digits(first: number, context: string): number {
    if (!isDigit(first)) throw this.#unexpected(context)
    let code = first
    while (isDigit(code)) code = this.#next()
    return code
  }

  #next(): number {
    this.#at++
    return this.#text.charCodeAt(this.#at)
  }

  /** Moves to the next character that is no white space and gives its code, NaN at the end. */
  #skipSpace(): number {
    let code = this.#text.charCodeAt(this.#at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.#next()
    return code
  }

  #duplicate(owner: JsonObject, key: string): void {
    // Removing it first moves the key to its last place in the order of keys, where the report belongs.
    delete owner[key]
    if (this.duplicates.length >= MAX_DUPLICATES || this.#duplicateSteps > MAX_DUPLICATE_STEPS) return
    const known = this.#duplicatesOf.get(owner)
    if (known?.has(key)) return
    if (known) known.add(key)
    else this.#duplicatesOf.set(owner, new Set([key]))
    this.#duplicateSteps += this.#path.length
    const path = formatPath([...this.#path, key])
    if (this.#reported.has(path)) return
    this.#reported.add(path)
    this.duplicates.push({ path, owner, key })
  }

  /** The error for the character at the cursor, or for the end of input. */
  #unexpected(context: string): JsonError {
    if (this.#at >= this.#text.length) return this.#error('unexpected end of JSON input')
    const offset = Buffer.byteLength(this.#text.slice(0, this.#at)) + 1
    return new JsonError(`invalid character ${quoteFirstByte(this.#text, this.#at)} ${context}`, offset)
  }

  #error(message: string): JsonError {
    return new JsonError(message, this.#offset())
  }

  #offset(): number {
    return Buffer.byteLength(this.#text.slice(0, this.#at))
  }
}

/** A path as Kubernetes writes it in strict decoding errors: `spec.containers[0].name`. */
function formatPath(path: readonly (string | number)[]): string {
  let out = ''
  for (const step of path) out += typeof step === 'number' ? `[${step}]` : out === '' ? step : `.${step}`
  return out
}

const ESCAPES = new Map<number, string>([
  [0x22, '"'],
  [0x5c, '\\'],
  [0x2f, '/'],
  [0x62, '\b'],
  [0x66, '\f'],
  [0x6e, '\n'],
  [0x72, '\r'],
  [0x74, '\t'],
])

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46)
}

const GO_ESCAPES = new Map<number, string>([
  [0x07, '\\a'],
  [0x08, '\\b'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0b, '\\v'],
  [0x0c, '\\f'],
  [0x0d, '\\r'],
  [0x27, "\\'"],
  [0x5c, '\\\\'],
])

/** Go's scanner sees bytes, so a character outside ASCII is reported by its first byte read as Latin-1. */
function quoteFirstByte(text: string, at: number): string {
  const byte = Buffer.from(String.fromCodePoint(text.codePointAt(at) ?? 0))[0] ?? 0
  return `'${GO_ESCAPES.get(byte) ?? goCharacter(byte)}'`
}

function goCharacter(byte: number): string {
  if (byte < 0x20 || byte === 0x7f) return `\\x${byte.toString(16).padStart(2, '0')}`
  if ((byte >= 0x80 && byte <= 0xa0) || byte === 0xad) return `\\u00${byte.toString(16)}`
  return String.fromCharCode(byte)
}

function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, '\ufffd')
}
