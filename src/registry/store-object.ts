/** Stores the object of a write by compare and swap, or removes it. Leaves `done` unset when another write came first. */
import { encodeObject, encodeWrite, withRevision } from '../codec/stored-bytes.ts'
import type { Fence } from '../lib/fence.ts'
import { deepEqual } from '../lib/json-value.ts'
import { type Step, waitFor } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { keyOf, type Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'
import { FencedOff, LateBytes, type Revision, type Change as StoreChange, type Swap } from '../storage/store.ts'
import type { Write } from './write-value.ts'

/** Creates the object, if its name is free. */
export function* insert(write: Write): Step<void> {
  const { resource, options, deps, change } = write
  const object = write.object!
  const { caches } = deps
  const cache = caches.of(resource)
  const key = keyOf(resource, object.metadata.namespace ?? '', object.metadata.name!)
  const value = new LateBytes(() => encodeWrite(object))
  if (options.dryRun) {
    // An object that is too large is refused here, too.
    encodeWrite(object)
    if (!cache.get(key)) write.done = { json: encodeObject(object), object }
    return
  }
  if (change.effect === 'create' && isRevision(object.metadata.resourceVersion))
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created')
  resource.def.custom?.beforeCreate?.(object.metadata.name!)
  let swapped: Swap
  try {
    swapped = (yield caches.write(key, storeChange(write, 0, value))) as Swap
  } catch (error) {
    if (!(error instanceof FencedOff) || error.fence !== write.needs) throw error
    write.isOutdated = true
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
  const value = new LateBytes(() => encodeWrite(object))
  if (options.dryRun) {
    write.done = { json: withRevision(value.bytes, revision), object }
    return
  }
  const isRemoved = isReleased(resource, object, stored!)
  const cache = deps.caches.of(resource)
  const swapped = yield* waitFor(deps.caches.write(key, storeChange(write, revision, isRemoved ? null : value)))
  if (!swapped.ok) return
  noteStored(write, swapped.revision)
  const latest = cache.get(key)
  const json = latest?.revision === swapped.revision ? latest.json : withRevision(value.bytes, swapped.revision)
  write.done = { json, object: isRemoved ? undefined : object, revision: swapped.revision }
}

function* isStoredOtherwise({ deps: { store }, ctx }: Write, key: string): Step<boolean> {
  const isStale = store.isStale?.(key, ctx.stopwatch?.trace) ?? false
  return isStale instanceof Promise ? yield* waitFor(isStale) : isStale
}

/** The change that the store makes: another value for a key, as long as the conditions of the write still hold. */
function storeChange(write: Write, expect: Revision, value: LateBytes | null): StoreChange {
  const { object, ctx } = write
  // A new object has a uid that no other has, so that its creation is known to have been made even if the store's answer is lost.
  const unique = expect === 0
  const isEnding = Boolean(object?.metadata.deletionTimestamp)
  return {
    expect,
    value,
    object,
    unique,
    isEnding,
    ttlSeconds: write.resource.def.ttlSeconds,
    fences: fencesOf(write),
    trace: ctx.stopwatch?.trace,
  }
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
