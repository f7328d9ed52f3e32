/** Storage systems that pods and persistent volumes name directly. */
import { atomic, bool, int32, mapOf, message, type Static, string } from '../../../../schema/types.ts'
import { LocalObjectReference } from '../../references.ts'

export const AWSElasticBlockStoreVolumeSource = message('AWSElasticBlockStoreVolumeSource', {
  volumeID: [1, string.always(), 'Identifier of the disk in AWS.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  partition: [3, int32, 'Partition of the disk to mount; 0 is the whole disk.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
})
export type AWSElasticBlockStoreVolumeSource = Static<typeof AWSElasticBlockStoreVolumeSource>

export const AzureDiskVolumeSource = message('AzureDiskVolumeSource', {
  diskName: [1, string.always(), 'Name of the disk in blob storage.'],
  diskURI: [2, string.always(), 'Address of the disk in blob storage.'],
  cachingMode: [
    3,
    string.listed('None', 'ReadOnly', 'ReadWrite').optional().publishedDefault('ReadWrite'),
    'Caching by the host: None, ReadOnly or ReadWrite.',
  ],
  fsType: [4, string.optional().publishedDefault('ext4'), 'File system to mount.'],
  readOnly: [5, bool.optional().publishedDefault(false), 'Whether the volume may only be read.'],
  kind: [
    6,
    string.listed('Dedicated', 'Managed', 'Shared').optional().publishedDefault('Shared'),
    'How the disk is kept: Shared, Dedicated or Managed.',
  ],
})
export type AzureDiskVolumeSource = Static<typeof AzureDiskVolumeSource>

export const azureFileFields = {
  secretName: [1, string.always(), 'The secret with the name and key of the storage account.'],
  shareName: [2, string.always(), 'Name of the share.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
} as const
export const AzureFileVolumeSource = message('AzureFileVolumeSource', azureFileFields)
export type AzureFileVolumeSource = Static<typeof AzureFileVolumeSource>

export const cephFSFields = {
  monitors: [1, atomic(string).always(), 'Addresses of the Ceph monitors.'],
  path: [2, string, 'Directory that is mounted; the root when empty.'],
  user: [3, string, 'Name of the Ceph user.'],
  secretFile: [4, string, 'File on the node that holds the key of the user.'],
  secretRef: [5, LocalObjectReference, 'The secret with which the storage is reached.'],
  readOnly: [6, bool, 'Whether the volume may only be read.'],
} as const
export const CephFSVolumeSource = message('CephFSVolumeSource', cephFSFields)
export type CephFSVolumeSource = Static<typeof CephFSVolumeSource>

export const cinderFields = {
  volumeID: [1, string.always(), 'Identifier of the volume in Cinder.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  secretRef: [4, LocalObjectReference, 'The secret with which the storage is reached.'],
} as const
export const CinderVolumeSource = message('CinderVolumeSource', cinderFields)
export type CinderVolumeSource = Static<typeof CinderVolumeSource>

export const FCVolumeSource = message('FCVolumeSource', {
  targetWWNs: [1, atomic(string), 'World wide names of the targets.'],
  lun: [2, int32.optional(), 'Number of the logical unit.'],
  fsType: [3, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
  wwids: [5, atomic(string), 'World wide identifiers; exclude targetWWNs and lun.'],
})
export type FCVolumeSource = Static<typeof FCVolumeSource>

export const flexFields = {
  driver: [1, string.always(), 'Name of the driver.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  secretRef: [3, LocalObjectReference, 'The secret with which the storage is reached.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
  options: [5, mapOf(string), 'Options that the driver understands.'],
} as const
export const FlexVolumeSource = message('FlexVolumeSource', flexFields)
export type FlexVolumeSource = Static<typeof FlexVolumeSource>

export const FlockerVolumeSource = message('FlockerVolumeSource', {
  datasetName: [1, string, 'Name of the dataset; deprecated.'],
  datasetUUID: [2, string, 'Identifier of the dataset.'],
})
export type FlockerVolumeSource = Static<typeof FlockerVolumeSource>

export const GCEPersistentDiskVolumeSource = message('GCEPersistentDiskVolumeSource', {
  pdName: [1, string.always(), 'Name of the disk in GCE.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  partition: [3, int32, 'Partition of the disk to mount; 0 is the whole disk.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
})
export type GCEPersistentDiskVolumeSource = Static<typeof GCEPersistentDiskVolumeSource>

export const GitRepoVolumeSource = message('GitRepoVolumeSource', {
  repository: [1, string.always(), 'Address of the repository.'],
  revision: [2, string, 'Commit to check out.'],
  directory: [3, string, 'Directory to clone into.'],
})
export type GitRepoVolumeSource = Static<typeof GitRepoVolumeSource>

export const glusterfsFields = {
  endpoints: [1, string.always(), 'The endpoints object that lists the servers.'],
  path: [2, string.always(), 'Path of the volume.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
} as const
export const GlusterfsVolumeSource = message('GlusterfsVolumeSource', glusterfsFields)
export type GlusterfsVolumeSource = Static<typeof GlusterfsVolumeSource>

export const iscsiFields = {
  targetPortal: [1, string.always(), 'Portal of the target, with a port unless it is 3260.'],
  iqn: [2, string.always(), 'Qualified name of the target.'],
  lun: [3, int32.always(), 'Number of the logical unit.'],
  iscsiInterface: [4, string.publishedDefault('default'), 'Interface through which the target is reached.'],
  fsType: [5, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [6, bool, 'Whether the volume may only be read.'],
  portals: [7, atomic(string), 'Further portals of the target.'],
  chapAuthDiscovery: [8, bool, 'Whether discovery authenticates with CHAP.'],
  chapAuthSession: [11, bool, 'Whether sessions authenticate with CHAP.'],
  secretRef: [10, LocalObjectReference, 'The secret with which the storage is reached.'],
  initiatorName: [12, string.optional(), 'Name the initiator gives itself.'],
} as const
export const ISCSIVolumeSource = message('ISCSIVolumeSource', iscsiFields)
export type ISCSIVolumeSource = Static<typeof ISCSIVolumeSource>

export const NFSVolumeSource = message('NFSVolumeSource', {
  server: [1, string.always(), 'Host name or address of the server.'],
  path: [2, string.always(), 'Path the server exports.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
})
export type NFSVolumeSource = Static<typeof NFSVolumeSource>

export const PhotonPersistentDiskVolumeSource = message('PhotonPersistentDiskVolumeSource', {
  pdID: [1, string.always(), 'Identifier of the disk.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
})
export type PhotonPersistentDiskVolumeSource = Static<typeof PhotonPersistentDiskVolumeSource>

export const PortworxVolumeSource = message('PortworxVolumeSource', {
  volumeID: [1, string.always(), 'Identifier of the volume.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
})
export type PortworxVolumeSource = Static<typeof PortworxVolumeSource>

export const QuobyteVolumeSource = message('QuobyteVolumeSource', {
  registry: [1, string.always(), 'Registries, as host:port pairs separated by commas.'],
  volume: [2, string.always(), 'Name of the volume.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  user: [4, string, 'User to access as.'],
  group: [5, string, 'Group to access as.'],
  tenant: [6, string, 'Tenant that owns the volume.'],
})
export type QuobyteVolumeSource = Static<typeof QuobyteVolumeSource>

export const rbdFields = {
  monitors: [1, atomic(string).always(), 'Addresses of the Ceph monitors.'],
  image: [2, string.always(), 'Name of the image.'],
  fsType: [3, string, 'File system to mount; the driver chooses when it is empty.'],
  pool: [4, string.publishedDefault('rbd'), 'Pool the image is in.'],
  user: [5, string.publishedDefault('admin'), 'Name of the Ceph user.'],
  keyring: [6, string.publishedDefault('/etc/ceph/keyring'), 'Path of the key ring on the node.'],
  secretRef: [7, LocalObjectReference, 'The secret with which the storage is reached.'],
  readOnly: [8, bool, 'Whether the volume may only be read.'],
} as const
export const RBDVolumeSource = message('RBDVolumeSource', rbdFields)
export type RBDVolumeSource = Static<typeof RBDVolumeSource>

export const scaleIOFields = {
  gateway: [1, string.always(), 'Address of the gateway.'],
  system: [2, string.always(), 'Name of the storage system.'],
  secretRef: [3, LocalObjectReference.always(), 'The secret with which the storage is reached.'],
  sslEnabled: [4, bool, 'Whether the gateway is reached over TLS.'],
  protectionDomain: [5, string, 'Protection domain of the storage.'],
  storagePool: [6, string, 'Storage pool in the domain.'],
  storageMode: [7, string.publishedDefault('ThinProvisioned'), 'ThickProvisioned or ThinProvisioned.'],
  volumeName: [8, string, 'Name of the volume.'],
  fsType: [9, string.publishedDefault('xfs'), 'File system to mount.'],
  readOnly: [10, bool, 'Whether the volume may only be read.'],
} as const
export const ScaleIOVolumeSource = message('ScaleIOVolumeSource', scaleIOFields)
export type ScaleIOVolumeSource = Static<typeof ScaleIOVolumeSource>

export const storageOSFields = {
  volumeName: [1, string, 'Name of the volume.'],
  volumeNamespace: [2, string, 'Namespace of the volume in StorageOS.'],
  fsType: [3, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
  secretRef: [5, LocalObjectReference, 'The secret with which the storage is reached.'],
} as const
export const StorageOSVolumeSource = message('StorageOSVolumeSource', storageOSFields)
export type StorageOSVolumeSource = Static<typeof StorageOSVolumeSource>

export const VsphereVirtualDiskVolumeSource = message('VsphereVirtualDiskVolumeSource', {
  volumePath: [1, string.always(), 'Path of the disk.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  storagePolicyName: [3, string, 'Name of the storage policy.'],
  storagePolicyID: [4, string, 'Identifier of the storage policy.'],
})
export type VsphereVirtualDiskVolumeSource = Static<typeof VsphereVirtualDiskVolumeSource>
