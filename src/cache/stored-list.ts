/** Reads the past from the store: an object or a page of a snapshot, also where the cache has forgotten it. */
import type { RequestTrace } from '../lib/request-trace.ts'
import type { Resource } from '../schema/resource.ts'
import { Compacted, type Entry, type Revision, type Store } from '../storage/store.ts'
import { type ByteSource, type CachedRevision, objectRevisionOf } from './cached-revision.ts'
import { type Listing, type ListRequest, prefixOf, readFrom } from './resource-cache.ts'
import { selects } from './selection.ts'

const PAGE = 500
/** Bytes of an object that are read again when the list is sent, where the store can: all of a long list may not fit into memory. */
const LARGE = 64 << 10

/** The revision to read, and the trace of the request that reads. */
export type AtRevision = { readonly at: Revision; readonly trace?: RequestTrace | undefined }

/** The objects selected as they were at a revision, in key order; undefined when the store has forgotten it, too. */
export async function listStored(
  store: Store,
  resource: Resource,
  { selection, at, after, limit = Number.POSITIVE_INFINITY, trace }: ListRequest & AtRevision,
): Promise<Listing | undefined> {
  const prefix = prefixOf(resource, selection)
  const source = sourceOf(store)
  const isCounted = !selection.test && selection.name === ''
  const objects: CachedRevision[] = []
  let from = after
  try {
    for (;;) {
      const size = Math.min(limit - objects.length + 1, PAGE)
      const { entries, remaining } = await store.list(prefix, { at, limit: size, trace, ...(from !== undefined && { after: from }) })
      for (const [i, entry] of entries.entries()) {
        const object = selectedFrom(resource, entry, selection)
        if (!object) continue
        if (source && object.size > LARGE) {
          object.track(source)
          object.evict()
        }
        if (objects.length === limit)
          return { objects, next: objects.at(-1)!.key, remaining: isCounted ? entries.length - i + remaining : undefined }
        objects.push(object)
      }
      if (remaining === 0 || entries.length === 0) return { objects, next: undefined, remaining: undefined }
      from = entries.at(-1)!.key
    }
  } catch (error) {
    if (error instanceof Compacted) return undefined
    throw error
  }
}

/** One object as it was at a revision; undefined when it was not there. */
export async function readStored(
  store: Store,
  resource: Resource,
  key: string,
  { at, trace }: AtRevision,
): Promise<CachedRevision | undefined | 'forgotten'> {
  try {
    const { entry } = await store.get(key, at, trace)
    return entry && objectRevisionOf(resource, entry)
  } catch (error) {
    if (error instanceof Compacted) return 'forgotten'
    throw error
  }
}

function sourceOf(store: Store): ByteSource | undefined {
  if (!store.readBack || store.isShared) return undefined
  return { read: object => readFrom(store, object), keeps: () => false, held() {} }
}

function selectedFrom(resource: Resource, entry: Entry, selection: ListRequest['selection']): CachedRevision | undefined {
  const object = objectRevisionOf(resource, entry)
  return selects(selection, object) ? object : undefined
}
