/** Tells an index of every object of a resource and of every change, at once and without decoding anything. */
import type { Caches } from '../cache/caches.ts'
import type { ObjectRevision } from '../cache/object-revision.ts'
import { parseObject } from '../codec/stored-bytes.ts'
import type { Resource } from '../schema/resource.ts'

export type Noted = {
  readonly namespace: string
  readonly name: string
  /** The object as it is stored; undefined when it cannot be read. */
  readonly read: () => unknown
}
export interface Index {
  put(noted: Noted): void
  remove(named: Omit<Noted, 'read'>): void
}

/** What is there is put now; changes reach the index before they are answered. */
export function noteChanges(caches: Caches, resource: Resource, index: Index): void {
  const put = (version: ObjectRevision) => {
    const { namespace, name } = version
    index.put({ namespace, name, read: () => (version.fault === undefined ? parseObject(version.json) : undefined) })
  }
  const cache = caches.of(resource)
  for (const version of cache.current()) put(version)
  cache.watchers.add({
    selection: { namespace: '', name: '' },
    receive: (_, version) => (version.deleted ? index.remove(version) : put(version)),
  })
}
