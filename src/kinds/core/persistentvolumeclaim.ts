/** PersistentVolumeClaim requests storage: its size, class and access modes. */
import { copyJson, getOwn, setOwn } from '../../lib/json-value.ts'
import { isQualifiedName } from '../../lib/names.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import {
  entry,
  type FieldError,
  forbidden,
  hasErrors,
  invalid,
  invalidEach,
  type Ref,
  refTo,
  required,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { describeChange, meansTheSame } from '../rules/compare.ts'
import { validateLabelSelector } from '../rules/meta.ts'
import { PersistentVolumeClaimSpec } from '../rules/persistent-volume/claim.ts'
import { type ClaimOptions, validatePersistentVolumeClaimSpec } from '../rules/persistent-volume/claim-rules.ts'
import { PersistentVolumeClaimStatus } from '../rules/persistent-volume/claim-status.ts'
import { validateBasicAmount } from '../rules/persistent-volume/volume-rules.ts'
import { isNativeResource, validateResourceQuantity } from '../rules/pod/resources/resource-rules.ts'
import { validateHealthConditions, validateReasons } from '../rules/pod/status/volume-health-rules.ts'
import { warnAboutClaim } from '../rules/pod/volumes/volume-warnings.ts'
import { CLASS_ANNOTATION, classOf, formatAccessModes, OLD_CLASS_ADVICE } from '../rules/storage-class.ts'

export const PersistentVolumeClaim = defineKind({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  scope: 'Namespaced',
  names: { plural: 'persistentvolumeclaims', short: ['pvc'] },
  doc: 'Asks for storage and, once bound, stands for it.',
  spec: PersistentVolumeClaimSpec,
  status: PersistentVolumeClaimStatus,

  prepareForCreate: ({ spec }, ctx) => settleSources(spec, undefined, ctx),
  prepareForUpdate: ({ spec }, old, ctx) => settleSources(spec, old.spec, ctx),
  *validate(o, at, { old }) {
    yield* validatePersistentVolumeClaimSpec(o.spec, at.spec, ratchetedOptions(old?.spec))
    if (old) yield* validateClaimChange(o, old, at)
  },
  *warn({ metadata, spec }) {
    if (Object.hasOwn(metadata.annotations ?? {}, CLASS_ANNOTATION)) yield `metadata.annotations[${CLASS_ANNOTATION}]: ${OLD_CLASS_ADVICE}`
    yield* warnAboutClaim(spec, refTo(spec, 'spec'))
  },

  deletion: { returns: 'object' },

  subresources: {
    status: {
      prepareForUpdate({ status }, old, { gate }) {
        if (!gate('CSIVolumeHealth') && !old.status.healthStatus) delete status.healthStatus
      },
      validate: validateClaimStatus,
    },
  },

  columns: {
    Status: [
      'string',
      o => (o.metadata.deletionTimestamp ? 'Terminating' : o.status.phase),
      'phase represents the current phase of PersistentVolumeClaim.',
    ],
    Volume: ['string', o => o.spec.volumeName ?? '', 'volumeName is the binding reference to the PersistentVolume backing this claim.'],
    Capacity: [
      'string',
      o => (o.spec.volumeName ? (getOwn(o.status.capacity ?? {}, 'storage') ?? '0') : ''),
      'capacity represents the actual resources of the underlying volume.',
    ],
    'Access Modes': [
      'string',
      o => (o.spec.volumeName ? formatAccessModes(o.status.accessModes) : ''),
      'accessModes contains the actual access modes the volume backing the PVC has. More info: https://kubernetes.io/docs/concepts/storage/persistent-volumes#access-modes-1',
    ],
    StorageClass: ['string', o => classOf(o) ?? '', 'StorageClass of the pvc'],
    VolumeAttributesClass: ['string', o => o.spec.volumeAttributesClassName ?? '<unset>', 'VolumeAttributesClass of the pvc'],
    Age: age,
    VolumeMode: [
      'string',
      o => o.spec.volumeMode ?? '<unset>',
      'volumeMode defines what type of volume is required by the claim. Value of Filesystem is implied when not included in claim spec.',
      'wide',
    ],
  },
})

/** An object of the kind PersistentVolumeClaim. */
export type PersistentVolumeClaim = ObjectOf<typeof PersistentVolumeClaim>

/** Rules that the stored claim already violates do not apply. */
function ratchetedOptions(old: PersistentVolumeClaimSpec | undefined): ClaimOptions {
  if (!old) return {}
  const hasGroup = [old.dataSource, old.dataSourceRef].some(source => (source?.apiGroup ?? undefined) !== undefined)
  return { allowInvalidSelectorValues: hasInvalidSelector(old), allowInvalidSourceGroup: hasGroup }
}

const hasInvalidSelector = ({ selector }: PersistentVolumeClaimSpec): boolean =>
  selector !== undefined && hasErrors(validateLabelSelector(selector, refTo(selector)))

/** Claims have two fields for their data source: dataSource allows few kinds, dataSourceRef all. Each is defaulted from the other. */
function settleSources(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec | undefined,
  { gate, groupDomain }: RequestContext,
): void {
  if (spec.dataSourceRef?.namespace && !gate('CrossNamespaceVolumeDataSource') && !old?.dataSourceRef) delete spec.dataSourceRef
  // dataSource of another kind is dropped silently, as in kube-apiserver.
  if (!old?.dataSource && !old?.dataSourceRef && !spec.dataSourceRef && !isClaimOrSnapshot(spec.dataSource, groupDomain))
    delete spec.dataSource
  const { dataSource, dataSourceRef } = spec
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource }
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...local } = dataSourceRef
    spec.dataSource = local
  }
}

function isClaimOrSnapshot(source: PersistentVolumeClaimSpec['dataSource'], groupDomain: string): boolean {
  if (source?.kind === 'PersistentVolumeClaim') return !source.apiGroup
  return source?.kind === 'VolumeSnapshot' && source.apiGroup === `snapshot.storage.${groupDomain}`
}

type Claim = { metadata: ObjectMeta; spec: PersistentVolumeClaimSpec; status: PersistentVolumeClaimStatus }

const IMMUTABLE = 'field is immutable'

/** The errors of a change of a claim, beside those of the claim itself. */
function* validateClaimChange(claim: Claim, old: Claim, at: Ref<Claim>): Iterable<FieldError> {
  const upgrades = movesClassFromAnnotation(claim, old)
  const [now, before] = [annotatedClass(claim), annotatedClass(old)]
  if (!upgrades && (now ?? '') !== (before ?? '')) yield invalid(refTo(now ?? '', `metadata.annotations.${CLASS_ANNOTATION}`), IMMUTABLE)
  const rest = withoutChangeable(claim, old, upgrades)
  if (!meansTheSame(PersistentVolumeClaimSpec, rest.spec, rest.old))
    yield forbidden(
      at.spec,
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${describeChange(PersistentVolumeClaimSpec, rest.old, rest.spec)}`,
    )
  yield* validateSize(claim, old)
  if (claim.spec.volumeMode !== old.spec.volumeMode) yield invalid(refTo(claim.spec.volumeMode ?? null, 'volumeMode'), IMMUTABLE)
  yield* validateAttributesClass(claim, old, at)
}

/** A smaller request than before can cancel a failed expansion, but cannot go below the actual capacity. */
function* validateSize({ spec }: Claim, { spec: before, status }: Claim): Iterable<FieldError> {
  const [size, oldSize] = [storageOf(spec.resources.requests), storageOf(before.resources.requests)]
  if (compareQuantity(size, oldSize) < 0 && compareQuantity(size, storageOf(status.capacity)) <= 0)
    yield forbidden(refTo(undefined, 'spec.resources.requests.storage'), 'field can not be less than status.capacity')
}

function* validateAttributesClass({ spec }: Claim, { spec: before, status }: Claim, at: Ref<Claim>): Iterable<FieldError> {
  const name = spec.volumeAttributesClassName
  if (name === before.volumeAttributesClassName || status.currentVolumeAttributesClassName === undefined) return
  const why = 'is forbidden when status.currentVolumeAttributesClassName is not nil'
  if (name === undefined) yield forbidden(at.spec.volumeAttributesClassName, `update to nil ${why}`)
  else if (name === '') yield forbidden(at.spec.volumeAttributesClassName, `update to empty string ${why}`)
}

const storageOf = (amounts: Record<string, string> | undefined) => parseQuantity(getOwn(amounts ?? {}, 'storage') ?? '0')
const annotatedClass = ({ metadata }: Claim) => getOwn(metadata.annotations ?? {}, CLASS_ANNOTATION)

/** Whether the class moves from its former annotation to its field. */
function movesClassFromAnnotation(claim: Claim, old: Claim): boolean {
  const before = annotatedClass(old)
  const now = annotatedClass(claim)
  return (
    before !== undefined &&
    old.spec.storageClassName === undefined &&
    claim.spec.storageClassName === before &&
    (now === undefined || now === before)
  )
}

/** Both specs with mutable fields made equal, so that any remaining difference is refused. */
function withoutChangeable(
  claim: Claim,
  old: Claim,
  upgrades: boolean,
): { spec: PersistentVolumeClaimSpec; old: PersistentVolumeClaimSpec } {
  const spec = copyJson(claim.spec)
  const before = copyJson(old.spec)
  if (!before.volumeName && spec.volumeName) before.volumeName = spec.volumeName
  const given = annotatedClass(old)
  const { storageClassName } = spec
  // A claim without a class may be given one later, as happens when a default class appears.
  if (before.storageClassName === undefined && (upgrades || given === undefined || given === storageClassName)) delete spec.storageClassName
  if (claim.status.phase !== 'Bound') return { spec, old: before }
  if (spec.resources.requests) setOwn(spec.resources.requests, 'storage', getOwn(before.resources.requests ?? {}, 'storage') ?? '0')
  if (before.volumeAttributesClassName === undefined) delete spec.volumeAttributesClassName
  else spec.volumeAttributesClassName = before.volumeAttributesClassName
  return { spec, old: before }
}

/** A spec in errors. */

const RESIZES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
]

/** The errors of a claim's status. */
function* validateClaimStatus({ spec, status }: Claim, { status: at }: Ref<Claim>): Iterable<FieldError> {
  if (!spec.accessModes?.length) yield required(refTo(undefined, 'Spec.accessModes'))
  for (const [name, amount] of Object.entries(status.capacity ?? {})) yield* validateBasicAmount(amount, entry(at.capacity, name))
  const health = status.healthStatus?.healthConditions ?? []
  yield* validateReasons(health, at.healthStatus.healthConditions)
  for (const [name, state] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    const itemAt = withValue(at.allocatedResourceStatuses, name)
    yield* validateResourceKey(name, itemAt)
    if (!RESIZES.includes(state)) yield unsupported(itemAt, ...RESIZES)
  }
  yield* validateAllocated(status.allocatedResources ?? {}, at.allocatedResources)
  yield* validateHealthConditions(health, at.healthStatus.healthConditions)
}

function* validateAllocated(amounts: Record<string, string>, at: Ref<Record<string, string>>): Iterable<FieldError> {
  for (const [name, amount] of Object.entries(amounts)) {
    const misnamed = [...validateResourceKey(name, withValue(at, name))]
    if (misnamed.length > 0) {
      yield* misnamed
      continue
    }
    const negative = [...validateBasicAmount(amount, entry(at, name))]
    yield* negative.length > 0 ? negative : validateResourceQuantity('storage', amount, entry(at, name))
  }
}

/** Claims support only storage among the standard resources. */
function* validateResourceKey(name: string, at: Ref<string>): Iterable<FieldError> {
  const faults = isQualifiedName(name)
  if (faults.length > 0) yield* invalidEach(at, faults)
  else if (isNativeResource(name) && name !== 'storage') yield unsupported(at, 'storage')
}
