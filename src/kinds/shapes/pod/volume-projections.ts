/** Files that a volume makes out of secrets, config maps, tokens, certificates and the pod itself. */
import { atomic, bool, inlined, int32, int64, mapOf, message, type Static, string } from '../../../schema/types.ts'
import { LabelSelector } from '../meta.ts'
import { ObjectFieldSelector, ResourceFieldSelector } from './downward.ts'
import { localObjectReference } from './references.ts'

export const KeyToPath = message('KeyToPath', {
  key: [1, string.always(), ''],
  path: [2, string.always(), ''],
  mode: [3, int32.optional(), ''],
  user: [4, int64.optional(), ''],
})
export type KeyToPath = Static<typeof KeyToPath>

export const DownwardAPIVolumeFile = message('DownwardAPIVolumeFile', {
  path: [1, string.always(), ''],
  fieldRef: [2, ObjectFieldSelector, ''],
  resourceFieldRef: [3, ResourceFieldSelector, ''],
  mode: [4, int32.optional(), ''],
  user: [5, int64.optional(), ''],
})
export type DownwardAPIVolumeFile = Static<typeof DownwardAPIVolumeFile>

export const SecretProjection = message('SecretProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), ''],
  optional: [4, bool.optional(), ''],
})
export type SecretProjection = Static<typeof SecretProjection>

export const DownwardAPIProjection = message('DownwardAPIProjection', {
  items: [1, atomic(DownwardAPIVolumeFile), ''],
})
export type DownwardAPIProjection = Static<typeof DownwardAPIProjection>

export const ConfigMapProjection = message('ConfigMapProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), ''],
  optional: [4, bool.optional(), ''],
})
export type ConfigMapProjection = Static<typeof ConfigMapProjection>

export const ServiceAccountTokenProjection = message('ServiceAccountTokenProjection', {
  audience: [1, string, ''],
  expirationSeconds: [2, int64.optional().default(3600), ''],
  path: [3, string.always(), ''],
  user: [4, int64.optional(), ''],
})
export type ServiceAccountTokenProjection = Static<typeof ServiceAccountTokenProjection>

export const ClusterTrustBundleProjection = message('ClusterTrustBundleProjection', {
  name: [1, string.optional(), ''],
  signerName: [2, string.optional(), ''],
  labelSelector: [3, LabelSelector, ''],
  optional: [5, bool.optional(), ''],
  path: [4, string.always(), ''],
  user: [6, int64.optional(), ''],
})
export type ClusterTrustBundleProjection = Static<typeof ClusterTrustBundleProjection>

export const PodCertificateProjection = message('PodCertificateProjection', {
  signerName: [1, string, ''],
  keyType: [2, string, ''],
  maxExpirationSeconds: [3, int32.optional(), ''],
  credentialBundlePath: [4, string, ''],
  keyPath: [5, string, ''],
  certificateChainPath: [6, string, ''],
  userAnnotations: [7, mapOf(string), ''],
  user: [8, int64.optional(), ''],
})
export type PodCertificateProjection = Static<typeof PodCertificateProjection>

export const VolumeProjection = message('VolumeProjection', {
  secret: [1, SecretProjection, ''],
  downwardAPI: [2, DownwardAPIProjection, ''],
  configMap: [3, ConfigMapProjection, ''],
  serviceAccountToken: [4, ServiceAccountTokenProjection, ''],
  clusterTrustBundle: [5, ClusterTrustBundleProjection, ''],
  podCertificate: [6, PodCertificateProjection, ''],
})
export type VolumeProjection = Static<typeof VolumeProjection>
