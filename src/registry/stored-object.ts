/** The stored object that a request is about. */
import { type CachedRevision, corruptObject } from '../cache/cached-revision.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { internalError } from '../schema/status-error.ts'
import type { Call } from './api.ts'
import type { Deps } from './deps.ts'

/** The newest revision of the object that a call names; undefined when there is none. */
export const findStored = (
  { caches }: Pick<Deps, 'caches'>,
  { resource, namespace, name }: Pick<Call, 'resource' | 'namespace' | 'name'>,
): CachedRevision | undefined => caches.of(resource).get(keyOf(resource, namespace, name))

/** The stored object of a revision, or an error that says it cannot be read. */
export function decodeStored(resource: Resource, found: CachedRevision): AnyObject {
  // Reading the bytes may show that they cannot be read any more.
  const { json } = found
  if (found.fault !== undefined) throw internalError(corruptObject(resource, found))
  return parseObject(json)
}

/** The same for a write that replaces the object, with the words that kube-apiserver has then. */
export function decodeReplaced(found: CachedRevision): AnyObject {
  const { json } = found
  if (found.fault !== undefined) throw internalError(found.fault)
  return parseObject(json)
}
