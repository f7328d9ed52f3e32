/** Read: one object as it is stored, or one of its subresources. */
import { readStored } from '../cache/stored-list.ts'
import { isStep, type MaybeStep, type Step, waitFor } from '../lib/step.ts'
import { keyOf } from '../schema/resource.ts'
import { expired, notFound } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import type { Call, Result } from './api.ts'
import type { Deps } from './deps.ts'
import type { Request } from './request.ts'
import { parseRevision, waitForRevision } from './revision.ts'
import { decodeStored, findStored } from './stored-object.ts'
import { servedJson } from './version-conversion.ts'

/** Waits only for a future revision, and for a conversion webhook. */
export function read(request: Request): MaybeStep<Result> {
  const { deps, call } = request
  const { caches } = deps
  const revision = parseRevision(call.query.get('resourceVersion') ?? '')
  if (revision > 0 && revision < caches.revision && call.query.get('resourceVersionMatch') === 'Exact') return readPast(request, revision)
  return revision <= caches.revision ? readNow(deps, call) : readLater(request, revision)
}

function* readLater({ deps, call, ctx }: Request, revision: Revision): Step<Result> {
  const failure = yield* waitFor(waitForRevision(deps.caches, revision, { signal: ctx.signal }))
  if (failure) throw failure
  const result = readNow(deps, call)
  return isStep(result) ? yield* result : result
}

function readNow(deps: Deps, call: Call): MaybeStep<Result> {
  const { resource, name } = call
  const found = findStored(deps, call)
  if (!found) throw notFound(resource, name)
  const { json } = found
  if (found.fault !== undefined) decodeStored(resource, found)
  return resource.conversion ? readConverted(call, json) : { type: 'object', code: 200, resource, json, warnings: NONE }
}

function* readConverted({ resource }: Call, stored: Uint8Array): Step<Result> {
  return { type: 'object', code: 200, resource, json: yield* servedJson(resource, stored), warnings: NONE }
}

/** The object as it was at a revision that is still known. kube-apiserver reads only lists so. */
function* readPast({ deps: { caches, store }, call, ctx }: Request, at: Revision): Step<Result> {
  const { resource, namespace, name } = call
  const trace = ctx.stopwatch?.trace
  const past = yield* waitFor(readStored(store, caches.of(resource).resource, keyOf(resource, namespace, name), { at, trace }))
  if (past === 'forgotten') throw expired('The resourceVersion for the provided object is too old.')
  if (!past) throw notFound(resource, name)
  if (past.fault !== undefined) decodeStored(resource, past)
  return { type: 'object', code: 200, resource, json: yield* servedJson(resource, past.json), warnings: NONE }
}

const NONE: readonly string[] = []
