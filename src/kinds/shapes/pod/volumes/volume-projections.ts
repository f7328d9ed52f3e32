/** Files that a volume makes out of secrets, config maps, tokens, certificates and the pod itself. */
import { atomic, bool, inlined, int32, int64, mapOf, message, type Static, string } from '../../../../schema/types.ts'
import { LabelSelector } from '../../meta.ts'
import { localObjectReference } from '../../references.ts'
import { ObjectFieldSelector, ResourceFieldSelector } from '../containers/downward.ts'

export const KeyToPath = message('KeyToPath', {
  key: [1, string.always(), 'The key.'],
  path: [2, string.always(), 'Where in the volume its file is.'],
  mode: [3, int32.optional(), 'Permission bits of the file; without them, the default of the volume.'],
  user: [4, int64.optional(), 'Owner of the file.'],
})
export type KeyToPath = Static<typeof KeyToPath>

export const DownwardAPIVolumeFile = message('DownwardAPIVolumeFile', {
  path: [1, string.always(), 'Where in the volume the file is.'],
  fieldRef: [2, ObjectFieldSelector, 'The field of the pod to write.'],
  resourceFieldRef: [3, ResourceFieldSelector, 'The container resource to write.'],
  mode: [4, int32.optional(), 'Permission bits of the file; without them, the default of the volume.'],
  user: [5, int64.optional(), 'Owner of the file.'],
})
export type DownwardAPIVolumeFile = Static<typeof DownwardAPIVolumeFile>

export const SecretProjection = message('SecretProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})
export type SecretProjection = Static<typeof SecretProjection>

export const DownwardAPIProjection = message('DownwardAPIProjection', {
  items: [1, atomic(DownwardAPIVolumeFile), 'Files made from fields of the pod.'],
})
export type DownwardAPIProjection = Static<typeof DownwardAPIProjection>

export const ConfigMapProjection = message('ConfigMapProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})
export type ConfigMapProjection = Static<typeof ConfigMapProjection>

export const ServiceAccountTokenProjection = message('ServiceAccountTokenProjection', {
  audience: [1, string, 'Whom the token is for; the API server when empty.'],
  expirationSeconds: [2, int64.optional().default(3600), 'Seconds the token should be valid for.'],
  path: [3, string.always(), 'Where in the volume the token is written.'],
  user: [4, int64.optional(), 'Owner of the file.'],
})
export type ServiceAccountTokenProjection = Static<typeof ServiceAccountTokenProjection>

export const ClusterTrustBundleProjection = message('ClusterTrustBundleProjection', {
  name: [1, string.optional(), 'One bundle by its name; excludes signerName.'],
  signerName: [2, string.optional(), 'All bundles of this signer; excludes name.'],
  labelSelector: [3, LabelSelector, 'Chooses bundles of the signer by their labels.'],
  optional: [5, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
  path: [4, string.always(), 'Where in the volume the certificates are written.'],
  user: [6, int64.optional(), 'Owner of the file.'],
})
export type ClusterTrustBundleProjection = Static<typeof ClusterTrustBundleProjection>

export const PodCertificateProjection = message('PodCertificateProjection', {
  signerName: [1, string.expected(), 'The signer that is asked.'],
  keyType: [2, string.expected(), 'Kind of key, such as ED25519 or ECDSAP256.'],
  maxExpirationSeconds: [3, int32.optional(), 'The longest the certificate may live.'],
  credentialBundlePath: [4, string, 'Where key and certificates are written as one file.'],
  keyPath: [5, string, 'Where the key alone is written.'],
  certificateChainPath: [6, string, 'Where the certificates alone are written.'],
  userAnnotations: [7, mapOf(string), 'Further data for the signer.'],
  user: [8, int64.optional(), 'Owner of the file.'],
})
export type PodCertificateProjection = Static<typeof PodCertificateProjection>

export const VolumeProjection = message('VolumeProjection', {
  secret: [1, SecretProjection, 'Keys of a secret.'],
  downwardAPI: [2, DownwardAPIProjection, 'Fields of the pod.'],
  configMap: [3, ConfigMapProjection, 'Keys of a config map.'],
  serviceAccountToken: [4, ServiceAccountTokenProjection, 'A token of the service account.'],
  clusterTrustBundle: [5, ClusterTrustBundleProjection, 'Certificates of trust bundles.'],
  podCertificate: [6, PodCertificateProjection, 'A key and certificate made for the pod.'],
})
export type VolumeProjection = Static<typeof VolumeProjection>
