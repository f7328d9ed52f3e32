/** Watch: the changes of the selected objects, from the revision that the client names. */
import { bookmarkOf } from '../cache/bookmark.ts'
import type { CachedRevision } from '../cache/cached-revision.ts'
import type { Selection } from '../cache/selection.ts'
import type { WatchStream } from '../cache/watch-stream.ts'
import { chance } from '../lib/environment.ts'
import { type Step, waitFor } from '../lib/step.ts'
import type { Resource } from '../schema/resource.ts'
import { expired, type StatusError } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import type { Result } from './api.ts'
import type { Deps } from './deps.ts'
import { listOptions } from './options.ts'
import type { Request } from './request.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import { selectionOf } from './selection.ts'
import { matchingAtStart, matchingStream } from './served-selection.ts'
import { servedStream } from './version-conversion.ts'

/** Without a timeout of its own a watch lasts between half an hour and an hour, so that clients spread over time. */
const MIN_WATCH_MS = 1800_000
const MAX_TIMER_MS = 2 ** 31 - 1

export function* watch(request: Request): Step<Result> {
  const { deps, call, ctx } = request
  const { resource } = call
  const options = listOptions(call.query, ctx)
  const { selection, served } = selectionOf(call, options, ctx)
  const revision = parseRevision(options.resourceVersion)
  const { bookmarks, sendInitialEvents, timeoutMs = randomTimeout() } = options
  const isList = sendInitialEvents === true && bookmarks
  const result = (stream: WatchStream): Result => ({ type: 'watch', resource, stream, isList })
  if (timeoutMs < 0) return result(ended())
  const initial = sendInitialEvents ?? revision === 0
  if (initial) {
    // Once a watch is understood, failures are events of it.
    const reaching = waitForRevision(deps.caches, revision, { signal: ctx.signal, timeoutMs: options.timeoutMs })
    const failure = yield* waitFor(reaching)
    if (failure) return result(ended(failure))
  }
  if (deps.caches.isLost(revision)) return result(ended(expired(`too old resource version: ${revision} (${deps.caches.revision})`)))
  const from = initial || revision === 0 ? deps.caches.revision : revision
  // Without initial events a watch does not see which objects match at its start.
  const matching = yield* matchingAtStart(
    resource,
    served.length === 0 || initial ? [] : objectsAt(deps, resource, { selection, from }),
    served,
  )
  const stream = deps.caches.watch(resource, {
    selection,
    from,
    initial,
    bookmarks,
    timeoutMs: Math.min(timeoutMs, MAX_TIMER_MS),
    ...(isList && {
      afterInitial: revision => bookmarkOf(resource, revision, { [`${ctx.groupDomain}/initial-events-end`]: 'true' }),
    }),
  })
  return result(matchingStream(resource, servedStream(resource, stream), { terms: served, matching }))
}

/** The objects of a revision; none if it is no longer known, as the watch then ends at once. */
function objectsAt(
  { caches }: Deps,
  resource: Resource,
  { selection, from }: { readonly selection: Selection; readonly from: Revision },
): readonly CachedRevision[] {
  const cache = caches.of(resource)
  if (from < cache.oldest) return []
  return cache.list({ selection, ...(from < caches.revision && { at: from }) }).objects
}

const ended = (error?: StatusError): WatchStream => ({ open: sink => sink.end(error), close() {} })

const randomTimeout = () => MIN_WATCH_MS * (1 + chance())
