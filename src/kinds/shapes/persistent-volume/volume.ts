/** A piece of storage: how large it is, how it can be used, and where it really is. */
import { atomic, inlined, type Message, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { roundAmounts } from '../pod/resources/resources.ts'
import { NodeSelector } from '../pod/scheduling/affinity.ts'
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  FCVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  NFSVolumeSource,
  PhotonPersistentDiskVolumeSource,
  PortworxVolumeSource,
  QuobyteVolumeSource,
  VsphereVirtualDiskVolumeSource,
} from '../pod/volumes/volume-plugins.ts'
import { HostPathVolumeSource } from '../pod/volumes/volumes.ts'
import { ObjectReference } from '../references.ts'
import {
  AzureFilePersistentVolumeSource,
  CephFSPersistentVolumeSource,
  CinderPersistentVolumeSource,
  CSIPersistentVolumeSource,
  FlexPersistentVolumeSource,
  GlusterfsPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  LocalVolumeSource,
  RBDPersistentVolumeSource,
  ScaleIOPersistentVolumeSource,
  StorageOSPersistentVolumeSource,
} from './sources.ts'

export const VolumeNodeAffinity = message('VolumeNodeAffinity', {
  required: [1, NodeSelector, 'What a node must match to reach the volume.'],
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

/** One place a persistent volume may be; exactly one is set. */
export const PersistentVolumeSource = message('PersistentVolumeSource', persistentVolumeSources)
export type PersistentVolumeSource = Message<typeof persistentVolumeSources>
/** The names of all sources. */
export const volumeSourceNames = Object.keys(persistentVolumeSources) as (keyof PersistentVolumeSource)[]

export const PersistentVolumeSpec = message(
  'PersistentVolumeSpec',
  {
    capacity: [1, mapOf(quantity), 'How much it holds.'],
    ...inlined(2, persistentVolumeSources),
    accessModes: [3, atomic(string), 'How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.'],
    claimRef: [4, ObjectReference.granular(), 'The claim it is bound to, or kept for.'],
    persistentVolumeReclaimPolicy: [5, string, 'What happens when its claim is gone: Retain, Delete or Recycle.'],
    storageClassName: [6, string, 'The class it belongs to; empty for none.'],
    mountOptions: [7, atomic(string), 'Options for mounting, such as ro; not checked.'],
    volumeMode: [8, string.optional(), 'Filesystem, or Block for a raw device.'],
    nodeAffinity: [9, VolumeNodeAffinity, 'From which nodes it can be reached.'],
    volumeAttributesClassName: [10, string.optional(), 'The class of attributes it has; for CSI alone.'],
  },
  { defaults: ({ capacity }) => roundAmounts(capacity) },
)
export type PersistentVolumeSpec = Static<typeof PersistentVolumeSpec>
