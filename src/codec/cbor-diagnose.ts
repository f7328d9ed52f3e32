/** CBOR in diagnostic notation (RFC 8949, section 8), for errors that show a document. */
import { LIMITS } from '../lib/limits.ts'
import { MAJOR } from './cbor.ts'
import { CborCursor } from './cbor-cursor.ts'
import { floatText } from './cbor-decode.ts'

/** The notation of one data item that is known to be well-formed; of a long one its beginning. */
export function diagnoseCbor(bytes: Uint8Array): string {
  const notation = new Notation(new CborCursor(bytes))
  notation.item()
  return notation.text
}

class Notation {
  text = ''
  readonly #in: CborCursor

  constructor(cursor: CborCursor) {
    this.#in = cursor
  }

  /** Writes the next data item. Once there is enough, what follows is neither written nor read. */
  item(): void {
    if (this.#isEnough) return
    const { major } = this.#in
    if (major === MAJOR.simple) {
      this.text += simple(this.#in)
      return
    }
    const argument = this.#in.head()
    if (major === MAJOR.positive) this.text += argument
    else if (major === MAJOR.negative) this.text += -1n - BigInt(argument!)
    else if (major === MAJOR.tag) {
      this.text += `${argument}(`
      this.item()
      this.text += ')'
    } else if (major === MAJOR.array || major === MAJOR.map) this.#container(major, argument)
    else if (argument === undefined) this.#chunks(major)
    else this.text += string(this.#in.take(argument as number), major)
  }

  get #isEnough(): boolean {
    return this.text.length > LIMITS.errorTextLength
  }

  #container(major: number, length: number | bigint | undefined): void {
    const isMap = major === MAJOR.map
    this.text += `${isMap ? '{' : '['}${length === undefined ? '_ ' : ''}`
    for (let i = 0; !this.#isEnough && this.#in.hasMore(length, i); i++) {
      if (i > 0) this.text += ', '
      this.item()
      if (!isMap) continue
      this.text += ': '
      this.item()
    }
    this.text += isMap ? '}' : ']'
  }

  #chunks(major: number): void {
    const start = this.text.length
    for (let i = 0; !this.#isEnough && this.#in.hasMore(undefined, i); i++) {
      this.text += i === 0 ? '(_ ' : ', '
      this.item()
    }
    this.text += this.text.length > start ? ')' : major === MAJOR.bytes ? `''_` : `""_`
  }
}

function string(bytes: Buffer, major: number): string {
  if (bytes.length > LIMITS.errorTextLength) return string(bytes.subarray(0, LIMITS.errorTextLength), major)
  const text = bytes.toString()
  if (major === MAJOR.text) return quoted(text, '"')
  // A byte that is no text is replaced by three.
  return bytes.length > 0 && Buffer.byteLength(text) === bytes.length ? quoted(text, "'") : `h'${bytes.toString('hex')}'`
}

const SHORT: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\' }

const quoted = (text: string, quote: string): string =>
  quote + text.replace(/[^ -~]|["'\\]/g, char => (char === quote ? `\\${quote}` : (SHORT[char] ?? escaped(char)))) + quote

/** Quotes of the other kind stay as they are. */
const escaped = (char: string) => (char === '"' || char === "'" ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const SIMPLE: Readonly<Record<number, string>> = { 244: 'false', 245: 'true', 246: 'null', 247: 'undefined' }
/** The initial byte of a float of half precision; those of others follow. */
const FIRST_FLOAT = 0xf9

function simple(cursor: CborCursor): string {
  const { initial } = cursor
  if (initial >= FIRST_FLOAT) return floatText(cursor.float())
  const argument = cursor.head()
  return SIMPLE[initial] ?? `simple(${argument})`
}
