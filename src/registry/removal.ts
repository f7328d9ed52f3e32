/**
 * Removes an object, at once or by marking it while a grace period or finalizers prevent its removal. An object of a kind with grace
 * periods is marked in any case, so that watchers learn of the deletion and its grace period before it is gone.
 */
import { stringifyJson } from '../codec/json.ts'
import { encodeStored, withRevision } from '../codec/stored-bytes.ts'
import { copyJson, deepEqual, type JsonObject } from '../lib/json-value.ts'
import { finish, type Step, waitFor } from '../lib/step.ts'
import { millisecondsAt, timestampOf } from '../lib/time.ts'
import { DeleteOptionsType } from '../schema/delete-options.ts'
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../schema/meta-rules.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { invalidObject } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import type { Body, Call, CallContext, Result } from './api.ts'
import { decodeObject } from './decode.ts'
import { type DeleteBody, type DeleteOptions, deleteOptions } from './options.ts'
import { checkPreconditions, storageConflict } from './preconditions.ts'
import type { Request } from './request.ts'
import { fencesOf, noteStored } from './store-object.ts'
import { decodeStored } from './stored-object.ts'
import { next } from './strategy.ts'
import { servedJson } from './version-conversion.ts'
import { runWrite } from './write.ts'
import { type Change, newWrite, type Write } from './write-value.ts'

/** The options of a delete, in its body or its query. */
export function readDeleteOptions({ call, ctx, body }: Request): DeleteOptions {
  const sent = body && (body.object || body.bytes.length > 0) ? decodeDeleteOptions(body, { call, ctx }) : undefined
  if (sent) ctx.sent?.other(() => stringifyJson({ ...(sent as JsonObject), kind: 'DeleteOptions', apiVersion: AUDITED_OPTIONS }))
  return deleteOptions(call.query, sent, ctx)
}

/** The version in which kube-apiserver records the options of a delete. */
const AUDITED_OPTIONS = 'meta.k8s.io/__internal'

/** Clients send DeleteOptions in the version of the object, of the meta group, or of nothing at all. */
function decodeDeleteOptions(body: Body, { call, ctx }: { readonly call: Call; readonly ctx: CallContext }): DeleteBody {
  const alsoVersions = [call.resource.apiVersion, `meta.${ctx.groupDomain}/v1`, 'meta.k8s.io/v1']
  const expected = { kind: 'DeleteOptions', apiVersion: 'v1', type: DeleteOptionsType, isOptions: true, alsoVersions } as const
  return finish(decodeObject(expected, body, 'Ignore')).object as DeleteBody
}

/** A delete of one object; `isAdmitted` when admission has accepted the request it is part of. */
export type Removal = { readonly options: DeleteOptions; readonly isAdmitted?: true }

export function removeObject(request: Request, { options, isAdmitted }: Removal): Step<Result> {
  const change = deletion(options)
  return runWrite(
    newWrite(request, {
      options: { dryRun: options.dryRun, fieldManager: '', fieldValidation: 'Ignore', force: undefined },
      change: isAdmitted ? { ...change, isAdmitted } : change,
    }),
  )
}

/** The steps of a delete: it plans the deletion, and marks or removes the stored object. */
function deletion(options: DeleteOptions): Change {
  let plan: Plan = { step: 'erase' }
  return {
    effect: 'delete',
    deleteOptions: options.sent as JsonObject,
    decode: ({ call, warnings }) => void warnings.push(...warningsAbout(call.resource, options)),
    merge(write) {
      const { call, ctx, found, stored } = write
      plan = { step: 'erase' }
      if (!stored && options.ignoreReadErrors) return
      if (!stored) return void decodeStored(call.resource, found!)
      checkPreconditions(call.resource, stored, options)
      if (options.ignoreReadErrors)
        throw storageConflict(call, { dryRun: false }, 'unsafe deletion is not allowed because the object is decodable from storage')
      plan = planDeletion(call.resource, stored, { options, ctx })
      if (plan.step === 'wait') return respond(write, found!.json, options)
    },
    validate({ call, stored, ctx }) {
      if (stored) checkDeletable(call.resource, stored, ctx)
    },
    *store(write): Step<void> {
      if (plan.step === 'keep') write.done = { json: write.found!.json, object: write.stored }
      else if (plan.step === 'erase') yield* erase(write, plan.object)
      else if (plan.step === 'mark') yield* mark(write, plan.object)
    },
    respond(write) {
      const { call, done, found, stored, warnings } = write
      const { deprecated } = call.resource.def
      const returnsObject = plan.step !== 'erase' || (stored && call.resource.def.deletion?.returns === 'object')
      if (returnsObject) return respond(write, done!.json, options)
      write.result = {
        type: 'status',
        code: 200,
        status: stored ? deleted(call.resource, found!.name, stored.metadata.uid) : discarded(call.resource, found!.name),
        warnings: deprecated === undefined ? warnings : [deprecated, ...warnings],
      }
    },
  }
}

/** The warnings of a deletion. */
export function warningsAbout({ def }: Resource, { orphanDependents, propagationPolicy }: DeleteOptions): readonly string[] {
  const { propagationWarning } = def.deletion ?? {}
  return propagationWarning !== undefined && orphanDependents === undefined && propagationPolicy === undefined ? [propagationWarning] : []
}

/** Answers with the object. 202 only for a cascading deletion in its old spelling that is not over yet, as clients expect it. */
function* respond(write: Write, stored: Uint8Array, { orphanDependents }: DeleteOptions): Step<void> {
  const { call, warnings, done } = write
  const code = orphanDependents === false && !(done && done.object === undefined) ? 202 : 200
  const json = yield* servedJson(call.resource, stored)
  write.result = { type: 'object', code, resource: call.resource, json, warnings }
}

function checkDeletable({ def, group, kind }: Resource, stored: AnyObject, ctx: CallContext): void {
  const errors = [...(def.deletion?.check?.(stored, ctx) ?? [])]
  if (errors.length > 0) throw invalidObject({ group, kind }, stored.metadata.name!, errors)
}

/** Remove the object, perhaps after marking it; mark it as being deleted; keep it as it is, or wait for a deletion in progress. */
type Plan =
  | { readonly step: 'wait' | 'keep' }
  | { readonly step: 'erase'; readonly object?: AnyObject }
  | { readonly step: 'mark'; readonly object: AnyObject }

/** The next step of a deletion. */
function planDeletion(resource: Resource, stored: AnyObject, { options, ctx }: { options: DeleteOptions; ctx: CallContext }): Plan {
  const { deletion } = resource.def
  // Only metadata changes, unless the kind changes more.
  const object: AnyObject = deletion?.onFirst || deletion?.onMark ? copyJson(stored) : { ...stored, metadata: { ...stored.metadata } }
  const { metadata } = object
  if (deletion?.onFirst && !metadata.deletionTimestamp) {
    metadata.deletionTimestamp = timestampOf(ctx.now)
    deletion.onFirst(object, ctx)
    return { step: 'mark', object }
  }
  if (deletion?.hasSpecFinalizers && !metadata.deletionTimestamp) {
    setPropagation(resource, object, options)
    metadata.deletionTimestamp = timestampOf(ctx.now)
    deletion.onMark?.(object, ctx)
    return { step: 'mark', object }
  }
  const requested = options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds
  const held = deletion?.hasSpecFinalizers && (object['spec']?.finalizers?.length ?? 0) > 0
  if (metadata.deletionTimestamp) {
    if (held) return { step: 'wait' }
    const left = Number(metadata.deletionGracePeriodSeconds ?? 0)
    if (left > 0 && (requested === undefined || requested >= left)) return { step: 'wait' }
    if (left > 0) {
      shortenGrace(object, requested!, ctx.now)
      if (requested! > 0) return { step: 'mark', object }
    }
  }
  const finalizersChanged = setPropagation(resource, object, options)
  const grace = metadata.deletionTimestamp ? undefined : deletion?.grace?.(object, requested)
  const holds = (metadata.finalizers?.length ?? 0) > 0
  if (!metadata.deletionTimestamp && (grace !== undefined || holds)) {
    metadata.deletionTimestamp = timestampOf(ctx.now.getTime() + (grace ?? 0) * 1000)
    metadata.deletionGracePeriodSeconds = grace ?? 0
    if (metadata.generation) metadata.generation = next(metadata.generation)
  }
  if (holds || (grace ?? 0) > 0) return finalizersChanged || !deepEqual(object, stored) ? { step: 'mark', object } : { step: 'keep' }
  const isChanged = metadata.deletionGracePeriodSeconds !== stored.metadata.deletionGracePeriodSeconds
  return isChanged ? { step: 'erase', object } : { step: 'erase' }
}

function shortenGrace({ metadata }: AnyObject, seconds: number, now: Date): void {
  const began = millisecondsAt(metadata.deletionTimestamp!) - Number(metadata.deletionGracePeriodSeconds) * 1000
  const ends = began + seconds * 1000
  // Even when the grace period is over, the final delete is left to the node agent.
  const over = ends < now.getTime()
  metadata.deletionTimestamp = timestampOf(over ? now : ends)
  metadata.deletionGracePeriodSeconds = over && seconds !== 0 ? 1 : seconds
}

/** Adds or removes the finalizers that tell the garbage collector what to do with dependents. */
function setPropagation({ def }: Resource, { metadata }: AnyObject, { orphanDependents, propagationPolicy }: DeleteOptions): boolean {
  const before = metadata.finalizers ?? []
  const others = before.filter(f => f !== ORPHAN_FINALIZER && f !== FOREGROUND_FINALIZER)
  const policy = policyOf(def, before, { orphanDependents, propagationPolicy })
  const added = policy === 'Orphan' ? [ORPHAN_FINALIZER] : policy === 'Foreground' ? [FOREGROUND_FINALIZER] : []
  const after = [...others, ...added]
  const known = new Set(before)
  if (after.length === before.length && after.every(f => known.has(f))) return false
  if (after.length > 0) metadata.finalizers = after
  else delete metadata.finalizers
  return true
}

/** The policy for dependents: none for kinds without any, else that of the request, of the object, or of its kind, in this order. */
function policyOf(
  { deletion }: Resource['def'],
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: Pick<DeleteOptions, 'orphanDependents' | 'propagationPolicy'>,
): string {
  const usual = deletion?.propagation ?? 'Background'
  if (usual === 'Unsupported') return usual
  if (orphanDependents !== undefined) return orphanDependents ? 'Orphan' : 'Background'
  if (propagationPolicy !== undefined) return propagationPolicy
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan'
  return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : usual
}

/** Stores the mark, and returns its revision unless another write came first. */
function* mark(write: Write, marked: AnyObject): Step<Revision | undefined> {
  const { deps, found, options } = write
  const { key, revision } = found!
  const value = encodeStored(marked)
  if (options.dryRun) {
    write.done = { json: withRevision(value, revision), object: marked }
    return undefined
  }
  const change = { expect: revision, value, object: marked, isEnding: true, fences: fencesOf(write), trace: write.ctx.stopwatch?.trace }
  const swapped = yield* waitFor(deps.caches.write(key, change))
  if (!swapped.ok) return undefined
  noteStored(write, swapped.revision)
  write.done = { json: withRevision(value, swapped.revision), object: marked }
  return swapped.revision
}

/**
 * Removes the object, after marking it where it is to be marked. An object that cannot be read has no finalizers or preconditions to
 * respect: it can only be removed.
 */
function* erase(write: Write, marked: AnyObject | undefined): Step<void> {
  const { deps, call, found, options, stored } = write
  const { key, json } = found!
  const revision = marked ? yield* mark(write, marked) : found!.revision
  if (options.dryRun) {
    write.done = { json: write.done?.json ?? json, object: undefined }
    return
  }
  if (revision === undefined) return
  const change = { expect: revision, value: null, fences: fencesOf(write), trace: write.ctx.stopwatch?.trace }
  const swapped = yield* waitFor(deps.caches.write(key, change))
  // A watcher of the object may remove it as soon as it is marked.
  const isGone = marked && !swapped.ok && !swapped.current
  if (!swapped.ok && !isGone) {
    write.done = undefined
    return
  }
  if (swapped.ok) noteStored(write, swapped.revision)
  const last = marked ?? stored
  if (stored && call.resource.def.claims) yield* deps.allocations.release(call.resource, stored)
  const isReturned = last && call.resource.def.deletion?.returns === 'object'
  const lastRevision = swapped.ok ? swapped.revision : revision
  write.done = { json: isReturned ? withRevision(encodeStored(last), lastRevision) : json, object: undefined }
}

/** The answer of kube-apiserver where it has no object to tell about. */
const discarded = ({ kind }: Resource, name: string) =>
  ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name, kind }, code: 200 }) as const

const deleted = ({ group, plural }: Resource, name: string, uid: string | undefined) =>
  ({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group !== '' && { group }), kind: plural, ...(uid !== undefined && { uid }) },
  }) as const
