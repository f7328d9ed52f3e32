/** Delete collection: each selected object by the rules of a single delete. */
import type { CachedRevision } from '../cache/cached-revision.ts'
import { run, type Step, waitFor } from '../lib/step.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { StatusError } from '../schema/status-error.ts'
import type { CallContext, Result } from './api.ts'
import { listObjects } from './listing.ts'
import { type DeleteOptions, type ListOptions, listOptions, refuse } from './options.ts'
import { readDeleteOptions, removeObject, warningsAbout } from './removal.ts'
import { Request } from './request.ts'
import { selectionOf } from './selection.ts'
import { servedList } from './version-conversion.ts'

/** Concurrent deletions: enough to share commits, few enough not to delay other requests. */
const WORKERS = 32

export function* removeCollection(request: Request): Step<Result> {
  const { call, ctx } = request
  const selecting = listOptions(call.query, ctx)
  const selected = selectionOf(call, selecting, ctx)
  const options = readDeleteOptions(request)
  refuseUnsafe(options, ctx)
  const { objects, meta } = yield* listObjects(request, { options: exactly(selecting), selected })
  const queue = objects.values()
  const workers = Array.from({ length: Math.min(WORKERS, objects.length) }, async () => removeEach(queue, request, options))
  // An object that cannot be deleted stops its worker, not the others; the response is sent when all are done.
  const outcomes = yield* waitFor(Promise.allSettled(workers))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  const items = yield* servedList(
    call.resource,
    objects.map(v => v.item),
  )
  return { type: 'list', resource: call.resource, items, meta, warnings: warningsAbout(call.resource, options) }
}

/** Removes one object after the other until none is left. */
async function removeEach(queue: Iterator<CachedRevision>, { deps, call, ctx }: Request, options: DeleteOptions): Promise<void> {
  for (let { value, done } = queue.next(); !done && !ctx.signal.aborted; { value, done } = queue.next()) {
    const { namespace, name, size } = value as CachedRevision
    const request = new Request(deps, { ...call, namespace, name }, ctx)
    request.pace.atLeast(size)
    try {
      await run(removeOne(request, options), request.pace)
    } catch (error) {
      // Already deleted by another request.
      if (!(error instanceof StatusError && error.code === 404)) throw error
    }
  }
}

function* removeOne(request: Request, options: DeleteOptions): Step<void> {
  // All workers begin at the same moment, with decoding the stored object.
  yield
  yield* removeObject(request, { options })
}

/** A deletion as of a revision spares newer objects, as kube-apiserver does: it reads page by page, and a page is of one revision. */
function exactly(options: ListOptions): ListOptions {
  const { match, resourceVersion, continue: token } = options
  return match === '' && token === '' && resourceVersion !== '' && resourceVersion !== '0' ? { ...options, match: 'Exact' } : options
}

/** Objects that cannot be read must be deleted by name. */
function refuseUnsafe({ ignoreReadErrors }: DeleteOptions, { groupDomain }: CallContext): void {
  if (!ignoreReadErrors) return
  const at = refTo({ ignoreStoreReadErrorWithClusterBreakingPotential: true }).ignoreStoreReadErrorWithClusterBreakingPotential
  const error = invalid(at, 'is not allowed with DELETECOLLECTION, try again after removing the option')
  refuse({ groupDomain, kind: 'DeleteOptions' }, [error])
}
