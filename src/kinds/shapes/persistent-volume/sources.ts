/** Storage systems as persistent volumes name them, where that differs from how pods do: secrets may be in any namespace. */
import { atomic, bool, int32, mapOf, message, type Static, string } from '../../../schema/types.ts'
import { ObjectReference, SecretReference } from '../references.ts'

export const AzureFilePersistentVolumeSource = message('AzureFilePersistentVolumeSource', {
  secretName: [1, string.always(), 'The secret with the name and key of the storage account.'],
  shareName: [2, string.always(), 'Name of the share.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  secretNamespace: [4, string.optional().always().omittable(), 'Namespace of the secret; that of the pod when absent.'],
})
export type AzureFilePersistentVolumeSource = Static<typeof AzureFilePersistentVolumeSource>

export const CephFSPersistentVolumeSource = message('CephFSPersistentVolumeSource', {
  monitors: [1, atomic(string).always(), 'Addresses of the Ceph monitors.'],
  path: [2, string, 'Directory that is mounted; the root when empty.'],
  user: [3, string, 'Name of the Ceph user.'],
  secretFile: [4, string, 'File on the node that holds the key of the user.'],
  secretRef: [5, SecretReference, 'The secret with which the storage is reached.'],
  readOnly: [6, bool, 'Whether the volume may only be read.'],
})
export type CephFSPersistentVolumeSource = Static<typeof CephFSPersistentVolumeSource>

export const CinderPersistentVolumeSource = message('CinderPersistentVolumeSource', {
  volumeID: [1, string.always(), 'Identifier of the volume in Cinder.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  secretRef: [4, SecretReference, 'The secret with which the storage is reached.'],
})
export type CinderPersistentVolumeSource = Static<typeof CinderPersistentVolumeSource>

export const CSIPersistentVolumeSource = message('CSIPersistentVolumeSource', {
  driver: [1, string.always(), 'Name of the CSI driver.'],
  volumeHandle: [2, string.always(), 'What the driver calls the volume.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  fsType: [4, string, 'File system to mount; the driver chooses when it is empty.'],
  volumeAttributes: [5, mapOf(string), 'Properties of the volume that the driver understands.'],
  controllerPublishSecretRef: [6, SecretReference, 'The secret for attaching and detaching.'],
  nodeStageSecretRef: [7, SecretReference, 'The secret for preparing the volume on a node.'],
  nodePublishSecretRef: [8, SecretReference, 'The secret for mounting the volume.'],
  controllerExpandSecretRef: [9, SecretReference, 'The secret for growing the volume.'],
  nodeExpandSecretRef: [10, SecretReference, 'The secret for growing its file system on a node.'],
})
export type CSIPersistentVolumeSource = Static<typeof CSIPersistentVolumeSource>

export const FlexPersistentVolumeSource = message('FlexPersistentVolumeSource', {
  driver: [1, string.always(), 'Name of the driver.'],
  fsType: [2, string, 'File system to mount; the driver chooses when it is empty.'],
  secretRef: [3, SecretReference, 'The secret with which the storage is reached.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
  options: [5, mapOf(string), 'Options that the driver understands.'],
})
export type FlexPersistentVolumeSource = Static<typeof FlexPersistentVolumeSource>

export const GlusterfsPersistentVolumeSource = message('GlusterfsPersistentVolumeSource', {
  endpoints: [1, string.always(), 'The endpoints object that lists the servers.'],
  path: [2, string.always(), 'Path of the volume.'],
  readOnly: [3, bool, 'Whether the volume may only be read.'],
  endpointsNamespace: [4, string.optional(), 'Namespace of the endpoints; that of the claim when absent.'],
})
export type GlusterfsPersistentVolumeSource = Static<typeof GlusterfsPersistentVolumeSource>

export const ISCSIPersistentVolumeSource = message('ISCSIPersistentVolumeSource', {
  targetPortal: [1, string.always(), 'Portal of the target, with a port unless it is 3260.'],
  iqn: [2, string.always(), 'Qualified name of the target.'],
  lun: [3, int32.always(), 'Number of the logical unit.'],
  iscsiInterface: [4, string.toldDefault('default'), 'Interface through which the target is reached.'],
  fsType: [5, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [6, bool, 'Whether the volume may only be read.'],
  portals: [7, atomic(string), 'Further portals of the target.'],
  chapAuthDiscovery: [8, bool, 'Whether discovery authenticates with CHAP.'],
  chapAuthSession: [11, bool, 'Whether sessions authenticate with CHAP.'],
  secretRef: [10, SecretReference, 'The secret with which the storage is reached.'],
  initiatorName: [12, string.optional(), 'Name the initiator gives itself.'],
})
export type ISCSIPersistentVolumeSource = Static<typeof ISCSIPersistentVolumeSource>

export const LocalVolumeSource = message('LocalVolumeSource', {
  path: [1, string.always(), 'Path of the directory, file or device on the node.'],
  fsType: [2, string.optional(), 'File system to mount, for devices; chosen by the node when absent.'],
})
export type LocalVolumeSource = Static<typeof LocalVolumeSource>

export const RBDPersistentVolumeSource = message('RBDPersistentVolumeSource', {
  monitors: [1, atomic(string).always(), 'Addresses of the Ceph monitors.'],
  image: [2, string.always(), 'Name of the image.'],
  fsType: [3, string, 'File system to mount; the driver chooses when it is empty.'],
  pool: [4, string.toldDefault('rbd'), 'Pool the image is in.'],
  user: [5, string.toldDefault('admin'), 'Name of the Ceph user.'],
  keyring: [6, string.toldDefault('/etc/ceph/keyring'), 'Path of the key ring on the node.'],
  secretRef: [7, SecretReference, 'The secret with which the storage is reached.'],
  readOnly: [8, bool, 'Whether the volume may only be read.'],
})
export type RBDPersistentVolumeSource = Static<typeof RBDPersistentVolumeSource>

export const ScaleIOPersistentVolumeSource = message('ScaleIOPersistentVolumeSource', {
  gateway: [1, string.always(), 'Address of the gateway.'],
  system: [2, string.always(), 'Name of the storage system.'],
  secretRef: [3, SecretReference.always(), 'The secret with which the storage is reached.'],
  sslEnabled: [4, bool, 'Whether the gateway is reached over TLS.'],
  protectionDomain: [5, string, 'Protection domain of the storage.'],
  storagePool: [6, string, 'Storage pool in the domain.'],
  storageMode: [7, string.toldDefault('ThinProvisioned'), 'ThickProvisioned or ThinProvisioned.'],
  volumeName: [8, string, 'Name of the volume.'],
  fsType: [9, string.toldDefault('xfs'), 'File system to mount.'],
  readOnly: [10, bool, 'Whether the volume may only be read.'],
})
export type ScaleIOPersistentVolumeSource = Static<typeof ScaleIOPersistentVolumeSource>

export const StorageOSPersistentVolumeSource = message('StorageOSPersistentVolumeSource', {
  volumeName: [1, string, 'Name of the volume.'],
  volumeNamespace: [2, string, 'Namespace of the volume in StorageOS.'],
  fsType: [3, string, 'File system to mount; the driver chooses when it is empty.'],
  readOnly: [4, bool, 'Whether the volume may only be read.'],
  secretRef: [5, ObjectReference, 'The secret with which the storage is reached.'],
})
export type StorageOSPersistentVolumeSource = Static<typeof StorageOSPersistentVolumeSource>
