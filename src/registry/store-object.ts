/** Stores the object of a write by compare and swap, or removes it. Leaves `done` unset when another write came first. */
import { encodeObject, encodeWrite, withRevision } from '../codec/stored-bytes.ts'
import type { Fence } from '../lib/fence.ts'
import { deepEqual } from '../lib/json-value.ts'
import { type Step, waitFor } from '../lib/step.ts'
import { managerWithTwo } from '../patch/managers.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import { FencedOff, LateBytes, type Revision, type Change as StoreChange, type Swap } from '../storage/store.ts'
import { valueLimitsOf } from './value-limits.ts'
import type { Write } from './write-value.ts'

/** Creates the object, if its name is free. */
export function* insert(write: Write): Step<void> {
  const { resource, options, deps, change } = write
  const object = write.object!
  const { caches } = deps
  const cache = caches.of(resource)
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name!)
  const limit = valueLimitsOf(resource).stored
  const value = new LateBytes(() => encodeWrite(object, limit))
  if (options.dryRun) {
    // An object that is too large is refused here, too.
    encodeWrite(object, limit)
    if (!cache.get(key)) write.done = { json: encodeObject(object), object }
    return
  }
  yield* encodeFirst(write, value)
  if (change.effect === 'create' && isRevision(object.metadata.resourceVersion))
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  const definition = resource.def.custom?.beforeCreate?.(object.metadata.name!)
  let swapped: Swap
  try {
    swapped = (yield caches.write(key, storeChange(write, { expect: 0, value, definition }))) as Swap
  } catch (error) {
    if (!(error instanceof FencedOff) || (error.fence !== write.needs && error.fence !== definition)) throw error
    write.outdated = error.fence
    return
  }
  if (!swapped.ok) return
  noteStored(write, swapped.revision)
  const latest = cache.get(key)
  const json = latest?.revision === swapped.revision ? latest.json : withRevision(value.bytes, swapped.revision)
  write.done = { json, object, revision: swapped.revision }
}

/** Replaces the stored object if the new one differs, or removes it when nothing prevents its deletion any more. */
export function* swap(write: Write): Step<void> {
  const { resource, options, deps, found, stored } = write
  const { key, revision, stale } = found!
  const object = write.object!
  // A record of an outdated schema or version, or one that is encrypted otherwise today, is written again even without a change.
  if (!stale && deepEqual(object, stored) && (options.dryRun || !(yield* isStoredOtherwise(write, key)))) {
    write.done = { json: found!.json, object, revision }
    return
  }
  const value = new LateBytes(() => encodeWrite(object, valueLimitsOf(resource).stored))
  if (options.dryRun) {
    write.done = { json: withRevision(value.bytes, revision), object }
    return
  }
  const isRemoved = isReleased(resource, object, stored!)
  const cache = deps.caches.of(resource)
  if (!isRemoved) yield* encodeFirst(write, value)
  const swapped = yield* waitFor(deps.caches.write(key, storeChange(write, { expect: revision, value: isRemoved ? null : value })))
  if (!swapped.ok) return
  noteStored(write, swapped.revision)
  const latest = cache.get(key)
  const json = latest?.revision === swapped.revision ? latest.json : withRevision(value.bytes, swapped.revision)
  write.done = { json, object: isRemoved ? undefined : object, revision: swapped.revision }
}

/** Others may run between the encoding of a large object and its storing. */
function* encodeFirst({ pace }: Write, value: LateBytes): Step<void> {
  if (!pace.isLarge || value.bytes.byteLength === 0) return
  yield
}

function* isStoredOtherwise({ deps: { store }, ctx }: Write, key: string): Step<boolean> {
  return yield* waitFor(store.isStale?.(key, ctx.stopwatch?.trace) ?? false)
}

/** `definition` is that of a custom kind, which must be unchanged when an object is created. */
type Storing = { readonly expect: Revision; readonly value: LateBytes | null; readonly definition?: Fence | undefined }

/** The change that the store makes: another value for a key, as long as the conditions of the write still hold. */
function storeChange(write: Write, { expect, value, definition }: Storing): StoreChange {
  const { object, ctx } = write
  // A new object has a uid that no other has, so that its creation is known to have been made even if the store's answer is lost.
  const unique = expect === 0
  const isEnding = Boolean(object?.metadata.deletionTimestamp)
  // Nothing keeps an object from being deleted.
  if (value && object && !isEnding) assertOwnedOnce(write, object)
  return {
    expect,
    value,
    object,
    unique,
    isEnding,
    ttlSeconds: write.resource.def.ttlSeconds,
    fences: definition ? [...(fencesOf(write) ?? []), definition] : fencesOf(write),
    trace: ctx.stopwatch?.trace,
  }
}

/** Throws if a field manager has two entries, for one of them would be lost when they are read. */
export function assertOwnedOnce({ deps, call: { resource, name } }: Write, { metadata }: AnyObject): void {
  const manager = managerWithTwo(metadata.managedFields)
  if (manager === undefined) return
  const shown = `${resource.qualified} "${name || metadata.name}"`
  throw deps.caches.assertions.failed('owned_once', `the field manager ${JSON.stringify(manager)} has two entries in ${shown}`)
}

/** The conditions of a write, besides the revision of the object itself. */
export function fencesOf({ ctx: { fence }, needs }: Write): readonly Fence[] | undefined {
  if (!fence) return needs && [needs]
  return needs ? [fence, needs] : [fence]
}

/** Remembers that the write was stored, and its user. */
export function noteStored(write: Write, revision: Revision): void {
  const { deps, ctx } = write
  write.storedAt = revision
  deps.writers?.note(revision, ctx.user.name, ctx.now)
}

/** Whether a text is a resourceVersion that an object could have. */
const isRevision = (text: string | undefined): boolean =>
  text !== undefined && /^\d+$/.test(text) && BigInt(text) > 0n && BigInt(text) < 2n ** 64n

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
