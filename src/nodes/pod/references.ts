/** What a pod refers to and is not there: a kubelet mounts no volume and makes no container without it. */
import type { Container } from '../../kinds/shapes/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/shapes/pod/spec.ts'

export type Referred = 'configmaps' | 'secrets' | 'persistentvolumeclaims'

/** The keys of an object in the namespace of the pod; undefined when there is none. */
export type Lookup = (plural: Referred, name: string) => ReadonlySet<string> | undefined

/** What is missing, in the words of a kubelet, and the object that may change that. */
export type Missing = { readonly plural: Referred; readonly name: string; readonly message: string }

type Source = { readonly name?: string | undefined; readonly optional?: boolean | undefined }
type Item = { readonly key: string }

/** Why volumes of the pod cannot be mounted; each message as an event says it. */
export function* missingForVolumes({ volumes = [] }: PodSpec, pod: string, lookup: Lookup): Iterable<Missing> {
  for (const { name, configMap, secret, projected, persistentVolumeClaim, ephemeral } of volumes ?? []) {
    const parts = [
      configMap && fromFiles('configmaps', configMap, configMap.items, lookup),
      secret && fromFiles('secrets', { name: secret.secretName, optional: secret.optional }, secret.items, lookup),
      ...(projected?.sources ?? []).flatMap(({ configMap, secret }) => [
        configMap && fromFiles('configmaps', configMap, configMap.items, lookup),
        secret && fromFiles('secrets', secret, secret.items, lookup),
      ]),
    ]
    for (const missing of parts)
      if (missing) yield { ...missing, message: `MountVolume.SetUp failed for volume "${name}" : ${missing.message}` }
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod}-${name}` : undefined)
    if (claim !== undefined && !lookup('persistentvolumeclaims', claim))
      yield { plural: 'persistentvolumeclaims', name: claim, message: `persistentvolumeclaim "${claim}" not found` }
  }
}

/** Why the environment of a container cannot be made. */
export function missingForContainer({ env = [], envFrom = [] }: Container, namespace: string, lookup: Lookup): Missing | undefined {
  for (const { configMapRef, secretRef } of envFrom ?? []) {
    const missing = (configMapRef && whole('configmaps', configMapRef, lookup)) ?? (secretRef && whole('secrets', secretRef, lookup))
    if (missing) return missing
  }
  for (const { valueFrom } of env ?? []) {
    const { configMapKeyRef, secretKeyRef } = valueFrom ?? {}
    for (const [plural, ref] of [['configmaps', configMapKeyRef] as const, ['secrets', secretKeyRef] as const]) {
      if (!ref || ref.optional) continue
      const missing = whole(plural, ref, lookup)
      if (missing) return missing
      const { name = '', key } = ref
      const kind = plural === 'secrets' ? 'Secret' : 'ConfigMap'
      if (!lookup(plural, name)!.has(key)) return { plural, name, message: `couldn't find key ${key} in ${kind} ${namespace}/${name}` }
    }
  }
  return undefined
}

function fromFiles(plural: Referred, source: Source, items: readonly Item[] | undefined, lookup: Lookup): Missing | undefined {
  const { name = '', optional } = source
  if (optional) return undefined
  const missing = whole(plural, source, lookup)
  if (missing) return missing
  const key = items?.find(each => !lookup(plural, name)!.has(each.key))?.key
  if (key === undefined) return undefined
  const message =
    plural === 'secrets' ? `references non-existent secret key: ${key}` : `configmap references non-existent config key: ${key}`
  return { plural, name, message }
}

function whole(plural: Referred, { name = '', optional }: Source, lookup: Lookup): Missing | undefined {
  if (optional || lookup(plural, name)) return undefined
  return { plural, name, message: `${plural === 'secrets' ? 'secret' : 'configmap'} "${name}" not found` }
}
