/**
 * Every write, step by step. Create, replace, patch, apply, scale, status, bindings, evictions, reviews and deletes are one list
 * of steps over one value; verbs differ in what their `Change` defines. Start at STEPS and `write`.
 */
import type { ObjectRevision } from '../cache/object-revision.ts'
import { limitValues } from '../codec/decoded-size.ts'
import { encodeObject, encodeWrite, parseObject, withRevision } from '../codec/stored-bytes.ts'
import { copyJson, deepEqual, type JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import { keepTimesIfUnchanged, readManagers } from '../patch/managers.ts'
import { nullEmptyLists } from '../schema/empty-lists.ts'
import type { AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import {
  alreadyExists,
  badRequest,
  conflict,
  generatedNameTaken,
  internalError,
  invalidObject,
  MODIFIED,
  mayHaveHappened,
  notFound,
  StatusError,
  timedOut,
} from '../schema/status-error.ts'
import { type Fence, FencedOff, LateBytes, type Revision, type Change as StoreChange, type Swap } from '../storage/store.ts'
import { WriteAttributes } from './admission-attributes.ts'
import type { Reservation } from './allocations.ts'
import type { Result } from './api.ts'
import { removeDuplicateOwners } from './owner-references.ts'
import { managersAfter, setManagers } from './ownership.ts'
import { prepareCreate, prepareUpdate, setDefaults, settleNamespace, targetOf } from './strategy.ts'
import { validating } from './validation-job.ts'
import { servedJson, toServed, toStored } from './version-conversion.ts'
import type { Change, Write } from './write-value.ts'
import { isLarge, runLongParts, runParts, yieldIfDue } from './yielding.ts'

type Step = (write: Write) => MaybePromise<void>

/**
 * The steps, in order. Rules of built-in kinds are about the stored version, those of custom kinds about each served version: of
 * the two conversions on the way in, one does nothing. For kinds with a single version none does anything.
 */
const STEPS: readonly Step[] = [
  decode,
  read,
  merge,
  applyDefaults,
  own,
  mutate,
  toRulesVersion,
  compare,
  identify,
  claim,
  prepare,
  compile,
  validate,
  admit,
  toStoredVersion,
  store,
  toServedVersion,
]
/** The phases of a slow write, as they are logged. */
const PHASES: ReadonlyMap<Step, string> = new Map<Step, string>([
  [decode, 'decode'],
  [mutate, 'admission'],
  [admit, 'admission'],
  [store, 'store'],
])
/** The phase that ends with each step; none where the next step is of the same phase. */
const ENDING = STEPS.map(step => PHASES.get(step) ?? 'rules').map((phase, i, phases) => (phase === phases[i + 1] ? undefined : phase))
const FIRST_NAMED = STEPS.indexOf(identify)
const STORE = STEPS.indexOf(store)

/** How often a write is tried while others keep coming first, and names are generated that are taken. */
const ATTEMPTS = 16
/** Writers in one process wait for each other (`contention.ts`); those of several processes do not know of each other. */
const SHARED_ATTEMPTS = 64
const NAME_ATTEMPTS = 8

/**
 * Runs a write to its result: compare and swap, again from the beginning on what is stored by then whenever another write came
 * first, so that every decision is about the object that is replaced. 409 when others came first too often.
 */
export async function write(request: Write): Promise<Result> {
  const { deps, call } = request
  let leave: (() => void) | undefined
  try {
    const attempts = deps.store.isShared ? SHARED_ATTEMPTS : ATTEMPTS
    for (let attempt = 1; attempt <= attempts; attempt++) {
      request.ctx.budget.renew()
      await run(request, 0)
      for (let name = 1; request.unnamed && isNameTaken(request) && name < NAME_ATTEMPTS; name++) await runWithAnotherName(request)
      const { result, storedAt, ctx } = request
      if (result && (storedAt !== undefined || !ctx.confirm || (await isUpToDate(request)))) return result
      request.result = undefined
      if (request.change.does === 'create' && isNameTaken(request)) throw warned(request, nameTaken(request))
      // A write that names a resourceVersion is tried again, too: it must get 404 rather than 409 if the object has been deleted.
      const key = request.isOutdated ? request.needs!.key : keyOf(call.resource, call.namespace, call.name)
      leave ??= await deps.contention.enter(key)
      const because = request.isOutdated ? 'what admission relied on has changed' : 'another write of the object came first'
      request.ctx.explanation?.add({ outcome: 'begun again', because })
      // The store is ahead of the cache while other writes are being delivered.
      await (deps.caches.fresh() ?? deps.caches.reached((await deps.store.get(key)).revision))
    }
    throw warned(request, conflict(call.resource, call.name, MODIFIED))
  } finally {
    leave?.()
  }
}

/** Runs the steps. Ends without a result when another write came first. Between the steps a large write yields to other requests. */
async function run(request: Write, from: number): Promise<void> {
  request.reservation = undefined
  request.isOutdated = false
  const began = performance.now()
  // To set a length takes long, even to what it is.
  if (from === 0 && request.warnings.length > 0) request.warnings.length = 0
  try {
    for (let i = from; i < STEPS.length && !request.result; i++) {
      if (i === STORE) checkBeforeStore(request, began)
      const waiting = STEPS[i]!(request)
      if (waiting) await waiting
      const phase = ENDING[i]
      if (phase !== undefined) request.ctx.stopwatch?.lap(phase)
      const yielding = yieldIfDue(request)
      if (yielding) await yielding
      if (i === STORE && !request.done && !request.result) break
    }
  } catch (error) {
    if (error instanceof StatusError) warned(request, error)
    await request.attributes?.end(request.done !== undefined || mayHaveHappened(error))
    await reserved(request)?.abandon(error)
    throw error
  }
  const ending = request.attributes?.end(request.done !== undefined)
  if (ending) await ending
  const settling = reserved(request)?.settle(request.done)
  if (settling) await settling
}

/** A refusal, with what its client is to be warned of. */
function warned({ warnings }: Write, error: StatusError): StatusError {
  if (warnings.length > 0) error.warnings = [...warnings]
  return error
}

const isNameTaken = ({ result, isOutdated }: Write): boolean => !result && !isOutdated

/** Whether a write with nothing to change has looked at the newest object. */
async function isUpToDate({ call, ctx, deps, found }: Write): Promise<boolean> {
  await ctx.confirm!()
  return deps.caches.of(call.resource).get(keyOf(call.resource, call.namespace, call.name))?.revision === found?.revision
}

/** Throws when the write must not be stored any more: who makes it may not, or it was held up for so long that others may rely on its end. */
function checkBeforeStore({ ctx, deps }: Write, began: number): void {
  ctx.beforeStore?.()
  if (deps.store.isShared && performance.now() - began > LIMITS.sharedWriteMs) throw timedOut('the request took too long to be stored')
}

const reserved = ({ reservation }: Write): Reservation | undefined => reservation

function runWithAnotherName(request: Write): Promise<void> {
  const { object, resource } = request.unnamed!
  request.object = object
  request.resource = resource
  return run(request, FIRST_NAMED)
}

/** Decodes the body, unless that depends on the stored object. */
function decode(request: Write): MaybePromise<void> {
  return request.change.decode?.(request)
}

const storesNothing = ({ does }: Change): boolean => does === 'message' || does === 'connect'

/** Finds what is stored, in the served version; 404 unless the write may create it. */
function read(request: Write): MaybePromise<void> {
  const { change, call, deps } = request
  const { resource, namespace, name } = call
  // An earlier attempt may have gone on to the stored version.
  request.resource = resource
  if (change.does === 'create' || storesNothing(change)) return
  const found = deps.caches.of(resource).get(keyOf(resource, namespace, name))
  if (!found && change.does !== 'either') throw notFound(resource, name)
  request.found = found
  request.done = request.shown = undefined
  request.stored = request.old = request.before = undefined
  if (!found || (change.does === 'delete' && found.fault !== undefined)) return
  request.stored = decodeStored(resource, found)
  return whenDone(toServed(resource, request.stored), served => {
    request.old = request.before = served
  })
}

/** The stored object of a revision, or an error that says it cannot be read. */
export function decodeStored(resource: Resource, found: ObjectRevision): AnyObject {
  // Reading the bytes may show that they cannot be read any more.
  const { json, name } = found
  const { fault } = found
  if (fault !== undefined) throw internalError(`${resource.qualified} "${name}" cannot be read from storage: ${fault}`)
  return parseObject(json)
}

/** Makes the object from the body and the stored object, where it depends on both, and checks preconditions. */
function merge(request: Write): MaybePromise<void> {
  return request.change.merge?.(request)
}

/** Fills in defaults. */
function applyDefaults({ object, kind, ctx, change }: Write): void {
  if (object && !change.isAdmitted) setDefaults(kind, object, ctx)
}

/** Records in managedFields which manager owns which fields. What admission adds afterwards has no manager. */
function own(request: Write): MaybePromise<void> {
  const { object, managers, change, call } = request
  if (!object || change.isAdmitted || change.does === 'connect') return
  // What a patch makes of the stored object is looked at when admission has seen it.
  if (call.verb !== 'patch') request.warnings.push(...removeDuplicateOwners(object))
  return whenDone(managers ?? managersAfter(request), entries => {
    setManagers(object, entries)
    // Who sends too much need not wait, nor the server work, until it is to be stored.
    if (isLarge(request) && call.subresource === '') return whenDone(yieldIfDue(request), () => limitValues(object, LIMITS.storedNodes))
  })
}

/** Lets admission change the object, or reject the write. */
function mutate(request: Write): MaybePromise<void> {
  const { admission } = request.deps
  if (!admission || request.change.isAdmitted) return
  const attributes = new WriteAttributes(request)
  request.attributes = attributes
  const waiting = admission.mutate(attributes)
  return waiting ? waiting.then(() => takeMutated(request)) : takeMutated(request)
}

/** Admission may not break managedFields: entries that cannot be read are restored. */
function takeMutated(request: Write): void {
  const { object, attributes } = request
  const mutated = attributes!.object
  if (!object || !mutated) return
  if (request.change.does === 'connect') {
    request.object = mutated
    return
  }
  const { managedFields } = object.metadata
  const read = mutated === object ? undefined : readManagers(mutated.metadata.managedFields)
  if (read && !read.ok) {
    setManagers(mutated, managedFields ?? [])
    request.warnings.push(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${read.message}`,
    )
  }
  request.warnings.push(...removeDuplicateOwners(mutated, 'after mutating admission happens'))
  if (request.kind === request.call.resource) keepIdentity(request, mutated)
  request.object = mutated
}

/** Admission may not change the identity of an object: another namespace is rejected, as is another name than that of the path. */
function keepIdentity({ call, old }: Write, mutated: AnyObject): void {
  settleNamespace(call, mutated)
  const { name } = mutated.metadata
  // For an existing object the metadata rules reject another name.
  if (call.name !== '' && !old && name !== call.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.name})`)
}

/** Converts an object of a built-in kind to the stored version, to which its rules apply. */
function toRulesVersion(request: Write): MaybePromise<void> {
  request.change.convert?.(request)
  if (!request.resource.def.custom && !storesNothing(request.change)) return convert(request)
}

function convert(request: Write): MaybePromise<void> {
  const { resource, object, ctx } = request
  if (!resource.conversion || !object) return
  const { storedVersion } = resource.conversion
  return whenDone(toStored(resource, object, ctx), stored => {
    request.object = stored
    request.before = request.stored
    request.resource = storedVersion
  })
}

/** Rejects an update with another resourceVersion than the stored one; an update without one gets the stored one. */
function compare({ call: { resource, name }, object, before, stored }: Write): void {
  if (!object || !before) return
  const { metadata } = object
  const current = stored!.metadata.resourceVersion!
  if (metadata.resourceVersion && metadata.resourceVersion !== '0') {
    if (metadata.resourceVersion !== current) throw conflict(resource, name, MODIFIED)
    return
  }
  if (resource.def.allowUnconditionalUpdate === false) {
    const at = refTo({ metadata: { resourceVersion: 0 } }).metadata.resourceVersion
    throw invalidObject({ group: resource.group, kind: resource.plural }, name, [invalid(at, 'must be specified for an update')])
  }
  metadata.resourceVersion = current
}

/** Generated names are cut so that the whole still fits into a label. */
const LONGEST_PREFIX = 58

/** Gives a new object its name, uid and time of creation. */
function identify(request: Write): void {
  const { object, before, change, deps, time } = request
  if (!object || before || storesNothing(change)) return
  const { metadata } = object
  if (!metadata.name && metadata.generateName) {
    request.unnamed = { object: copyJson(object), resource: request.resource }
    metadata.name = metadata.generateName.slice(0, LONGEST_PREFIX) + deps.randomSuffix()
  }
  object.metadata = identified(metadata, deps.newUid(), time)
  request.resource.def.custom?.beforeCreate?.(metadata.name ?? '')
}

/** The metadata of a new object. Owned fields come last, as Kubernetes writes them: errors show objects in that order. */
function identified(metadata: ObjectMeta, uid: string, creationTimestamp: string): ObjectMeta {
  const { managedFields } = metadata
  // A new object: deleting a field and adding it again would make every later access slower.
  const result: Record<string, unknown> = {}
  for (const field in metadata)
    if (field !== 'managedFields' && !(SET_BY_SERVER as readonly string[]).includes(field))
      result[field] = metadata[field as keyof ObjectMeta]
  result['uid'] = uid
  result['creationTimestamp'] = creationTimestamp
  if (managedFields) result['managedFields'] = managedFields
  return result
}

/** Removes what only the server sets. What is absent is left alone: V8 takes long to find nothing to delete. */
export function wipeIdentity({ metadata }: AnyObject): void {
  for (const field of SET_BY_SERVER) if (metadata[field] !== undefined) delete metadata[field]
}
const SET_BY_SERVER = ['deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'uid', 'creationTimestamp'] as const

/** Allocates what the object needs from shared ranges, such as a cluster IP, and writes it into the object. */
function claim(request: Write): MaybePromise<void> {
  const { resource, object, before, call, options, change, deps } = request
  if (!object || !resource.def.claims || storesNothing(change)) return
  const wanted = { resource, object, old: before, takes: call.subresource === '', dryRun: options.dryRun }
  return deps.allocations.reserve(wanted).then(reservation => {
    request.reservation = reservation
  })
}

/** Makes the object ready to be stored: sets what the server alone sets, and restores what the write may not change. */
function prepare(request: Write): void {
  const { resource, object, before, call, ctx, change } = request
  if (!object || storesNothing(change)) return
  if (!resource.def.custom && !resource.def.keepsEmptyLists) nullEmptyLists(resource.type, object)
  if (!before) {
    prepareCreate(resource, object, ctx)
    return
  }
  const prepared = prepareUpdate(targetOf(resource, call.subresource), object, before, ctx)
  request.object = keepTimesIfUnchanged(before as unknown as JsonObject, prepared as unknown as JsonObject) as unknown as AnyObject
}

/**
 * Compiles the expressions of the rules. As there can be many, this step yields to other requests however small the write is; an object
 * with very many of them is compiled and validated in a worker instead.
 */
function compile(request: Write): MaybePromise<void> {
  const { resource, object, before, call, change, ctx } = request
  request.isValidated = false
  if (!object || change.validate || change.isAdmitted || storesNothing(change)) return
  if (isExpensive(request, object)) return validateInWorker(request, object)
  const parts = (targetOf(resource, call.subresource).update ?? resource.def).compiling?.(object, before, ctx)[Symbol.iterator]()
  if (!parts) return
  for (let i = 0; i < COMPILED_AT_ONCE; i++) if (parts.next().done) return
  return runLongParts(request, parts, COMPILED_AT_ONCE)
}
const COMPILED_AT_ONCE = 4

/** Whether the rules of the object take so long that they are to run in a worker. */
const isExpensive = (request: Write, object: AnyObject): boolean =>
  request.deps.validator !== undefined &&
  request.resource.def.ruleWork !== undefined &&
  request.call.subresource === '' &&
  isLarge(request) &&
  request.resource.def.ruleWork(object) > LIMITS.inlineRuleWork

async function validateInWorker(request: Write, object: AnyObject): Promise<void> {
  const { deps, resource, found, before, ctx, warnings } = request
  const { user, now, signal } = ctx
  const { apiVersion, kind } = resource
  const job = { apiVersion, kind, object: encodeObject(object), old: before && found!.json, user, now }
  const validated = await deps.validator!.validate(job, { user: user.name, signal })
  if (validated.outcome === 'refused') throw new StatusError(validated.code, validated.reason, validated.message, validated.details)
  warnings.push(...validated.warnings)
  request.isValidated = true
}

/** Rejects an object that breaks the rules of its kind, and collects warnings. */
function validate(request: Write): MaybePromise<void> {
  const { object, change } = request
  if (change.validate) return change.validate(request)
  if (!object || change.isAdmitted || storesNothing(change) || request.isValidated) return
  const { resource, before, call, ctx, warnings } = request
  const validation = { resource, subresource: call.subresource, object, old: before, ctx }
  return whenDone(runParts(request, validating(validation)), found => {
    if (found.length > 0) warnings.push(...found)
  })
}

/** Lets admission reject what would be stored. Creating by a replace or an apply requires the permission to create. */
function admit(request: Write): MaybePromise<void> {
  const { ctx, change, before } = request
  if (change.isAdmitted) return
  if (change.does === 'either' && !before && ctx.authorizeCreate) return ctx.authorizeCreate().then(() => admitStored(request))
  return admitStored(request)
}

function admitStored(request: Write): MaybePromise<void> {
  const { deps, change, attributes } = request
  if (!deps.admission || !attributes) return
  const shown = change.show ? change.show(request) : shownObject(request)
  return whenDone(shown, object => {
    attributes.object = object
    if (!change.show && object !== request.object) request.shown = object
    return deps.admission!.validate(attributes)
  })
}

function shownObject({ call, resource, object, change }: Write): MaybePromise<AnyObject | undefined> {
  return object && resource !== call.resource && !storesNothing(change) ? toServed(call.resource, object) : object
}

/** Converts an object of a custom kind to the stored version. */
function toStoredVersion(request: Write): MaybePromise<void> {
  if (request.resource.def.custom && !storesNothing(request.change)) return convert(request)
}

/** Stores the object unless another write came first; leaves `done` unset then. */
function store(request: Write): MaybePromise<void> {
  if (request.change.store) return request.change.store(request)
  return request.before ? swap(request) : insert(request)
}

/** Creates the object, if its name is free. */
function insert(request: Write): MaybePromise<void> {
  const { resource, options, deps, change } = request
  const object = request.object!
  const { caches } = deps
  const cache = caches.of(resource)
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name!)
  const value = new LateBytes(() => encodeWrite(object))
  if (options.dryRun) {
    // What is too large is refused here, too.
    encodeWrite(object)
    if (!cache.get(key)) request.done = { json: encodeObject(object), object }
    return
  }
  if (change.does === 'create' && isRevision(object.metadata.resourceVersion))
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  resource.def.custom?.beforeCreate?.(object.metadata.name!)
  const stored = (swapped: Swap) => {
    if (!swapped.ok) return
    noteStored(request, swapped.revision)
    const latest = cache.get(key)
    const json = latest?.revision === swapped.revision ? latest.json : withRevision(value.bytes, swapped.revision)
    request.done = { json, object, revision: swapped.revision }
  }
  return caches.write(key, storeChange(request, 0, value)).then(stored, error => {
    if (!(error instanceof FencedOff) || error.fence !== request.needs) throw error
    request.isOutdated = true
  })
}

/** What the store is asked to do: another value for a key, as long as what the write depends on is still so. */
function storeChange(request: Write, expect: Revision, value: LateBytes | null): StoreChange {
  const { object } = request
  // A new object has a uid that no other has, so that its creation is known to have been made even if the store's answer is lost.
  const unique = expect === 0
  const isEnding = Boolean(object?.metadata.deletionTimestamp)
  return { expect, value, object, unique, isEnding, ttlSeconds: request.resource.def.ttlSeconds, fences: fencesOf(request) }
}

/** What a write depends on, besides the object itself. */
export function fencesOf({ ctx: { fence }, needs }: Write): readonly Fence[] | undefined {
  if (!fence) return needs && [needs]
  return needs ? [fence, needs] : [fence]
}

/** Remembers that the write was stored, and who made it. */
export function noteStored(request: Write, revision: Revision): void {
  const { deps, ctx } = request
  request.storedAt = revision
  deps.writers?.note(revision, ctx.user.name, ctx.now)
}

/** Whether a text is a resourceVersion that an object could have. */
const isRevision = (text: string | undefined): boolean =>
  text !== undefined && /^\d+$/.test(text) && BigInt(text) > 0n && BigInt(text) < 2n ** 64n

/** Replaces the stored object if the new one differs, or removes it when nothing prevents its deletion any more. */
async function swap(request: Write): Promise<void> {
  const { resource, options, deps, found, stored } = request
  const { key, revision, stale } = found!
  const object = request.object!
  // A record of an outdated schema or version is written again even without a change.
  if (!stale && deepEqual(object, stored)) {
    request.done = { json: found!.json, object, revision }
    return
  }
  const value = new LateBytes(() => encodeWrite(object))
  if (options.dryRun) {
    request.done = { json: withRevision(value.bytes, revision), object }
    return
  }
  const isRemoved = isReleased(resource, object, stored!)
  const cache = deps.caches.of(resource)
  const swapped = await deps.caches.write(key, storeChange(request, revision, isRemoved ? null : value))
  if (!swapped.ok) return
  noteStored(request, swapped.revision)
  const latest = cache.get(key)
  const json = latest?.revision === swapped.revision ? latest.json : withRevision(value.bytes, swapped.revision)
  request.done = { json, object: isRemoved ? undefined : object, revision: swapped.revision }
}

/** Whether an update removes the last thing that prevented a deletion. */
function isReleased(
  { def }: Resource,
  object: AnyObject,
  { metadata: { deletionTimestamp, deletionGracePeriodSeconds: grace } }: AnyObject,
) {
  if (!deletionTimestamp || (object.metadata.finalizers?.length ?? 0) > 0) return false
  if (def.deletion?.hasSpecFinalizers && (object['spec']?.finalizers?.length ?? 0) > 0) return false
  return grace === undefined || grace === 0
}

/** Answers with what is stored now, in the served version. */
function toServedVersion(request: Write): MaybePromise<void> {
  const { call, change, found, warnings } = request
  if (change.respond) return change.respond(request)
  const code = found ? 200 : 201
  return whenDone(answerOf(request), json => {
    request.result = { type: 'object', code, resource: call.resource, json, warnings }
  })
}

/** The bytes of what is stored in the served version: of the object that was converted already, where there is one. */
function answerOf({ call, shown, done }: Write): MaybePromise<Uint8Array> {
  const { json, revision } = done!
  return shown && revision !== undefined ? encodeObject(shown, String(revision)) : servedJson(call.resource, json)
}

/** The error for a create whose name is taken. */
function nameTaken({ call: { resource, namespace }, object, deps }: Write): StatusError {
  const { name = '', generateName } = object!.metadata
  if (generateName) return generatedNameTaken(resource, name)
  const found = deps.caches.of(resource).get(keyOf(resource, object!.metadata.namespace ?? namespace, name))
  const isGoing = found && found.fault === undefined && parseObject(found.json).metadata.deletionTimestamp
  const error = alreadyExists(resource, name)
  return isGoing ? new StatusError(error.code, error.reason, `object is being deleted: ${error.message}`, error.details) : error
}
