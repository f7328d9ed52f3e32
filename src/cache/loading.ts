/** Reads the objects and the recent past of a resource from the store, page by page. */
import type { Entry, Page, Revision, Store } from '../storage/store.ts'
import type { ResourceCache } from './resource-cache.ts'

/** How many past writes are read back, so that watches opened before a restart can go on. */
export const REPLAYED = 10_000
/** How long until a store that others write to is read again after that failed. */
export const LOAD_AGAIN_MS = 200
const MAX_PAGE = 1_000
/** To etcd every page costs as much as counting all keys of the range. */
const MAX_SHARED_PAGE = 10_000
/** The first page shows how large objects are. */
const FIRST_PAGE = 250
const MAX_PAGE_BYTES = 32 << 20

export type Loading = {
  readonly prefix: string
  readonly at: Revision
  /** Called for each page with the number of its objects. */
  readonly onLoaded?: ((objects: number) => void) | undefined
}

/** Hands over every entry below a prefix as of a revision, in key order. Throws `Compacted` when the store forgets the revision meanwhile. */
export async function eachEntry(store: Store, { prefix, at, onLoaded }: Loading, take: (entry: Entry) => void): Promise<void> {
  const most = store.isShared ? MAX_SHARED_PAGE : MAX_PAGE
  let coming: Promise<Page> | undefined = store.list(prefix, { at, limit: FIRST_PAGE, uncounted: true })
  while (coming) {
    const { entries, remaining }: Page = await coming
    const last = entries.at(-1)
    // A store elsewhere reads the next page while this one is taken in.
    coming =
      remaining > 0 && last ? store.list(prefix, { at, limit: pageAfter(entries, most), after: last.key, uncounted: true }) : undefined
    for (const entry of entries) take(entry)
    onLoaded?.(entries.length)
  }
}

/** The number of entries in the next page, if they are about as large as the last ones. */
function pageAfter(entries: readonly Entry[], most: number): number {
  let bytes = 0
  for (const { value } of entries) bytes += value.length
  return Math.max(1, Math.min(most, Math.floor((MAX_PAGE_BYTES * entries.length) / Math.max(1, bytes))))
}

/** Applies the events after a revision, up to another one, to a cache that was loaded as of the first. */
export async function replay(store: Store, cache: ResourceCache, { since, until }: { readonly since: Revision; readonly until: Revision }) {
  if (since >= until) return
  const done = new AbortController()
  try {
    for await (const { revision, events } of store.watch(cache.resource.prefix, since, done.signal)) {
      for (const event of events) if (event.revision <= until) cache.apply(event)
      if (revision >= until) return
    }
  } finally {
    done.abort()
  }
}
