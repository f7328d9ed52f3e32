/** Rules on where a persistent volume really is: one place, and all that is needed to reach it. */
import { nameIsDNSLabel } from '../../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required } from '../../../schema/refs.ts'
import { under } from '../error-values.ts'
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
import type {
  AzureFilePersistentVolumeSource,
  CinderPersistentVolumeSource,
  CSIPersistentVolumeSource,
  GlusterfsPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  LocalVolumeSource,
  StorageOSPersistentVolumeSource,
} from './sources.ts'
import type { PersistentVolumeSource, PersistentVolumeSpec } from './volume.ts'

type Source = keyof PersistentVolumeSource
type Content<S extends Source> = NonNullable<PersistentVolumeSource[S]>
type SourceRule<S extends Source> = (source: Content<S>, at: Ref<Content<S>>, volumeName: string) => Iterable<FieldError>

/** In the order in which sources are looked at; the first one set is the source of the volume. */
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

/** Sources that errors know under other names: while they are checked, and when they are one too many. */
const CHECKED_AS: Readonly<Partial<Record<Source, string>>> = { gcePersistentDisk: 'persistentDisk' }
const REFUSED_AS: Readonly<Partial<Record<Source, string>>> = { cephfs: 'cephFS' }

/** A volume has one source, and that is complete. `name` is that of the volume. */
export function* validateVolumeSource(spec: PersistentVolumeSpec, at: Ref<PersistentVolumeSpec>, name: string): Iterable<FieldError> {
  let sources = 0
  for (const source of Object.keys(RULES) as Source[]) {
    if (!spec[source]) continue
    // A flex volume may stand beside another source: that was never refused.
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
