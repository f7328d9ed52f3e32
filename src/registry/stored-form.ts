/** The one serialisation of a write: the bytes that are stored, sent and watched. */
import { stringifyJson } from '../codec/json.ts'
import type { AnyObject } from '../schema/object-meta.ts'

/**
 * Kind, apiVersion and metadata come first, and in metadata a place for the revision, which the cache fills in once the
 * write is done. No text before that place can look like it: inside strings its quotes would be escaped.
 */
export const storedForm = (object: AnyObject): Buffer => sentForm(object, '')

/** The bytes of an object that is sent and not stored, in the same order; without a resourceVersion there is none in them. */
export function sentForm({ kind, apiVersion, metadata, ...rest }: AnyObject, resourceVersion = metadata.resourceVersion): Buffer {
  const { name, generateName, namespace, selfLink: _, uid, resourceVersion: __, ...others } = metadata
  // Undefined fields are not written.
  const placed = { name, generateName: generateName || undefined, namespace: namespace || undefined, uid, resourceVersion, ...others }
  return Buffer.from(stringifyJson({ kind, apiVersion, metadata: placed, ...rest } as never))
}

/** Reads back an object that `storedForm` wrote. Big integers come back exact. */
export { parseJson as readStored } from '../codec/json.ts'
