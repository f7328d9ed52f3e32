/** Rules for the spec of a persistent volume claim. */

import { isDNS1123Label, isDNS1123Subdomain } from '../../../lib/names.ts'
import { validateAnnotations, validateLabels } from '../../../schema/meta-rules.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import {
  entry,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  required,
  unsupported,
  withValue,
} from '../../../schema/refs.ts'
import { under } from '../error-paths.ts'
import { validateLabelSelector } from '../meta.ts'
import { validatePositiveQuantity, validateResourceQuantity } from '../pod/resources/resource-rules.ts'
import type { TypedObjectReference } from '../references.ts'
import { validateObjectName } from '../text-rules.ts'
import type { PersistentVolumeClaimSpec, PersistentVolumeClaimTemplate } from './claim.ts'

/** In the order of error messages. */
export const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'] as const
export const VOLUME_MODES = ['Block', 'Filesystem'] as const

/** Errors that a stored claim may keep. */
export type ClaimOptions = {
  readonly allowInvalidSelectorValues?: boolean
  readonly allowInvalidSourceGroup?: boolean
}

/** The claim template of an ephemeral volume: only labels and annotations of its metadata are used. */
export function* validatePersistentVolumeClaimTemplate(
  template: PersistentVolumeClaimTemplate,
  at: Ref<PersistentVolumeClaimTemplate>,
  options: ClaimOptions = {},
): Iterable<FieldError> {
  yield* validateTemplateMeta(template.metadata ?? {}, at.metadata)
  yield* validatePersistentVolumeClaimSpec(template.spec ?? {}, at.spec, options)
}

const META_WITHOUT_TEMPLATES = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const

/** Metadata of an object yet to be created, of which only labels and annotations are used. */
export function* validateTemplateMeta(meta: ObjectMeta, at: Ref<ObjectMeta>): Iterable<FieldError> {
  yield* validateAnnotations(meta.annotations, at.annotations)
  yield* validateLabels(meta.labels, at.labels)
  for (const field of META_WITHOUT_TEMPLATES)
    if ((meta[field] ?? undefined) !== undefined) yield forbidden(field === 'uid' ? under(at, 'uID') : at[field], 'cannot be set')
}

/** The requested volume: its modes, size, class and data source. */
export function* validatePersistentVolumeClaimSpec(
  spec: PersistentVolumeClaimSpec,
  at: Ref<PersistentVolumeClaimSpec>,
  { allowInvalidSelectorValues = false, allowInvalidSourceGroup = false }: ClaimOptions = {},
): Iterable<FieldError> {
  const { accessModes, selector, storageClassName, volumeMode, volumeAttributesClassName } = spec
  if (!accessModes?.length) yield required(at.accessModes, 'at least 1 access mode is required')
  if (selector) yield* validateLabelSelector(selector, at.selector, { allowInvalidValues: allowInvalidSelectorValues })
  yield* validateAccessModes(accessModes ?? [], at.accessModes)
  yield* validateStorage(spec, at)
  if (storageClassName) yield* validateObjectName(storageClassName, at.storageClassName)
  if (volumeMode !== undefined && !(VOLUME_MODES as readonly string[]).includes(volumeMode))
    yield unsupported(at.volumeMode, ...VOLUME_MODES)
  yield* validateDataSources(spec, at, allowInvalidSourceGroup)
  if (volumeAttributesClassName) yield* validateObjectName(volumeAttributesClassName, at.volumeAttributesClassName)
}

/** Modes are supported, and ReadWriteOncePod excludes the others. */
export function* validateAccessModes(modes: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  const known: readonly string[] = ACCESS_MODES
  for (const mode of modes) if (!known.includes(mode)) yield unsupported(withValue(at, mode), ...ACCESS_MODES)
  if (modes.includes('ReadWriteOncePod') && modes.some(mode => mode !== 'ReadWriteOncePod' && known.includes(mode)))
    yield forbidden(at, 'may not use ReadWriteOncePod with other access modes')
}

function* validateStorage({ resources }: PersistentVolumeClaimSpec, at: Ref<PersistentVolumeClaimSpec>): Iterable<FieldError> {
  const itemAt = entry(at.resources as unknown as Ref<Record<string, string>>, 'storage')
  const requests = resources?.requests ?? {}
  const storage = Object.hasOwn(requests, 'storage') ? requests['storage'] : undefined
  if (storage === undefined) return yield required(itemAt)
  let positive = true
  for (const error of validatePositiveQuantity(storage, itemAt)) {
    positive = false
    yield error
  }
  if (positive) yield* validateResourceQuantity('storage', storage, itemAt)
}

function* validateDataSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  at: Ref<PersistentVolumeClaimSpec>,
  allowInvalidGroup: boolean,
): Iterable<FieldError> {
  if (dataSource) yield* validateDataSource(dataSource, at.dataSource, allowInvalidGroup)
  if (dataSourceRef) {
    yield* validateDataSource(dataSourceRef, at.dataSourceRef, allowInvalidGroup)
    if (dataSourceRef.namespace) yield* invalidEach(at.dataSourceRef.namespace, isDNS1123Label(dataSourceRef.namespace))
  }
  if (!dataSource || !dataSourceRef) return
  // The error shows the value of a path, which has none.
  const whole = withValue(at, {})
  if (dataSourceRef.namespace) yield invalid(whole, 'may not be specified when dataSourceRef.namespace is specified')
  else if (!isSameSource(dataSource, dataSourceRef)) yield invalid(whole, 'must match dataSourceRef')
}

const isSameSource = (a: LocalSource, b: LocalSource): boolean =>
  (a.apiGroup ?? undefined) === (b.apiGroup ?? undefined) && a.kind === b.kind && a.name === b.name

type LocalSource = Omit<TypedObjectReference, 'namespace'>

function* validateDataSource(
  { name, kind = '', apiGroup }: LocalSource,
  at: Ref<LocalSource>,
  allowInvalidGroup: boolean,
): Iterable<FieldError> {
  if (!name) yield required(at.name)
  if (!kind) yield required(at.kind)
  if (!apiGroup && kind !== 'PersistentVolumeClaim')
    yield invalid(withValue(at, kind), "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
  if (apiGroup && !allowInvalidGroup) yield* invalidEach(at.apiGroup, isDNS1123Subdomain(apiGroup))
}
