/** The one serialisation of a write: the bytes that are stored, sent and watched. */
import { stringifyJson } from '../codec/json.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { tooLarge } from '../schema/status-error.ts'

/**
 * Kind, apiVersion and metadata come first, and in metadata a place for the revision, which the cache fills in once the
 * write is done. No text before that place can look like it: inside strings its quotes would be escaped.
 */
export const storedForm = (object: AnyObject): Buffer => sentForm(object, '')

/**
 * What one object may grow to, however often it is patched: as large as the largest request with its owners, and small enough to be
 * read, sent and cached without anybody's noticing.
 */
const MOST_BYTES = 8 * 1024 * 1024

/** The bytes that a client's write stores. Throws a StatusError when they are too many. */
export function writtenForm(object: AnyObject): Buffer {
  const value = storedForm(object)
  if (value.byteLength > MOST_BYTES) throw tooLarge(`Request entity is too large: limit is ${MOST_BYTES}`)
  return value
}

/** The bytes of an object that is sent and not stored, in the same order; without a resourceVersion there is none in them. */
export function sentForm({ kind, apiVersion, metadata, ...rest }: AnyObject, resourceVersion = metadata.resourceVersion): Buffer {
  const { name, generateName, namespace, selfLink: _, uid, resourceVersion: __, ...others } = metadata
  // Undefined fields are not written.
  const placed = { name, generateName: generateName || undefined, namespace: namespace || undefined, uid, resourceVersion, ...others }
  return Buffer.from(stringifyJson({ kind, apiVersion, metadata: placed, ...rest } as never))
}

/** Reads back an object that `storedForm` wrote. Big integers come back exact. */
export { parseJson as readStored } from '../codec/json.ts'
