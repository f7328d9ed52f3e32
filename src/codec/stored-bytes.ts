/**
 * The bytes of an object: JSON, made once per write, and then stored, cached, sent and watched as they are.
 *
 * A write learns its revision only when it is done, so the bytes that are stored have an empty resourceVersion, and the revision
 * is put in afterwards. A config map, written as revision 42 and deleted as revision 57:
 *
 *     encodeStored(object)            {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"1f…","resourceVersion":"","labels":…},"data":…}
 *     revisionOffset(stored)                                                                           here ──┘
 *     withRevision(stored, 42)        {"kind":"ConfigMap",…,"resourceVersion":"42","labels":…           the cache, and every answer
 *     replaceRevision(sent, …)        {"kind":"ConfigMap",…,"resourceVersion":"57","labels":…           the event of the deletion
 *     withoutRevision(stored)         {"kind":"ConfigMap",…,"uid":"1f…","labels":…                      a create as a dry run
 *
 * Kind, apiVersion and metadata come first, and in metadata only texts precede the resourceVersion. So the first
 * `"resourceVersion":""` in the bytes is always that of the object: inside a text its quotes would be escaped.
 */
import { copyAsWritten } from '../lib/handed-over.ts'
import { setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { tooLarge } from '../schema/status-error.ts'
import { MANY_KEYS, tooManyValues, type ValueLimit } from './decoded-size.ts'
import { parseJson, stringifyJson } from './json.ts'

const EMPTY_REVISION = Buffer.from('"resourceVersion":""')
const DIGITS = EMPTY_REVISION.length - 1
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const CLOSE_BRACE = 0x7d
const CLOSE_BRACKET = 0x5d

/** The bytes to store: the resourceVersion is empty, whatever the object says. */
export const encodeStored = (object: AnyObject): Buffer => encodeObject(object, '')

/** The bytes to store for a client's write. Throws a StatusError when they are too many, or hold too many values. */
export function encodeWrite(object: AnyObject, limit: ValueLimit): Buffer {
  const bytes = encodeStored(object)
  if (bytes.byteLength > LIMITS.storedObjectBytes) throw tooLarge(`Request entity too large: limit is ${LIMITS.storedObjectBytes}`)
  // The smallest value takes two bytes, with its comma, and a key with its value six.
  const leastBytes = limit.values * Math.min(2, 6 / limit.keyWeight)
  if (bytes.byteLength > leastBytes && countValues(bytes, limit.keyWeight) > limit.values) throw tooManyValues(limit.values)
  return bytes
}

/**
 * How many values the bytes hold: each but the first of a list or mapping follows a comma; an empty one has no first. Keys of large
 * mappings count as several (`decoded-size.ts`).
 */
function countValues(bytes: Uint8Array, keyWeight: number): number {
  let values = 1
  // Those of the list or mapping that is being read, and of those around it, negative for lists.
  const around: number[] = []
  let inside = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      for (i++; bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
    } else if (byte === COMMA) {
      values++
      inside += inside < 0 ? -1 : 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      const isEmpty = bytes[i + 1] === CLOSE_BRACE || bytes[i + 1] === CLOSE_BRACKET
      if (!isEmpty) values++
      around.push(inside)
      inside = byte === OPEN_BRACE ? 1 : -1
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (inside > MANY_KEYS) values += (keyWeight - 1) * inside
      inside = around.pop()!
    }
  }
  return values
}

/** The bytes of an object that is sent and not stored, in the same order of fields; with the resourceVersion it has, if any. */
export function encodeObject(object: AnyObject, resourceVersion: string | undefined = object.metadata.resourceVersion): Buffer {
  const { kind, apiVersion, metadata } = object
  const { name, generateName, namespace, uid } = metadata
  // Undefined fields are not written. Loops, as V8 takes long to make an object from the other fields of another one.
  const ordered: Record<string, unknown> = {
    name,
    generateName: generateName || undefined,
    namespace: namespace || undefined,
    uid,
    resourceVersion,
  }
  for (const field in metadata) if (!LEADING.has(field)) setOwn(ordered, field, metadata[field as keyof typeof metadata])
  const whole: Record<string, unknown> = { kind, apiVersion, metadata: ordered }
  for (const field in object) if (field !== 'kind' && field !== 'apiVersion' && field !== 'metadata') setOwn(whole, field, object[field])
  return Buffer.from(stringifyJson(whole as never))
}
/** Fields of metadata that come first, or are never written. */
const LEADING: ReadonlySet<string> = new Set(['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion'])

/** The object that bytes hold, which this server has written. Big integers are exact. */
export function parseObject(bytes: Uint8Array): AnyObject {
  const text = bufferOf(bytes).toString('utf8')
  if (!mayBeInexact(text))
    try {
      return JSON.parse(text) as AnyObject
    } catch {}
  return parseJson(text, { trusted: true }).value as unknown as AnyObject
}

/** The object that `parseObject` would read from the bytes of an object with its revision: a copy of its own. */
export function asStored(object: AnyObject, revision: number): AnyObject {
  const copy = copyAsWritten(object)
  const { metadata } = copy
  metadata.resourceVersion = String(revision)
  // These are not written either.
  if (!metadata.generateName) delete metadata.generateName
  if (!metadata.namespace) delete metadata.namespace
  delete (metadata as { selfLink?: string }).selfLink
  return copy
}

/** Digits from which on a number may be past the safe range. */
const MANY_DIGITS = 15

/**
 * Whether JSON.parse may read a text otherwise than it was written: a long number, or a lone surrogate. As many digits in a row as that
 * include one whose place is a multiple of their number, so that only few characters are looked at.
 */
function mayBeInexact(text: string): boolean {
  for (let i = MANY_DIGITS - 1; i < text.length; i += MANY_DIGITS) {
    if (!isDigit(text.charCodeAt(i))) continue
    let first = i
    let last = i
    while (isDigit(text.charCodeAt(first - 1))) first--
    while (isDigit(text.charCodeAt(last + 1))) last++
    if (last - first + 1 >= MANY_DIGITS) return true
  }
  return text.includes('\\ud')
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Where the digits of the revision belong; -1 when the bytes have no empty resourceVersion. */
export function revisionOffset(stored: Buffer): number {
  const start = stored.indexOf(EMPTY_REVISION)
  return start < 0 ? -1 : start + DIGITS
}

/** The bytes of a stored object with its revision. */
export function withRevision(stored: Uint8Array, revision: number, offset?: number, allocate = ofItsOwn): Buffer {
  const bytes = bufferOf(stored)
  return splice(bytes, offset ?? revisionOffset(bytes), { removed: 0, revision, allocate })
}

/** The bytes of a stored object with the revision that it is going to have, as far as can be told: made while it is being stored. */
export class ExpectedBytes {
  readonly offset: number
  readonly #stored: Buffer
  readonly #expected: number
  readonly #bytes: Buffer

  private constructor(stored: Buffer, offset: number, expected: number) {
    this.offset = offset
    this.#stored = stored
    this.#expected = expected
    this.#bytes = withRevision(stored, expected, offset)
  }

  /** Undefined where the bytes have no place for a revision. */
  static of(stored: Uint8Array, expected: number): ExpectedBytes | undefined {
    const bytes = bufferOf(stored)
    const offset = revisionOffset(bytes)
    return offset < 0 ? undefined : new ExpectedBytes(bytes, offset, expected)
  }

  /** The same as `withRevision`; to be called once, as the bytes are corrected where they are. */
  at(revision: number): Buffer {
    if (revision === this.#expected) return this.#bytes
    const digits = String(revision)
    if (digits.length !== String(this.#expected).length) return withRevision(this.#stored, revision, this.offset)
    this.#bytes.write(digits, this.offset, 'latin1')
    return this.#bytes
  }
}

/** Bytes that have a revision at this offset, with another one. */
export const replaceRevision = (bytes: Buffer, offset: number, { from, to }: { readonly from: number; readonly to: number }): Buffer =>
  splice(bytes, offset, { removed: String(from).length, revision: to, allocate: ofItsOwn })

/** The bytes of a stored object without a resourceVersion, as a dry run answers a create. */
export function withoutRevision(stored: Uint8Array): Buffer {
  const bytes = bufferOf(stored)
  const start = bytes.indexOf(EMPTY_REVISION)
  const end = start + EMPTY_REVISION.length
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(bytes[end] === COMMA ? end + 1 : end)])
}

/** The same bytes as a Buffer, not copied. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Not from the shared pool: cached bytes live long, and a pooled slice would keep its whole 8 KiB alive. */
const ofItsOwn = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes)

type Splice = { readonly removed: number; readonly revision: number; readonly allocate: (bytes: number) => Buffer }

function splice(bytes: Buffer, offset: number, { removed, revision, allocate }: Splice): Buffer {
  const digits = String(revision)
  const out = allocate(bytes.length - removed + digits.length)
  bytes.copy(out, 0, 0, offset)
  out.write(digits, offset, 'latin1')
  bytes.copy(out, offset + digits.length, offset + removed)
  return out
}
