/** Metadata alone: PartialObjectMetadata cut out of an object's bytes, without decoding it. */
import type { JsonObject } from '../lib/json-value.ts'
import type { Resource } from '../schema/resource.ts'
import { parseJson, stringifyJson } from './json.ts'

/** The JSON of an object's metadata with the kind `PartialObjectMetadata` in the given version of the meta group. */
export function metadataOnly(resource: Resource, json: Uint8Array, apiVersion: string): Buffer {
  const { bodyAnnotations } = resource.def
  const metadata = bodyAnnotations === undefined ? metadataOf(json) : withoutAnnotations(metadataOf(json), bodyAnnotations)
  return Buffer.concat([Buffer.from(`{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":`), metadata, CLOSE])
}

function withoutAnnotations(metadata: Uint8Array, names: readonly string[]): Uint8Array {
  const { annotations, ...rest } = parseJson(metadata, { trusted: true }).value as JsonObject & { annotations?: JsonObject }
  const kept = Object.entries(annotations ?? {}).filter(([name]) => !names.includes(name))
  return Buffer.from(stringifyJson(kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) }))
}

const CLOSE = Buffer.from('}')
const EMPTY = Buffer.from('{}')
const KEY = Buffer.from('"metadata":')
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/** The bytes of the top-level member `metadata` of an object in compact JSON; `{}` when it has none. */
export function metadataOf(json: Uint8Array): Uint8Array {
  let at = 1
  while (at < json.length && json[at] === QUOTE) {
    const found = startsWith(json, KEY, at)
    const value = skipString(json, at) + 1
    const end = skipValue(json, value)
    if (found) return json.subarray(value, end)
    at = json[end] === COMMA ? end + 1 : json.length
  }
  return EMPTY
}

function startsWith(json: Uint8Array, text: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (json[at + i] !== text[i]) return false
  return true
}

/** The offset after the string that begins at `at`. */
function skipString(json: Uint8Array, at: number): number {
  for (let i = at + 1; i < json.length; i++) {
    if (json[i] === BACKSLASH) i++
    else if (json[i] === QUOTE) return i + 1
  }
  return json.length
}

/** The offset after the value that begins at `at`. */
function skipValue(json: Uint8Array, at: number): number {
  let depth = 0
  for (let i = at; i < json.length; i++) {
    const byte = json[i]
    if (byte === QUOTE) i = skipString(json, i) - 1
    else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth-- === 0) return i
    } else if (byte === COMMA && depth === 0) return i
  }
  return json.length
}
