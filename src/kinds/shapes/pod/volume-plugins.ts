/** Storage systems that pods and persistent volumes name directly. */
import { atomic, bool, int32, mapOf, message, type Static, string } from '../../../schema/types.ts'
import { LocalObjectReference } from './references.ts'

export const AWSElasticBlockStoreVolumeSource = message('AWSElasticBlockStoreVolumeSource', {
  volumeID: [1, string.always(), ''],
  fsType: [2, string, ''],
  partition: [3, int32, ''],
  readOnly: [4, bool, ''],
})
export type AWSElasticBlockStoreVolumeSource = Static<typeof AWSElasticBlockStoreVolumeSource>

export const AzureDiskVolumeSource = message('AzureDiskVolumeSource', {
  diskName: [1, string.always(), ''],
  diskURI: [2, string.always(), ''],
  cachingMode: [3, string.optional().default('ReadWrite'), ''],
  fsType: [4, string.optional().default('ext4'), ''],
  readOnly: [5, bool.optional().default(false), ''],
  kind: [6, string.optional().default('Shared'), ''],
})
export type AzureDiskVolumeSource = Static<typeof AzureDiskVolumeSource>

export const AzureFileVolumeSource = message('AzureFileVolumeSource', {
  secretName: [1, string.always(), ''],
  shareName: [2, string.always(), ''],
  readOnly: [3, bool, ''],
})
export type AzureFileVolumeSource = Static<typeof AzureFileVolumeSource>

export const CephFSVolumeSource = message('CephFSVolumeSource', {
  monitors: [1, atomic(string).always(), ''],
  path: [2, string, ''],
  user: [3, string, ''],
  secretFile: [4, string, ''],
  secretRef: [5, LocalObjectReference, ''],
  readOnly: [6, bool, ''],
})
export type CephFSVolumeSource = Static<typeof CephFSVolumeSource>

export const CinderVolumeSource = message('CinderVolumeSource', {
  volumeID: [1, string.always(), ''],
  fsType: [2, string, ''],
  readOnly: [3, bool, ''],
  secretRef: [4, LocalObjectReference, ''],
})
export type CinderVolumeSource = Static<typeof CinderVolumeSource>

export const FCVolumeSource = message('FCVolumeSource', {
  targetWWNs: [1, atomic(string), ''],
  lun: [2, int32.optional(), ''],
  fsType: [3, string, ''],
  readOnly: [4, bool, ''],
  wwids: [5, atomic(string), ''],
})
export type FCVolumeSource = Static<typeof FCVolumeSource>

export const FlexVolumeSource = message('FlexVolumeSource', {
  driver: [1, string.always(), ''],
  fsType: [2, string, ''],
  secretRef: [3, LocalObjectReference, ''],
  readOnly: [4, bool, ''],
  options: [5, mapOf(string), ''],
})
export type FlexVolumeSource = Static<typeof FlexVolumeSource>

export const FlockerVolumeSource = message('FlockerVolumeSource', {
  datasetName: [1, string, ''],
  datasetUUID: [2, string, ''],
})
export type FlockerVolumeSource = Static<typeof FlockerVolumeSource>

export const GCEPersistentDiskVolumeSource = message('GCEPersistentDiskVolumeSource', {
  pdName: [1, string.always(), ''],
  fsType: [2, string, ''],
  partition: [3, int32, ''],
  readOnly: [4, bool, ''],
})
export type GCEPersistentDiskVolumeSource = Static<typeof GCEPersistentDiskVolumeSource>

export const GitRepoVolumeSource = message('GitRepoVolumeSource', {
  repository: [1, string.always(), ''],
  revision: [2, string, ''],
  directory: [3, string, ''],
})
export type GitRepoVolumeSource = Static<typeof GitRepoVolumeSource>

export const GlusterfsVolumeSource = message('GlusterfsVolumeSource', {
  endpoints: [1, string.always(), ''],
  path: [2, string.always(), ''],
  readOnly: [3, bool, ''],
})
export type GlusterfsVolumeSource = Static<typeof GlusterfsVolumeSource>

export const ISCSIVolumeSource = message('ISCSIVolumeSource', {
  targetPortal: [1, string.always(), ''],
  iqn: [2, string.always(), ''],
  lun: [3, int32.always(), ''],
  iscsiInterface: [4, string.default('default'), ''],
  fsType: [5, string, ''],
  readOnly: [6, bool, ''],
  portals: [7, atomic(string), ''],
  chapAuthDiscovery: [8, bool, ''],
  chapAuthSession: [11, bool, ''],
  secretRef: [10, LocalObjectReference, ''],
  initiatorName: [12, string.optional(), ''],
})
export type ISCSIVolumeSource = Static<typeof ISCSIVolumeSource>

export const NFSVolumeSource = message('NFSVolumeSource', {
  server: [1, string.always(), ''],
  path: [2, string.always(), ''],
  readOnly: [3, bool, ''],
})
export type NFSVolumeSource = Static<typeof NFSVolumeSource>

export const PhotonPersistentDiskVolumeSource = message('PhotonPersistentDiskVolumeSource', {
  pdID: [1, string.always(), ''],
  fsType: [2, string, ''],
})
export type PhotonPersistentDiskVolumeSource = Static<typeof PhotonPersistentDiskVolumeSource>

export const PortworxVolumeSource = message('PortworxVolumeSource', {
  volumeID: [1, string.always(), ''],
  fsType: [2, string, ''],
  readOnly: [3, bool, ''],
})
export type PortworxVolumeSource = Static<typeof PortworxVolumeSource>

export const QuobyteVolumeSource = message('QuobyteVolumeSource', {
  registry: [1, string.always(), ''],
  volume: [2, string.always(), ''],
  readOnly: [3, bool, ''],
  user: [4, string, ''],
  group: [5, string, ''],
  tenant: [6, string, ''],
})
export type QuobyteVolumeSource = Static<typeof QuobyteVolumeSource>

export const RBDVolumeSource = message('RBDVolumeSource', {
  monitors: [1, atomic(string).always(), ''],
  image: [2, string.always(), ''],
  fsType: [3, string, ''],
  pool: [4, string.default('rbd'), ''],
  user: [5, string.default('admin'), ''],
  keyring: [6, string.default('/etc/ceph/keyring'), ''],
  secretRef: [7, LocalObjectReference, ''],
  readOnly: [8, bool, ''],
})
export type RBDVolumeSource = Static<typeof RBDVolumeSource>

export const ScaleIOVolumeSource = message('ScaleIOVolumeSource', {
  gateway: [1, string.always(), ''],
  system: [2, string.always(), ''],
  secretRef: [3, LocalObjectReference.always(), ''],
  sslEnabled: [4, bool, ''],
  protectionDomain: [5, string, ''],
  storagePool: [6, string, ''],
  storageMode: [7, string.default('ThinProvisioned'), ''],
  volumeName: [8, string, ''],
  fsType: [9, string.default('xfs'), ''],
  readOnly: [10, bool, ''],
})
export type ScaleIOVolumeSource = Static<typeof ScaleIOVolumeSource>

export const StorageOSVolumeSource = message('StorageOSVolumeSource', {
  volumeName: [1, string, ''],
  volumeNamespace: [2, string, ''],
  fsType: [3, string, ''],
  readOnly: [4, bool, ''],
  secretRef: [5, LocalObjectReference, ''],
})
export type StorageOSVolumeSource = Static<typeof StorageOSVolumeSource>

export const VsphereVirtualDiskVolumeSource = message('VsphereVirtualDiskVolumeSource', {
  volumePath: [1, string.always(), ''],
  fsType: [2, string, ''],
  storagePolicyName: [3, string, ''],
  storagePolicyID: [4, string, ''],
})
export type VsphereVirtualDiskVolumeSource = Static<typeof VsphereVirtualDiskVolumeSource>
