/** The records of one built-in kind: from what etcd holds to stored bytes, and back. */
import { parseJson, stringifyJson } from '../codec/json.ts'
import { fromProtobuf } from '../codec/protobuf-decode.ts'
import { type Around, toCompleteProtobuf } from '../codec/protobuf-encode.ts'
import { type Enveloped, envelope, isEnveloped, openEnvelope } from '../codec/protobuf-envelope.ts'
import { ProtobufError } from '../codec/protobuf-reader.ts'
import { type JsonOfProtobuf, jsonOfProtobuf } from '../codec/protobuf-to-json.ts'
import { encodeStored, parseObject } from '../codec/stored-bytes.ts'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { ConformError, conform } from '../schema/conform.ts'
import { fillDefaults, hasDefaults } from '../schema/defaults.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import type { AnyType } from '../schema/types.ts'
import type { Decoded } from '../storage/etcd/record-format.ts'
import { bytesOf, type Value } from '../storage/store.ts'
import { fromV1beta1, toV1beta1 } from './definition-v1beta1.ts'
import { structJson } from './go-json.ts'
import type { Layout } from './layout.ts'

/** How the records of a kind are read and written. */
export interface StoredKind {
  decode(stored: Uint8Array): Decoded
  /** `object` is what the value holds, where that is known. */
  encode(value: Value, object?: AnyObject): Uint8Array
}

/** What stored bytes need to know of a kind. */
export type Described = { readonly kind: string; readonly apiVersion: string; readonly type: AnyType }

export type StoredKindOptions = {
  readonly layout: Layout
  /** Fills what the kind's own defaults are; records from before a default was there have it when they are read. */
  readonly setDefaults?: (object: AnyObject) => void
  /** Other served versions, whose records are converted. */
  readonly versions?: readonly Resource[]
}

/** A reason why a record cannot be read. */
class Unreadable extends Error {}

export function storedKind(described: Described, options: StoredKindOptions): StoredKind {
  const { layout } = options
  return layout.encoding === 'json' ? new JsonKind(described, options) : new ProtobufKind(described, options)
}

/** Runs what reads a record; what is wrong with the record becomes its fault. */
function reading(read: () => Buffer): Decoded {
  try {
    return { value: read() }
  } catch (error) {
    // Limits of sizes are StatusErrors.
    if (error instanceof Unreadable || error instanceof ProtobufError || error instanceof ConformError || error instanceof StatusError)
      return { fault: error.message }
    if (error instanceof Error && (error.name === 'JsonError' || error instanceof SyntaxError)) return { fault: error.message }
    throw error
  }
}

class ProtobufKind implements StoredKind {
  readonly #described: Described
  readonly #options: StoredKindOptions
  /** What every record that kube-apiserver writes today begins with. */
  readonly #head: Buffer
  /** The envelope of a record. */
  readonly #around: Around
  readonly #hasDefaults: boolean
  #toJson: JsonOfProtobuf | undefined

  constructor(described: Described, options: StoredKindOptions) {
    this.#described = described
    this.#options = options
    this.#hasDefaults = options.setDefaults !== undefined || hasDefaults(described.type)
    const { apiVersion } = options.layout
    const empty = envelope({ kind: described.kind, apiVersion }, new Uint8Array(0))
    // Up to the length of the message, which comes next.
    this.#head = empty.subarray(0, -1 - TAIL_LENGTH)
    // The head ends with the tag of the message.
    this.#around = { before: this.#head.subarray(0, -1), number: MESSAGE, after: TAIL }
  }

  decode(stored: Uint8Array): Decoded {
    return this.#decodeUsual(stored) ?? reading(() => this.#decodeAny(stored))
  }

  encode(value: Value, object: AnyObject = parseObject(bytesOf(value))): Uint8Array {
    return toCompleteProtobuf(this.#described.type, asKept(object), this.#around)
  }

  /** The fast way, for records as kube-apiserver writes them. */
  #decodeUsual(stored: Uint8Array): Decoded | undefined {
    const head = this.#head
    for (let i = 0; i < head.length; i++) if (stored[i] !== head[i]) return undefined
    let at = head.length
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = stored[at++]
      if (byte === undefined || shift > 21) return undefined
      length |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    // An empty encoding and an empty content type are all that comes after the message.
    const end = at + length
    if (stored.length !== end + TAIL_LENGTH || stored[end] !== 0x1a || stored[end + 1] !== 0 || stored[end + 2] !== 0x22) return undefined
    this.#toJson ??= this.#compile()
    const value = this.#toJson(stored, at, end)
    if (value === undefined) return undefined
    if (!this.#hasDefaults) return { value }
    try {
      return withDefaults(value, this.#described, this.#options)
    } catch {
      // Something inside is not JSON: the general decoder says what.
      return undefined
    }
  }

  #compile(): JsonOfProtobuf {
    const { kind, apiVersion, type } = this.#described
    const head = `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`
    return jsonOfProtobuf(type, { head, metadata: { selfLink: '', resourceVersion: '"resourceVersion":""' } }) ?? (() => undefined)
  }

  #decodeAny(stored: Uint8Array): Buffer {
    const { type } = this.#described
    if (!isEnveloped(stored)) {
      // kube-apiserver can be configured to store JSON, and always reads it.
      if (stored[0] === OPEN_BRACE) return storedBytes(readJson(stored, this.#described, this.#options), this.#described, this.#options)
      throw new Unreadable(unknownEncoding(stored))
    }
    const opened = openEnvelope(stored)
    const other = versionOf(opened, this.#described, this.#options)
    if (other) return storedBytes(convertedFrom(other, fromProtobuf(other.type, opened.raw)), this.#described, this.#options)
    return storedBytes(fromProtobuf(type, opened.raw), this.#described, this.#options)
  }
}
/** A record does not hold its own revision. A new object has none, and need not be copied. */
function asKept(object: AnyObject): AnyObject {
  if (object.metadata.resourceVersion === undefined && object.metadata.selfLink === undefined) return object
  const { resourceVersion: _, selfLink: __, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** The field of the envelope that the message is. */
const MESSAGE = 2
/** An empty encoding and an empty content type. */
const TAIL = Buffer.from([0x1a, 0, 0x22, 0])
const TAIL_LENGTH = TAIL.length
const OPEN_BRACE = 0x7b

/** Kinds that are stored as JSON. Only definitions are stored in another version than the one that is served. */
class JsonKind implements StoredKind {
  readonly #described: Described
  readonly #options: StoredKindOptions

  constructor(described: Described, options: StoredKindOptions) {
    this.#described = described
    this.#options = options
  }

  decode(stored: Uint8Array): Decoded {
    return reading(() => {
      if (stored[0] !== OPEN_BRACE) throw new Unreadable(unknownEncoding(stored))
      return storedBytes(readJson(stored, this.#described, this.#options), this.#described, this.#options)
    })
  }

  encode(value: Value): Uint8Array {
    // Not from the object: the order of members is that of the bytes.
    const { kind, apiVersion, metadata, ...others } = parseObject(bytesOf(value))
    const { resourceVersion: _, ...kept } = metadata
    const ordered = { kind, apiVersion, metadata: kept, ...others } as unknown as JsonObject
    return structJson(this.#options.layout.apiVersion.endsWith('/v1beta1') ? toV1beta1(ordered) : ordered)
  }
}

/** The stored bytes of a value that was read from a record. */
function storedBytes(value: JsonObject, described: Described, options: StoredKindOptions): Buffer {
  const { kind, apiVersion, type } = described
  const object = { ...conform(type, value).value, kind, apiVersion } as AnyObject
  fillDefaults(type, object)
  options.setDefaults?.(object)
  return encodeStored(object)
}

/** Fills defaults that a record lacks, because it was written before they were there. */
function withDefaults(value: Buffer, { type }: Described, { setDefaults }: StoredKindOptions): Decoded {
  const object = JSON.parse(value.toString()) as AnyObject
  const before = countMembers(object)
  fillDefaults(type, object)
  setDefaults?.(object)
  if (countMembers(object) === before) return { value, object }
  // Again from the text, where all numbers are exact.
  const exact = parseObject(value)
  fillDefaults(type, exact)
  setDefaults?.(exact)
  return { value: encodeStored(exact) }
}

/** How many values there are that are not null: defaults only ever add some. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += typeof item === 'object' ? countMembers(item) : 0
  else
    for (const name in value) {
      const member = (value as Record<string, unknown>)[name]
      if (member === null) continue
      count++
      if (typeof member === 'object') count += countMembers(member)
    }
  return count
}

function readJson(stored: Uint8Array, described: Described, options: StoredKindOptions): JsonObject {
  const { value } = parseJson(stored)
  if (!isObject(value)) throw new Unreadable(`couldn't get version/kind; json parse error: the record is no object`)
  const { kind = '', apiVersion = '' } = value as Record<string, string>
  const other = versionOf({ kind, apiVersion }, described, options)
  if (other) return convertedFrom(other, value)
  // Of all kinds that are stored as JSON only definitions have an older version.
  return options.layout.encoding === 'json' && apiVersion.endsWith('/v1beta1') ? fromV1beta1(value) : value
}

/** The other served version that a record is in; undefined when it is in the stored one. Refuses what is neither. */
function versionOf(
  { kind, apiVersion }: Pick<Enveloped, 'kind' | 'apiVersion'>,
  described: Described,
  { layout, versions = [] }: StoredKindOptions,
): Resource | undefined {
  if (kind === described.kind) {
    if (apiVersion === layout.apiVersion || layout.alsoWrittenAs.includes(apiVersion)) return undefined
    const other = versions.find(version => version.conversion && version.apiVersion === apiVersion)
    if (other) return other
  }
  throw new Unreadable(`no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`)
}

function convertedFrom(version: Resource, value: JsonObject): JsonObject {
  const object = conform(version.type, value).value as AnyObject
  // Through text: what is undefined is absent there.
  return JSON.parse(stringifyJson(version.conversion!.toStored(object) as unknown as Json)) as JsonObject
}

/** What kube-apiserver says of bytes that it cannot tell. */
const unknownEncoding = (stored: Uint8Array) =>
  stored.length === 0
    ? 'the record is empty'
    : `yaml: the record is neither protobuf nor JSON; it begins with ${goQuote(Buffer.from(stored.subarray(0, 16)).toString('latin1'))}`
