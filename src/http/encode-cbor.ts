/**
 * Encodes responses as CBOR, from stored JSON: objects whole, lists item by item while they are sent. There are no tables, as in
 * kube-apiserver.
 */
import type { EventType, WatchEvent } from '../cache/watch-stream.ts'
import { CBOR, SELF_DESCRIBED } from '../codec/cbor.ts'
import { CborWriter, encodeCbor } from '../codec/cbor-encode.ts'
import { itemBytes, type ListItem } from '../codec/list-item.ts'
import { metadataOnly } from '../codec/metadata-only.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Result } from '../registry/api.ts'
import type { Resource } from '../schema/resource.ts'
import { listMetaOf } from './list-body.ts'
import { bytesResponse, type Response } from './message.ts'
import type { Representation } from './negotiate.ts'

/** The response to a call as CBOR; `representation` is metadata only, or the whole object. */
export function cborResponse(
  result: Exclude<Result, { type: 'watch' | 'bytes' | 'forward' | 'session' }>,
  representation: Representation | undefined,
): Response {
  switch (result.type) {
    case 'status':
      return bytesResponse(result.code, CBOR, encodeCbor(result.status as unknown as Json))
    case 'object':
      return bytesResponse(result.code, CBOR, objectOf(result.resource, result.json, representation))
    case 'list':
      return { status: 200, headers: { 'content-type': CBOR }, body: listBody(result, representation) }
  }
}

/** One event of a watch: the object inside has the tag of CBOR again. */
export const cborEvent = ({ type, resource, json }: WatchEvent, representation: Representation | undefined): Buffer =>
  cborFrame(type, objectOf(resource, json, representation))

/** An event around the CBOR of its object. */
export function cborFrame(type: EventType | 'ERROR', object: Uint8Array): Buffer {
  const out = new CborWriter()
  out.raw(SELF_DESCRIBED)
  out.mapHead(2)
  out.text('type')
  out.text(type)
  out.text('object')
  out.raw(object)
  return out.finish()
}

function objectOf(resource: Resource, json: Uint8Array, representation: Representation | undefined): Buffer {
  if (representation === undefined) return encodeCbor(storedValue(json), typeOf(resource))
  return encodeCbor(storedValue(metadataOnly(resource, json, representation.apiVersion)))
}

/** The bytes and floats of a declared type are not strings and integers; a schema says nothing of that. */
const typeOf = ({ def, type }: Resource) => (def.custom ? undefined : type)

/** An object that this server has encoded. */
const storedValue = (json: Uint8Array): JsonObject => parseObject(json) as unknown as JsonObject

function listBody(result: Extract<Result, { type: 'list' }>, representation: Representation | undefined): Response['body'] {
  const pieces = listPieces(result, representation)
  const first = pieces.next()
  return first.done ? first.value : { type: 'pieces', length: undefined, pieces: resumed(first.value, pieces) }
}

/** Pieces that are written immediately to a socket would leave other requests no chance to run. */
async function* resumed(begun: Uint8Array, rest: Iterator<Uint8Array, Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next: IteratorResult<Uint8Array> = { value: begun, done: false }; ; next = rest.next()) {
    yield next.value
    if (next.done) return
    await yieldToOthers()
  }
}

/** Yields pieces of a list, and returns the last. */
function* listPieces(
  { resource, items, meta }: Extract<Result, { type: 'list' }>,
  representation: Representation | undefined,
): Generator<Uint8Array, Uint8Array> {
  const out = new CborWriter()
  out.raw(SELF_DESCRIBED)
  out.mapHead(4)
  const named =
    representation === undefined
      ? { kind: resource.listKind, apiVersion: resource.apiVersion }
      : { kind: representation.as, apiVersion: representation.apiVersion }
  const metadata = representation === undefined ? listMetaOf(resource, meta) : meta
  for (const [name, value] of Object.entries({ ...named, metadata })) {
    out.text(name)
    out.value(value as Json)
  }
  out.text('items')
  out.arrayHead(items.length)
  const type = representation === undefined ? typeOf(resource) : undefined
  for (const item of items) {
    out.value(itemOf(resource, item, representation), type)
    if (out.length >= LIMITS.encodedPieceLength) yield out.finish()
  }
  return out.finish()
}

/** Items of a typed list have no kind and apiVersion. */
function itemOf(resource: Resource, item: ListItem, representation: Representation | undefined): JsonObject {
  const json = itemBytes(item)
  if (representation !== undefined) return storedValue(metadataOnly(resource, json, representation.apiVersion))
  if (resource.def.custom) return storedValue(json)
  const { kind: _, apiVersion: __, ...rest } = storedValue(json)
  return rest
}
