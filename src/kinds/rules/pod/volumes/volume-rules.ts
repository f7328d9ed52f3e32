/** Rules for the volumes of a pod by source. Network and cloud storage is in volume-plugin-rules.ts. */
import { goQuote } from '../../../../lib/go-text.ts'
import { isDNS1123Subdomain, nameIsDNSSubdomain } from '../../../../lib/names.ts'
import { parseQuantity, quantitySign } from '../../../../lib/quantity.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  required,
  tooLong,
  unsupported,
} from '../../../../schema/refs.ts'
import { under } from '../../error-paths.ts'
import { validatePersistentVolumeClaimTemplate } from '../../persistent-volume/claim-rules.ts'
import { validateChoice, validateRequiredLabelText } from '../../text-rules.ts'
import type { Volumes } from '../containers/mount-rules.ts'
import type { PodOptions } from '../options.ts'
import { validateLocalDescendingPath, validateNoBacksteps } from './path-rules.ts'
import {
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
  validateISCSI,
  validateISCSITargetLength,
  validateNFS,
  validatePhotonPersistentDisk,
  validatePortworx,
  validateQuobyte,
  validateRBD,
  validateScaleIO,
  validateStorageOS,
  validateVsphere,
} from './volume-plugin-rules.ts'
import type { GitRepoVolumeSource } from './volume-plugins.ts'
import { validateDefaults, validateDownwardFile, validateKeyToPath, validateProjected } from './volume-projections.ts'
import type {
  ConfigMapVolumeSource,
  CSIVolumeSource,
  DownwardAPIVolumeSource,
  EmptyDirVolumeSource,
  EphemeralVolumeSource,
  HostPathVolumeSource,
  ImageVolumeSource,
  SecretVolumeSource,
  Volume,
} from './volumes.ts'

/** Each volume has a unique name and one source; adds the valid ones to `valid`, for containers to mount. */
export function* validateVolumes(
  volumes: readonly Volume[] | null | undefined,
  at: Ref<Volume[]>,
  { options, valid }: { readonly options: PodOptions; readonly valid: Map<string, Volume> },
): Iterable<FieldError> {
  const podName = options.pod?.name
  const made = new Set((podName ? (volumes ?? []) : []).filter(volume => volume.ephemeral).map(volume => `${podName}-${volume.name}`))
  for (const [i, volume] of (volumes ?? []).entries()) {
    const itemAt = at[i]!
    const name = volume.name ?? ''
    let faults = 0
    for (const error of validateVolume(volume, itemAt, { options, valid })) {
      faults++
      yield error
    }
    if (faults === 0) valid.set(name, volume)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim && made.has(claim))
      yield invalid(itemAt.persistentVolumeClaim.claimName, 'must not reference a PVC that gets created for an ephemeral volume')
  }
}

function* validateVolume(
  volume: Volume,
  at: Ref<Volume>,
  { options, valid }: { readonly options: PodOptions; readonly valid: Volumes },
): Iterable<FieldError> {
  yield* validateVolumeSource(volume, at, options)
  yield* validateRequiredLabelText(volume.name, at.name)
  if (valid.has(volume.name ?? '')) yield duplicate(at.name)
}

type Source = Exclude<keyof Volume, 'name'>
type VolumeRef = { readonly [K in keyof Volume]-?: Ref<NonNullable<Volume[K]>> }
type SourceRule = (volume: Volume, at: VolumeRef, options: PodOptions) => Iterable<FieldError>

/** In the order in which sources are checked; the first one set is the source of the volume. */
const SOURCE_RULES: readonly (readonly [Source, SourceRule])[] = [
  ['emptyDir', (v, at) => validateEmptyDir(v.emptyDir!, at.emptyDir)],
  ['hostPath', (v, at) => validateHostPath(v.hostPath!, at.hostPath)],
  ['gitRepo', (v, at) => validateGitRepo(v.gitRepo!, at.gitRepo)],
  [
    'gcePersistentDisk',
    (v, at) => validateGCEPersistentDisk(v.gcePersistentDisk!, under(at as Ref<any>, 'persistentDisk', v.gcePersistentDisk!)),
  ],
  ['awsElasticBlockStore', (v, at) => validateAWSElasticBlockStore(v.awsElasticBlockStore!, at.awsElasticBlockStore)],
  ['secret', (v, at) => validateSecret(v.secret!, at.secret)],
  ['nfs', (v, at) => validateNFS(v.nfs!, at.nfs)],
  ['iscsi', (v, at) => validateISCSI(v.iscsi!, at.iscsi)],
  ['glusterfs', (v, at) => validateGlusterfs(v.glusterfs!, at.glusterfs)],
  ['flocker', (v, at) => validateFlocker(v.flocker!, at.flocker)],
  ['persistentVolumeClaim', (v, at) => requireText(v.persistentVolumeClaim!.claimName, at.persistentVolumeClaim.claimName)],
  ['rbd', (v, at) => validateRBD(v.rbd!, at.rbd)],
  ['cinder', (v, at) => validateCinder(v.cinder!, at.cinder)],
  ['cephfs', (v, at) => validateCephFS(v.cephfs!, at.cephfs)],
  ['quobyte', (v, at) => validateQuobyte(v.quobyte!, at.quobyte)],
  ['downwardAPI', (v, at) => validateDownwardAPI(v.downwardAPI!, at.downwardAPI)],
  ['fc', (v, at) => validateFC(v.fc!, at.fc)],
  ['flexVolume', (v, at) => validateFlexVolume(v.flexVolume!, at.flexVolume)],
  ['configMap', (v, at) => validateConfigMap(v.configMap!, at.configMap)],
  ['azureFile', (v, at) => validateAzureFile(v.azureFile!, at.azureFile)],
  ['vsphereVolume', (v, at) => validateVsphere(v.vsphereVolume!, at.vsphereVolume)],
  ['photonPersistentDisk', (v, at) => validatePhotonPersistentDisk(v.photonPersistentDisk!, at.photonPersistentDisk)],
  ['portworxVolume', (v, at) => validatePortworx(v.portworxVolume!, at.portworxVolume)],
  ['azureDisk', (v, at) => validateAzureDisk(v.azureDisk!, at.azureDisk)],
  ['storageos', (v, at) => validateStorageOS(v.storageos!, at.storageos)],
  ['projected', (v, at, options) => validateProjected(v.projected!, at.projected, options)],
  ['scaleIO', (v, at) => validateScaleIO(v.scaleIO!, at.scaleIO)],
  ['csi', (v, at) => validateCSI(v.csi!, at.csi)],
  ['ephemeral', (v, at, options) => validateEphemeral(v, at, options)],
  ['image', (v, at, options) => validateImage(v.image!, at.image, options)],
]

/** The error paths of two sources have names of their own. */
const REFUSED_AS: Readonly<Partial<Record<Source, string>>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' }

function* validateVolumeSource(volume: Volume, at: Ref<Volume>, options: PodOptions): Iterable<FieldError> {
  let sources = 0
  for (const [source, rule] of SOURCE_RULES) {
    if (!volume[source]) continue
    if (sources++ === 0) yield* rule(volume, at as unknown as VolumeRef, options)
    else yield forbidden(under(at, REFUSED_AS[source] ?? source), 'may not specify more than 1 volume type')
    if (source === 'iscsi') yield* validateISCSITargetLength(volume.iscsi!, volume.name ?? '', at.name)
  }
  if (sources === 0) yield required(at, 'must specify a volume type')
}

const MAX_EMPTY_DIR_MODE = 0o1777

function* validateEmptyDir({ sizeLimit, mode }: EmptyDirVolumeSource, at: Ref<EmptyDirVolumeSource>): Iterable<FieldError> {
  if (sizeLimit !== undefined && quantitySign(parseQuantity(sizeLimit)) < 0)
    yield forbidden(at.sizeLimit, 'SizeLimit field must be a valid resource quantity')
  if (mode !== undefined && (mode < 0 || mode > MAX_EMPTY_DIR_MODE))
    yield invalid(at.mode, 'must be a number between 0 and 01777 (octal), both inclusive')
}

const HOST_PATH_TYPES = ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket']

/** A path on the node. */
export function* validateHostPath({ path, type }: HostPathVolumeSource, at: Ref<HostPathVolumeSource>): Iterable<FieldError> {
  if (!path) return yield required(at.path)
  yield* validateNoBacksteps(path, at.path)
  if (type !== undefined && !HOST_PATH_TYPES.includes(type)) yield unsupported(at.type, ...HOST_PATH_TYPES)
}

function* validateGitRepo({ repository, directory = '' }: GitRepoVolumeSource, at: Ref<GitRepoVolumeSource>): Iterable<FieldError> {
  if (!repository) yield required(at.repository)
  yield* validateLocalDescendingPath(directory, at.directory)
}

function* validateSecret(source: SecretVolumeSource, at: Ref<SecretVolumeSource>): Iterable<FieldError> {
  if (!source.secretName) yield required(at.secretName)
  yield* validateDefaults(source, at)
  for (const [i, item] of (source.items ?? []).entries()) yield* validateKeyToPath(item, at.items[i]!)
}

function* validateConfigMap(source: ConfigMapVolumeSource, at: Ref<ConfigMapVolumeSource>): Iterable<FieldError> {
  if (!source.name) yield required(at.name)
  yield* validateDefaults(source, at)
  for (const [i, item] of (source.items ?? []).entries()) yield* validateKeyToPath(item, at.items[i]!)
}

function* validateDownwardAPI(source: DownwardAPIVolumeSource, at: Ref<DownwardAPIVolumeSource>): Iterable<FieldError> {
  yield* validateDefaults(source, at)
  for (const file of source.items ?? []) yield* validateDownwardFile(file, at)
}

const MAX_DRIVER_BYTES = 63

/** The name of a storage driver, a DNS name in either case. */
export function* validateCSIDriverName(driver: string | undefined, at: Ref<any>): Iterable<FieldError> {
  if (!driver) return yield required(at)
  if (Buffer.byteLength(driver) > MAX_DRIVER_BYTES) yield tooLong(at, MAX_DRIVER_BYTES)
  yield* invalidEach(at, isDNS1123Subdomain(driver.toLowerCase()))
}

function* validateCSI({ driver, nodePublishSecretRef }: CSIVolumeSource, at: Ref<CSIVolumeSource>): Iterable<FieldError> {
  yield* validateCSIDriverName(driver, at.driver)
  if (!nodePublishSecretRef) return
  const { name } = nodePublishSecretRef
  if (!name) yield required(at.nodePublishSecretRef.name)
  else yield* invalidEach(under(at, 'name', name), nameIsDNSSubdomain(name))
}

function* validateEphemeral(volume: Volume, at: VolumeRef, { pod }: PodOptions): Iterable<FieldError> {
  const { volumeClaimTemplate: template } = volume.ephemeral as EphemeralVolumeSource
  if (!template) yield required(at.ephemeral.volumeClaimTemplate)
  else yield* validatePersistentVolumeClaimTemplate(template, at.ephemeral.volumeClaimTemplate)
  if (!pod?.name || !volume.name) return
  const claim = `${pod.name}-${volume.name}`
  for (const fault of nameIsDNSSubdomain(claim)) yield invalid(at.name, `PVC name ${goQuote(claim)}: ${fault}`)
}

function* validateImage(
  { reference, pullPolicy }: ImageVolumeSource,
  at: Ref<ImageVolumeSource>,
  options: PodOptions,
): Iterable<FieldError> {
  if (!options.allowEmptyImageVolumes && !reference) yield required(at.reference)
  yield* validateChoice(pullPolicy, at.pullPolicy, 'Always', 'IfNotPresent', 'Never')
}

function* requireText(text: string | undefined, at: Ref<string>): Iterable<FieldError> {
  if (!text) yield required(at)
}
