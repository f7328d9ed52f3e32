/** References to owners that an object names more than once. */
import type { AnyObject, OwnerReference } from '../schema/object-meta.ts'

/** Leaves one of equal references, and warns about the others; `when` tells at which point they were found. */
export function removeDuplicateOwners({ metadata }: AnyObject, when?: string): string[] {
  const { ownerReferences = [] } = metadata
  if (ownerReferences.length < 2) return []
  // Compared by their text, as there can be thousands that differ in one field only.
  const kept = new Map<string, OwnerReference>()
  const duplicates: string[] = []
  for (const reference of ownerReferences) {
    const text = textOf(reference)
    if (kept.has(text)) duplicates.push(reference.uid)
    else kept.set(text, reference)
  }
  if (duplicates.length === 0) return []
  metadata.ownerReferences = [...kept.values()]
  const what = `.metadata.ownerReferences contains duplicate entries${when === undefined ? '' : ` ${when}`}`
  const why = 'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests'
  return [`${what}; ${why}; duplicate UID(s) observed: ${duplicates.join(', ')}`]
}

const textOf = ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])
