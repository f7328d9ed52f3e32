// Field ownership after a plain write: the writer alone owns what changed.

import { compareText } from '../lib/go-text.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import type { ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { AnyType } from '../schema/types.ts'
import { type Comparison, changedFields, compare, withoutFields } from './compare.ts'
import {
  countFields,
  difference,
  EMPTY_SET,
  equalSets,
  type FieldSet,
  fieldSetOfNames,
  intersection,
  isEmptySet,
  recursiveDifference,
  union,
} from './field-set.ts'
import {
  asksForReset,
  identifierOf,
  type Manager,
  type Managers,
  managedFieldsOf,
  readManagers,
  secondsOf,
  withFields,
  withoutManagedFields,
  writeManager,
  writeManagers,
} from './managers.ts'
import { emptyValueOf } from './structure.ts'
import { fitToSchema } from './typed-sets.ts'

/** An object that is needed in another version of its kind; a decoded one is whole and as its type wants it. */
export type Conversion = { readonly object: JsonObject; readonly apiVersion: string; readonly isDecoded?: boolean }

/** Converts objects, as many at once as are known beforehand. */
export type Convert = (wanted: readonly Conversion[]) => Step<readonly JsonObject[]>

/** Manager, subresource and time of a write. */
export type Writer = {
  readonly name: string
  /** The version of the write, `apps/v1`. */
  readonly apiVersion: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** RFC 3339 in seconds. */
  readonly time: string
}

export type Write = {
  readonly type: AnyType
  readonly writer: Writer
  /** Fields that writes through this path cannot set, with all that is below them. */
  readonly resetFields?: FieldSet | undefined
  /** The other versions of the kind. Default: only the version of the write is known. */
  readonly versions?: Versions | undefined
  /** The object before anything is set. Default: the type's; for custom kinds just apiVersion and kind. */
  readonly blank?: JsonObject | undefined
}

export type Versions = {
  /** The type of each version that is served; fields owned in any other version are forgotten. */
  readonly typeIn: (apiVersion: string) => AnyType | undefined
  readonly convert: Convert
}

export type TrackUpdate = Write & {
  /** The stored object, with its managedFields; undefined for a create. */
  readonly live: JsonObject | undefined
  /** The object that the client wants stored, with the managedFields it sent. */
  readonly next: JsonObject
}

/** The cap on entries of plain updates; beyond it the oldest are merged. */
export const MAX_UPDATE_MANAGERS = 10
const OLD_UPDATES = 'ancient-changes'
const UNKNOWN = 'unknown'

/** Fields that identify an object or that the server sets: they have no manager. */
export const UNOWNED_FIELDS = fieldSetOfNames(
  'apiVersion',
  'kind',
  'metadata',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.selfLink',
  'metadata.uid',
  'metadata.clusterName',
  'metadata.generation',
  'metadata.managedFields',
  'metadata.resourceVersion',
)

/**
 * The managedFields of the object after a create, replace or patch. Times move only where ownership was taken; an object
 * whose managers were forgotten stays without until the next apply.
 */
export function* trackUpdate(write: TrackUpdate): Step<ManagedFieldsEntry[]> {
  const { live, next, writer } = write
  const managers = yield* managersFor(live, next, writer.subresource)
  if (managers.size === 0 && uidOf(live) !== '') return []
  yield
  const updated = yield* updateManagers(write, managers, { live: live ?? blankOf(write), next })
  yield
  return yield* writeManagers(updated)
}

/** The managedFields of an object that is created and says nothing of managers itself: the creator owns all that it sets. */
export function* creatorsFields(write: Write, next: JsonObject): Step<ManagedFieldsEntry[]> {
  const { type, resetFields = EMPTY_SET, writer } = write
  const changed = changedFields(type, blankOf(write), next)
  yield
  const set = creatorsSet(type, changed, resetFields)
  if (isEmptySet(set)) return []
  return [yield* writeManager(updaterOf(writer, set))]
}

const updaterOf = ({ name, apiVersion, subresource, time }: Writer, fields: FieldSet): Manager => ({
  name: name || UNKNOWN,
  operation: 'Update',
  apiVersion,
  subresource,
  time,
  fields,
})

/**
 * The fields that a creator owns of those that it has set. Objects of a kind that are created one after the other mostly set the same: then it is
 * the set of the last one, which has its document already.
 */
function creatorsSet(type: AnyType, changed: FieldSet, resetFields: FieldSet): FieldSet {
  const last = lastCreated.get(type)
  if (last?.resetFields === resetFields && equalSets(last.changed, changed)) return last.set
  const set = difference(recursiveDifference(changed, resetFields), UNOWNED_FIELDS)
  // A large set is not kept until the next create.
  if (countFields(changed) <= MAX_KEPT) lastCreated.set(type, { changed, resetFields, set })
  return set
}

type Created = { readonly changed: FieldSet; readonly resetFields: FieldSet; readonly set: FieldSet }
const lastCreated = new WeakMap<AnyType, Created>()
const MAX_KEPT = 256

/** Clients that know nothing of managers must not lose them; those that do may edit or reset them, though not through a subresource. */
function* managersFor(live: JsonObject | undefined, next: JsonObject, subresource: string): Step<Managers> {
  if (subresource === '') {
    const sent = managedFieldsOf(next)
    if (asksForReset(sent)) return NO_MANAGERS
    const read = yield* readManagers(sent)
    if (read.ok && read.managers.size > 0) return read.managers
  }
  const stored = yield* readManagers(live && managedFieldsOf(live))
  return stored.ok ? stored.managers : NO_MANAGERS
}

const NO_MANAGERS: Managers = new Map()

const uidOf = (object: JsonObject | undefined): Json => (object?.['metadata'] as JsonObject | undefined)?.['uid'] ?? ''

export const blankOf = ({ blank, type }: Write): JsonObject => blank ?? emptyValueOf(type)

/** The live object and the one that replaces it. */
export type Replacement = { readonly live: JsonObject; readonly next: JsonObject }

/** The managers after the live object became the next one, by a plain write. */
export function* updateManagers(write: Write, managers: Managers, { live, next }: Replacement): Step<Managers> {
  const known = knownManagers(write, managers)
  const manager = updaterOf(write.writer, EMPTY_SET)
  const self = identifierOf(manager)
  const change = { live: withoutManagedFields(live), next: withoutManagedFields(next), self, isDecoded: true }
  const { kept, comparison } = yield* settle(write, known, change)
  yield
  const changed = union(comparison.modified, comparison.added)
  const taken = difference(changed, UNOWNED_FIELDS)
  const before = kept.get(self)
  const after = new Map(kept)
  // Most writes change what their manager owns already: then its fields, and their document, remain as they are.
  const remaining = before ? difference(difference(before.fields, comparison.removed), intersection(changed, UNOWNED_FIELDS)) : EMPTY_SET
  const fields = union(remaining, taken)
  if (isEmptySet(fields)) after.delete(self)
  else after.set(self, withFields(before && isEmptySet(taken) ? before : manager, fields))
  return capUpdates(after)
}

/** Managers of versions that are still served, their fields fitted to today's schema. */
export function knownManagers(write: Write, managers: Managers): Managers {
  if (managers.size === 0) return managers
  const known = new Map<string, Manager>()
  for (const [identifier, manager] of managers) {
    const type = typeIn(write, manager.apiVersion)
    if (type === undefined) continue
    const fields = fitToSchema(type, manager.fields)
    known.set(identifier, fields === manager.fields ? manager : withFields(manager, fields))
  }
  return known
}

/** The type of a version, that of the write included; undefined when it is not served. */
export const typeIn = ({ type, versions, writer }: Write, apiVersion: string): AnyType | undefined =>
  apiVersion === writer.apiVersion ? type : versions?.typeIn(apiVersion)

export type Settled = {
  /** Every manager but the writer without the fields that changed or went; those left with none are gone. */
  readonly kept: Managers
  /** The changed fields that others own. */
  readonly lost: ReadonlyMap<string, FieldSet>
  readonly comparison: Comparison
}

/** The live object is decoded; `isDecoded` tells whether the next one is. `self` identifies the writer. */
type Change = Replacement & { readonly self: string; readonly isDecoded: boolean }

/** Takes the changed fields from their managers, all but the writer. */
export function* settle(write: Write, managers: Managers, change: Change): Step<Settled> {
  const { type, resetFields = EMPTY_SET } = write
  const { live, next, self } = change
  const comparison = withoutFields(compare(type, live, next), resetFields)
  const others = otherVersions(write, managers)
  const comparisons = others.length === 0 ? undefined : yield* compareInVersions(write, others, change)
  const kept = new Map<string, Manager>()
  const lost = new Map<string, FieldSet>()
  for (const [identifier, manager] of managers) {
    if (identifier === self) {
      if (!isEmptySet(manager.fields)) kept.set(identifier, manager)
      continue
    }
    const theirs = manager.apiVersion === write.writer.apiVersion ? comparison : comparisons?.get(manager.apiVersion)
    if (theirs === undefined) continue
    yield
    const contested = intersection(manager.fields, union(theirs.modified, theirs.added))
    if (!isEmptySet(contested)) lost.set(identifier, contested)
    const fields = difference(difference(manager.fields, contested), theirs.removed)
    if (!isEmptySet(fields)) kept.set(identifier, fields === manager.fields ? manager : withFields(manager, fields))
  }
  return { kept, lost, comparison }
}

/** The versions, other than that of the write, in which managers own fields. */
function otherVersions(write: Write, managers: Managers): readonly string[] {
  const versions: string[] = []
  if (write.versions === undefined) return versions
  for (const { apiVersion } of managers.values())
    if (apiVersion !== write.writer.apiVersion && !versions.includes(apiVersion) && typeIn(write, apiVersion) !== undefined)
      versions.push(apiVersion)
  return versions
}

/** The comparison in each of the versions. */
function* compareInVersions(
  write: Write,
  versions: readonly string[],
  { live, next, isDecoded }: Change,
): Step<ReadonlyMap<string, Comparison>> {
  const comparisons = new Map<string, Comparison>()
  const wanted = versions.flatMap(apiVersion => [
    { object: live, apiVersion, isDecoded: true },
    { object: next, apiVersion, isDecoded },
  ])
  const converted = yield* write.versions!.convert(wanted)
  for (const [i, version] of versions.entries()) {
    yield
    comparisons.set(version, compare(typeIn(write, version)!, converted[2 * i]!, converted[2 * i + 1]!))
  }
  return comparisons
}

/** Merges the oldest entries of plain updates, those of one version into one, until no more than the cap are left. */
function capUpdates(managers: Managers): Managers {
  const updaters = [...managers].filter(([, manager]) => manager.operation === 'Update')
  if (updaters.length <= MAX_UPDATE_MANAGERS) return managers
  updaters.sort(([a, x], [b, y]) => secondsOf(x) - secondsOf(y) || compareText(a, b))
  const capped = new Map(managers)
  const firstOf = new Map<string, string>()
  // The parts of a merged entry; put together at the end, since clients may send very many.
  const parts = new Map<string, FieldSet[]>()
  let count = updaters.length
  for (const [identifier, manager] of updaters) {
    if (count <= MAX_UPDATE_MANAGERS) break
    const { apiVersion } = manager
    const first = firstOf.get(apiVersion)
    if (first === undefined) {
      firstOf.set(apiVersion, identifier)
      continue
    }
    const bucket = { name: OLD_UPDATES, operation: 'Update', apiVersion, subresource: '' } as const
    const bucketId = identifierOf(bucket)
    const older = identifier !== bucketId && capped.has(bucketId) ? bucketId : first
    const merged = parts.get(older) ?? [capped.get(older)!.fields]
    merged.push(manager.fields)
    parts.set(bucketId, merged)
    if (identifier === bucketId || !capped.has(bucketId)) capped.delete(first)
    capped.delete(identifier)
    // The entry being merged is the more recent one.
    capped.set(bucketId, { ...bucket, time: manager.time, fields: EMPTY_SET })
    count--
  }
  for (const [identifier, sets] of parts) capped.set(identifier, withFields(capped.get(identifier)!, unionOf(sets)))
  return capped
}

/** All fields of many sets, by halves: adding one after the other would copy the sum for each. */
function unionOf(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 1) return sets[0] ?? EMPTY_SET
  const middle = sets.length >> 1
  return union(unionOf(sets.slice(0, middle)), unionOf(sets.slice(middle)))
}
