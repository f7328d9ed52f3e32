/** Watch: the changes of the selected objects, from where the client says. */
import { bookmarkOf } from '../cache/bookmark.ts'
import type { WatchStream } from '../cache/watch-stream.ts'
import { expired, type StatusError } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import { listOptions } from './options.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import { selectionOf } from './selection.ts'
import { servedStream } from './version-conversion.ts'

/** Without a timeout of its own a watch lasts between half an hour and an hour, so that clients spread over time. */
const SHORTEST_MS = 1800_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

export async function watch(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const { resource } = call
  const options = listOptions(call.query, ctx)
  const { selection } = selectionOf(call, options, ctx)
  const asked = parseRevision(options.resourceVersion)
  const { bookmarks, sendInitialEvents, timeoutMs = randomTimeout() } = options
  if (timeoutMs < 0) return { type: 'watch', resource, stream: ended() }
  const initial = sendInitialEvents ?? asked === 0
  if (initial) {
    // Once a watch is understood, what goes wrong is an event of it.
    const failure = await waitForRevision(deps.caches, asked, { signal: ctx.signal, timeoutMs: options.timeoutMs })
    if (failure) return { type: 'watch', resource, stream: ended(failure) }
  }
  if (deps.caches.isLost(asked))
    return { type: 'watch', resource, stream: ended(expired(`too old resource version: ${asked} (${deps.caches.revision})`)) }
  const from = initial || asked === 0 ? deps.caches.revision : asked
  const stream = deps.caches.watch(resource, {
    selection,
    from,
    initial,
    bookmarks,
    timeoutMs: Math.min(timeoutMs, LONGEST_TIMER_MS),
    ...(sendInitialEvents &&
      bookmarks && {
        afterInitial: revision => bookmarkOf(resource, revision, { [`${ctx.groupDomain}/initial-events-end`]: 'true' }),
      }),
  })
  return { type: 'watch', resource, stream: servedStream(resource, stream) }
}

const ended = (error?: StatusError): WatchStream => ({ open: sink => sink.end(error), close() {} })

const randomTimeout = () => SHORTEST_MS * (1 + Math.random())
