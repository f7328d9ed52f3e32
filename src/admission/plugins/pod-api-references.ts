/** References of a pod to objects of the API, such as a secret. Pods that a node runs by itself may refer to nothing. */
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { secretNames } from '../../kinds/rules/pod/secret-names.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'

/** The first kind of thing that a pod refers to; undefined when there is none. */
export function apiReference(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return 'serviceaccounts'
  for (const _ of secretNames(spec)) return 'secrets'
  if (namesConfigMap(spec)) return 'configmaps'
  if (spec.resourceClaims && spec.resourceClaims.length > 0) return 'resourceclaims'
  for (const volume of spec.volumes ?? []) {
    for (const [source, reference] of Object.entries(VOLUMES)) if (volume[source as keyof typeof volume] !== undefined) return reference
    for (const part of volume.projected?.sources ?? [])
      for (const [source, reference] of Object.entries(PROJECTIONS)) if (part[source as keyof typeof part] !== undefined) return reference
  }
  return undefined
}

const VOLUMES = {
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
}
const PROJECTIONS = {
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
}

function namesConfigMap(spec: PodSpec): boolean {
  for (const { env = [], envFrom = [] } of containersOf(spec))
    if (env.some(({ valueFrom }) => valueFrom?.configMapKeyRef) || envFrom.some(({ configMapRef }) => configMapRef)) return true
  return (spec.volumes ?? []).some(
    ({ configMap, projected }) => configMap !== undefined || projected?.sources?.some(source => source.configMap !== undefined),
  )
}
