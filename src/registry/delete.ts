/** Delete: at once, or by marking the object while grace or finalizers hold it back. */
import { admit } from '../admission/plugin.ts'
import type { ObjectRevision } from '../cache/object-revision.ts'
import { encodeStored, withRevision } from '../codec/stored-bytes.ts'
import { deepEqual } from '../lib/json-value.ts'
import { formatTime, instantOf, millisecondsOf, parseTime } from '../lib/time.ts'
import { nextTurn } from '../lib/turns.ts'
import { DeleteOptionsType } from '../schema/delete-options.ts'
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../schema/meta-rules.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { conflict, invalidObject } from '../schema/status-error.ts'
import type { Call, CallContext, Result } from './api.ts'
import { untilDecided } from './attempts.ts'
import { decodeStored } from './change.ts'
import { decodeObject, type Expected } from './decode.ts'
import type { Deps } from './deps.ts'
import { type DeleteBody, type DeleteOptions, deleteOptions } from './options.ts'
import { isLong } from './pace.ts'
import { next } from './strategy.ts'
import { servedJson, storedResource, toServed } from './version-conversion.ts'

export async function remove(deps: Deps, call: Call, ctx: CallContext): Promise<Result> {
  return removeObject(deps, { call, ctx, options: readOptions(call, ctx) })
}

/** What a delete asks for, in its body or its query. */
export function readOptions(call: Call, ctx: CallContext): DeleteOptions {
  const { body } = ctx
  const expected = { kind: 'DeleteOptions', apiVersion: 'v1', type: DeleteOptionsType }
  const sent = body && body.bytes.length > 0 ? decodeDeleteOptions(expected, body, { call, ctx }) : undefined
  return deleteOptions(call.query, sent, ctx)
}

/** Clients send DeleteOptions in the version of the object, of the meta group, or of nothing at all. */
function decodeDeleteOptions(
  expected: Expected,
  body: NonNullable<CallContext['body']>,
  { call, ctx }: { call: Call; ctx: CallContext },
): DeleteBody {
  const alsoVersions = [call.resource.apiVersion, `meta.${ctx.groupDomain}/v1`, 'meta.k8s.io/v1']
  return decodeObject({ ...expected, alsoVersions }, body, 'Ignore').object as DeleteBody
}

export type Removal = { readonly call: Call; readonly ctx: CallContext; readonly options: DeleteOptions }

export function removeObject(deps: Deps, removal: Removal): Promise<Result> {
  return untilDecided(deps, removal.call, { once: version => attemptRemoval(deps, removal, version) })
}

/** One turn of the loop. Undefined when another write came first. */
async function attemptRemoval(deps: Deps, removal: Removal, version: ObjectRevision): Promise<Result | undefined> {
  const { call, ctx, options } = removal
  const { resource, namespace, name } = call
  if (version.fault !== undefined && options.ignoreReadErrors) return removeUnreadable(deps, removal, version)
  const stored = decodeStored(resource, version)
  checkPreconditions(resource, stored, options)
  const long = isLong(ctx, version.json.byteLength)
  if (long) await nextTurn()
  const about = {
    operation: 'DELETE',
    resource,
    subresource: '',
    namespace,
    name,
    object: undefined,
    old: resource.hub ? await toServed(resource, stored) : stored,
  } as const
  await admit(deps.plugins, 'mutate', { dryRun: options.dryRun, ctx, ...about })
  checkDeletable(resource, stored, ctx)
  await admit(deps.plugins, 'validate', { dryRun: options.dryRun, ctx, ...about })
  const plan = planDeletion(resource, stored, { options, ctx })
  if (plan.step === 'wait')
    return { form: 'object', code: codeOf(options), resource, json: await servedJson(resource, version.json), warnings: [] }
  if (long) await nextTurn()
  if (plan.step === 'mark') return mark(deps, removal, { version, marked: plan.object })
  return erase(deps, removal, { version, stored })
}

/** A deletion may name the uid and the version of the object that is meant. */
export function checkPreconditions(
  resource: Resource,
  { metadata }: AnyObject,
  { preconditions: { uid, resourceVersion } }: DeleteOptions,
): void {
  const subject = { ...resource, plural: resource.kind }
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      subject,
      metadata.name!,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      subject,
      metadata.name!,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
}

function checkDeletable({ def, group, kind }: Resource, stored: AnyObject, ctx: CallContext): void {
  const errors = [...(def.deletion?.check?.(stored, ctx) ?? [])]
  if (errors.length > 0) throw invalidObject({ group, kind }, stored.metadata.name!, errors)
}

type Plan = { readonly step: 'erase' } | { readonly step: 'wait' } | { readonly step: 'mark'; readonly object: AnyObject }

/** What has to happen next: nothing while a deletion is under way, a mark when something holds it back, else the end. */
function planDeletion(resource: Resource, stored: AnyObject, { options, ctx }: { options: DeleteOptions; ctx: CallContext }): Plan {
  const { deletion } = resource.def
  const object = structuredClone(stored)
  const { metadata } = object
  if (deletion?.onFirst && !metadata.deletionTimestamp) {
    metadata.deletionTimestamp = formatTime(instantOf(ctx.now.getTime()))
    deletion.onFirst(object, ctx)
    return { step: 'mark', object }
  }
  const asked = options.gracePeriodSeconds !== undefined && options.gracePeriodSeconds < 0 ? 1 : options.gracePeriodSeconds
  const held = deletion?.hasSpecFinalizers && (object['spec']?.finalizers?.length ?? 0) > 0
  if (metadata.deletionTimestamp) {
    if (held) return { step: 'wait' }
    const left = Number(metadata.deletionGracePeriodSeconds ?? 0)
    if (left > 0 && (asked === undefined || asked >= left)) return { step: 'wait' }
    if (left > 0) {
      shortenGrace(object, asked!, ctx.now)
      if (asked! > 0) return { step: 'mark', object }
    }
  }
  const finalizersChanged = setPropagation(resource, object, options)
  const grace = metadata.deletionTimestamp ? undefined : deletion?.grace?.(object, asked)
  const holds = (metadata.finalizers?.length ?? 0) > 0
  if (held || (grace ?? 0) > 0 || holds) {
    if (!metadata.deletionTimestamp) {
      metadata.deletionTimestamp = formatTime(instantOf(ctx.now.getTime() + (grace ?? 0) * 1000))
      if (!held || grace !== undefined) metadata.deletionGracePeriodSeconds = grace ?? 0
      if (metadata.generation) metadata.generation = next(metadata.generation)
      deletion?.onMark?.(object, ctx)
    }
    return finalizersChanged || !deepEqual(object, stored) ? { step: 'mark', object } : { step: 'wait' }
  }
  return { step: 'erase' }
}

function shortenGrace({ metadata }: AnyObject, seconds: number, now: Date): void {
  const began = millisecondsOf(parseTime(metadata.deletionTimestamp!)) - Number(metadata.deletionGracePeriodSeconds) * 1000
  const ends = began + seconds * 1000
  // A grace that is over already still leaves the last word to whoever ends the object.
  const over = ends < now.getTime()
  metadata.deletionTimestamp = formatTime(instantOf(over ? now.getTime() : ends))
  metadata.deletionGracePeriodSeconds = over && seconds !== 0 ? 1 : seconds
}

/** Adds or removes the finalizers by which the garbage collector is told what to do with dependents. */
function setPropagation({ def }: Resource, { metadata }: AnyObject, { orphanDependents, propagationPolicy }: DeleteOptions): boolean {
  const before = metadata.finalizers ?? []
  const others = before.filter(f => f !== ORPHAN_FINALIZER && f !== FOREGROUND_FINALIZER)
  const policy =
    orphanDependents !== undefined
      ? orphanDependents
        ? 'Orphan'
        : 'Background'
      : (propagationPolicy ??
        (before.includes(ORPHAN_FINALIZER)
          ? 'Orphan'
          : before.includes(FOREGROUND_FINALIZER)
            ? 'Foreground'
            : (def.deletion?.propagation ?? 'Background')))
  const added = policy === 'Orphan' ? [ORPHAN_FINALIZER] : policy === 'Foreground' ? [FOREGROUND_FINALIZER] : []
  const after = [...others, ...added]
  const known = new Set(before)
  if (after.length === before.length && after.every(f => known.has(f))) return false
  if (after.length > 0) metadata.finalizers = after
  else delete metadata.finalizers
  return true
}

async function mark(
  { caches }: Deps,
  { call: { resource }, options }: Removal,
  { version, marked }: { version: ObjectRevision; marked: AnyObject },
): Promise<Result | undefined> {
  const value = encodeStored(marked)
  const answer = async (json: Uint8Array): Promise<Result> => ({
    form: 'object',
    code: codeOf(options),
    resource,
    json: await servedJson(resource, json),
    warnings: [],
  })
  if (options.dryRun) return answer(withRevision(value, version.revision))
  const swapped = await caches.write(version.key, { expect: version.revision, value }, marked)
  if (!swapped.ok) return undefined
  return answer(withRevision(value, swapped.revision))
}

async function erase(
  { caches, ledger }: Deps,
  { call: { resource }, options }: Removal,
  { version, stored }: { version: ObjectRevision; stored: AnyObject },
): Promise<Result | undefined> {
  let json: Uint8Array = version.json
  if (!options.dryRun) {
    const swapped = await caches.write(version.key, { expect: version.revision, value: null })
    if (!swapped.ok) return undefined
    await ledger.release(storedResource(resource), stored)
    json = withRevision(encodeStored(stored), swapped.revision)
  }
  if (resource.def.deletion?.returns === 'object')
    return { form: 'object', code: 200, resource, json: await servedJson(resource, json), warnings: [] }
  return { form: 'status', code: 200, status: deleted(resource, version.name, stored.metadata.uid), warnings: [] }
}

/** An object that cannot be read has no finalizers or preconditions to respect: it can only be thrown away. */
async function removeUnreadable(
  { caches }: Deps,
  { call: { resource }, options }: Removal,
  version: ObjectRevision,
): Promise<Result | undefined> {
  if (!options.dryRun) {
    const swapped = await caches.write(version.key, { expect: version.revision, value: null })
    if (!swapped.ok) return undefined
  }
  return { form: 'status', code: 200, status: deleted(resource, version.name, undefined), warnings: [] }
}

const deleted = ({ group, plural }: Resource, name: string, uid: string | undefined) =>
  ({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group !== '' && { group }), kind: plural, ...(uid !== undefined && { uid }) },
  }) as const

/** 202 only where clients have long asked for it: a cascading deletion, in its old spelling, that is not over yet. */
const codeOf = ({ orphanDependents }: DeleteOptions): 200 | 202 => (orphanDependents === false ? 202 : 200)
