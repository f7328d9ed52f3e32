// Server-side apply: a configuration merged into the object, with the managers of fields tracked and conflicts reported.

import { compareText } from '../lib/go-text.ts'
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'
import type { ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { StatusCause } from '../schema/status-error.ts'
import type { AnyType } from '../schema/types.ts'
import {
  countFields,
  difference,
  EMPTY_SET,
  type FieldSet,
  intersection,
  isEmptySet,
  pathsOf,
  pathText,
  recursiveDifference,
  sharing,
  union,
} from './field-set.ts'
import { KUBECTL, lastAppliedFields, withLastApplied } from './last-applied.ts'
import {
  identifierOf,
  type Manager,
  type Managers,
  managedFieldsOf,
  managerText,
  readManagers,
  withoutManagedFields,
  writeManagers,
} from './managers.ts'
import {
  blankOf,
  knownManagers,
  type Settled,
  settle,
  typeIn,
  UNOWNED_FIELDS,
  updateManagers,
  type Write,
  type Writer,
} from './ownership.ts'
import { typedErrors, typedErrorText } from './typed-errors.ts'
import { mergeApplied, removeItems } from './typed-merge.ts'
import { fieldSetOf, withMessages } from './typed-sets.ts'

export type Apply = Write & {
  /** The kind the path serves; the configuration must name it and the writer's version. */
  readonly kind: string
  /** The stored object, with its managedFields; undefined when the apply creates. */
  readonly live: JsonObject | undefined
  /** The configuration as sent. */
  readonly applied: JsonObject
  /** Takes contested fields from their managers. */
  readonly force: boolean
}

export type Applied =
  | {
      readonly ok: true
      /** The merged object without managedFields; to be decoded and defaulted like one a client sent. */
      readonly object: JsonObject
      readonly managedFields: ManagedFieldsEntry[]
    }
  /** A configuration that cannot be applied to this kind at all. */
  | { readonly ok: false; readonly reason: 'invalid'; readonly message: string }
  /** Fields that others own with other values: 409 unless forced. Of very many, as many are named as an answer can hold. */
  | {
      readonly ok: false
      readonly reason: 'conflict'
      readonly message: string
      readonly causes: StatusCause[]
    }

/** Name under which fields are owned that were there before anyone applied. */
const BEFORE_FIRST_APPLY = 'before-first-apply'

/** Applies a configuration. Fields that the manager applied before and leaves out now are removed, unless another manager owns them, too. */
export function* applyConfiguration(apply: Apply): Step<Applied> {
  const problem = mismatch(apply)
  if (problem !== undefined) return { ok: false, reason: 'invalid', message: problem }
  const live = apply.live ?? blankOf(apply)
  yield
  const read = yield* readManagers(managedFieldsOf(live))
  if (!read.ok) return { ok: false, reason: 'invalid', message: `failed to decode managed fields: ${read.message}` }

  const bare = withoutManagedFields(live)
  const managers = read.managers.size === 0 ? yield* managersBeforeFirstApply(apply, bare) : read.managers
  yield
  const outcome = yield* merge(apply, bare, managers)
  yield
  if (outcome.lost.length > 0 && !apply.force) {
    const contested = contestedFields(apply, live, outcome.lost)
    if (contested.length > 0) return conflict(contested)
  }
  const object = apply.writer.name === KUBECTL ? withLastApplied(outcome.object, apply.applied) : outcome.object
  return { ok: true, object, managedFields: yield* writeManagers(outcome.managers) }
}

/** The fields of a manager that an apply changes. */
type Lost = { readonly manager: Manager; readonly fields: FieldSet }

/** Fields that kubectl set by client-side apply are no conflict when it applies from the server's side. */
function contestedFields({ writer, type }: Apply, live: JsonObject, lost: readonly Lost[]): readonly Lost[] {
  const allowed = writer.name === KUBECTL ? lastAppliedFields(type, live, writer.apiVersion) : undefined
  if (allowed === undefined) return lost
  const contested = lost.map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
  return contested.filter(({ fields }) => !isEmptySet(fields))
}

function* managersBeforeFirstApply(apply: Apply, live: JsonObject): Step<Managers> {
  const { type, versions, blank, resetFields = EMPTY_SET } = apply
  const writer: Writer = { ...apply.writer, name: BEFORE_FIRST_APPLY }
  return yield* updateManagers({ type, versions, blank, resetFields, writer }, new Map(), { live: blankOf(apply), next: live })
}

function mismatch({ applied, kind, writer, type }: Apply): string | undefined {
  const sent = { apiVersion: textOf(applied['apiVersion']), kind: textOf(applied['kind']) }
  if (sent.apiVersion !== writer.apiVersion || sent.kind !== kind) return `invalid object type: ${kindText(sent.apiVersion, sent.kind)}`
  const metadata = applied['metadata']
  if (isObject(metadata) && (metadata['managedFields'] ?? null) !== null) return 'metadata.managedFields must be nil'
  const errors = typedErrors(type, applied)
  if (errors.length === 0) return undefined
  const { name, namespace } = isObject(metadata) ? metadata : ({} as JsonObject)
  const subject = `${textOf(namespace)}/${textOf(name)}; ${kindText(sent.apiVersion, sent.kind)}`
  return `failed to create typed patch object (${subject}): ${typedErrorText(errors)}`
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** `apps/v1, Kind=Deployment`, with nothing before the slash for the core group. */
function kindText(apiVersion: string, kind: string): string {
  const parts = apiVersion.split('/')
  if (parts.length > 2) return '/, Kind='
  return `${parts.length === 2 ? apiVersion : `/${apiVersion}`}, Kind=${kind}`
}

/** `lost` is in the order of the managers' identifiers. */
type Merged = { readonly object: JsonObject; readonly managers: Managers; readonly lost: readonly Lost[] }

function* merge(apply: Apply, live: JsonObject, stored: Managers): Step<Merged> {
  const { type, applied, writer, resetFields = EMPTY_SET } = apply
  const { name, apiVersion, subresource } = writer
  const self = identifierOf({ operation: 'Apply', name, apiVersion, subresource })
  const managers = new Map(knownManagers(apply, stored))
  const last = managers.get(self)
  const named = recursiveDifference(fieldSetOf(type, applied), resetFields)
  yield
  const fields = last === undefined ? named : sharing(last.fields, named)
  managers.set(self, { name, operation: 'Apply', apiVersion, subresource, time: last?.time, fields })
  yield
  const merged = mergeApplied(type, live, applied) as JsonObject
  yield
  const object = last === undefined ? merged : yield* prune(apply, merged, { managers, last, fields })
  yield
  const { kept, lost, comparison } = yield* settle(apply, managers, { live, next: object, self, isDecoded: false })
  yield
  // The comparison has found most changes already.
  const time = isNoChange(comparison) && deepEqual(live, object) ? undefined : writer.time
  const identifiers = [...lost.keys()].sort(compareText)
  return {
    object,
    managers: signed(kept, { self, time, last }),
    lost: identifiers.map(identifier => ({ manager: managers.get(identifier)!, fields: lost.get(identifier)! })),
  }
}

const isNoChange = ({ added, modified, removed }: Settled['comparison']): boolean => [added, modified, removed].every(isEmptySet)

type Signing = { readonly self: string; readonly time: string | undefined; readonly last: Manager | undefined }

/** Without the fields that no one owns; the applier's time moves when the object changed. */
function signed(managers: Managers, { self, time, last }: Signing): Managers {
  const own = managers.get(self)
  if (own === undefined) return managers
  const { name, operation, apiVersion, subresource } = own
  const owned = difference(own.fields, UNOWNED_FIELDS)
  // Most configurations name the same fields as the last one: then these, and their document, remain as they are.
  const fields = last ? sharing(last.fields, owned) : owned
  const after = new Map(managers)
  if (isEmptySet(fields)) after.delete(self)
  else after.set(self, { name, operation, apiVersion, subresource, time: time ?? own.time, fields })
  return after
}

type Pruning = { readonly managers: Managers; readonly last: Manager; readonly fields: FieldSet }

/** Removes fields that the applier applied last time but not now, except those that others own and those that no one ever applied. */
function* prune(apply: Apply, merged: JsonObject, { managers, last, fields }: Pruning): Step<JsonObject> {
  const { writer } = apply
  if (isEmptySet(last.fields)) return merged
  // Nothing is given up, so nothing can go: the usual case, and by far the cheaper one.
  if (last.apiVersion === writer.apiVersion && isEmptySet(difference(last.fields, fields))) return merged
  const type = typeIn(apply, last.apiVersion)
  if (type === undefined) return merged
  const [whole] = yield* inVersion(apply, [merged], last.apiVersion)
  const all = namedFields(type, whole!)
  yield
  const gone = removeItems(type, whole!, withMessages(type, last.fields)) as JsonObject
  yield
  const kept = yield* addBackOwned(apply, { whole: whole!, all, left: gone, version: last.apiVersion }, managers)
  yield
  // Fields that were removed only with their parent, though the applier never owned them, are restored as well.
  const given = difference(all, namedFields(type, kept))
  const left = removeItems(type, whole!, intersection(given, withMessages(type, last.fields))) as JsonObject
  const [result] = yield* inVersion(apply, [left], writer.apiVersion)
  return result!
}

/** Objects in a version of their kind; those that are in it already as they are. */
function* inVersion(apply: Apply, objects: readonly JsonObject[], apiVersion: string): Step<readonly JsonObject[]> {
  if (apply.versions === undefined || objects.every(object => object['apiVersion'] === apiVersion)) return objects
  return yield* apply.versions.convert(objects.map(object => ({ object, apiVersion })))
}

type Parts = {
  readonly whole: JsonObject
  /** The fields of the whole. */
  readonly all: FieldSet
  readonly left: JsonObject
  readonly version: string
}

/** Puts back what any manager owns, the applier's new configuration among them. */
function* addBackOwned(apply: Apply, { whole, all, left, version }: Parts, managers: Managers): Step<JsonObject> {
  const owned = new Map<string, FieldSet>([[version, EMPTY_SET]])
  for (const { apiVersion, fields } of managers.values()) owned.set(apiVersion, union(owned.get(apiVersion) ?? EMPTY_SET, fields))
  let result = left
  for (const [apiVersion, fields] of owned) {
    const type = typeIn(apply, apiVersion)
    if (type === undefined) continue
    const [there, some] = yield* inVersion(apply, [whole, result], apiVersion)
    const keep = union(namedFields(type, some!), withMessages(type, fields))
    yield
    const present = apiVersion === version ? all : namedFields(type, there!)
    const kept = removeItems(type, there!, difference(present, keep)) as JsonObject
    result = (yield* inVersion(apply, [kept], version))[0]!
  }
  return result
}

const namedFields = (type: AnyType, object: JsonObject): FieldSet => withMessages(type, fieldSetOf(type, object))

function conflict(contested: readonly Lost[]): Applied {
  const conflicts = namedConflicts(contested)
  const causes = conflicts.flatMap(({ manager, fields }) =>
    fields.map(field => ({ reason: 'FieldManagerConflict', message: `conflict with ${managerText(manager)}`, field })),
  )
  return { ok: false, reason: 'conflict', message: conflictText(contested, conflicts), causes }
}

type NamedConflicts = { readonly manager: Manager; readonly fields: readonly string[] }

/** The fields of each manager by their paths, as many as an answer can hold. */
function namedConflicts(contested: readonly Lost[]): readonly NamedConflicts[] {
  let left = LIMITS.errorCauses
  return contested.flatMap(({ manager, fields }) => {
    const named = pathsOf(fields, left).map(pathText)
    left -= named.length
    return named.length > 0 ? [{ manager, fields: named }] : []
  })
}

function conflictText(contested: readonly Lost[], named: readonly NamedConflicts[]): string {
  const count = contested.reduce((sum, { fields }) => sum + countFields(fields), 0)
  const [only] = named
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${managerText(only!.manager)}: ${only!.fields[0]}`
  const lines = named.flatMap(({ manager, fields }) => [`conflicts with ${managerText(manager)}:`, ...fields.map(field => `- ${field}`)])
  const unnamed = count - named.reduce((sum, { fields }) => sum + fields.length, 0)
  if (unnamed > 0) lines.push(`and ${unnamed} more`)
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`
}
