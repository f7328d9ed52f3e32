/** Volumes of a pod: where their files come from. */
import { atomic, bool, inlined, int32, int64, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { PersistentVolumeClaimTemplate } from '../persistent-volume-claim.ts'
import { LocalObjectReference, localObjectReference } from './references.ts'
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
import { DownwardAPIVolumeFile, KeyToPath, VolumeProjection } from './volume-projections.ts'

export const ConfigMapVolumeSource = message('ConfigMapVolumeSource', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), ''],
  defaultMode: [3, int32.optional().default(0o644), ''],
  optional: [4, bool.optional(), ''],
  defaultUser: [5, int64.optional(), ''],
})
export type ConfigMapVolumeSource = Static<typeof ConfigMapVolumeSource>

export const CSIVolumeSource = message('CSIVolumeSource', {
  driver: [1, string.always(), ''],
  readOnly: [2, bool.optional(), ''],
  fsType: [3, string.optional(), ''],
  volumeAttributes: [4, mapOf(string), ''],
  nodePublishSecretRef: [5, LocalObjectReference, ''],
})
export type CSIVolumeSource = Static<typeof CSIVolumeSource>

export const DownwardAPIVolumeSource = message('DownwardAPIVolumeSource', {
  items: [1, atomic(DownwardAPIVolumeFile), ''],
  defaultMode: [2, int32.optional().default(0o644), ''],
  defaultUser: [3, int64.optional(), ''],
})
export type DownwardAPIVolumeSource = Static<typeof DownwardAPIVolumeSource>

export const EmptyDirVolumeSource = message('EmptyDirVolumeSource', {
  medium: [1, string, ''],
  sizeLimit: [2, quantity.optional(), ''],
  mode: [3, int32.optional(), ''],
})
export type EmptyDirVolumeSource = Static<typeof EmptyDirVolumeSource>

export const EphemeralVolumeSource = message('EphemeralVolumeSource', {
  volumeClaimTemplate: [1, PersistentVolumeClaimTemplate, ''],
})
export type EphemeralVolumeSource = Static<typeof EphemeralVolumeSource>

export const HostPathVolumeSource = message('HostPathVolumeSource', {
  path: [1, string.always(), ''],
  type: [2, string.optional().default(''), ''],
})
export type HostPathVolumeSource = Static<typeof HostPathVolumeSource>

export const ImageVolumeSource = message('ImageVolumeSource', {
  reference: [1, string, ''],
  pullPolicy: [2, string, ''],
})
export type ImageVolumeSource = Static<typeof ImageVolumeSource>

export const PersistentVolumeClaimVolumeSource = message('PersistentVolumeClaimVolumeSource', {
  claimName: [1, string.always(), ''],
  readOnly: [2, bool, ''],
})
export type PersistentVolumeClaimVolumeSource = Static<typeof PersistentVolumeClaimVolumeSource>

export const ProjectedVolumeSource = message('ProjectedVolumeSource', {
  sources: [1, atomic(VolumeProjection).always(), ''],
  defaultMode: [2, int32.optional().default(0o644), ''],
  defaultUser: [3, int64.optional(), ''],
})
export type ProjectedVolumeSource = Static<typeof ProjectedVolumeSource>

export const SecretVolumeSource = message('SecretVolumeSource', {
  secretName: [1, string, ''],
  items: [2, atomic(KeyToPath), ''],
  defaultMode: [3, int32.optional().default(0o644), ''],
  optional: [4, bool.optional(), ''],
  defaultUser: [5, int64.optional(), ''],
})
export type SecretVolumeSource = Static<typeof SecretVolumeSource>

/** One place a volume may come from; exactly one is set. */
export const volumeSources = {
  hostPath: [1, HostPathVolumeSource, ''],
  emptyDir: [2, EmptyDirVolumeSource, ''],
  gcePersistentDisk: [3, GCEPersistentDiskVolumeSource, ''],
  awsElasticBlockStore: [4, AWSElasticBlockStoreVolumeSource, ''],
  gitRepo: [5, GitRepoVolumeSource, ''],
  secret: [6, SecretVolumeSource, ''],
  nfs: [7, NFSVolumeSource, ''],
  iscsi: [8, ISCSIVolumeSource, ''],
  glusterfs: [9, GlusterfsVolumeSource, ''],
  persistentVolumeClaim: [10, PersistentVolumeClaimVolumeSource, ''],
  rbd: [11, RBDVolumeSource, ''],
  flexVolume: [12, FlexVolumeSource, ''],
  cinder: [13, CinderVolumeSource, ''],
  cephfs: [14, CephFSVolumeSource, ''],
  flocker: [15, FlockerVolumeSource, ''],
  downwardAPI: [16, DownwardAPIVolumeSource, ''],
  fc: [17, FCVolumeSource, ''],
  azureFile: [18, AzureFileVolumeSource, ''],
  configMap: [19, ConfigMapVolumeSource, ''],
  vsphereVolume: [20, VsphereVirtualDiskVolumeSource, ''],
  quobyte: [21, QuobyteVolumeSource, ''],
  azureDisk: [22, AzureDiskVolumeSource, ''],
  photonPersistentDisk: [23, PhotonPersistentDiskVolumeSource, ''],
  projected: [26, ProjectedVolumeSource, ''],
  portworxVolume: [24, PortworxVolumeSource, ''],
  scaleIO: [25, ScaleIOVolumeSource, ''],
  storageos: [27, StorageOSVolumeSource, ''],
  csi: [28, CSIVolumeSource, ''],
  ephemeral: [29, EphemeralVolumeSource, ''],
  image: [30, ImageVolumeSource, ''],
} as const

export const Volume = message('Volume', {
  name: [1, string.always(), ''],
  ...inlined(2, volumeSources),
})
export type Volume = Static<typeof Volume>
