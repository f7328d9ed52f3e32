/** Finds the stored objects of a resource that a migration has to write again. */
import type { ResourceClient } from '../../client/client.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Candidates } from './migrate-all.ts'

export type OutdatedObject = {
  readonly namespace: string
  readonly name: string
  readonly revision: number
  /** Whether the object is known to be stored in another version than it would be today. */
  readonly isOutdated: boolean
}

/** The objects that have not been written since a revision, and all that are known to be stored in another version. */
export function outdatedObjects(objects: ResourceClient<AnyObject>, since: number): Candidates<OutdatedObject> {
  const { apiVersion, def } = objects.resource
  const left: OutdatedObject[] = []
  let total = 0
  for (const each of objects.revisions()) {
    total++
    // The cache has objects in another version than the stored one only of custom kinds.
    const isOutdated = each.stale || (def.custom !== undefined && each.object !== undefined && each.object.apiVersion !== apiVersion)
    const { namespace, name, revision } = each
    if (revision <= since || isOutdated) left.push({ namespace, name, revision, isOutdated })
  }
  return { total, left }
}
