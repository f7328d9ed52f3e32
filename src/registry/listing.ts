/** The objects of a list, for list and for delete collection: those of one snapshot, whole or page by page. */

import { type CachedRevision, corruptObject } from '../cache/cached-revision.ts'
import type { Listing } from '../cache/resource-cache.ts'
import { listStored } from '../cache/stored-list.ts'
import { type Step, waitFor } from '../lib/step.ts'
import type { Resource } from '../schema/resource.ts'
import { badRequest, expired, type StatusError, storeReadError } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import type { Call, ListMeta } from './api.ts'
import { LATEST, readToken, writeToken } from './continue-token.ts'
import type { Deps } from './deps.ts'
import type { ListOptions } from './options.ts'
import type { Request } from './request.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import type { Selected } from './selection.ts'
import { matchingInVersion } from './served-selection.ts'

/** A list request: its options, and the objects that it selects. */
export type Listed = { readonly options: ListOptions; readonly selected: Selected }

export function* listObjects(
  request: Request,
  { options, selected }: Listed,
): Step<{ objects: readonly CachedRevision[]; meta: ListMeta }> {
  const { deps, call, ctx } = request
  const { resource } = call
  const { exactly, after, since = ctx.now.getTime() } = yield* snapshotOf(request, options)
  if (exactly && exactly.revision < deps.caches.of(resource).oldest) {
    const { revision: at, forgotten } = exactly
    const past = {
      selection: selected.selection,
      at,
      trace: ctx.stopwatch?.trace,
      ...(after !== undefined && { after }),
      ...(options.limit && { limit: options.limit }),
    }
    // Objects of another version are stored where those of the stored version are.
    const listing = yield* waitFor(listStored(deps.store, deps.caches.of(resource).resource, past))
    if (!listing) throw forgotten()
    refuseUnreadable(resource, listing.objects)
    const objects = selected.served.length === 0 ? listing.objects : yield* matchingInVersion(resource, listing.objects, selected.served)
    return { objects, meta: metaOf(deps, call, { listing, revision: at, selected, since }) }
  }
  // Nothing is waited for from here on: the newest and the oldest revision stay the same until the list is made.
  const cache = deps.caches.of(resource)
  const newest = deps.caches.revision
  const past = exactly && exactly.revision < newest ? exactly.revision : undefined
  // resourceVersion 0 ignores the limit, as in kube-apiserver: the cache answers with everything. It does not cache what expires.
  const limit = options.resourceVersion === '0' && resource.def.ttlSeconds === undefined ? undefined : options.limit
  const listing: Listing = cache.list({
    selection: selected.selection,
    ...(past !== undefined && { at: past }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit }),
  })
  refuseUnreadable(resource, listing.objects)
  const revision = past ?? newest
  const meta = metaOf(deps, call, { listing, revision, selected, since })
  // Most lists have nothing to convert, and are made in one go.
  if (selected.served.length === 0) return { objects: listing.objects, meta }
  return { objects: yield* matchingInVersion(resource, listing.objects, selected.served), meta }
}

/** The snapshot to read (the latest unless one is named, with the error for when it is compacted), where in it to begin, and since when it is read. */
type Snapshot = {
  readonly exactly?: { readonly revision: Revision; forgotten(): StatusError }
  readonly after?: string
  readonly since?: number
}

function* snapshotOf(request: Request, options: ListOptions): Step<Snapshot> {
  if (options.continue !== '') return yield* nextPage(request, options)
  const revision = parseRevision(options.resourceVersion)
  if (revision === 0) return {}
  yield* reach(request, revision, options)
  // A page of a named revision is a page of exactly that revision, also when the request does not say so.
  const isExact = options.match === 'Exact' || (options.match === '' && options.limit !== undefined)
  const forgotten = () => expired('The resourceVersion for the provided list is too old.')
  return isExact ? { exactly: { revision, forgotten } } : {}
}

function* nextPage(request: Request, options: ListOptions): Step<Snapshot> {
  const { deps, call, ctx } = request
  const { resource, namespace } = call
  const { tokenKey, tokenMs } = deps
  const scope = { resource, namespace }
  const { after, revision, since } = readToken(tokenKey, scope, options.continue)
  if (options.resourceVersion !== '' && options.resourceVersion !== '0')
    throw badRequest('specifying resource version is not allowed when using continue')
  if (revision === LATEST) {
    const refreshing = deps.caches.fresh()
    if (refreshing) yield* waitFor(refreshing)
    return { after }
  }
  const now = ctx.now.getTime()
  const forgotten = () => expired(TOKEN_TOO_OLD, { continue: writeToken(tokenKey, scope, { after, revision: LATEST, since: now }) })
  // Also where nothing has changed since and the snapshot could be read: clients rely on the end of its time.
  if (now - since > tokenMs || deps.caches.isLost(revision)) throw forgotten()
  yield* reach(request, revision, options)
  return { after, since, exactly: { revision, forgotten } }
}

/** Most lists need not wait, and then the signal, which is created on first use, is not touched. */
function* reach({ deps: { caches }, ctx }: Request, revision: Revision, { timeoutMs }: ListOptions): Step<void> {
  if (caches.revision >= revision) return
  const failure = yield* waitFor(waitForRevision(caches, revision, { signal: ctx.signal, timeoutMs }))
  if (failure) throw failure
}

const TOKEN_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'

function metaOf(
  { tokenKey }: Deps,
  { resource, namespace }: Call,
  { listing, revision, selected, since }: { listing: Listing; revision: Revision; selected: Selected; since: number },
): ListMeta {
  const base = { resourceVersion: String(revision) }
  const part = selected.shard && { shardInfo: { selector: selected.shard.text } }
  if (listing.next === undefined) return { ...base, ...part }
  const token = writeToken(tokenKey, { resource, namespace }, { after: listing.next, revision, since })
  const counted = listing.remaining !== undefined && selected.selection.test === undefined && selected.served.length === 0
  return { ...base, continue: token, ...(counted && { remainingItemCount: listing.remaining! }), ...part }
}

/** A list must not silently leave out objects that cannot be read: it fails and names them. */
function refuseUnreadable(resource: Resource, objects: readonly CachedRevision[]): void {
  const broken = objects.filter(v => v.fault !== undefined)
  if (broken.length === 0) return
  const messages = broken.slice(0, MAX_NAMED).map(each => corruptObject(resource, each, ETCD_PREFIX))
  const causes = messages.map(message => ({ reason: 'UnexpectedServerResponse', message, field: /Key: ([^,]*),/.exec(message)![1]! }))
  const tooMany = broken.length < MAX_NAMED ? [] : [{ reason: 'FieldValueTooMany', message: 'too many errors, the list is truncated' }]
  const { group, plural, qualified } = resource
  const more = messages.length > 1 ? ` (and ${messages.length - 1} more)` : ''
  throw storeReadError(`failed to read one or more ${qualified} from the storage: ${messages[0]}${more}`, {
    name: 'list',
    ...(group !== '' && { group }),
    kind: plural,
    causes: [...causes, ...tooMany],
  })
}
/** As many as kube-apiserver gathers. */
const MAX_NAMED = 100
/** Lists name whole keys of etcd, with the default prefix. */
const ETCD_PREFIX = '/registry'
