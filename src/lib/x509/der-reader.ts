/** Reads DER, ASN.1's distinguished encoding, element by element. Malformed input throws a DerError in the words of Go's encoding/asn1. */

export class DerError extends Error {}

/** One element: its identifier byte, its content and all its bytes. */
export type Element = { readonly tag: number; readonly content: Buffer; readonly raw: Buffer }

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** The tag of a value under a context-specific number, `constructed` when it holds further elements. */
export const contextTag = (number: number, { constructed = true } = {}): number => (constructed ? 0xa0 : 0x80) | number

/** The first element, and the bytes after it. */
export function readElement(bytes: Buffer): { element: Element; rest: Buffer } {
  if (bytes.length === 0) throw syntax('sequence truncated')
  const tag = bytes[0]!
  // Certificates have no tag beyond 30, the largest that fits the first byte.
  if ((tag & 0x1f) === 0x1f) throw structure('tag too large')
  const { length, start } = readLength(bytes)
  const end = start + length
  if (end > bytes.length) throw syntax('data truncated')
  return { element: { tag, content: bytes.subarray(start, end), raw: bytes.subarray(0, end) }, rest: bytes.subarray(end) }
}

/** The only element of the bytes; errors name it `what`. */
export function readWhole(bytes: Buffer, tag: number, what: string): Element {
  const { element, rest } = readElement(bytes)
  expectTag(element, tag, what)
  if (rest.length > 0) throw syntax('trailing data')
  return element
}

/** The elements inside a constructed one. */
export function childrenOf({ content }: Element): Element[] {
  const children: Element[] = []
  for (let rest = content; rest.length > 0; ) {
    const next = readElement(rest)
    children.push(next.element)
    rest = next.rest
  }
  return children
}

/** Reads a sequence with known parts, one after the other. */
export class Parts {
  #parts: readonly Element[]
  #at = 0

  constructor(sequence: Element) {
    this.#parts = childrenOf(sequence)
  }

  /** The next part, which is required. */
  take(tag: number, what: string): Element {
    const part = this.takeAny()
    expectTag(part, tag, what)
    return part
  }

  /** The next part, whatever its tag. */
  takeAny(): Element {
    const part = this.#parts[this.#at++]
    if (part === undefined) throw syntax('sequence truncated')
    return part
  }

  /** Whether nothing follows. */
  get isAtEnd(): boolean {
    return this.#at >= this.#parts.length
  }

  /** The next part if it has this tag. */
  takeIf(tag: number): Element | undefined {
    return this.#parts[this.#at]?.tag === tag ? this.takeAny() : undefined
  }
}

/** An object identifier in its dotted form. */
export function oidText({ content }: Element): string {
  if (content.length === 0) throw syntax('zero length OBJECT IDENTIFIER')
  const arcs: number[] = []
  let arc = 0
  for (const [i, byte] of content.entries()) {
    arc = arc * 128 + (byte & 0x7f)
    if (!Number.isSafeInteger(arc)) throw structure('base 128 integer too large')
    if (byte & 0x80) {
      if (i === content.length - 1) throw syntax('truncated base 128 integer')
      continue
    }
    if (arcs.length > 0) arcs.push(arc)
    else arcs.push(Math.min(Math.floor(arc / 40), 2), arc - Math.min(Math.floor(arc / 40), 2) * 40)
    arc = 0
  }
  return arcs.join('.')
}

/** The bytes of a bit string of whole bytes. */
export function bitsOf({ content }: Element): Buffer {
  const unused = content[0]
  if (unused === undefined) throw syntax('zero length BIT STRING')
  const isPadded = unused > 7 || (content.at(-1)! & ((1 << unused) - 1)) !== 0
  if (content.length === 1 ? unused > 0 : isPadded) throw syntax('invalid padding bits in BIT STRING')
  return content.subarray(1)
}

/** A truth value. */
export function booleanOf({ content }: Element): boolean {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw syntax('invalid boolean')
  return content[0] === 0xff
}

/** A signed integer. */
export function integerOf({ content }: Element): bigint {
  const [first, second = 0] = content
  if (first === undefined) throw structure('empty integer')
  const isLonger = content.length > 1 && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (isLonger) throw structure('integer not minimally-encoded')
  return BigInt.asIntN(content.length * 8, BigInt(`0x${content.toString('hex')}`))
}

/** A non-negative integer. */
export function countOf(element: Element): number {
  const value = integerOf(element)
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw structure('integer too large')
  return Number(value)
}

/** The time of a UTCTime or GeneralizedTime in the form of certificates: in UTC, with seconds. */
export function timeOf({ tag, content }: Element): Date {
  const text = content.toString('latin1')
  const match = (tag === TAG.utcTime ? UTC_TIME : tag === TAG.generalizedTime ? GENERALIZED_TIME : NEVER).exec(text)
  if (!match) throw structure('time is malformed')
  const [, year = '', month, day, hour, minute, second] = match
  const century = year.length === 4 ? '' : Number(year) < 50 ? '20' : '19'
  const iso = `${century}${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const moment = new Date(iso)
  // A day beyond the end of its month would be read as one of the next month.
  if (Number.isNaN(moment.getTime()) || moment.toISOString() !== iso) throw structure('time is malformed')
  return moment
}

const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
const GENERALIZED_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
const NEVER = /^(?!)/

function readLength(bytes: Buffer): { length: number; start: number } {
  const first = bytes[1]
  if (first === undefined) throw syntax('truncated tag or length')
  if (first < 0x80) return { length: first, start: 2 }
  const size = first & 0x7f
  if (size === 0) throw syntax('indefinite length found (not DER)')
  if (bytes.length < 2 + size) throw syntax('truncated tag or length')
  if (bytes[2] === 0) throw structure('superfluous leading zeros in length')
  if (size > 4) throw structure('length too large')
  const length = bytes.readUIntBE(2, size)
  if (length < 0x80) throw structure('non-minimal length')
  return { length, start: 2 + size }
}

function expectTag({ tag, content, raw }: Element, expected: number, what: string): void {
  if (tag === expected) return
  const found = `{class:${tag >> 6} tag:${tag & 0x1f} length:${content.length} isCompound:${(tag & 0x20) !== 0}}`
  throw structure(`tags don't match (${expected & 0x1f} vs ${found}) ${NO_PARAMETERS} ${what} @${raw.length - content.length}`)
}

/** Go's message for a field without parameters. */
const NO_PARAMETERS =
  '{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}'

const syntax = (message: string) => new DerError(`asn1: syntax error: ${message}`)
const structure = (message: string) => new DerError(`asn1: structure error: ${message}`)
