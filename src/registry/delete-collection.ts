/** Delete collection: each selected object by the rules of a single delete. */
import type { Version } from '../cache/version.ts'
import { StatusError } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { readOptions, removeObject } from './delete.ts'
import type { Deps } from './deps.ts'
import { listVersions } from './list.ts'
import { listOptions } from './options.ts'

/** Deletions under way at once: enough to share commits, few enough not to crowd out others. */
const WORKERS = 32

export async function removeCollection(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  const options = readOptions(call, ctx)
  const { versions, meta } = await listVersions(deps, call, { options: listOptions(call.query, false), ctx })
  const queue = versions.values()
  await Promise.all(Array.from({ length: WORKERS }, () => work(queue)))
  return { form: 'list', resource: call.resource, items: versions.map(v => v.json), meta }

  async function work(rest: Iterator<Version>): Promise<void> {
    for (let { value, done } = rest.next(); !done; { value, done } = rest.next()) {
      if (ctx.signal.aborted) return
      const { namespace, name } = value as Version
      try {
        await removeObject(deps, { call: { ...call, namespace, name }, ctx, options })
      } catch (error) {
        // Somebody else deleted it first: that is what was asked for.
        if (!(error instanceof StatusError && error.code === 404)) throw error
      }
    }
  }
}
