/**
 * Encodes responses as protobuf: messages are encoded from stored JSON once and cached with it; lists and frames are assembled from them.
 */
import type { WatchEvent } from '../cache/watch-stream.ts'
import { itemBytes, type ListItem } from '../codec/list-item.ts'
import { protobufMetadataOf, protobufOf } from '../codec/protobuf-cache.ts'
import { toProtobuf } from '../codec/protobuf-encode.ts'
import { envelope, envelopeAround, fieldHead, PROTOBUF, watchFrame } from '../codec/protobuf-envelope.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { Pace } from '../lib/pace.ts'
import { run, type Step } from '../lib/step.ts'
import type { Result } from '../registry/api.ts'
import type { Resource } from '../schema/resource.ts'
import { ListMeta } from './common-messages.ts'
import { protobufStatusOf } from './error.ts'
import { bytesResponse, type Response } from './message.ts'
import type { Representation } from './negotiate.ts'

/** The response to a call as protobuf; `representation` is metadata only, or the whole object. */
export async function protobufResponse(
  result: Exclude<Result, { type: 'watch' | 'bytes' | 'forward' | 'session' }>,
  representation: Representation | undefined,
): Promise<Response> {
  switch (result.type) {
    case 'status':
      return bytesResponse(result.code, PROTOBUF, protobufStatusOf(result.status as unknown as JsonObject))
    case 'object':
      return bytesResponse(result.code, PROTOBUF, objectOf(result.resource, result.json, representation))
    case 'list':
      return run(listResponse(result, representation), new Pace())
  }
}

/** The frame of a watch event. */
export const protobufFrame = ({ type, resource, json }: WatchEvent, representation: Representation | undefined) =>
  watchFrame(type, objectOf(resource, json, representation))

function objectOf(resource: Resource, json: Uint8Array, representation: Representation | undefined): Buffer {
  return representation === undefined
    ? envelope(resource, protobufOf(resource.type, json))
    : envelope({ kind: 'PartialObjectMetadata', apiVersion: representation.apiVersion }, protobufMetadataOf(resource, json))
}

function* listResponse(
  { resource, items, meta }: Extract<Result, { type: 'list' }>,
  representation: Representation | undefined,
): Step<Response> {
  const listMeta = toProtobuf(ListMeta, meta as unknown as Json)
  const encode = (item: ListItem) =>
    representation === undefined ? protobufOf(resource.type, itemBytes(item)) : protobufMetadataOf(resource, itemBytes(item))
  const parts: ListItem[] = [fieldHead(1, listMeta.length), listMeta]
  let length = parts[0]!.byteLength + listMeta.length
  for (const item of items) {
    const message = encode(item)
    const head = fieldHead(2, message.length)
    // A large message is encoded again when it is sent: all of them at once may not fit into memory.
    const isKept = message.length <= LIMITS.listPieceBytes
    parts.push(head, isKept ? message : { byteLength: message.length, read: () => encode(item) })
    length += head.length + message.length
    // A long list that is not in the cache of encodings takes a while to encode.
    yield
  }
  const named =
    representation === undefined
      ? { kind: resource.listKind, apiVersion: resource.apiVersion }
      : { kind: representation.as, apiVersion: representation.apiVersion }
  const [head, tail] = envelopeAround(named, length)
  const all = [head, ...parts, tail]
  const total = head.length + length + tail.length
  if (total <= LIMITS.wholeListBytes) return bytesResponse(200, PROTOBUF, Buffer.concat(all.map(itemBytes), total))
  return { status: 200, headers: { 'content-type': PROTOBUF }, body: { type: 'pieces', length: total, pieces: pieces(all) } }
}

/** Joins many small buffers into few large ones. */
function* pieces(parts: readonly ListItem[]): Generator<Uint8Array> {
  let from = 0
  let size = 0
  for (let i = 0; i < parts.length; i++) {
    size += parts[i]!.byteLength
    if (size < LIMITS.listPieceBytes && i < parts.length - 1) continue
    yield Buffer.concat(parts.slice(from, i + 1).map(itemBytes), size)
    from = i + 1
    size = 0
  }
}
