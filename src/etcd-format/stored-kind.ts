/** The records of one built-in kind: from what etcd holds to stored bytes, and back. */
import { JsonError, parseJson, stringifyJson } from '../codec/json.ts'
import { fromProtobuf, type ProtobufOptions } from '../codec/protobuf-decode.ts'
import { type Around, toCompleteProtobuf } from '../codec/protobuf-encode.ts'
import { type Enveloped, envelope, isEnveloped, openEnvelope } from '../codec/protobuf-envelope.ts'
import { DELIMITED, ProtobufError } from '../codec/protobuf-reader.ts'
import { encodeStored, parseObject } from '../codec/stored-bytes.ts'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { ConformError, conform } from '../schema/conform.ts'
import { fillDefaults } from '../schema/defaults.ts'
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

/** The properties of a kind that its stored bytes depend on. */
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

/** Runs a reader of a record; an error in the record becomes its fault. */
function decodedBy(read: () => Decoded): Decoded {
  try {
    return read()
  } catch (error) {
    if (FAULTS.some(fault => error instanceof fault)) return { fault: (error as Error).message }
    throw error
  }
}
/** Errors of records. Limits of sizes are StatusErrors. */
const FAULTS = [Unreadable, ProtobufError, ConformError, StatusError, JsonError]

class ProtobufKind implements StoredKind {
  readonly #described: Described
  readonly #options: StoredKindOptions
  /** The envelope of a record. */
  readonly #around: Around
  readonly #reading: ProtobufOptions

  constructor(described: Described, options: StoredKindOptions) {
    this.#described = described
    this.#options = options
    const { kind, apiVersion } = described
    const empty = envelope({ kind, apiVersion: options.layout.apiVersion }, NO_MESSAGE)
    // The message comes between its length, which is 0 here, and the tail.
    this.#around = { before: empty.subarray(0, -TAIL.length - 2), number: MESSAGE, after: TAIL }
    this.#reading = { ...ANY_SIZE, given: { kind, apiVersion, metadata: { selfLink: undefined, resourceVersion: '' } } }
  }

  decode(stored: Uint8Array): Decoded {
    return decodedBy(() => this.#read(stored))
  }

  encode(value: Value, object: AnyObject = parseObject(bytesOf(value))): Uint8Array {
    return toCompleteProtobuf(this.#described.type, asKept(object), this.#around)
  }

  #read(stored: Uint8Array): Decoded {
    const message = this.#messageIn(stored)
    if (message) return this.#readMessage(message)
    if (!isEnveloped(stored)) {
      // kube-apiserver can be configured to store JSON, and always reads it.
      if (stored[0] === OPEN_BRACE) return readJson(stored, this.#described, this.#options)
      throw new Unreadable(unknownEncoding(stored))
    }
    const opened = openEnvelope(stored)
    const other = versionOf(opened, this.#described, this.#options)
    if (other) return storedFrom(convertedFrom(other, fromProtobuf(other.type, opened.raw, ANY_SIZE)), this.#described, this.#options)
    return this.#readMessage(opened.raw)
  }

  /** The message of a record in the envelope that kube-apiserver writes today; undefined for any other. */
  #messageIn(stored: Uint8Array): Uint8Array | undefined {
    const { before } = this.#around
    for (let i = 0; i < before.length; i++) if (stored[i] !== before[i]) return undefined
    let at = before.length
    if (stored[at++] !== MESSAGE * 8 + DELIMITED) return undefined
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = stored[at++]
      if (byte === undefined || shift > 21) return undefined
      length |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    const end = at + length
    if (stored.length !== end + TAIL.length) return undefined
    for (let i = 0; i < TAIL.length; i++) if (stored[end + i] !== TAIL[i]) return undefined
    return stored.subarray(at, end)
  }

  #readMessage(message: Uint8Array): Decoded {
    const object = fromProtobuf(this.#described.type, message, this.#reading) as unknown as AnyObject
    fill(object, this.#described, this.#options)
    // Its fields are in the order of stored bytes already.
    return { value: Buffer.from(stringifyJson(object as unknown as Json)), object }
  }
}
const NO_MESSAGE = new Uint8Array(0)
/** Stored records are read, however many values they hold: kube-apiserver limits only its bytes. */
const ANY_SIZE = { values: Number.POSITIVE_INFINITY }

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
    return decodedBy(() => {
      if (stored[0] !== OPEN_BRACE) throw new Unreadable(unknownEncoding(stored))
      return readJson(stored, this.#described, this.#options)
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

/** The stored bytes of a value that a record holds in another form. */
function storedFrom(value: JsonObject, described: Described, options: StoredKindOptions): Decoded {
  const { kind, apiVersion, type } = described
  const object = { ...conform(type, value).value, kind, apiVersion } as AnyObject
  fill(object, described, options)
  return { value: encodeStored(object), object }
}

/** Fills the defaults that a record lacks because it was written before they existed. */
function fill(object: AnyObject, { type }: Described, { setDefaults }: StoredKindOptions): void {
  fillDefaults(type, object)
  setDefaults?.(object)
}

function readJson(stored: Uint8Array, described: Described, options: StoredKindOptions): Decoded {
  const { value } = parseJson(stored)
  if (!isObject(value)) throw new Unreadable(`couldn't get version/kind; json parse error: the record is no object`)
  const { kind = '', apiVersion = '' } = value as Record<string, string>
  const other = versionOf({ kind, apiVersion }, described, options)
  if (other) return storedFrom(convertedFrom(other, value), described, options)
  // Among the kinds that are stored as JSON, only definitions have an older version.
  const isOld = options.layout.encoding === 'json' && apiVersion.endsWith('/v1beta1')
  return storedFrom(isOld ? fromV1beta1(value) : value, described, options)
}

/** The other served version that a record is in; undefined when it is in the stored one. Refuses other versions. */
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
  // Through text, where undefined fields are absent.
  return JSON.parse(stringifyJson(version.conversion!.toStored(object) as unknown as Json)) as JsonObject
}

/** The error of kube-apiserver for bytes in no known encoding. */
const unknownEncoding = (stored: Uint8Array) =>
  stored.length === 0
    ? 'the record is empty'
    : `yaml: the record is neither protobuf nor JSON; it begins with ${goQuote(Buffer.from(stored.subarray(0, 16)).toString('latin1'))}`
