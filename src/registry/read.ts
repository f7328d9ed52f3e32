/** Read: one object as it is stored, or one of its subresources. */
import { readStored } from '../cache/stored-list.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import { keyOf } from '../schema/resource.ts'
import { expired, notFound } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import { servedJson } from './version-conversion.ts'
import { decodeStored } from './write.ts'

/** Waits only for a future revision, and for a conversion webhook. */
export function read(deps: Deps, call: Call, ctx: CallContext): MaybePromise<Result> {
  const { caches } = deps
  const asked = parseRevision(call.query.get('resourceVersion') ?? '')
  if (asked > 0 && asked < caches.revision && call.query.get('resourceVersionMatch') === 'Exact') return readPast(deps, call, asked)
  if (asked <= caches.revision) return readNow(caches, call)
  return waitForRevision(caches, asked, { signal: ctx.signal }).then(failure => {
    if (failure) throw failure
    return readNow(caches, call)
  })
}

function readNow(caches: Deps['caches'], { resource, namespace, name }: Call): MaybePromise<Result> {
  const version = caches.of(resource).get(keyOf(resource, namespace, name))
  if (!version) throw notFound(resource, name)
  const { json: stored } = version
  if (version.fault !== undefined) decodeStored(resource, version)
  return whenDone(servedJson(resource, stored), json => ({ type: 'object', code: 200, resource, json, warnings: NONE }))
}

/** The object as it was at a revision that is still known. kube-apiserver reads only lists so. */
async function readPast({ caches, store }: Deps, { resource, namespace, name }: Call, at: Revision): Promise<Result> {
  const past = await readStored(store, caches.of(resource).resource, keyOf(resource, namespace, name), at)
  if (past === 'forgotten') throw expired('The resourceVersion for the provided object is too old.')
  if (!past) throw notFound(resource, name)
  if (past.fault !== undefined) decodeStored(resource, past)
  return { type: 'object', code: 200, resource, json: await servedJson(resource, past.json), warnings: NONE }
}

const NONE: readonly string[] = []
