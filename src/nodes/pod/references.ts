/** Objects that a pod refers to and that are missing: without them a kubelet mounts no volume and creates no container. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { VolumeProjection } from '../../kinds/rules/pod/volumes/volume-projections.ts'

/** `signers` stands for all trust bundles of a signer. */
export type Referred =
  | 'configmaps'
  | 'secrets'
  | 'persistentvolumeclaims'
  | 'volumeattachments'
  | 'clustertrustbundles'
  | 'signers'
  | 'resourceclaims'

/** Looks up the keys of an object in the namespace of the pod; undefined when the object does not exist. */
export type Lookup = (plural: 'configmaps' | 'secrets', name: string) => { readonly has: (key: string) => boolean } | undefined

/** A problem with a kubelet's message, empty where it has none, and the objects whose change may solve it. */
export type Missing = {
  readonly message: string
  readonly objects: readonly { readonly plural: Referred; readonly name: string }[]
  /** The reason of the event; FailedMount by default. */
  readonly reason?: string
}

/** The sources of volumes. */
export type VolumeSources = {
  readonly lookup: Lookup
  /** Whether a trust bundle of the name exists, or any of the signer that matches the selector. */
  readonly hasBundle: (projection: TrustBundleProjection) => boolean
  /** Why a claim cannot be mounted as a volume. */
  readonly claimProblem: (volume: string, claim: string) => Missing | undefined
  /** Why the certificate of a volume source is missing. */
  readonly certificateProblem: (volume: string, index: number) => string | undefined
}
type TrustBundleProjection = NonNullable<VolumeProjection['clusterTrustBundle']>

type Source = { readonly name?: string | undefined; readonly optional?: boolean | undefined }
type Item = { readonly key: string }

/** Why volumes of the pod cannot be mounted; each message is that of an event. */
export function* missingForVolumes({ volumes = [] }: PodSpec, pod: string, sources: VolumeSources): Iterable<Missing> {
  const { lookup } = sources
  for (const { name, configMap, secret, projected, persistentVolumeClaim, ephemeral } of volumes ?? []) {
    const parts = [
      configMap && fromFiles('configmaps', configMap, configMap.items, lookup),
      secret && fromFiles('secrets', { name: secret.secretName, optional: secret.optional }, secret.items, lookup),
      ...(projected?.sources ?? []).map((source, index) => missingForSource(source, { volume: name, index }, sources)),
    ].filter(part => part !== undefined)
    if (parts.length > 0) {
      const [first, ...more] = parts.map(({ message }) => message)
      const message = more.length === 0 ? first : `[${[...new Set([first, ...more])].join(', ')}]`
      yield { message: `MountVolume.SetUp failed for volume "${name}" : ${message}`, objects: parts.flatMap(({ objects }) => objects) }
    }
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod}-${name}` : undefined)
    const problem = claim === undefined ? undefined : sources.claimProblem(name, claim)
    if (problem) yield problem
  }
}

type At = { readonly volume: string; readonly index: number }

/** Why a source of a projected volume is missing. */
function missingForSource(
  { configMap, secret, clusterTrustBundle: bundle, podCertificate }: VolumeProjection,
  { volume, index }: At,
  { lookup, hasBundle, certificateProblem }: VolumeSources,
): Missing | undefined {
  if (secret) return fromFiles('secrets', secret, secret.items, lookup)
  if (configMap) return fromFiles('configmaps', configMap, configMap.items, lookup)
  if (bundle) return bundle.optional || hasBundle(bundle) ? undefined : missingBundle(bundle)
  const problem = podCertificate && certificateProblem(volume, index)
  return problem === undefined ? undefined : { message: problem, objects: [] }
}

const missingBundle = ({ name, signerName = '' }: TrustBundleProjection): Missing =>
  name === undefined
    ? missing('signers', signerName, 'combination of signerName and labelSelector matched zero ClusterTrustBundles')
    : missing('clustertrustbundles', name, `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`)

const missing = (plural: Referred, name: string, message: string): Missing => ({ message, objects: [{ plural, name }] })

/** Why the environment of a container cannot be created. */
export function missingForContainer({ env = [], envFrom = [] }: Container, namespace: string, lookup: Lookup): Missing | undefined {
  for (const { configMapRef, secretRef } of envFrom ?? []) {
    const found = (configMapRef && whole('configmaps', configMapRef, lookup)) ?? (secretRef && whole('secrets', secretRef, lookup))
    if (found) return found
  }
  for (const { valueFrom } of env ?? []) {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {}
    for (const [plural, ref] of [['configmaps', configMapKeyRef] as const, ['secrets', secretKeyRef] as const]) {
      if (!ref || ref.optional) continue
      const found = whole(plural, ref, lookup)
      if (found) return found
      const { name = '', key } = ref
      const kind = plural === 'secrets' ? 'Secret' : 'ConfigMap'
      if (!lookup(plural, name)!.has(key)) return missing(plural, name, `couldn't find key ${key} in ${kind} ${namespace}/${name}`)
    }
  }
  return undefined
}

type Keyed = 'configmaps' | 'secrets'

function fromFiles(plural: Keyed, source: Source, items: readonly Item[] | undefined, lookup: Lookup): Missing | undefined {
  const { name = '', optional } = source
  if (optional) return undefined
  const found = whole(plural, source, lookup)
  if (found) return found
  const key = items?.find(each => !lookup(plural, name)!.has(each.key))?.key
  if (key === undefined) return undefined
  const message =
    plural === 'secrets' ? `references non-existent secret key: ${key}` : `configmap references non-existent config key: ${key}`
  return missing(plural, name, message)
}

function whole(plural: Keyed, { name = '', optional }: Source, lookup: Lookup): Missing | undefined {
  if (optional || lookup(plural, name)) return undefined
  return missing(plural, name, `${plural === 'secrets' ? 'secret' : 'configmap'} "${name}" not found`)
}
