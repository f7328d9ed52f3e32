/** Rules for persistent volumes, as objects and inside attachments. */

import { nameIsDNSLabel } from '../../../lib/names.ts'
import { integerValue, parseQuantity } from '../../../lib/quantity.ts'
import {
  entry,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  refTo,
  required,
  unsupported,
  withValue,
} from '../../../schema/refs.ts'
import { describeChange, meansTheSame } from '../compare.ts'
import { under } from '../error-paths.ts'
import { internalRepresentation } from '../internal-representation.ts'
import { validatePositiveQuantity } from '../pod/resources/resource-rules.ts'
import type { NodeSelectorRequirement } from '../pod/scheduling/node-selector.ts'
import { validateNodeSelector } from '../pod/scheduling/node-selector.ts'
import { validateNoBacksteps } from '../pod/volumes/path-rules.ts'
import {
  isByte,
  isISCSIName,
  LUN_MESSAGE,
  validateAWSElasticBlockStore,
  validateAzureDisk,
  validateAzureFile,
  validateCephFS,
  validateCinder,
  validateFC,
  validateFlexVolume,
  validateFlocker,
  validateGCEPersistentDisk,
  validateGlusterfs,
  validateISCSITargetLength,
  validateNFS,
  validatePhotonPersistentDisk,
  validatePortworx,
  validateQuobyte,
  validateRBD,
  validateScaleIO,
  validateSecretReference,
  validateStorageOS,
  validateVsphere,
} from '../pod/volumes/volume-plugin-rules.ts'
import { validateCSIDriverName, validateHostPath } from '../pod/volumes/volume-rules.ts'
import { validateObjectName } from '../text-rules.ts'
import { VOLUME_MODES, validateAccessModes } from './claim-rules.ts'
import {
  type AzureFilePersistentVolumeSource,
  type CinderPersistentVolumeSource,
  type CSIPersistentVolumeSource,
  type GlusterfsPersistentVolumeSource,
  type ISCSIPersistentVolumeSource,
  type LocalVolumeSource,
  PersistentVolumeSource,
  type PersistentVolumeSpec,
  type StorageOSPersistentVolumeSource,
  VolumeNodeAffinity,
  volumeSourceNames,
} from './volume.ts'

const RECLAIM_POLICIES = ['Delete', 'Recycle', 'Retain']
const INLINE = 'in the context of inline volumes'

type VolumeOptions = {
  /** The name of the volume. */
  readonly name?: string
  /** Accepts invalid values of node labels. */
  readonly allowInvalidNodeValues?: boolean
}

/** The spec of a PersistentVolume. */
export function* validatePersistentVolumeSpec(
  spec: PersistentVolumeSpec,
  at: Ref<PersistentVolumeSpec>,
  { name = '', allowInvalidNodeValues = false }: VolumeOptions = {},
): Iterable<FieldError> {
  const { persistentVolumeReclaimPolicy: policy, nodeAffinity, storageClassName, volumeMode } = spec
  yield* validateModes(spec, at)
  yield* validateCapacity(spec.capacity ?? {}, at.capacity)
  if (policy && !RECLAIM_POLICIES.includes(policy)) yield unsupported(at.persistentVolumeReclaimPolicy, ...RECLAIM_POLICIES)
  if (nodeAffinity) yield* validateNodeAffinity(nodeAffinity, at.nodeAffinity, allowInvalidNodeValues)
  yield* validateVolumeSource(spec, at, name)
  if (spec.hostPath && isRoot(spec.hostPath.path) && policy === 'Recycle')
    yield forbidden(at.persistentVolumeReclaimPolicy, "may not be 'recycle' for a hostPath mount of '/'")
  if (storageClassName) yield* validateObjectName(storageClassName, at.storageClassName)
  if (volumeMode !== undefined && !(VOLUME_MODES as readonly string[]).includes(volumeMode))
    yield unsupported(at.volumeMode, ...VOLUME_MODES)
  yield* validateAttributesClass(spec, at)
}

/** A volume spec inlined in a VolumeAttachment: only CSI, and none of the fields of a PersistentVolume object. */
export function* validateInlineVolumeSpec(spec: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>): Iterable<FieldError> {
  const { nodeAffinity, ...rest } = spec
  const { claimRef, capacity, csi, persistentVolumeReclaimPolicy: policy, storageClassName, volumeMode } = rest
  if (claimRef) yield forbidden(at.claimRef, `may not be specified ${INLINE}`)
  if (Object.keys(capacity ?? {}).length > 0) yield forbidden(at.capacity, `may not be specified ${INLINE}`)
  if (!csi) yield required(at.csi, `has to be specified ${INLINE}`)
  yield* validateModes(spec, at)
  if (policy && policy !== 'Retain') yield forbidden(at.persistentVolumeReclaimPolicy, `may only be Retain ${INLINE}`)
  if (nodeAffinity) yield forbidden(at.nodeAffinity, `may not be specified ${INLINE}`)
  // Affinity is refused above, so that a local volume never has the affinity it needs.
  yield* validateVolumeSource(rest, at, '')
  if (spec.hostPath && isRoot(spec.hostPath.path) && policy === 'Recycle')
    yield forbidden(at.persistentVolumeReclaimPolicy, "may not be 'recycle' for a hostPath mount of '/'")
  if (storageClassName) yield forbidden(at.storageClassName, `may not be specified ${INLINE}`)
  if (volumeMode !== undefined && volumeMode !== 'Filesystem')
    yield forbidden(at.volumeMode, `may not specify volumeMode other than Filesystem ${INLINE}`)
}

function* validateModes({ accessModes }: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>): Iterable<FieldError> {
  if (!accessModes?.length) yield required(at.accessModes)
  yield* validateAccessModes(accessModes ?? [], at.accessModes)
}

function* validateCapacity(capacity: Record<string, string>, at: Ref<Record<string, string>>): Iterable<FieldError> {
  const names = Object.keys(capacity)
  if (names.length === 0) yield required(at)
  if (!Object.hasOwn(capacity, 'storage') || names.length > 1)
    yield unsupported(withValue(at, names.length === 0 ? null : capacity), 'storage')
  for (const [name, amount] of Object.entries(capacity)) {
    const itemAt = entry(at, name)
    yield* validateBasicAmount(amount, itemAt)
    yield* validatePositiveQuantity(amount, itemAt)
  }
}

/** An amount that is not negative, printed as an integer. */
export function* validateBasicAmount(amount: string, at: Ref<any>): Iterable<FieldError> {
  const value = integerValue(parseQuantity(amount))
  if (value < 0n) yield invalid(withValue(at, value), 'must be a valid resource quantity')
}

function* validateNodeAffinity(
  { required: selector }: VolumeNodeAffinity,
  at: Ref<VolumeNodeAffinity>,
  allowInvalidValues: boolean,
): Iterable<FieldError> {
  if (!selector) yield required(at.required, 'must specify required node constraints')
  else yield* validateNodeSelector(selector, at.required, { allowInvalidValues })
}

function* validateAttributesClass(spec: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>): Iterable<FieldError> {
  const { volumeAttributesClassName: name, csi } = spec
  if (name === undefined) return
  if (name === '') yield required(at.volumeAttributesClassName, 'an empty string is disallowed')
  else yield* validateObjectName(name, at.volumeAttributesClassName)
  if (!csi) yield required(at.csi, 'has to be specified when using volumeAttributesClassName')
}

/** Whether a path, in any notation, is the root directory. */
function isRoot(path: string): boolean {
  let depth = 0
  if (!path.startsWith('/')) return false
  for (const step of path.split('/'))
    if (step === '..') depth = Math.max(0, depth - 1)
    else if (step !== '' && step !== '.') depth++
  return depth === 0
}

/** Rules for changes of a volume: its source and its nodes are immutable. */
export function* validatePersistentVolumeChange(
  spec: PersistentVolumeSpec,
  old: PersistentVolumeSpec,
  at: Ref<PersistentVolumeSpec>,
  { mutableNodeAffinity = false }: { readonly mutableNodeAffinity?: boolean } = {},
): Iterable<FieldError> {
  const [source, before] = [sourceOf(spec), sourceOf(old)]
  // The secret for expanding the volume may be set later.
  if (source.csi && before.csi && !before.csi.controllerExpandSecretRef) {
    const { controllerExpandSecretRef: _, ...csi } = source.csi
    source.csi = csi
  }
  if (!meansTheSame(PersistentVolumeSource, source, before))
    yield forbidden(
      under(at, 'persistentvolumesource'),
      `spec.persistentvolumesource is immutable after creation\n${describeChange(PersistentVolumeSource, before, source)}`,
    )
  if (spec.volumeMode !== old.volumeMode) yield invalid(refTo(spec.volumeMode ?? null, 'volumeMode'), 'field is immutable')
  if (!mutableNodeAffinity && old.nodeAffinity && !isSameAffinity(spec.nodeAffinity, old.nodeAffinity))
    yield invalid(refTo(shownAffinity(spec.nodeAffinity), 'nodeAffinity'), `field is immutable, except for updating from beta label to GA`)
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
    yield forbidden(at.volumeAttributesClassName, 'update from non-nil value to nil is forbidden')
}

const sourceOf = (spec: PersistentVolumeSpec): PersistentVolumeSource =>
  Object.fromEntries(volumeSourceNames.flatMap(name => (spec[name] ? [[name, spec[name]]] : [])))

/** The new names of node labels that were in beta. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
])

/** Whether two affinities are the same, also when labels of the old one have their new names now. */
function isSameAffinity(now: VolumeNodeAffinity | undefined, old: VolumeNodeAffinity): boolean {
  const terms = now?.required?.nodeSelectorTerms ?? []
  const renamed = (list: NodeSelectorRequirement[] | undefined, others: NodeSelectorRequirement[] | undefined) =>
    list?.map((requirement, i) => {
      const key = others?.[i]?.key
      return key !== undefined && RENAMED.get(requirement.key) === key ? { ...requirement, key } : requirement
    })
  const nodeSelectorTerms = (old.required?.nodeSelectorTerms ?? []).map((term, i) => ({
    ...term,
    ...(term.matchExpressions && { matchExpressions: renamed(term.matchExpressions, terms[i]?.matchExpressions)! }),
    ...(term.matchFields && { matchFields: renamed(term.matchFields, terms[i]?.matchFields)! }),
  }))
  return meansTheSame(VolumeNodeAffinity, now, old.required ? { required: { nodeSelectorTerms } } : old)
}

/** An affinity in errors. */
const shownAffinity = (affinity: VolumeNodeAffinity | undefined) => internalRepresentation(VolumeNodeAffinity, affinity)

type Source = keyof PersistentVolumeSource
type Content<S extends Source> = NonNullable<PersistentVolumeSource[S]>
type SourceRule<S extends Source> = (source: Content<S>, at: Ref<Content<S>>, volumeName: string) => Iterable<FieldError>

/** In the order in which sources are checked; the first one set is the source of the volume. */
const RULES: { readonly [S in Source]: SourceRule<S> } = {
  hostPath: validateHostPath,
  gcePersistentDisk: validateGCEPersistentDisk,
  awsElasticBlockStore: validateAWSElasticBlockStore,
  glusterfs: validateGlusterfsVolume,
  flocker: validateFlocker,
  nfs: validateNFS,
  rbd: validateRBD,
  quobyte: validateQuobyte,
  cephfs: validateCephFS,
  iscsi: validateISCSIVolume,
  cinder: validateCinderVolume,
  fc: validateFC,
  flexVolume: validateFlexVolume,
  azureFile: validateAzureFileVolume,
  vsphereVolume: validateVsphere,
  photonPersistentDisk: validatePhotonPersistentDisk,
  portworxVolume: validatePortworx,
  azureDisk: validateAzureDisk,
  scaleIO: validateScaleIO,
  local: validateLocal,
  storageos: validateStorageOSVolume,
  csi: validateCSIVolume,
}

/** Sources with other names in error paths: for their own errors, and for the error about more than one source. */
const CHECKED_AS: Readonly<Partial<Record<Source, string>>> = { gcePersistentDisk: 'persistentDisk' }
const REFUSED_AS: Readonly<Partial<Record<Source, string>>> = { cephfs: 'cephFS' }

/** A volume has one complete source. `name` is that of the volume. */
function* validateVolumeSource(spec: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>, name: string): Iterable<FieldError> {
  let sources = 0
  for (const source of Object.keys(RULES) as Source[]) {
    if (!spec[source]) continue
    // A flex volume is allowed next to another source, as in kube-apiserver.
    if (sources > 0 && source !== 'flexVolume') {
      yield forbidden(under(at, REFUSED_AS[source] ?? source), 'may not specify more than 1 volume type')
      continue
    }
    sources++
    yield* validateOne(source, spec, at, name)
    if (source === 'local' && !spec.nodeAffinity) yield required(at.nodeAffinity, 'Local volume requires node affinity')
  }
  if (sources === 0) yield required(at, 'must specify a volume type')
}

function validateOne<S extends Source>(source: S, spec: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>, name: string) {
  const content = spec[source] as Content<S>
  return RULES[source](content, under(at, CHECKED_AS[source] ?? source, content), name)
}

function* validateGlusterfsVolume(source: GlusterfsPersistentVolumeSource, at: Ref<GlusterfsPersistentVolumeSource>): Iterable<FieldError> {
  yield* validateGlusterfs(source, at)
  const { endpointsNamespace } = source
  if (endpointsNamespace === '') yield invalid(at.endpointsNamespace, 'if the endpointnamespace is set, it must be a valid namespace name')
  else if (endpointsNamespace !== undefined) yield* invalidEach(at.endpointsNamespace, nameIsDNSLabel(endpointsNamespace))
}

function* validateISCSIVolume(
  source: ISCSIPersistentVolumeSource,
  at: Ref<ISCSIPersistentVolumeSource>,
  name: string,
): Iterable<FieldError> {
  const { targetPortal, iqn, lun, chapAuthDiscovery, chapAuthSession, secretRef, initiatorName } = source
  if (!targetPortal) yield required(at.targetPortal)
  yield* validateISCSITargetLength(source, name, under(at, 'targetportal', targetPortal))
  if (!iqn) yield required(at.iqn)
  else if (!isISCSIName(iqn)) yield invalid(at.iqn, 'must be valid format')
  if (!isByte(lun)) yield invalid(at.lun, LUN_MESSAGE)
  if ((chapAuthDiscovery || chapAuthSession) && !secretRef) yield required(at.secretRef)
  if (secretRef && !secretRef.name) yield required(at.secretRef.name)
  if (initiatorName !== undefined && !isISCSIName(initiatorName))
    yield invalid(under(at, 'initiatorname', initiatorName), 'must be valid format')
}

function* validateCinderVolume(source: CinderPersistentVolumeSource, at: Ref<CinderPersistentVolumeSource>): Iterable<FieldError> {
  yield* validateCinder(source, at)
  if (source.secretRef && !source.secretRef.namespace) yield required(at.secretRef.namespace)
}

function* validateAzureFileVolume(source: AzureFilePersistentVolumeSource, at: Ref<AzureFilePersistentVolumeSource>): Iterable<FieldError> {
  yield* validateAzureFile(source, at)
  if (source.secretNamespace === '') yield required(at.secretNamespace)
}

function* validateLocal({ path }: LocalVolumeSource, at: Ref<LocalVolumeSource>): Iterable<FieldError> {
  if (!path) yield required(at.path)
  else yield* validateNoBacksteps(path, at.path)
}

function* validateStorageOSVolume(source: StorageOSPersistentVolumeSource, at: Ref<StorageOSPersistentVolumeSource>): Iterable<FieldError> {
  yield* validateStorageOS(source, at)
  if (source.secretRef && !source.secretRef.namespace) yield required(at.secretRef.namespace)
}

const SECRETS = ['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'] as const

function* validateCSIVolume(source: CSIPersistentVolumeSource, at: Ref<CSIPersistentVolumeSource>): Iterable<FieldError> {
  yield* validateCSIDriverName(source.driver, at.driver)
  if (!source.volumeHandle) yield required(at.volumeHandle)
  for (const secret of SECRETS) if (source[secret]) yield* validateSecretReference(source[secret], at[secret])
}
