/** The secrets that a pod uses. */
import type { Container, EphemeralContainer } from './containers/container.ts'
import { containersOf } from './containers/container.ts'
import type { PodSpec } from './spec.ts'

/** A secret in a container's environment: the variable, or all of a secret's keys. */
export type SecretInEnvironment = { readonly secret: string; readonly variable: string | undefined }

/** The secrets in a container's environment. */
export function* environmentSecrets({ env = [], envFrom = [] }: Container | EphemeralContainer): Iterable<SecretInEnvironment> {
  for (const { name, valueFrom } of env) if (valueFrom?.secretKeyRef) yield { secret: valueFrom.secretKeyRef.name ?? '', variable: name }
  for (const { secretRef } of envFrom) if (secretRef) yield { secret: secretRef.name ?? '', variable: undefined }
}

/** Every secret that a pod names: for images, in environments and in volumes. */
export function* secretNames(spec: PodSpec): Iterable<string> {
  for (const { name = '' } of spec.imagePullSecrets ?? []) yield name
  for (const container of containersOf(spec)) for (const { secret } of environmentSecrets(container)) yield secret
  for (const volume of spec.volumes ?? []) {
    const { azureFile, secret, projected, csi, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = volume
    if (azureFile?.secretName) yield azureFile.secretName
    if (secret) yield secret.secretName ?? ''
    for (const { secret: part } of projected?.sources ?? []) if (part) yield part.name ?? ''
    const refs = [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].map(source => source?.secretRef)
    for (const ref of [...refs, csi?.nodePublishSecretRef]) if (ref) yield ref.name ?? ''
  }
}
