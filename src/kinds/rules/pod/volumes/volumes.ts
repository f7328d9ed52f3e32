/** Volumes of a pod: the sources of their files. */
import {
  atomic,
  bool,
  inlined,
  int32,
  int64,
  type Message,
  mapOf,
  message,
  quantity,
  type Static,
  string,
} from '../../../../schema/types.ts'
import { PersistentVolumeClaimTemplate } from '../../persistent-volume/claim.ts'
import { LocalObjectReference, localObjectReference } from '../../references.ts'
import { defaultPullPolicy } from '../containers/image-reference.ts'
import {
  AWSElasticBlockStoreVolumeSource,
  AzureDiskVolumeSource,
  AzureFileVolumeSource,
  CephFSVolumeSource,
  CinderVolumeSource,
  FCVolumeSource,
  FlexVolumeSource,
  FlockerVolumeSource,
  GCEPersistentDiskVolumeSource,
  GitRepoVolumeSource,
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
import { DownwardAPIVolumeFile, KeyToPath, ProjectedVolumeSource } from './volume-projections.ts'

export const ConfigMapVolumeSource = message('ConfigMapVolumeSource', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  defaultMode: [3, int32.optional().default(0o644), 'Permission bits of files that name none of their own.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
  defaultUser: [5, int64.optional(), 'Owner of files that name none of their own.'],
})
export type ConfigMapVolumeSource = Static<typeof ConfigMapVolumeSource>

export const CSIVolumeSource = message('CSIVolumeSource', {
  driver: [1, string.always(), 'Name of the CSI driver.'],
  readOnly: [2, bool.optional(), 'Whether the volume may only be read.'],
  fsType: [3, string.optional(), 'File system to mount; the driver chooses when it is empty.'],
  volumeAttributes: [4, mapOf(string), 'Properties of the volume that the driver understands.'],
  nodePublishSecretRef: [5, LocalObjectReference, 'The secret handed to the driver when the volume is mounted.'],
})
export type CSIVolumeSource = Static<typeof CSIVolumeSource>

export const DownwardAPIVolumeSource = message('DownwardAPIVolumeSource', {
  items: [1, atomic(DownwardAPIVolumeFile), 'Files made from fields of the pod.'],
  defaultMode: [2, int32.optional().default(0o644), 'Permission bits of files that name none of their own.'],
  defaultUser: [3, int64.optional(), 'Owner of files that name none of their own.'],
})
export type DownwardAPIVolumeSource = Static<typeof DownwardAPIVolumeSource>

export const EmptyDirVolumeSource = message('EmptyDirVolumeSource', {
  medium: [1, string, 'Storage below the directory: empty for that of the node, Memory, or HugePages.'],
  sizeLimit: [2, quantity.optional(), 'The most it may hold.'],
  mode: [3, int32.optional(), 'Permission bits of the directory; 0777 when absent.'],
})
export type EmptyDirVolumeSource = Static<typeof EmptyDirVolumeSource>

export const EphemeralVolumeSource = message('EphemeralVolumeSource', {
  volumeClaimTemplate: [1, PersistentVolumeClaimTemplate, 'The claim that is created for the pod, and deleted with it.'],
})
export type EphemeralVolumeSource = Static<typeof EphemeralVolumeSource>

export const HostPathVolumeSource = message('HostPathVolumeSource', {
  path: [1, string.always(), 'Path on the node.'],
  type: [
    2,
    string
      .listed('', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket')
      .optional()
      .default(''),
    'The type of file that must exist at the path, or is created there; empty for no check.',
  ],
})
export type HostPathVolumeSource = Static<typeof HostPathVolumeSource>

export const ImageVolumeSource = message('ImageVolumeSource', {
  reference: [1, string, 'The image or artifact to mount.'],
  pullPolicy: [2, string.listed('Always', 'IfNotPresent', 'Never'), 'When to pull: Always, Never or IfNotPresent.'],
})
export type ImageVolumeSource = Static<typeof ImageVolumeSource>

const PersistentVolumeClaimVolumeSource = message('PersistentVolumeClaimVolumeSource', {
  claimName: [1, string.always(), 'Name of the claim.'],
  readOnly: [2, bool, 'Whether the volume may only be read.'],
})

export const SecretVolumeSource = message('SecretVolumeSource', {
  secretName: [1, string, 'Name of the secret.'],
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  defaultMode: [3, int32.optional().default(0o644), 'Permission bits of files that name none of their own.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
  defaultUser: [5, int64.optional(), 'Owner of files that name none of their own.'],
})
export type SecretVolumeSource = Static<typeof SecretVolumeSource>

/** The source of a volume; exactly one is set. */
const volumeSources = {
  hostPath: [1, HostPathVolumeSource, 'A file or directory of the node.'],
  emptyDir: [2, EmptyDirVolumeSource, 'A directory with the lifetime of the pod.'],
  gcePersistentDisk: [3, GCEPersistentDiskVolumeSource, 'A disk of GCE; deprecated.'],
  awsElasticBlockStore: [4, AWSElasticBlockStoreVolumeSource, 'A disk of AWS; deprecated.'],
  gitRepo: [5, GitRepoVolumeSource, 'A checkout of a repository; deprecated.'],
  secret: [6, SecretVolumeSource, 'Keys of a secret as files.'],
  nfs: [7, NFSVolumeSource, 'A directory of an NFS server.'],
  iscsi: [8, ISCSIVolumeSource, 'An iSCSI unit.'],
  glusterfs: [9, GlusterfsVolumeSource, 'A Gluster volume; no longer supported by nodes.'],
  persistentVolumeClaim: [10, PersistentVolumeClaimVolumeSource, 'The volume bound to a claim.'],
  rbd: [11, RBDVolumeSource, 'A Ceph block device; no longer supported by nodes.'],
  flexVolume: [12, FlexVolumeSource, 'Storage behind a driver program; deprecated.'],
  cinder: [13, CinderVolumeSource, 'A volume of OpenStack; deprecated.'],
  cephfs: [14, CephFSVolumeSource, 'A Ceph file system; no longer supported by nodes.'],
  flocker: [15, FlockerVolumeSource, 'A Flocker dataset; no longer supported by nodes.'],
  downwardAPI: [16, DownwardAPIVolumeSource, 'Fields of the pod as files.'],
  fc: [17, FCVolumeSource, 'A Fibre Channel unit.'],
  azureFile: [18, AzureFileVolumeSource, 'A file share of Azure; deprecated.'],
  configMap: [19, ConfigMapVolumeSource, 'Keys of a config map as files.'],
  vsphereVolume: [20, VsphereVirtualDiskVolumeSource, 'A disk of vSphere; deprecated.'],
  quobyte: [21, QuobyteVolumeSource, 'A Quobyte volume; no longer supported by nodes.'],
  azureDisk: [22, AzureDiskVolumeSource, 'A disk of Azure; deprecated.'],
  photonPersistentDisk: [23, PhotonPersistentDiskVolumeSource, 'A disk of Photon; no longer supported by nodes.'],
  projected: [26, ProjectedVolumeSource, 'Several sources in one directory.'],
  portworxVolume: [24, PortworxVolumeSource, 'A Portworx volume; deprecated.'],
  scaleIO: [25, ScaleIOVolumeSource, 'A ScaleIO volume; no longer supported by nodes.'],
  storageos: [27, StorageOSVolumeSource, 'A StorageOS volume; no longer supported by nodes.'],
  csi: [28, CSIVolumeSource, 'Storage that a CSI driver makes with the pod.'],
  ephemeral: [29, EphemeralVolumeSource, 'A claim with the lifetime of the pod.'],
  image: [30, ImageVolumeSource, 'The content of a container image or artifact.'],
} as const

export type VolumeSource = Message<typeof volumeSources>
const sourceNames = Object.keys(volumeSources) as (keyof VolumeSource)[]

/** A volume without a source is an emptyDir. */
function fillVolume(volume: VolumeSource): void {
  if (sourceNames.every(name => volume[name] === undefined)) volume.emptyDir = {}
  if (volume.image) volume.image.pullPolicy ??= defaultPullPolicy(volume.image.reference)
}

export const Volume = message(
  'Volume',
  {
    name: [1, string.always(), 'Name by which containers mount it.'],
    ...inlined(2, volumeSources),
  },
  { defaults: fillVolume },
)
export type Volume = Static<typeof Volume>
