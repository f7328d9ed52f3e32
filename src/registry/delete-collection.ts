/** Delete collection: each selected object by the rules of a single delete. */
import type { ObjectRevision } from '../cache/object-revision.ts'
import { yieldToOthers } from '../lib/yield.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { StatusError } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { readOptions, removeObject, warningsAbout } from './delete.ts'
import type { Deps } from './deps.ts'
import { listObjects } from './list.ts'
import { type DeleteOptions, type ListOptions, listOptions, refuse } from './options.ts'
import { selectionOf } from './selection.ts'
import { servedList } from './version-conversion.ts'
import { SMALL_BYTES } from './yielding.ts'

/** Concurrent deletions: enough to share commits, few enough not to delay other requests. */
const WORKERS = 32

export async function removeCollection(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const asked = listOptions(call.query, ctx)
  const selected = selectionOf(call, asked, ctx)
  const options = readOptions(call, ctx)
  refuseUnsafe(options, ctx)
  const { objects, meta } = await listObjects(deps, call, { options: exactly(asked), selected, ctx })
  const queue = objects.values()
  // An object that cannot be deleted stops its worker, not the others; the response is sent when all are done.
  const work = await Promise.allSettled(Array.from({ length: Math.min(WORKERS, objects.length) }, () => workOn(queue)))
  for (const outcome of work) if (outcome.status === 'rejected') throw outcome.reason
  const items = await servedList(
    call.resource,
    objects.map(v => v.item),
  )
  return { type: 'list', resource: call.resource, items, meta, warnings: warningsAbout(call.resource, options) }

  async function workOn(rest: Iterator<ObjectRevision>): Promise<void> {
    for (let { value, done } = rest.next(); !done; { value, done } = rest.next()) {
      const { namespace, name, size } = value as ObjectRevision
      // All begin at the same moment, with decoding what is stored.
      if (size > SMALL_BYTES) await yieldToOthers()
      if (ctx.signal.aborted) return
      try {
        await removeObject(deps, { call: { ...call, namespace, name }, ctx, options })
      } catch (error) {
        // Already deleted by another request.
        if (!(error instanceof StatusError && error.code === 404)) throw error
      }
    }
  }
}

/** A deletion as of a version spares what came later, as kube-apiserver does: it reads page by page, and pages are of exactly one version. */
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
