/** References to owners that an object names more than once. */
import { deepEqual, type Json } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'

/** Leaves one of equal references, and warns about the others; `when` tells at which point they were found. */
export function removeDuplicateOwners({ metadata }: AnyObject, when?: string): string[] {
  const { ownerReferences = [] } = metadata
  if (ownerReferences.length < 2) return []
  const kept: (typeof ownerReferences)[number][] = []
  const duplicates: string[] = []
  for (const reference of ownerReferences) {
    const isKnown = kept.some(other => other.uid === reference.uid && deepEqual(other as Json, reference as Json))
    if (isKnown) duplicates.push(reference.uid)
    else kept.push(reference)
  }
  if (duplicates.length === 0) return []
  metadata.ownerReferences = kept
  const what = `.metadata.ownerReferences contains duplicate entries${when === undefined ? '' : ` ${when}`}`
  const why = 'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests'
  return [`${what}; ${why}; duplicate UID(s) observed: ${duplicates.join(', ')}`]
}
