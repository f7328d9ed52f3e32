/** The rules of metadata for every kind: names, labels, annotations, owners, finalizers and field ownership. */
import { goQuote, isPrintable } from '../lib/go-text.ts'
import { isQualifiedName, isValidLabelValue, nameIsDNSLabel, nameIsPathSegment } from '../lib/names.ts'
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './object-meta.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, unsupported, withValue } from './refs.ts'
import type { NameRule } from './rules.ts'

/** The limit of all annotations of one object, keys and values together. */
export const MAX_ANNOTATIONS_BYTES = 256 * 1024

/** The limit of a field manager's name. */
export const MAX_MANAGER_BYTES = 128

/** The finalizers that tell the garbage collector to orphan dependents, or to delete them first. */
export const ORPHAN_FINALIZER = 'orphan'
export const FOREGROUND_FINALIZER = 'foregroundDeletion'

/** Rules for the metadata of an object to be created, whose name has been generated already. */
export function* validateObjectMeta(
  meta: ObjectMeta,
  at: Ref<ObjectMeta>,
  { namespaced, nameRule }: { namespaced: boolean; nameRule: NameRule },
): Iterable<FieldError> {
  if (meta.generateName) yield* invalidEach(at.generateName, nameRule(meta.generateName, 'prefix'))
  const nameFaults = meta.name ? nameRule(meta.name, 'name') : []
  if (!meta.name) yield required(at.name, 'name or generateName is required')
  else if (nameFaults.length > 0) yield* invalidEach(at.name, nameFaults)
  const namespaceFaults = namespaced && meta.namespace ? nameIsDNSLabel(meta.namespace) : []
  if (!namespaced) {
    if (meta.namespace) yield forbidden(at.namespace, 'not allowed on this type')
  } else if (!meta.namespace) yield required(at.namespace)
  else if (namespaceFaults.length > 0) yield* invalidEach(at.namespace, namespaceFaults)
  yield* validateGeneration(meta, at)
  yield* validateCollections(meta, at)
  if (meta.finalizers) yield* validateFinalizers(meta.finalizers, at.finalizers)
}

/** The rules for maps and lists that creates and updates share. Most objects have few of them: no Ref is created for absent ones. */
function* validateCollections(
  { labels, annotations, ownerReferences, managedFields }: ObjectMeta,
  at: Ref<ObjectMeta>,
): Iterable<FieldError> {
  if (labels) yield* validateLabels(labels, at.labels)
  if (annotations) yield* validateAnnotations(annotations, at.annotations)
  if (ownerReferences) yield* validateOwnerReferences(ownerReferences, at.ownerReferences)
  if (managedFields) yield* validateManagedFields(managedFields, at.managedFields)
}

/** Rules for a change of metadata; immutable fields have been copied from `old` already. */
export function* validateObjectMetaUpdate(meta: ObjectMeta, old: ObjectMeta, at: Ref<ObjectMeta>): Iterable<FieldError> {
  if (old.deletionTimestamp) yield* validateNoNewFinalizers(meta.finalizers, old.finalizers, at.finalizers)
  if (meta.generateName) yield* invalidEach(at.generateName, nameIsPathSegment(meta.generateName, 'prefix'))
  if (!meta.resourceVersion) yield invalid(at.resourceVersion, 'must be specified for an update')
  yield* validateGeneration(meta, at)
  if ((meta.generation ?? 0) < (old.generation ?? 0))
    yield invalid(withValue(at.generation, meta.generation ?? 0), 'must not be decremented')
  if (!meta.name) yield required(at.name, 'name or generateName is required')
  for (const field of ['name', 'namespace', 'uid'] as const)
    if ((meta[field] ?? '') !== (old[field] ?? '')) yield invalid(at[field], IMMUTABLE)
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const)
    if ((meta[field] ?? null) !== (old[field] ?? null)) yield invalid(withValue(at[field], meta[field] ?? null), IMMUTABLE)
  yield* validateCollections(meta, at)
  if (meta.finalizers) yield* validateFinalizers(meta.finalizers, at.finalizers)
}

/** Keys are qualified names and values label values; errors point at the map, and show the key or value. */
export function* validateLabels(labels: Record<string, string> | null | undefined, at: Ref<Record<string, string>>): Iterable<FieldError> {
  for (const key of Object.keys(labels ?? {})) {
    const value = labels![key]!
    // Refs are created only for errors: there may be thousands of labels.
    const [keyFaults, valueFaults] = [isQualifiedName(key), isValidLabelValue(value)]
    if (keyFaults.length > 0) yield* invalidEach(withValue(at, key), keyFaults)
    if (valueFaults.length > 0) yield* invalidEach(withValue(at, value), valueFaults)
  }
}

/** A label key: a name, optionally after a DNS name and a slash. */
export function validateLabelKey(at: Ref<string>, key = ''): Iterable<FieldError> {
  return invalidEach(withValue(at, key), isQualifiedName(key))
}

/** Keys are qualified names in either case; the total size is limited. */
export function* validateAnnotations(
  annotations: Record<string, string> | null | undefined,
  at: Ref<Record<string, string>>,
): Iterable<FieldError> {
  let size = 0
  for (const [key, value] of Object.entries(annotations ?? {})) {
    const faults = isQualifiedName(key.toLowerCase())
    if (faults.length > 0) yield* invalidEach(withValue(at, key), faults)
    size += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (size > MAX_ANNOTATIONS_BYTES) yield tooLong(at, MAX_ANNOTATIONS_BYTES)
}

/** Finalizers are qualified names, and those of garbage collection exclude each other. */
function* validateFinalizers(finalizers: readonly string[] | null | undefined, at: Ref<string[]>): Iterable<FieldError> {
  const names = finalizers ?? []
  for (const name of names) {
    const faults = isQualifiedName(name)
    if (faults.length > 0) yield* invalidEach(withValue(at, name), faults)
  }
  if (names.includes(ORPHAN_FINALIZER) && names.includes(FOREGROUND_FINALIZER))
    yield invalid(at, `finalizer ${ORPHAN_FINALIZER} and ${FOREGROUND_FINALIZER} cannot be both set`)
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['kubernetes', ORPHAN_FINALIZER, FOREGROUND_FINALIZER])

/** Whether a finalizer is one of Kubernetes' own or has a domain. */
export const isStandardOrQualified = (finalizer: string): boolean => finalizer.includes('/') || STANDARD_FINALIZERS.has(finalizer)

/** Finalizers are standard ones or have a domain. Applies to most kinds, in addition to `validateObjectMeta`. */
export function* validateFinalizerDomains(finalizers: readonly string[] | null | undefined, at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, name] of (finalizers ?? []).entries()) if (!isStandardOrQualified(name)) yield* validateFinalizerDomain(name, at[i]!)
}

export function* validateFinalizerDomain(name: string, at: Ref<string>): Iterable<FieldError> {
  if (!isStandardOrQualified(name)) yield invalid(at, 'name is neither a standard finalizer name nor is it fully qualified')
}

/** An object that is being deleted accepts no further finalizers. */
function* validateNoNewFinalizers(
  finalizers: readonly string[] | null | undefined,
  old: readonly string[] | null | undefined,
  at: Ref<string[]>,
): Iterable<FieldError> {
  const known = new Set(old)
  const extra = [...new Set(finalizers ?? [])].filter(name => !known.has(name)).sort()
  if (extra.length === 0) return
  const list = `[]string{${extra.map(name => goQuote(name)).join(', ')}}`
  yield forbidden(at, `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`)
}

/** Every owner reference is complete, none is of a kind that cannot own, and at most one of them is the controller. */
function* validateOwnerReferences(owners: readonly OwnerReference[] | null | undefined, at: Ref<OwnerReference[]>): Iterable<FieldError> {
  let controller: string | undefined
  for (const [i, owner] of (owners ?? []).entries()) {
    yield* validateOwnerReference(owner, at[i]!)
    if (!owner.controller) continue
    const name = `${owner.kind}/${owner.name}`
    if (controller === undefined) controller = name
    else yield invalid(at, `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`)
  }
}

/** Entries of managedFields have an operation, a printable manager and the only format there is. */
function* validateManagedFields(
  entries: readonly ManagedFieldsEntry[] | null | undefined,
  at: Ref<ManagedFieldsEntry[]>,
): Iterable<FieldError> {
  for (const [i, { operation, fieldsType, manager = '', subresource = '' }] of (entries ?? []).entries()) {
    if (!operation) yield required(at[i]!.operation, 'must not be empty')
    else if (operation !== 'Apply' && operation !== 'Update') yield unsupported(at[i]!.operation, 'Apply', 'Update')
    if (fieldsType && fieldsType !== 'FieldsV1') yield invalid(at[i]!.fieldsType, 'must be `FieldsV1`')
    if (!isPlainManager(manager)) yield* validateFieldManager(manager, at[i]!.manager)
    if (Buffer.byteLength(subresource) > MAX_SUBRESOURCE_BYTES) yield tooLong(at[i]!.subresource, MAX_SUBRESOURCE_BYTES)
  }
}

/** The name of a field manager is short and printable. */
export function* validateFieldManager(manager: string, at: Ref<string>): Iterable<FieldError> {
  if (Buffer.byteLength(manager) > MAX_MANAGER_BYTES) yield tooLong(at, MAX_MANAGER_BYTES)
  if (PRINTABLE_ASCII.test(manager)) return
  let position = 0
  for (const character of manager) {
    if (!isPrintable(character)) {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      yield invalid(withValue(at, manager), `invalid character U+${code} (at position ${position})`)
    }
    position += Buffer.byteLength(character)
  }
}

/** Whether a manager has a valid name, as nearly all do. */
const isPlainManager = (manager: string): boolean => manager.length <= MAX_MANAGER_BYTES && PRINTABLE_ASCII.test(manager)

const IMMUTABLE = 'field is immutable'
const MAX_SUBRESOURCE_BYTES = 256
const PRINTABLE_ASCII = /^[ -~]*$/

function* validateGeneration({ generation = 0 }: ObjectMeta, at: Ref<ObjectMeta>): Iterable<FieldError> {
  if (generation < 0) yield invalid(at.generation, 'must be greater than or equal to 0')
}

function* validateOwnerReference(owner: OwnerReference, at: Ref<OwnerReference>): Iterable<FieldError> {
  const { apiVersion, kind, name, uid } = owner
  if (!apiVersion) yield required(at.apiVersion, 'must not be empty')
  else if (!/^([^/]*\/)?[^/]+$/.test(apiVersion)) yield invalid(at.apiVersion, 'must be <group>/<version> or <version>')
  if (!kind) yield required(at.kind, 'must not be empty')
  if (!name) yield required(at.name, 'must not be empty')
  if (!uid) yield required(at.uid, 'must not be empty')
  // Events expire: their dependents would be deleted with them.
  if (kind === 'Event' && (apiVersion === 'v1' || apiVersion === '/v1'))
    yield invalid(at, '/v1, Kind=Event is disallowed from being an owner')
}
