/** The compare-and-swap loop that every write to a stored object goes through, so that decisions are about what is stored. */
import type { ObjectRevision } from '../cache/object-revision.ts'
import { keyOf } from '../schema/resource.ts'
import { conflict, MODIFIED, notFound } from '../schema/status-error.ts'
import type { Call, Result } from './api.ts'
import type { Deps } from './deps.ts'

const ATTEMPTS = 16

export type Attempt = {
  /** Decides on what is stored now; without a result when another write came first. */
  readonly once: (version: ObjectRevision) => Promise<Result | undefined>
  /** What to do when there is no such object. Default: 404. */
  readonly whenAbsent?: (() => Promise<Result>) | undefined
}

/** Tries until it is decided, against what is stored each time; 409 when others came first too often. */
export async function untilDecided(
  { caches, store, turns }: Deps,
  { resource, namespace, name }: Call,
  { once, whenAbsent }: Attempt,
): Promise<Result> {
  const key = keyOf(resource, namespace, name)
  let endTurn: (() => void) | undefined
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const version = caches.of(resource).get(key)
      if (!version) {
        if (whenAbsent) return await whenAbsent()
        throw notFound(resource, name)
      }
      const result = await once(version)
      if (result) return result
      // Whoever named a version tries again, too: to be told that the object is gone if it is, and not merely changed.
      endTurn ??= await turns.take(key)
      // The store is ahead of the cache while others' writes are on their way.
      await caches.reached((await store.get(key)).revision)
    }
    throw conflict(resource, name, MODIFIED)
  } finally {
    endTurn?.()
  }
}
