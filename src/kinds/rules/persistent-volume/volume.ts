/** Types of persistent volumes: size, access modes, and source. */
import { atomic, bool, inlined, type Message, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { roundAmounts } from '../pod/resources/resources.ts'
import { NodeSelector } from '../pod/scheduling/node-selector.ts'
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  azureFileFields,
  cephFSFields,
  cinderFields,
  FCVolumeSource,
  FlockerVolumeSource,
  flexFields,
  GCEPersistentDiskVolumeSource,
  glusterfsFields,
  iscsiFields,
  NFSVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  rbdFields,
  scaleIOFields,
  storageOSFields,
  VsphereVirtualDiskVolumeSource,
} from '../pod/volumes/volume-plugins.ts'
import { HostPathVolumeSource } from '../pod/volumes/volumes.ts'
import { ObjectReference, SecretReference } from '../references.ts'

export const AzureFilePersistentVolumeSource = message('AzureFilePersistentVolumeSource', {
  ...azureFileFields,
  secretNamespace: [4, string.optional().always().omittable(), 'Namespace of the secret; that of the pod when absent.'],
})
export type AzureFilePersistentVolumeSource = Static<typeof AzureFilePersistentVolumeSource>

const CephFSPersistentVolumeSource = message('CephFSPersistentVolumeSource', {
  ...cephFSFields,
  secretRef: [5, SecretReference, 'The secret with which the storage is reached.'],
})

export const CinderPersistentVolumeSource = message('CinderPersistentVolumeSource', {
  ...cinderFields,
  secretRef: [4, SecretReference, 'The secret with which the storage is reached.'],
})
export type CinderPersistentVolumeSource = Static<typeof CinderPersistentVolumeSource>

export const CSIPersistentVolumeSource = message('CSIPersistentVolumeSource', {
  driver: [1, string.always(), 'Name of the CSI driver.'],
  volumeHandle: [2, string.always(), 'The name that the driver has for the volume.'],
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

const FlexPersistentVolumeSource = message('FlexPersistentVolumeSource', {
  ...flexFields,
  secretRef: [3, SecretReference, 'The secret with which the storage is reached.'],
})

export const GlusterfsPersistentVolumeSource = message('GlusterfsPersistentVolumeSource', {
  ...glusterfsFields,
  endpointsNamespace: [4, string.optional(), 'Namespace of the endpoints; that of the claim when absent.'],
})
export type GlusterfsPersistentVolumeSource = Static<typeof GlusterfsPersistentVolumeSource>

export const ISCSIPersistentVolumeSource = message('ISCSIPersistentVolumeSource', {
  ...iscsiFields,
  secretRef: [10, SecretReference, 'The secret with which the storage is reached.'],
})
export type ISCSIPersistentVolumeSource = Static<typeof ISCSIPersistentVolumeSource>

export const LocalVolumeSource = message('LocalVolumeSource', {
  path: [1, string.always(), 'Path of the directory, file or device on the node.'],
  fsType: [2, string.optional(), 'File system to mount, for devices; chosen by the node when absent.'],
})
export type LocalVolumeSource = Static<typeof LocalVolumeSource>

const RBDPersistentVolumeSource = message('RBDPersistentVolumeSource', {
  ...rbdFields,
  secretRef: [7, SecretReference, 'The secret with which the storage is reached.'],
})

const ScaleIOPersistentVolumeSource = message('ScaleIOPersistentVolumeSource', {
  ...scaleIOFields,
  secretRef: [3, SecretReference.always(), 'The secret with which the storage is reached.'],
})

export const StorageOSPersistentVolumeSource = message('StorageOSPersistentVolumeSource', {
  ...storageOSFields,
  secretRef: [5, ObjectReference, 'The secret with which the storage is reached.'],
})
export type StorageOSPersistentVolumeSource = Static<typeof StorageOSPersistentVolumeSource>

export const VolumeNodeAffinity = message('VolumeNodeAffinity', {
  required: [1, NodeSelector, 'The selector of nodes that can reach the volume.'],
})
export type VolumeNodeAffinity = Static<typeof VolumeNodeAffinity>

const persistentVolumeSources = {
  gcePersistentDisk: [1, GCEPersistentDiskVolumeSource, 'A disk of GCE; deprecated.'],
  awsElasticBlockStore: [2, AWSElasticBlockStoreVolumeSource, 'A disk of AWS; deprecated.'],
  hostPath: [3, HostPathVolumeSource, 'A directory of the node, for tests on a single node.'],
  glusterfs: [4, GlusterfsPersistentVolumeSource, 'A Gluster volume; no longer supported by nodes.'],
  nfs: [5, NFSVolumeSource, 'A directory of an NFS server.'],
  rbd: [6, RBDPersistentVolumeSource, 'A Ceph block device; no longer supported by nodes.'],
  iscsi: [7, ISCSIPersistentVolumeSource, 'An iSCSI unit.'],
  cinder: [8, CinderPersistentVolumeSource, 'A volume of OpenStack; deprecated.'],
  cephfs: [9, CephFSPersistentVolumeSource, 'A Ceph file system; no longer supported by nodes.'],
  fc: [10, FCVolumeSource, 'A Fibre Channel unit.'],
  flocker: [11, FlockerVolumeSource, 'A Flocker dataset; no longer supported by nodes.'],
  flexVolume: [12, FlexPersistentVolumeSource, 'Storage behind a driver program; deprecated.'],
  azureFile: [13, AzureFilePersistentVolumeSource, 'A file share of Azure; deprecated.'],
  vsphereVolume: [14, VsphereVirtualDiskVolumeSource, 'A disk of vSphere; deprecated.'],
  quobyte: [15, QuobyteVolumeSource, 'A Quobyte volume; no longer supported by nodes.'],
  azureDisk: [16, AzureDiskVolumeSource, 'A disk of Azure; deprecated.'],
  photonPersistentDisk: [17, PhotonPersistentDiskVolumeSource, 'A disk of Photon; no longer supported by nodes.'],
  portworxVolume: [18, PortworxVolumeSource, 'A Portworx volume; deprecated.'],
  scaleIO: [19, ScaleIOPersistentVolumeSource, 'A ScaleIO volume; no longer supported by nodes.'],
  local: [20, LocalVolumeSource, 'Storage of one node.'],
  storageos: [21, StorageOSPersistentVolumeSource, 'A StorageOS volume; no longer supported by nodes.'],
  csi: [22, CSIPersistentVolumeSource, 'Storage behind a CSI driver.'],
} as const

/** The source of a persistent volume; exactly one is set. */
export const PersistentVolumeSource = message('PersistentVolumeSource', persistentVolumeSources)
export type PersistentVolumeSource = Message<typeof persistentVolumeSources>
/** The names of all sources. */
export const volumeSourceNames = Object.keys(persistentVolumeSources) as (keyof PersistentVolumeSource)[]

export const PersistentVolumeSpec = message(
  'PersistentVolumeSpec',
  {
    capacity: [1, mapOf(quantity), 'How much it holds.'],
    ...inlined(2, persistentVolumeSources),
    accessModes: [
      3,
      atomic(string.listed('ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod')),
      'How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.',
    ],
    claimRef: [4, ObjectReference.granular(), 'The claim it is bound to, or kept for.'],
    persistentVolumeReclaimPolicy: [
      5,
      string.listed('Delete', 'Recycle', 'Retain'),
      'The treatment of the volume after its claim is deleted: Retain, Delete or Recycle.',
    ],
    storageClassName: [6, string, 'The storage class; empty for none.'],
    mountOptions: [7, atomic(string), 'Options for mounting, such as ro; not checked.'],
    volumeMode: [8, string.listed('Block', 'Filesystem').optional(), 'Filesystem, or Block for a raw device.'],
    nodeAffinity: [9, VolumeNodeAffinity, 'From which nodes it can be reached.'],
    volumeAttributesClassName: [10, string.optional(), 'The class of attributes it has; for CSI alone.'],
  },
  { defaults: ({ capacity }) => roundAmounts(capacity) },
)
export type PersistentVolumeSpec = Static<typeof PersistentVolumeSpec>
