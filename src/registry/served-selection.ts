/**
 * Field selectors of kinds that a webhook converts. Each version has fields of its own, and the cache has stored objects, perhaps of
 * another version: such selectors look at objects after their conversion.
 */
import type { CachedRevision } from '../cache/cached-revision.ts'
import { WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import { itemBytes } from '../codec/list-item.ts'
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import type { Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type FieldTerms, matchesFieldTerms } from '../schema/selectors.ts'
import { servedList } from './version-conversion.ts'

/** Whether a field can be read in the served version only. */
export const isServedField = ({ conversion }: Resource, field: string): boolean =>
  conversion?.convert !== undefined && !field.startsWith('metadata.')

/** The objects that match in the served version. */
export function* matchingInVersion(
  resource: Resource,
  objects: readonly CachedRevision[],
  terms: FieldTerms,
): Step<readonly CachedRevision[]> {
  if (terms.length === 0) return objects
  const served = yield* inVersion(resource, objects)
  return objects.filter((_, i) => matches(resource, served[i]!, terms))
}

function* inVersion(resource: Resource, objects: readonly CachedRevision[]): Step<readonly AnyObject[]> {
  if (objects.length === 0) return []
  const items = yield* servedList(
    resource,
    objects.map(({ item }) => item),
  )
  return items.map(item => parseObject(itemBytes(item)))
}

function matches({ def: { selectable } }: Resource, object: AnyObject, terms: FieldTerms): boolean {
  return matchesFieldTerms(terms, field => String(selectable?.[field]?.(object) ?? ''))
}

/** Objects that match, by uid. */
export type Matching = Map<string, AnyObject>

/** The objects that match at the start of a watch. */
export function* matchingAtStart(resource: Resource, objects: readonly CachedRevision[], terms: FieldTerms): Step<Matching> {
  const served = terms.length === 0 ? [] : yield* inVersion(resource, objects)
  return new Map(served.filter(object => matches(resource, object, terms)).map(object => [object.metadata.uid ?? '', object]))
}

type Watched = { readonly terms: FieldTerms; readonly matching: Matching }

/** A watch of served objects without those that do not match; objects begin and cease to match as they change. */
export function matchingStream(resource: Resource, stream: WatchStream, watched: Watched): WatchStream {
  if (watched.terms.length === 0) return stream
  return { open: sink => stream.open(matchingSink(resource, sink, watched)), close: () => stream.close() }
}

function matchingSink(resource: Resource, sink: WatchSink, { terms, matching }: Watched): WatchSink {
  /** The event for this watch; undefined when there is none. */
  const seen = (event: WatchEvent): WatchEvent | undefined => {
    const object = parseObject(event.json)
    const { uid = '', resourceVersion } = object.metadata
    const last = matching.get(uid)
    if (event.type === 'DELETED') return matching.delete(uid) ? event : undefined
    if (matches(resource, object, terms)) {
      matching.set(uid, object)
      const type = last ? 'MODIFIED' : 'ADDED'
      return type === event.type ? event : new WatchEvent(type, event.resource, event.json)
    }
    if (!last) return undefined
    // Clients see the object as it was when it last matched, with the revision of this change.
    matching.delete(uid)
    const metadata = { ...last.metadata, ...(resourceVersion !== undefined && { resourceVersion }) }
    return new WatchEvent('DELETED', event.resource, encodeObject({ ...last, metadata }))
  }
  return {
    event(event) {
      const sent = event.type === 'BOOKMARK' ? event : seen(event)
      if (sent) sink.event(sent)
    },
    end: error => sink.end(error),
    get backlog() {
      return sink.backlog
    },
    onDrain: resume => sink.onDrain(resume),
  }
}
