/** Protobuf made from stored JSON once: kept as long as the JSON is, for every reader and watcher to come. */
import { ObjectMeta } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type AnyType, message } from '../schema/types.ts'
import { parseJson } from './json.ts'
import { metadataOnly } from './metadata-only.ts'
import { toProtobuf } from './protobuf-encode.ts'

/** A message of a larger object is made each time: to keep it would double what the object takes. */
const MAX_KEPT_BYTES = 64 << 10
const objects = new WeakMap<Uint8Array, Buffer>()
const metadata = new WeakMap<Uint8Array, Buffer>()

/** The message of an object of the type, without envelope. The JSON must not change afterwards. */
export function protobufOf(type: AnyType, json: Uint8Array): Buffer {
  if (json.byteLength > MAX_KEPT_BYTES) return toProtobuf(type, parseJson(json).value)
  let bytes = objects.get(json)
  if (bytes === undefined) objects.set(json, (bytes = toProtobuf(type, parseJson(json).value)))
  return bytes
}

/** The message PartialObjectMetadata of an object of the resource, without envelope. */
export function protobufMetadataOf(resource: Resource, json: Uint8Array): Buffer {
  let bytes = metadata.get(json)
  // The version is not in the message, so that any will do.
  if (bytes === undefined) metadata.set(json, (bytes = toProtobuf(METADATA_ONLY, parseJson(metadataOnly(resource, json, '')).value)))
  return bytes
}

const METADATA_ONLY = message('PartialObjectMetadata', { metadata: [1, ObjectMeta, 'What all objects share.'] })
