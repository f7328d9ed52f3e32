/** Rules on changes of claims: they are bound once, may grow once bound, and stay what they are otherwise. */
import { getOwn, setOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, forbidden, invalid, type Ref, refTo } from '../../schema/refs.ts'
import { describeChange, meansTheSame } from '../shapes/compare.ts'
import { type Form, shownAs } from '../shapes/error-values.ts'
import { PersistentVolumeClaimSpec } from '../shapes/persistent-volume/claim.ts'
import type { PersistentVolumeClaimStatus } from '../shapes/persistent-volume/claim-status.ts'
import { CLASS_ANNOTATION } from '../shapes/storage-class.ts'

export type Claim = { metadata: ObjectMeta; spec: PersistentVolumeClaimSpec; status: PersistentVolumeClaimStatus }

const IMMUTABLE = 'field is immutable'

/** What is wrong with a change of a claim, beside what is wrong with the claim. */
export function* validateClaimChange(claim: Claim, old: Claim, at: Ref<Claim>): Iterable<FieldError> {
  const upgrades = movesClassFromAnnotation(claim, old)
  const [now, before] = [annotatedClass(claim), annotatedClass(old)]
  if (!upgrades && (now ?? '') !== (before ?? '')) yield invalid(refTo(now ?? '', `metadata.annotations.${CLASS_ANNOTATION}`), IMMUTABLE)
  const rest = withoutChangeable(claim, old, upgrades)
  if (!meansTheSame(PersistentVolumeClaimSpec, rest.spec, rest.old))
    yield forbidden(
      at.spec,
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${describeChange(shown(rest.old), shown(rest.spec), { ordered: true })}`,
    )
  yield* validateSize(claim, old)
  if (claim.spec.volumeMode !== old.spec.volumeMode) yield invalid(refTo(claim.spec.volumeMode ?? null, 'volumeMode'), IMMUTABLE)
  yield* validateAttributesClass(claim, old, at)
}

/** A smaller size than asked for before takes back what could not be had, but never what is there already. */
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

/** The class may move from the annotation where it once stood to its field. */
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

/** Both specs with what may change made equal, so that everything that is left to differ is refused. */
function withoutChangeable(
  claim: Claim,
  old: Claim,
  upgrades: boolean,
): { spec: PersistentVolumeClaimSpec; old: PersistentVolumeClaimSpec } {
  const spec = structuredClone(claim.spec)
  const before = structuredClone(old.spec)
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

const LOCAL_REFERENCE: Form = { APIGroup: ['apiGroup', null], Kind: ['kind', ''], Name: ['name', ''] }
const SPEC: Form = {
  AccessModes: ['accessModes', null],
  Selector: ['selector', null],
  Resources: ['resources', null, { Limits: ['limits', null], Requests: ['requests', null] }],
  VolumeName: ['volumeName', ''],
  StorageClassName: ['storageClassName', null],
  VolumeMode: ['volumeMode', null],
  DataSource: ['dataSource', null, LOCAL_REFERENCE],
  DataSourceRef: ['dataSourceRef', null, { ...LOCAL_REFERENCE, Namespace: ['namespace', null] }],
  VolumeAttributesClassName: ['volumeAttributesClassName', null],
}

/** A spec the way errors print it. */
const shown = (spec: PersistentVolumeClaimSpec): unknown => shownAs(SPEC, spec)
