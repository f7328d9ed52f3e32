/**
 * Every write, step by step. Create, replace, patch, apply, scale, status, bindings, evictions, reviews and deletes are one list
 * of steps over one value; verbs differ in the parts that their `Change` defines. Start at STEPS and `runWrite`.
 */
import type { CachedRevision } from '../cache/cached-revision.ts'
import { limitValues } from '../codec/decoded-size.ts'
import { encodeObject, parseObject } from '../codec/stored-bytes.ts'
import { monotonicMs } from '../lib/environment.ts'
import { copyJson, type JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { type Step, waitFor } from '../lib/step.ts'
import { keepTimesIfUnchanged, managerWithTwo, readManagers, writeManagers } from '../patch/managers.ts'
import { conformObject } from '../schema/custom-schema.ts'
import { nullEmptyLists } from '../schema/empty-lists.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { keyOf } from '../schema/resource.ts'
import {
  alreadyExists,
  badRequest,
  conflict,
  generatedNameTaken,
  invalidObject,
  MODIFIED,
  mayHaveHappened,
  notFound,
  StatusError,
  timedOut,
} from '../schema/status-error.ts'
import { WriteAttributes } from './admission-attributes.ts'
import type { Reservation } from './allocations.ts'
import type { Result } from './api.ts'
import { newMetadata, settleNamespace } from './identity.ts'
import { removeDuplicateOwners } from './owner-references.ts'
import { managersAfter, setManagers } from './ownership.ts'
import { assertOwnedOnce, insert, swap } from './store-object.ts'
import { decodeReplaced, decodeStored, findStored } from './stored-object.ts'
import { prepareCreate, prepareUpdate, setDefaults, targetOf } from './strategy.ts'
import { validateObject } from './validation-job.ts'
import { valueLimitsOf } from './value-limits.ts'
import { servedJson, toServed, toStored } from './version-conversion.ts'
import type { Change, StepWork, Write } from './write-value.ts'

type WriteStep = (write: Write) => StepWork

/**
 * The steps, in order. Rules of built-in kinds are about the stored version, those of custom kinds about each served version: of
 * the two conversions on the way in, one does nothing. For kinds with a single version none does anything.
 */
const STEPS: readonly WriteStep[] = [
  decode,
  read,
  merge,
  applyDefaults,
  own,
  mutate,
  toRulesVersion,
  compare,
  nameObject,
  claim,
  prepare,
  validate,
  admit,
  toStoredVersion,
  store,
  toServedVersion,
]
/** The phases of a slow write, as they are logged. */
const PHASES: ReadonlyMap<WriteStep, string> = new Map<WriteStep, string>([
  [decode, 'decode'],
  [mutate, 'admission'],
  [admit, 'admission'],
  [store, 'store'],
])
/** The phase that ends with each step; none where the next step is of the same phase. */
const ENDING = STEPS.map(step => PHASES.get(step) ?? 'rules').map((phase, i, phases) => (phase === phases[i + 1] ? undefined : phase))
const FIRST_NAMED = STEPS.indexOf(nameObject)
const STORE = STEPS.indexOf(store)

/** How often a write is tried while others keep coming first, and names are generated that are taken. */
const ATTEMPTS = 16
/** Writers in one process wait for each other (`contention.ts`); those of several processes do not know of each other. */
const SHARED_ATTEMPTS = 64
const NAME_ATTEMPTS = 8

/**
 * Runs a write to its result: compare and swap, again from the beginning on the newest stored object whenever another write came
 * first, so that every decision is about the object that is replaced. 409 when others came first too often.
 */
export function* runWrite(write: Write): Step<Result> {
  const { deps, call, ctx } = write
  let leave: (() => void) | undefined
  try {
    const attempts = deps.store.isShared ? SHARED_ATTEMPTS : ATTEMPTS
    for (let attempt = 1; attempt <= attempts; attempt++) {
      ctx.budget.renew()
      yield* runSteps(write, 0)
      for (let name = 1; write.unnamed && isNameTaken(write) && name < NAME_ATTEMPTS; name++) yield* runWithAnotherName(write)
      const { result, storedAt } = write
      if (result && (storedAt !== undefined || !ctx.confirm || (yield* isUpToDate(write)))) return result
      write.result = undefined
      if (write.change.effect === 'create' && isNameTaken(write)) throw warned(write, nameTaken(write))
      // A write that names a resourceVersion is tried again, too: it must get 404 rather than 409 if the object has been deleted.
      const key = write.outdated?.key ?? keyOf(call.resource, call.namespace, call.name)
      leave ??= yield* waitFor(deps.contention.enter(key))
      const because = write.outdated ? 'what admission relied on has changed' : 'another write of the object came first'
      ctx.explanation?.add({ outcome: 'begun again', because })
      // The store is ahead of the cache while other writes are being delivered.
      yield* waitFor(deps.caches.fresh() ?? deps.caches.reached((yield* waitFor(deps.store.get(key))).revision))
    }
    throw warned(write, conflict(call.resource, call.name, MODIFIED))
  } finally {
    leave?.()
  }
}

/** Runs the steps. Ends without a result when another write came first. Others may run between the steps. */
function* runSteps(write: Write, from: number): Step<void> {
  write.reservation = undefined
  write.outdated = undefined
  const began = monotonicMs()
  // To set a length takes long, even to the same one.
  if (from === 0 && write.warnings.length > 0) write.warnings.length = 0
  try {
    for (let i = from; i < STEPS.length && !write.result; i++) {
      if (i === STORE) checkBeforeStore(write, began)
      const work = STEPS[i]!(write)
      if (work) yield* work
      const phase = ENDING[i]
      if (phase !== undefined) write.ctx.stopwatch?.lap(phase)
      // A stored write is answered, whatever comes.
      if (write.done || write.result) write.pace.commit()
      // To stop and go on takes longer than most steps of a small write.
      if (write.pace.isNoticeable) yield
      if (i === STORE && !write.done && !write.result) break
    }
  } catch (error) {
    if (error instanceof StatusError) warned(write, error)
    if (write.attributes) yield* write.attributes.end(write.done ? 'stored' : mayHaveHappened(error) ? 'unknown' : 'not stored')
    const reserved = reservationOf(write)
    if (reserved) yield* reserved.abandon(error)
    throw error
  }
  if (write.attributes) yield* write.attributes.end(write.done ? 'stored' : 'not stored')
  const reservation = reservationOf(write)
  if (reservation) yield* reservation.settle(write.done)
}

const reservationOf = ({ reservation }: Write): Reservation | undefined => reservation

/** A refusal, with the warnings for its client. */
function warned({ warnings }: Write, error: StatusError): StatusError {
  if (warnings.length > 0) error.warnings = [...warnings]
  return error
}

const isNameTaken = ({ result, outdated }: Write): boolean => !result && !outdated

/** Whether a write with nothing to change has seen the newest object. */
function* isUpToDate({ call, ctx, deps, found }: Write): Step<boolean> {
  const confirming = ctx.confirm!()
  if (confirming) yield* waitFor(confirming)
  return findStored(deps, call)?.revision === found?.revision
}

/** Throws when the write must not be stored any more: its user may not, or it was held up for so long that others may rely on its end. */
function checkBeforeStore({ ctx, deps }: Write, began: number): void {
  ctx.beforeStore?.()
  if (deps.store.isShared && monotonicMs() - began > LIMITS.sharedWriteMs) throw timedOut('the request took too long to be stored')
}

function runWithAnotherName(write: Write): Step<void> {
  const { object, resource } = write.unnamed!
  write.object = object
  write.resource = resource
  return runSteps(write, FIRST_NAMED)
}

/** Decodes the body, unless that depends on the stored object. */
function decode(write: Write): StepWork {
  return write.change.decode?.(write)
}

const storesNothing = ({ effect }: Change): boolean => effect === 'message' || effect === 'connect'

/** Finds the stored object, in the served version; 404 unless the write may create it. */
function read(write: Write): StepWork {
  const { change, call, deps } = write
  const { resource, name } = call
  // An earlier attempt may have gone on to the stored version.
  write.resource = resource
  if (change.effect === 'create' || storesNothing(change)) return
  const found = findStored(deps, call)
  if (!found && change.effect !== 'either') throw notFound(resource, name)
  write.found = found
  write.done = write.shown = undefined
  write.stored = write.old = write.before = undefined
  if (!found || (change.effect === 'delete' && found.fault !== undefined)) return
  write.pace.atLeast(found.size)
  write.stored = change.effect === 'delete' ? decodeStored(resource, found) : storedBefore(change, found)
  if (change.effect !== 'delete') assertOwnedOnce(write, write.stored)
  if (resource.conversion) return readServed(write, write.stored)
  write.old = write.before = write.stored
}

/** A change that was admitted as part of another write starts from a copy of the stored object, so that it can share what the cache has decoded. */
const storedBefore = ({ isAdmitted }: Change, found: CachedRevision): AnyObject =>
  (isAdmitted && found.fault === undefined && found.decoded) || decodeReplaced(found)

function* readServed(write: Write, stored: AnyObject): Step<void> {
  write.old = write.before = yield* toServed(write.call.resource, stored)
}

/** Makes the object from the body and the stored object, where it depends on both, and checks preconditions. */
function merge(write: Write): StepWork {
  return write.change.merge?.(write)
}

/** Fills in defaults. */
function applyDefaults({ object, kind, ctx, change }: Write): void {
  if (object && !change.isAdmitted) setDefaults(kind, object, ctx)
}

/** Records in managedFields which manager owns which fields. Fields that admission adds afterwards have no manager. */
function* own(write: Write): Step<void> {
  const { object, managers, change, call, pace } = write
  if (!object || change.isAdmitted || change.effect === 'connect') return
  // The owners of a patched object are looked at when admission has seen it.
  if (call.verb !== 'patch') write.warnings.push(...removeDuplicateOwners(object))
  setManagers(object, managers ?? (yield* managersAfter(write)))
  if (!pace.isLarge || call.subresource !== '') return
  yield
  // An object that is too large is refused before more work is done for it.
  limitValues(object, valueLimitsOf(call.resource).stored)
}

/** Lets admission change the object, or reject the write. */
function* mutate(write: Write): Step<void> {
  const { admission } = write.deps
  if (!admission || write.change.isAdmitted) return
  write.attributes = new WriteAttributes(write)
  write.isUnpruned = false
  yield* admission.mutate(write.attributes)
  yield* takeMutated(write)
}

/** Admission may not break managedFields: entries that cannot be read are restored, and of two entries of one manager the last counts. */
function* takeMutated(write: Write): Step<void> {
  const { object, attributes } = write
  const mutated = attributes!.object
  if (!object || !mutated) return
  if (write.change.effect === 'connect') {
    write.object = mutated
    return
  }
  const { managedFields } = object.metadata
  // A webhook that empties the list takes all fields from their managers.
  if (mutated.metadata.managedFields?.length === 0) delete mutated.metadata.managedFields
  const read = mutated === object ? undefined : yield* readManagers(mutated.metadata.managedFields)
  if (read && !read.ok) {
    setManagers(mutated, managedFields ?? [])
    write.warnings.push(
      `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${read.message}`,
    )
  } else if (read && managerWithTwo(mutated.metadata.managedFields) !== undefined) setManagers(mutated, yield* writeManagers(read.managers))
  write.warnings.push(...removeDuplicateOwners(mutated, 'after mutating admission happens'))
  if (write.kind === write.call.resource) keepIdentity(write, mutated)
  write.isUnpruned = mutated !== object && write.kind.def.custom !== undefined
  write.object = mutated
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
function toRulesVersion(write: Write): StepWork {
  write.change.convert?.(write)
  if (!write.resource.def.custom && !storesNothing(write.change)) return convert(write)
}

function convert(write: Write): StepWork {
  if (write.resource.conversion && write.object) return convertToStored(write, write.object)
}

function* convertToStored(write: Write, object: AnyObject): Step<void> {
  const { resource, ctx } = write
  write.object = yield* toStored(resource, object, ctx)
  write.before = write.stored
  write.resource = resource.conversion!.storedVersion
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
const MAX_PREFIX_LENGTH = 58

/** Gives a new object its name, uid and time of creation. */
function nameObject(write: Write): void {
  const { object, before, change, deps, time } = write
  if (!object || before || storesNothing(change)) return
  const { metadata } = object
  if (!metadata.name && metadata.generateName) {
    write.unnamed = { object: copyJson(object), resource: write.resource }
    metadata.name = metadata.generateName.slice(0, MAX_PREFIX_LENGTH) + deps.randomSuffix()
  }
  object.metadata = newMetadata(metadata, deps.newUid(), time)
  write.resource.def.custom?.beforeCreate?.(metadata.name ?? '')
}

/** Allocates items of shared ranges that the object needs, such as a cluster IP, and writes them into the object. */
function claim(write: Write): StepWork {
  const { resource, object, change } = write
  if (object && resource.def.claims && !storesNothing(change)) return reserve(write, object)
}

function* reserve(write: Write, object: AnyObject): Step<void> {
  const { resource, before, call, options, deps, ctx } = write
  const wanted = { resource, object, old: before, takes: call.subresource === '', dryRun: options.dryRun, gate: ctx.gate }
  write.reservation = yield* deps.allocations.reserve(wanted)
}

/** Makes the object ready to be stored: sets fields that the server alone sets, and restores those that the write may not change. */
function prepare(write: Write): void {
  const { resource, object, before, call, ctx, change } = write
  if (!object || storesNothing(change)) return
  if (!resource.def.custom && !resource.def.keepsEmptyLists) nullEmptyLists(resource.type, object)
  if (!before) {
    prepareCreate(resource, object, ctx)
    return
  }
  const prepared = prepareUpdate(targetOf(resource, call.subresource), object, before, ctx)
  write.object = keepTimesIfUnchanged(before as unknown as JsonObject, prepared as unknown as JsonObject) as unknown as AnyObject
}

/** Rejects an object that breaks the rules of its kind, and collects warnings. */
function validate(write: Write): StepWork {
  const { object, change } = write
  if (change.validate) return change.validate(write)
  if (!object || change.isAdmitted || storesNothing(change)) return
  return isExpensive(write, object) ? validateInWorker(write, object) : validateHere(write, object)
}

function* validateHere(write: Write, object: AnyObject): Step<void> {
  const { resource, before, call, warnings, pace } = write
  const ctx = pace.isLarge ? { ...write.ctx, isLarge: true } : write.ctx
  const found = yield* validateObject({ resource, subresource: call.subresource, object, old: before, ctx })
  if (found.length > 0) warnings.push(...found)
}

/** Whether the rules of the object take so long that they are to run in a worker. */
const isExpensive = ({ deps, resource, call, pace }: Write, object: AnyObject): boolean =>
  deps.validator !== undefined &&
  resource.def.ruleWork !== undefined &&
  call.subresource === '' &&
  pace.isLarge &&
  resource.def.ruleWork(object) > LIMITS.inlineRuleWork

function* validateInWorker(write: Write, object: AnyObject): Step<void> {
  const { deps, resource, found, before, ctx, warnings } = write
  const { user, now, signal } = ctx
  const { apiVersion, kind } = resource
  yield
  const job = { apiVersion, kind, object: encodeObject(object), old: before && found!.json, user, now }
  const validated = yield* waitFor(deps.validator!.validate(job, { user: user.name, signal }))
  if (validated.outcome === 'refused') throw new StatusError(validated.code, validated.reason, validated.message, validated.details)
  warnings.push(...validated.warnings)
}

/** Lets admission reject the object to be stored. Creating by a replace or an apply requires the permission to create. */
function* admit(write: Write): Step<void> {
  const { deps, ctx, change, before, attributes } = write
  if (change.isAdmitted) return
  if (change.effect === 'either' && !before && ctx.authorizeCreate) yield* waitFor(ctx.authorizeCreate())
  if (!deps.admission || !attributes) return
  attributes.object = change.show ? change.show(write) : yield* shownObject(write)
  if (!change.show && attributes.object !== write.object) write.shown = attributes.object
  yield* deps.admission.validate(attributes)
}

function* shownObject({ call, resource, object, change }: Write): Step<AnyObject | undefined> {
  return object && resource !== call.resource && !storesNothing(change) ? yield* toServed(call.resource, object) : object
}

/** Converts an object of a custom kind to the stored version, which also removes the unknown fields that admission has added. */
function toStoredVersion(write: Write): StepWork {
  const { resource, change, object, isUnpruned } = write
  if (!resource.def.custom || storesNothing(change)) return
  if (resource.conversion) return convert(write)
  if (isUnpruned && object) write.object = conformObject(resource, object as unknown as JsonObject).value as AnyObject
}

/** Stores the object unless another write came first; leaves `done` unset then. */
function store(write: Write): StepWork {
  if (write.change.store) return write.change.store(write)
  return write.before ? swap(write) : insert(write)
}

/** Answers with the object as it is stored now, in the served version. */
function* toServedVersion(write: Write): Step<void> {
  const { call, change, found, warnings, shown, done } = write
  if (change.respond) {
    const work = change.respond(write)
    if (work) yield* work
    return
  }
  const { json, revision } = done!
  // The object that was converted for admission need not be converted again.
  const served = shown && revision !== undefined ? encodeObject(shown, String(revision)) : yield* servedJson(call.resource, json)
  write.result = { type: 'object', code: found ? 200 : 201, resource: call.resource, json: served, warnings }
}

/** The error for a create whose name is taken. */
function nameTaken({ call: { resource, namespace }, object, deps }: Write): StatusError {
  const { name = '', generateName } = object!.metadata
  if (generateName) return generatedNameTaken(resource, name)
  const found = findStored(deps, { resource, namespace: object!.metadata.namespace ?? namespace, name })
  const isGoing = found && found.fault === undefined && parseObject(found.json).metadata.deletionTimestamp
  const error = alreadyExists(resource, name)
  return isGoing ? new StatusError(error.code, error.reason, `object is being deleted: ${error.message}`, error.details) : error
}
