// JSON in and out: JSON.parse when a scan proves it exact, the exact reader otherwise.

import type { Json } from '../lib/json-value.ts'
import { writtenText } from '../lib/written-number.ts'
import { tooManyValues } from './decoded-size.ts'
import { MAX_DEPTH, type Parsed, type ReadOptions, readJson } from './json-reader.ts'

export { JsonError, JsonRangeError, MAX_DEPTH, type Parsed } from './json-reader.ts'

/**
 * Parses one JSON document as the API server does: the last of duplicate keys wins and each is reported, integers past
 * 2^53 are bigints, broken UTF-8 and surrogates become U+FFFD. Throws JsonError with Go's message. Written numbers are for those
 * who conform the value to a type at once, and know how to `settleNumbers`. `nodes` limits how many values there may be.
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
  // Fewer members in the value than in the text means that keys were repeated.
  return countKeys(value) === members ? { value, duplicates: NO_DUPLICATES } : readJson(text, options)
}

const NO_DUPLICATES: Parsed['duplicates'] = []

/** Colons outside strings, or -1 when the document holds something JSON.parse would read inexactly or too deep. */
function countMembers(text: string, { numbers, nodes = Number.POSITIVE_INFINITY }: ReadOptions): number {
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
          // \ud8.. to \udf..: a surrogate, perhaps a lone one.
          if (text.charCodeAt(i) === 0x75 && (text.charCodeAt(i + 1) | 0x20) === 0x64) return -1
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
  if (values > nodes) throw tooManyValues(nodes)
  return members
}

function countKeys(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i]
      if (typeof item === 'object') keys += countKeys(item as Json)
    }
  } else {
    for (const key in value) {
      keys++
      const item = value[key]
      if (typeof item === 'object') keys += countKeys(item as Json)
    }
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
    if (error instanceof TypeError) return write(value, '', '')
    throw error
  }
}

/** The JSON text of a value indented by two spaces, as `?pretty` answers. */
export function stringifyPretty(value: Json): string {
  try {
    return JSON.stringify(value, null, 2)
  } catch (error) {
    if (error instanceof TypeError) return write(value, '  ', '\n')
    throw error
  }
}

/** Writes a value that JSON.stringify cannot; `line` is what starts a line at the current depth, empty for compact text. */
function write(value: Json, indent: string, line: string): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return writtenText(value) ?? JSON.stringify(value)
  const inner = line + indent
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[${inner}${value.map(item => write(item, indent, inner)).join(`,${inner}`)}${line}]`
  }
  const colon = indent === '' ? ':' : ': '
  const members: string[] = []
  for (const key of Object.keys(value)) {
    const item = value[key]
    if (item !== undefined) members.push(JSON.stringify(key) + colon + write(item, indent, inner))
  }
  return members.length === 0 ? '{}' : `{${inner}${members.join(`,${inner}`)}${line}}`
}
