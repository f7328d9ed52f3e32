// JSON in and out: JSON.parse when a scan proves it exact, the exact reader otherwise.

import type { Json, JsonObject } from '../lib/json-value.ts'
import { writtenText } from '../lib/written-number.ts'
import { limitValues, MANY_KEYS, tooManyValues } from './decoded-size.ts'
import { MAX_DEPTH, type Parsed, type ReadOptions, readJson } from './json-reader.ts'

export { JsonError, JsonRangeError, MAX_DEPTH, type Parsed } from './json-reader.ts'

/**
 * Parses one JSON document as the API server does: the last of duplicate keys wins and each is reported, integers past
 * 2^53 are bigints, broken UTF-8 and surrogates become U+FFFD. Throws JsonError with Go's message. Written numbers are for callers
 * that conform the value to a type at once, and know how to `settleNumbers`. `limit` says how many values there may be.
 */
export function parseJson(source: string | Uint8Array, options: ReadOptions = {}): Parsed {
  const text = typeof source === 'string' ? source : Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('utf8')
  const members = countMembers(text, options)
  if (members < 0) return readJson(text, options)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return readJson(text, options)
  }
  if (options.trusted) return { value, duplicates: NO_DUPLICATES }
  const counted: Counted = { inLarge: 0 }
  // Fewer members in the value than in the text means that keys were repeated.
  if (countKeys(value, counted) !== members) return readJson(text, options)
  const { limit } = options
  if (limit !== undefined && counted.inLarge > 0) limitValues(value as JsonObject, limit)
  return { value, duplicates: NO_DUPLICATES }
}

/** The keys of large mappings. */
type Counted = { inLarge: number }

const NO_DUPLICATES: Parsed['duplicates'] = []

/** Colons outside strings, or -1 when the document holds something JSON.parse would read inexactly or too deep. */
function countMembers(text: string, { numbers, limit }: ReadOptions): number {
  const end = text.length
  const point = numbers === 'written' ? 0x2e : -1
  let members = 0
  let depth = 0
  // Every value but the first of a list or mapping follows a comma; an empty one has no first.
  let values = 1
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) {
      for (i++; i < end; i++) {
        const inner = text.charCodeAt(i)
        if (inner === 0x22) break
        if (inner === 0x5c) {
          i++
          // \ud8.. to \udf..: a surrogate, which must not be a lone one.
          if (text.charCodeAt(i) === 0x75 && (text.charCodeAt(i + 1) | 0x20) === 0x64 && text.charCodeAt(i + 2) > 0x37) {
            if (!isPairAt(text, i - 1)) return -1
            i += 10
          }
        }
      }
    } else if (code === 0x3a) members++
    else if (code === 0x2c) values++
    else if (code === 0x7b || code === 0x5b) {
      const next = text.charCodeAt(i + 1)
      if (next !== 0x7d && next !== 0x5d) values++
      if (++depth > MAX_DEPTH) return -1
    } else if (code === 0x7d || code === 0x5d) depth--
    else if (code >= 0x30 && code <= 0x39) {
      const start = i
      let next = text.charCodeAt(i + 1)
      while (next >= 0x30 && next <= 0x39) next = text.charCodeAt(++i + 1)
      // Sixteen digits may be past the safe range; an exponent may overflow; a fraction may have to stay as it was written.
      if (i - start >= 15 || (next | 0x20) === 0x65 || next === point) return -1
    }
  }
  if (limit !== undefined && values > limit.values) throw tooManyValues(limit.values)
  return members
}

/** Whether two escapes that make up one character begin there. */
function isPairAt(text: string, start: number): boolean {
  PAIR.lastIndex = start
  return PAIR.test(text)
}
const PAIR = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y

function countKeys(value: Json, counted: Counted): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i]
      if (typeof item === 'object') keys += countKeys(item as Json, counted)
    }
  } else {
    let own = 0
    for (const key in value) {
      own++
      const item = value[key]
      if (typeof item === 'object') keys += countKeys(item as Json, counted)
    }
    if (own > MANY_KEYS) counted.inLarge += own
    keys += own
  }
  return keys
}

/**
 * The compact JSON text of a value. The API server also escapes `<`, `>`, `&`, U+2028 and U+2029 (the default of Go's
 * encoder, made for HTML); that is the same JSON to every client, so the native writer's plain form is kept for speed.
 */
export function stringifyJson(value: Json): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // JSON.stringify refuses bigints; they are rare enough to be found out by its refusal.
    if (error instanceof TypeError) return joined(jsonChunks(value, COMPACT))
    throw error
  }
}

/** The JSON text of a value indented by two spaces, as `?pretty` answers. */
export function stringifyPretty(value: Json): string {
  try {
    return JSON.stringify(value, null, 2)
  } catch (error) {
    if (error instanceof TypeError) return joined(prettyChunks(value))
    throw error
  }
}

/** The same in parts, each made when it is asked for; `line` is what begins the lines after the first. */
export const prettyChunks = (value: Json, line = '\n'): Generator<string, undefined> =>
  jsonChunks(value, { line, indent: '  ', colon: ': ' })

function joined(chunks: Iterable<string>): string {
  let text = ''
  for (const chunk of chunks) text += chunk
  return text
}

/** The layout of JSON text; all empty but the colon for compact text. */
type Layout = { readonly line: string; readonly indent: string; readonly colon: string }

const COMPACT: Layout = { line: '', indent: '', colon: ':' }

/** Characters after which the text so far is handed out. */
const CHUNK_LENGTH = 16 * 1024

/** A list or object that is being written: its next part, and the text that begins its lines. */
type Frame = { readonly value: Json[] | JsonObject; readonly keys: readonly string[] | undefined; next: number; readonly line: string }

/** The text of a value that JSON.stringify cannot write, or not at once. */
function* jsonChunks(value: Json, { line, indent, colon }: Layout): Generator<string, undefined> {
  // Not recursive: a generator within a thousand others would be asked through all of them for every part.
  const stack: Frame[] = []
  let text = ''
  const write = (item: Json, outer: string) => {
    if (typeof item !== 'object' || item === null) text += scalarText(item)
    else if (Array.isArray(item)) {
      text += '['
      stack.push({ value: item, keys: undefined, next: 0, line: outer + indent })
    } else {
      text += '{'
      stack.push({ value: item, keys: Object.keys(item).filter(key => item[key] !== undefined), next: 0, line: outer + indent })
    }
  }
  write(value, line)
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const { value: around, keys } = frame
    const index = frame.next++
    if (index >= (keys ?? (around as Json[])).length) {
      stack.pop()
      text += `${index === 0 ? '' : (stack.at(-1)?.line ?? line)}${keys ? '}' : ']'}`
      continue
    }
    text += index === 0 ? frame.line : `,${frame.line}`
    const key = keys?.[index]
    if (key !== undefined) text += JSON.stringify(key) + colon
    write(key === undefined ? (around as Json[])[index]! : (around as JsonObject)[key]!, frame.line)
    if (text.length >= CHUNK_LENGTH) {
      yield text
      text = ''
    }
  }
  yield text
}

const scalarText = (value: Json): string =>
  typeof value === 'bigint' ? value.toString() : (writtenText(value) ?? JSON.stringify(value) ?? 'null')
