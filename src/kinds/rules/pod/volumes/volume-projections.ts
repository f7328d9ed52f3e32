/** Volumes whose files come from secrets, config maps, tokens, certificates and the pod itself. */

import { type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../../../schema/refs.ts'
import { atomic, bool, inlined, int32, int64, mapOf, message, type Static, string } from '../../../../schema/types.ts'
import { under } from '../../error-paths.ts'
import { internalRepresentation } from '../../internal-representation.ts'
import { LabelSelector, validateLabelSelector } from '../../meta.ts'
import { localObjectReference } from '../../references.ts'
import { validateUser } from '../../text-rules.ts'
import {
  ObjectFieldSelector,
  ResourceFieldSelector,
  VOLUME_FIELDS,
  validateFieldSelector,
  validateResourceFieldSelector,
} from '../containers/downward-api.ts'
import type { PodOptions } from '../options.ts'
import { FILE_MODE_MESSAGE, isFileMode, validateLocalNonReservedPath } from './path-rules.ts'
import {
  isKubernetesSigner,
  signerOfTrustBundle,
  trustBundleNameFaults,
  validateSignerName,
  validateUserAnnotations,
} from './signer-rules.ts'

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

const SecretProjection = message('SecretProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})

const DownwardAPIProjection = message('DownwardAPIProjection', {
  items: [1, atomic(DownwardAPIVolumeFile), 'Files made from fields of the pod.'],
})

const ConfigMapProjection = message('ConfigMapProjection', {
  ...inlined(1, localObjectReference),
  items: [2, atomic(KeyToPath), 'Which keys become which files; all keys under their own names when empty.'],
  optional: [4, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
})

const ServiceAccountTokenProjection = message('ServiceAccountTokenProjection', {
  audience: [1, string, 'The audience of the token; the API server when empty.'],
  expirationSeconds: [2, int64.optional().default(3600), 'Seconds the token should be valid for.'],
  path: [3, string.always(), 'Where in the volume the token is written.'],
  user: [4, int64.optional(), 'Owner of the file.'],
})
type ServiceAccountTokenProjection = Static<typeof ServiceAccountTokenProjection>

const ClusterTrustBundleProjection = message('ClusterTrustBundleProjection', {
  name: [1, string.optional(), 'One bundle by its name; excludes signerName.'],
  signerName: [2, string.optional(), 'All bundles of this signer; excludes name.'],
  labelSelector: [3, LabelSelector, 'Chooses bundles of the signer by their labels.'],
  optional: [5, bool.optional(), 'Whether the pod may start although it, or its keys, are missing.'],
  path: [4, string.always(), 'Where in the volume the certificates are written.'],
  user: [6, int64.optional(), 'Owner of the file.'],
})
type ClusterTrustBundleProjection = Static<typeof ClusterTrustBundleProjection>

const PodCertificateProjection = message('PodCertificateProjection', {
  signerName: [1, string.expected(), 'The requested signer.'],
  keyType: [2, string.expected(), 'Kind of key, such as ED25519 or ECDSAP256.'],
  maxExpirationSeconds: [3, int32.optional(), 'The longest the certificate may be valid.'],
  credentialBundlePath: [4, string, 'Where key and certificates are written as one file.'],
  keyPath: [5, string, 'Where the key alone is written.'],
  certificateChainPath: [6, string, 'Where the certificates alone are written.'],
  userAnnotations: [7, mapOf(string), 'Further data for the signer.'],
  user: [8, int64.optional(), 'Owner of the file.'],
})
type PodCertificateProjection = Static<typeof PodCertificateProjection>

export const VolumeProjection = message('VolumeProjection', {
  secret: [1, SecretProjection, 'Keys of a secret.'],
  downwardAPI: [2, DownwardAPIProjection, 'Fields of the pod.'],
  configMap: [3, ConfigMapProjection, 'Keys of a config map.'],
  serviceAccountToken: [4, ServiceAccountTokenProjection, 'A token of the service account.'],
  clusterTrustBundle: [5, ClusterTrustBundleProjection, 'Certificates of trust bundles.'],
  podCertificate: [6, PodCertificateProjection, 'A key and certificate made for the pod.'],
})
export type VolumeProjection = Static<typeof VolumeProjection>

export const ProjectedVolumeSource = message('ProjectedVolumeSource', {
  sources: [1, atomic(VolumeProjection).always().omittable(), 'The sources whose files are put into one directory.'],
  defaultMode: [2, int32.optional().default(0o644), 'Permission bits of files that name none of their own.'],
  defaultUser: [3, int64.optional(), 'Owner of files that name none of their own.'],
})
export type ProjectedVolumeSource = Static<typeof ProjectedVolumeSource>

/** Permissions and owner of files. */
export function* validateDefaults(
  { defaultMode, defaultUser }: { defaultMode?: number; defaultUser?: number | bigint },
  at: { readonly defaultMode: Ref<number>; readonly defaultUser: Ref<number | bigint> },
): Iterable<FieldError> {
  if (defaultMode !== undefined && !isFileMode(defaultMode)) yield invalid(at.defaultMode, FILE_MODE_MESSAGE)
  yield* validateUser(defaultUser, at.defaultUser)
}

/** A key of a ConfigMap or Secret, and its file. */
export function* validateKeyToPath({ key, path = '', mode, user }: KeyToPath, at: Ref<KeyToPath>): Iterable<FieldError> {
  if (!key) yield required(at.key)
  if (!path) yield required(at.path)
  yield* validateLocalNonReservedPath(path, at.path)
  if (mode !== undefined && !isFileMode(mode)) yield invalid(at.mode, FILE_MODE_MESSAGE)
  yield* validateUser(user, at.user)
}

/** A file of the downward API; errors only name `at`, the list of files. */
export function* validateDownwardFile(file: DownwardAPIVolumeFile, list: Ref<any>): Iterable<FieldError> {
  const { path = '', fieldRef, resourceFieldRef, mode, user } = file
  const at = withValue(list, file)
  if (!path) yield required(at.path)
  yield* validateLocalNonReservedPath(path, at.path)
  if (fieldRef) {
    yield* validateFieldSelector(fieldRef, at.fieldRef, VOLUME_FIELDS)
    if (resourceFieldRef) yield invalid(withValue(at, 'resource'), 'fieldRef and resourceFieldRef can not be specified simultaneously')
  } else if (resourceFieldRef) yield* validateResourceFieldSelector(resourceFieldRef, at.resourceFieldRef, { inVolume: true })
  else yield required(at, 'one of fieldRef and resourceFieldRef is required')
  if (mode !== undefined && !isFileMode(mode)) yield invalid(at.mode, FILE_MODE_MESSAGE)
  yield* validateUser(user, at.user)
}

/** A volume with files of many sources: each source has one type, and file paths are unique. */
export function* validateProjected(
  volume: ProjectedVolumeSource,
  at: Ref<ProjectedVolumeSource>,
  options: PodOptions,
): Iterable<FieldError> {
  yield* validateDefaults(volume, at)
  const files = new Files(at)
  for (const [i, source] of (volume.sources ?? []).entries()) {
    const itemAt = at.sources[i]!
    yield* validateSource(source, itemAt, { volume: at, files, options })
    if (Object.values(source).filter(part => part !== undefined).length > 1)
      yield forbidden(itemAt, 'may not specify more than 1 volume type per source')
  }
}

/** The files so far; the error of a duplicate is about the whole volume. */
class Files {
  readonly #at: Ref<ProjectedVolumeSource>
  readonly #paths = new Set<string>()
  constructor(at: Ref<ProjectedVolumeSource>) {
    this.#at = at
  }

  *add(path: string, shown = path): Iterable<FieldError> {
    if (this.#paths.has(path)) yield invalid(withValue(this.#at, shown), 'conflicting duplicate paths')
    this.#paths.add(path)
  }
}

type Around = { readonly volume: Ref<ProjectedVolumeSource>; readonly files: Files; readonly options: PodOptions }

function* validateSource(source: VolumeProjection, at: Ref<VolumeProjection>, around: Around): Iterable<FieldError> {
  const { volume, files, options } = around
  for (const type of ['secret', 'configMap'] as const) {
    const keys = source[type]
    if (!keys) continue
    if (!keys.name) yield required(at[type].name)
    for (const [i, item] of (keys.items ?? []).entries()) {
      yield* validateKeyToPath(item, at[type].items[i]!)
      if (item.path) yield* files.add(item.path, keys.name ?? '')
    }
  }
  for (const file of source.downwardAPI?.items ?? []) {
    yield* validateDownwardFile(file, at.downwardAPI)
    if (file.path) yield* files.add(file.path)
  }
  if (source.serviceAccountToken) yield* validateToken(source.serviceAccountToken, at.serviceAccountToken, { volume, options })
  if (source.clusterTrustBundle) {
    yield* validateTrustBundle(source.clusterTrustBundle, at.clusterTrustBundle)
    yield* files.add(source.clusterTrustBundle.path ?? '')
  }
  if (source.podCertificate) yield* validateCertificate(source.podCertificate, at.podCertificate, files)
}

const MIN_TOKEN_SECONDS = 10 * 60
const MAX_TOKEN_SECONDS = 2 ** 32

function* validateToken(
  { expirationSeconds: seconds, path, user }: ServiceAccountTokenProjection,
  at: Ref<ServiceAccountTokenProjection>,
  { volume, options }: Pick<Around, 'volume' | 'options'>,
): Iterable<FieldError> {
  if (seconds === undefined) yield required(at.expirationSeconds)
  else if (seconds < MIN_TOKEN_SECONDS) yield invalid(at.expirationSeconds, 'may not specify a duration less than 10 minutes')
  else if (seconds > MAX_TOKEN_SECONDS) yield invalid(at.expirationSeconds, 'may not specify a duration larger than 2^32 seconds')
  if (!path) yield required(under(volume, 'path'))
  else if (!options.allowNonLocalTokenPaths) yield* validateLocalNonReservedPath(path, under(volume, 'path'))
  yield* validateUser(user, at.user)
}

function* validateTrustBundle(bundle: ClusterTrustBundleProjection, at: Ref<ClusterTrustBundleProjection>): Iterable<FieldError> {
  const { name, signerName, labelSelector, path = '', user } = bundle
  if (name !== undefined && signerName !== undefined)
    yield invalid(
      withValue(at, internalRepresentation(ClusterTrustBundleProjection, bundle)),
      'only one of name and signerName may be used',
    )
  else if (name !== undefined) {
    if (name === '') yield required(at.name, 'must be a valid object name')
    for (const fault of trustBundleNameFaults(name, name.includes(':') ? signerOfTrustBundle(name) : ''))
      yield invalid(at.name, `not a valid clustertrustbundlename: ${fault}`)
    if (labelSelector) yield invalid(at.labelSelector, 'labelSelector must be unset if name is specified')
  } else if (signerName !== undefined) {
    if (signerName === '') yield required(at.signerName, 'must be a valid signer name')
    yield* validateSignerName(signerName, at.signerName)
    if (labelSelector) yield* validateLabelSelector(labelSelector, at.labelSelector)
  } else yield required(at, 'either name or signerName must be specified')
  if (!path) yield required(at.path)
  yield* validateUser(user, at.user)
  yield* validateLocalNonReservedPath(path, at.path)
}

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519']
const MIN_CERTIFICATE_SECONDS = 3600
const DAY = 24 * 60 * 60

function* validateCertificate(
  certificate: PodCertificateProjection,
  at: Ref<PodCertificateProjection>,
  files: Files,
): Iterable<FieldError> {
  const { signerName = '', keyType = '', maxExpirationSeconds: seconds, userAnnotations, user } = certificate
  yield* validateSignerName(signerName, at.signerName)
  if (userAnnotations) yield* validateUserAnnotations(userAnnotations, at.userAnnotations)
  yield* validateUser(user, at.user)
  if (!KEY_TYPES.includes(keyType)) yield unsupported(at.keyType, ...KEY_TYPES)
  if (seconds !== undefined) {
    const most = (isKubernetesSigner(signerName) ? 1 : 91) * DAY
    if (seconds < MIN_CERTIFICATE_SECONDS)
      yield invalid(at.maxExpirationSeconds, `if provided, maxExpirationSeconds must be >= ${MIN_CERTIFICATE_SECONDS}`)
    if (seconds > most) yield invalid(at.maxExpirationSeconds, `if provided, maxExpirationSeconds must be <= ${most}`)
  }
  let paths = 0
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const path = certificate[field]
    if (!path) continue
    paths++
    yield* validateLocalNonReservedPath(path, at[field])
    yield* files.add(path)
  }
  if (paths === 0) yield required(at, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath')
}
