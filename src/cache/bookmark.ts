/** Bookmarks: events that carry only the revision up to which a watch has sent everything. */
import type { JsonObject } from '../lib/json-value.ts'
import { conform } from '../schema/conform.ts'
import type { Resource } from '../schema/resource.ts'
import type { Revision } from '../storage/store.ts'
import { WatchEvent } from './watch-stream.ts'

/** An empty object of the resource's kind with the revision, and with annotations where the bookmark means more. */
export function bookmarkOf(resource: Resource, revision: Revision, annotations?: Record<string, string>): WatchEvent {
  const { metadata, ...blank } = (resource.def.blank ?? {}) as { metadata?: { annotations: JsonObject } } & JsonObject
  const marked = metadata || annotations ? { annotations: { ...metadata?.annotations, ...annotations } } : undefined
  const { value } = conform(resource.type, {
    kind: resource.kind,
    apiVersion: resource.apiVersion,
    metadata: { resourceVersion: String(revision), ...marked },
    ...blank,
  })
  return new WatchEvent('BOOKMARK', resource, Buffer.from(JSON.stringify(value)))
}
