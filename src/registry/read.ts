/** Read: one object as it is stored, or one of its views. */
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import { keyOf } from '../schema/resource.ts'
import { notFound } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import { servedJson } from './version-conversion.ts'
import { decodeStored } from './write.ts'

/** Waits only for a future revision, and for a conversion webhook. */
export function read({ caches }: Deps, call: Call, ctx: CallContext): MaybePromise<Result> {
  const asked = parseRevision(call.query.get('resourceVersion') ?? '')
  if (asked <= caches.revision) return readNow(caches, call)
  return waitForRevision(caches, asked, { signal: ctx.signal }).then(failure => {
    if (failure) throw failure
    return readNow(caches, call)
  })
}

function readNow(caches: Deps['caches'], { resource, namespace, name }: Call): MaybePromise<Result> {
  const version = caches.of(resource).get(keyOf(resource, namespace, name))
  if (!version) throw notFound(resource, name)
  if (version.fault !== undefined) decodeStored(resource, version)
  return whenDone(servedJson(resource, version.json), json => ({ type: 'object', code: 200, resource, json, warnings: NONE }))
}

const NONE: readonly string[] = []
