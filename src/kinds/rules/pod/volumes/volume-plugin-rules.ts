/** Rules for network and cloud storage, shared by volumes of pods and persistent volumes. */
import { isDNS1123Subdomain } from '../../../../lib/names.ts'
import { entry, type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { under } from '../../error-paths.ts'
import { validateLabelText, validateRequiredLabelText } from '../../text-rules.ts'
import { isAbsolutePath } from './path-rules.ts'
import type {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CephFSVolumeSource,
  CinderVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GlusterfsVolumeSource,
  ISCSIVolumeSource,
  NFSVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  RBDVolumeSource,
  ScaleIOVolumeSource,
  StorageOSVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from './volume-plugins.ts'

type Rule<T> = (source: T, at: Ref<T>) => Iterable<FieldError>

/** A rule that some fields are required. */
const needs = <T>(...fields: readonly (keyof T & string)[]): Rule<T> =>
  function* (source, at) {
    for (const field of fields) {
      const value = source[field] as string | readonly unknown[] | undefined | null
      if (!value?.length) yield required((at as Record<string, Ref<any>>)[field]!)
    }
  }

export const validateGlusterfs = needs<Pick<GlusterfsVolumeSource, 'endpoints' | 'path'>>('endpoints', 'path')
export const validateRBD = needs<Pick<RBDVolumeSource, 'monitors' | 'image'>>('monitors', 'image')
export const validateCephFS = needs<Pick<CephFSVolumeSource, 'monitors'>>('monitors')
export const validateAzureFile = needs<Pick<AzureFileVolumeSource, 'secretName' | 'shareName'>>('secretName', 'shareName')
export const validateVsphere = needs<VsphereVirtualDiskVolumeSource>('volumePath')
export const validatePhotonPersistentDisk = needs<PhotonPersistentDiskVolumeSource>('pdID')
export const validatePortworx = needs<PortworxVolumeSource>('volumeID')
export const validateScaleIO = needs<Pick<ScaleIOVolumeSource, 'gateway' | 'system' | 'volumeName'>>('gateway', 'system', 'volumeName')

const needsServerAndPath = needs<NFSVolumeSource>('server', 'path')
const needsVolumeID = needs<{ volumeID: string }>('volumeID')
const needsName = needs<{ pdName: string }>('pdName')
const needsDriver = needs<{ driver: string }>('driver')
const needsDisk = needs<AzureDiskVolumeSource>('diskName', 'diskURI')

const PARTITION_MESSAGE = 'must be between 1 and 255, inclusive'
export const LUN_MESSAGE = 'must be between 0 and 255, inclusive'
/** Whether a logical unit number or partition fits a byte. */
export const isByte = (value: number): boolean => value >= 0 && value <= 255

export function* validateNFS(source: NFSVolumeSource, at: Ref<NFSVolumeSource>): Iterable<FieldError> {
  yield* needsServerAndPath(source, at)
  if (!isAbsolutePath(source.path ?? '')) yield invalid(at.path, 'must be an absolute path')
}

export function* validateGCEPersistentDisk(
  source: GCEPersistentDiskVolumeSource,
  at: Ref<GCEPersistentDiskVolumeSource>,
): Iterable<FieldError> {
  yield* needsName(source, at)
  if (!isByte(source.partition ?? 0)) yield invalid(at.partition, PARTITION_MESSAGE)
}

export function* validateAWSElasticBlockStore(
  source: AWSElasticBlockStoreVolumeSource,
  at: Ref<AWSElasticBlockStoreVolumeSource>,
): Iterable<FieldError> {
  yield* needsVolumeID(source, at)
  if (!isByte(source.partition ?? 0)) yield invalid(at.partition, PARTITION_MESSAGE)
}

export function* validateCinder(
  source: Pick<CinderVolumeSource, 'volumeID' | 'secretRef'>,
  at: Ref<CinderVolumeSource>,
): Iterable<FieldError> {
  yield* needsVolumeID(source, at)
  if (source.secretRef && !source.secretRef.name) yield required(at.secretRef.name)
}

/** The common fields of iSCSI volumes in pods and in persistent volumes. */
type ISCSI = Pick<ISCSIVolumeSource, 'targetPortal' | 'iqn' | 'lun' | 'chapAuthDiscovery' | 'chapAuthSession' | 'initiatorName'> & {
  secretRef?: { name?: string }
}

export function* validateISCSI(source: ISCSI, at: Ref<ISCSIVolumeSource>): Iterable<FieldError> {
  const { targetPortal, iqn, lun, initiatorName } = source
  if (!targetPortal) yield required(at.targetPortal)
  if (!iqn) yield required(at.iqn)
  else yield* invalidEach(at.iqn, iscsiNameFaults(iqn))
  if (!isByte(lun ?? 0)) yield invalid(at.lun, LUN_MESSAGE)
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef) yield required(at.secretRef)
  if (initiatorName !== undefined) yield* invalidEach(under(at, 'initiatorname', initiatorName), iscsiNameFaults(initiatorName))
}

const MAX_ISCSI_NAME = 64

/** With an initiator, the names of volume and portal form one name of limited length; `at` is the path of the error. */
export function* validateISCSITargetLength(
  { targetPortal = '', initiatorName }: Pick<ISCSIVolumeSource, 'targetPortal' | 'initiatorName'>,
  volumeName: string,
  at: Ref<any>,
): Iterable<FieldError> {
  if (initiatorName !== undefined && Buffer.byteLength(`${volumeName}:${targetPortal}`) > MAX_ISCSI_NAME)
    yield invalid(at, 'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.')
}

const IQN_DATE = /iqn\.\d{4}-\d{2}\./g
const IQN_AUTHORITY = /[a-zA-Z0-9\-.]+/y
const NOT_IN_IQN = /[,;*&$|\t\n\f\r ]/
const EUI = /^eui.[a-zA-Z0-9]{16}$/u
const NAA = /^naa.[a-zA-Z0-9]{32}$/u

/** Whether the string names an iSCSI target or initiator. */
export const isISCSIName = (name: string): boolean => iscsiNameFaults(name).length === 0

function iscsiNameFaults(name: string): string[] {
  if (name.startsWith('iqn')) return isIQN(name) ? [] : ['must be valid format']
  if (name.startsWith('eui')) return EUI.test(name) ? [] : ['must be valid format']
  if (name.startsWith('naa')) return NAA.test(name) ? [] : ['must be valid format']
  return ['must be valid format starting with iqn, eui, or naa']
}

/**
 * Somewhere in the string a date, a naming authority, a colon and an identifier to the end. Matched in steps: one pattern would backtrack
 * too long.
 */
function isIQN(name: string): boolean {
  let tail = name.length
  while (tail > 0 && !NOT_IN_IQN.test(name[tail - 1]!)) tail--
  let read = 0
  for (const { index, 0: date } of name.matchAll(IQN_DATE)) {
    // The match of an earlier date reached past this one.
    if (index < read) continue
    IQN_AUTHORITY.lastIndex = index + date.length
    if (!IQN_AUTHORITY.test(name)) continue
    read = IQN_AUTHORITY.lastIndex
    if (name[read] === ':' && read >= tail && read + 1 < name.length) return true
  }
  return false
}

export function* validateFC({ targetWWNs, wwids, lun }: FCVolumeSource, at: Ref<FCVolumeSource>): Iterable<FieldError> {
  const targets = targetWWNs?.length ?? 0
  const ids = wwids?.length ?? 0
  if (targets === 0 && ids === 0) yield required(at.targetWWNs, 'must specify either targetWWNs or wwids, but not both')
  if (targets > 0 && ids > 0) yield invalid(at.targetWWNs, 'targetWWNs and wwids can not be specified simultaneously')
  if (targets === 0) return
  if (lun === undefined) yield required(at.lun, 'lun is required if targetWWNs is specified')
  else if (!isByte(lun)) yield invalid(at.lun, LUN_MESSAGE)
}

const MAX_TENANT = 64

export function* validateQuobyte({ registry, tenant, volume }: QuobyteVolumeSource, at: Ref<QuobyteVolumeSource>): Iterable<FieldError> {
  const message = 'must be a host:port pair or multiple pairs separated by commas'
  if (!registry) yield required(at.registry, message)
  else if (Buffer.byteLength(tenant ?? '') > MAX_TENANT)
    yield required(at.tenant, 'must be a UUID and may not exceed a length of 64 characters')
  else for (const pair of registry.split(',')) if (!isHostPort(pair)) yield invalid(at.registry, message)
  if (!volume) yield required(at.volume)
}

/** `host:port`, with an IPv6 host in brackets; either part may be empty. */
function isHostPort(text: string): boolean {
  const colon = text.lastIndexOf(':')
  if (colon < 0) return false
  let host = text.slice(0, colon)
  if (text.startsWith('[')) {
    if (text.indexOf(']') !== colon - 1) return false
    host = text.slice(1, colon - 1)
  } else if (host.includes(':')) return false
  return !/[[\]]/.test(host + text.slice(colon + 1))
}

export function* validateFlocker({ datasetName, datasetUUID }: FlockerVolumeSource, at: Ref<FlockerVolumeSource>): Iterable<FieldError> {
  if (!datasetName && !datasetUUID) yield required(at, 'one of datasetName and datasetUUID is required')
  if (datasetName && datasetUUID)
    yield invalid(withValue(at, 'resource'), 'datasetName and datasetUUID can not be specified simultaneously')
  if (datasetName?.includes('/')) yield invalid(at.datasetName, "must not contain '/'")
}

export function* validateFlexVolume(source: Pick<FlexVolumeSource, 'driver' | 'options'>, at: Ref<FlexVolumeSource>): Iterable<FieldError> {
  yield* needsDriver(source, at)
  for (const option of Object.keys(source.options ?? {})) {
    const [namespace = ''] = option.split('/', 1)
    const domain = `.${namespace.toLowerCase()}`
    if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io'))
      yield invalid(withValue(entry(at.options, option), option), 'kubernetes.io and k8s.io namespaces are reserved')
  }
}

const CACHING_MODES = ['None', 'ReadOnly', 'ReadWrite']
const DISK_KINDS = ['Dedicated', 'Managed', 'Shared']
const MANAGED_DISK_URI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const BLOB_DISK_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

export function* validateAzureDisk(source: AzureDiskVolumeSource, at: Ref<AzureDiskVolumeSource>): Iterable<FieldError> {
  const { cachingMode, kind, diskURI = '' } = source
  yield* needsDisk(source, at)
  if (cachingMode !== undefined && !CACHING_MODES.includes(cachingMode)) yield unsupported(at.cachingMode, ...CACHING_MODES)
  if (kind === undefined) return
  if (!DISK_KINDS.includes(kind)) yield unsupported(at.kind, ...DISK_KINDS)
  if (kind === 'Managed') {
    if (!diskURI.startsWith('/subscriptions/')) yield unsupported(at.diskURI, MANAGED_DISK_URI)
  } else if (!diskURI.startsWith('https://')) yield unsupported(at.diskURI, BLOB_DISK_URI)
}

export function* validateStorageOS(
  {
    volumeName,
    volumeNamespace,
    secretRef,
  }: Pick<StorageOSVolumeSource, 'volumeName' | 'volumeNamespace'> & { secretRef?: { name?: string } },
  at: Ref<StorageOSVolumeSource>,
): Iterable<FieldError> {
  yield* validateRequiredLabelText(volumeName, at.volumeName)
  if (volumeNamespace) yield* validateLabelText(volumeNamespace, at.volumeNamespace)
  if (secretRef && !secretRef.name) yield required(at.secretRef.name)
}

/** A Secret in a namespace. */
export function* validateSecretReference(
  { name, namespace }: { name?: string; namespace?: string },
  at: Ref<{ name?: string; namespace?: string }>,
): Iterable<FieldError> {
  if (!name) yield required(at.name)
  else yield* invalidEach(at.name, isDNS1123Subdomain(name))
  yield* validateRequiredLabelText(namespace, at.namespace)
}
