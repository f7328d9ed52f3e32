/**
 * Edges of the graph: the objects that a node needs because of another object. A pod needs the secrets, config maps, claims and accounts
 * that it names.
 */
import type { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container, EphemeralContainer } from '../../kinds/rules/pod/containers/container.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { secretNames } from '../../kinds/rules/pod/secret-names.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

/** An object in the graph: its resource, namespace and name. */
export type Vertex = string
/** A node that may read the second may read the first. */
export type Edge = readonly [from: Vertex, to: Vertex]

export const vertex = (plural: string, namespace: string, name: string): Vertex => `${plural} ${namespace}/${name}`
export const nodeVertex = (name: string): Vertex => vertex('nodes', '', name)

/** The resources whose objects define edges, under the domain's groups. */
export const RELATING = {
  pods: '',
  persistentvolumes: '',
  volumeattachments: 'storage.',
  resourceslices: 'resource.',
  podcertificaterequests: 'certificates.',
} as const
export type RelatingResource = keyof typeof RELATING

/** The edges that an object defines. */
export function edgesOf(plural: RelatingResource, object: AnyObject): Edge[] {
  const { namespace = '', name = '' } = object.metadata
  if (plural === 'pods') return podEdges(object as unknown as Pod)
  if (plural === 'persistentvolumes') return volumeEdges(object as unknown as PersistentVolume)
  const node: string = object['spec']?.nodeName ?? ''
  return node === '' ? [] : [[vertex(plural, namespace, name), nodeVertex(node)]]
}

const MIRROR = 'kubernetes.io/config.mirror'

function podEdges({ metadata, spec, status }: Pod): Edge[] {
  const { namespace = '', name = '', annotations = {} } = metadata
  if (!spec.nodeName) return []
  const pod = vertex('pods', namespace, name)
  const edges: Edge[] = [[pod, nodeVertex(spec.nodeName)]]
  // Nodes create mirror pods themselves: their references must not grant any access.
  if (Object.hasOwn(annotations, MIRROR)) return edges
  const need = (plural: string, needed: string | undefined) => {
    if (needed) edges.push([vertex(plural, namespace, needed), pod])
  }
  need('serviceaccounts', spec.serviceAccountName)
  for (const secret of secretNames(spec)) need('secrets', secret)
  for (const container of containersOf(spec)) for (const map of environmentMaps(container)) need('configmaps', map)
  for (const volume of spec.volumes ?? []) {
    need('configmaps', volume.configMap?.name)
    for (const { configMap } of volume.projected?.sources ?? []) need('configmaps', configMap?.name)
    need('persistentvolumeclaims', volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral && `${name}-${volume.name}`))
  }
  // The name of a claim that is created from a template is in the status, once it exists.
  for (const { name: label, resourceClaimName } of spec.resourceClaims ?? []) {
    const made = status.resourceClaimStatuses?.find(each => each.name === label)
    need('resourceclaims', resourceClaimName ?? made?.resourceClaimName)
  }
  need('resourceclaims', status.extendedResourceClaimStatus?.resourceClaimName)
  return edges
}

function* environmentMaps({ env = [], envFrom = [] }: Container | EphemeralContainer): Iterable<string | undefined> {
  for (const { valueFrom } of env) yield valueFrom?.configMapKeyRef?.name
  for (const { configMapRef } of envFrom) yield configMapRef?.name
}

type SecretReference = { readonly name?: string | undefined; readonly namespace?: string | undefined }

/** A node that may read a claim may read its bound volume, and the secrets to mount it. */
function volumeEdges({ metadata: { name = '' }, spec }: PersistentVolume): Edge[] {
  const { claimRef } = spec
  if (!claimRef) return []
  const volume = vertex('persistentvolumes', '', name)
  const claimNamespace = claimRef.namespace ?? ''
  const edges: Edge[] = [[volume, vertex('persistentvolumeclaims', claimNamespace, claimRef.name ?? '')]]
  const need = (ref: SecretReference | null | undefined, fallback: string) => {
    if (ref?.name) edges.push([vertex('secrets', ref.namespace || fallback, ref.name), volume])
  }
  const { azureFile, cephfs, flexVolume, rbd, scaleIO, iscsi, cinder, storageos, csi } = spec
  if (azureFile) need({ name: azureFile.secretName, namespace: azureFile.secretNamespace ?? undefined }, claimNamespace)
  for (const source of [cephfs, flexVolume, rbd, scaleIO, iscsi]) need(source?.secretRef, claimNamespace)
  for (const source of [cinder, storageos]) need(source?.secretRef, '')
  for (const ref of [csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef]) need(ref, '')
  return edges
}
