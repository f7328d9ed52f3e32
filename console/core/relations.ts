/** How the objects of a namespace belong together: owners, selectors, and what pods use. */
import { get } from './api.ts'
import { findKind, type Kind, listable, listPath } from './discovery.ts'
import { type Health, healthOf } from './health.ts'
import type { KubeObject } from './object.ts'

export type Item = { readonly id: string; readonly kind: Kind; readonly object: KubeObject; readonly health: Health }
export type EdgeType = 'owns' | 'selects' | 'uses' | 'scales' | 'routes to' | 'holds'
export type Edge = { readonly from: string; readonly to: string; readonly type: EdgeType }
export type Relations = { readonly items: ReadonlyMap<string, Item>; readonly edges: readonly Edge[]; readonly hidden: readonly string[] }

/** Kinds that would only be in the way. */
const LEFT_OUT = new Set(['events', 'leases', 'endpoints', 'controllerrevisions', 'podmetrics'])
/** Their content is nobody's business here. */
const METADATA_ONLY = new Set(['secrets', 'configmaps', 'serviceaccounts'])
const MAX_OBJECTS = 500

const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'

export async function loadRelations(namespace: string, signal: AbortSignal): Promise<Relations> {
  const kinds = listable.value.filter(({ namespaced, plural }) => namespaced && !LEFT_OUT.has(plural))
  // The same objects may be served by two groups.
  const chosen = kinds.filter((kind, i) => kinds.findIndex(other => other.plural === kind.plural && other.kind === kind.kind) === i)
  const hidden: string[] = []
  const lists = await Promise.all(
    chosen.map(kind =>
      get<{ items: KubeObject[] }>(`${listPath(kind, namespace)}?limit=${MAX_OBJECTS}`, {
        signal,
        ...(METADATA_ONLY.has(kind.plural) ? { accept: METADATA } : {}),
      }).then(
        ({ items }) =>
          items.map(
            (object): Item => ({
              id: object.metadata.uid!,
              kind,
              object,
              health: METADATA_ONLY.has(kind.plural) ? { tone: 'plain', text: '' } : healthOf(object),
            }),
          ),
        () => {
          hidden.push(kind.kind)
          return []
        },
      ),
    ),
  )
  const items = new Map(lists.flat().map(item => [item.id, item]))
  return { items, edges: edgesOf(items), hidden }
}

function edgesOf(items: ReadonlyMap<string, Item>): Edge[] {
  const edges: Edge[] = []
  const all = [...items.values()]
  const byName = new Map(all.map(item => [`${item.kind.kind}/${item.object.metadata.name}`, item]))
  const find = (kind: string, name: string | undefined) => (name ? byName.get(`${kind}/${name}`) : undefined)
  const pods = all.filter(({ kind }) => kind.group === '' && kind.plural === 'pods')
  const link = (from: Item, to: Item | undefined, type: EdgeType) => {
    if (to && to !== from && !edges.some(edge => edge.from === from.id && edge.to === to.id)) edges.push({ from: from.id, to: to.id, type })
  }
  for (const item of all) {
    const { object } = item
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owner = items.get(uid)
      if (owner) link(owner, item, 'owns')
    }
    const spec = object['spec'] ?? {}
    const selector =
      spec.podSelector ??
      (item.kind.plural === 'services'
        ? spec.selector && { matchLabels: spec.selector }
        : item.kind.plural === 'poddisruptionbudgets'
          ? spec.selector
          : undefined)
    if (selector) for (const pod of pods) if (fits(selector, pod.object.metadata.labels ?? {})) link(item, pod, 'selects')
    if (spec.scaleTargetRef) link(item, find(spec.scaleTargetRef.kind, spec.scaleTargetRef.name), 'scales')
    for (const name of backendsOf(spec)) link(item, find('Service', name), 'routes to')
    // A pod of a workload uses what its template says: the workload is named once, not each pod.
    const template = spec.template?.spec ?? spec.jobTemplate?.spec?.template?.spec ?? (spec.containers ? spec : undefined)
    const isOwned = (object.metadata.ownerReferences ?? []).some(({ uid }) => items.has(uid))
    if (template && !isOwned) for (const [kind, name] of usedBy(template)) link(item, find(kind, name), 'uses')
    for (const { resourceClaimName } of object['status']?.resourceClaimStatuses ?? [])
      link(item, find('ResourceClaim', resourceClaimName), 'uses')
  }
  return edges
}

type Selector = { matchLabels?: Record<string, string>; matchExpressions?: { key: string; operator: string; values?: string[] }[] }

export function fits({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      if (operator === 'In') return value !== undefined && values.includes(value)
      return value === undefined || !values.includes(value)
    })
  )
}

function backendsOf(spec: any): string[] {
  const rules = Array.isArray(spec.rules) ? spec.rules : []
  return [
    spec.defaultBackend?.service?.name,
    ...rules.flatMap((rule: any) => (rule?.http?.paths ?? []).map((path: any) => path?.backend?.service?.name)),
  ].filter(Boolean)
}

/** Config maps, secrets, claims and the service account that a pod's spec names. */
function usedBy(spec: any): [string, string][] {
  const found: [string, string | undefined][] = [['ServiceAccount', spec.serviceAccountName]]
  for (const volume of spec.volumes ?? []) {
    found.push(
      ['ConfigMap', volume.configMap?.name],
      ['Secret', volume.secret?.secretName],
      ['PersistentVolumeClaim', volume.persistentVolumeClaim?.claimName],
    )
    for (const source of volume.projected?.sources ?? []) found.push(['ConfigMap', source.configMap?.name], ['Secret', source.secret?.name])
  }
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    for (const { configMapRef, secretRef } of container.envFrom ?? [])
      found.push(['ConfigMap', configMapRef?.name], ['Secret', secretRef?.name])
    for (const { valueFrom } of container.env ?? [])
      found.push(['ConfigMap', valueFrom?.configMapKeyRef?.name], ['Secret', valueFrom?.secretKeyRef?.name])
  }
  for (const { name } of spec.imagePullSecrets ?? []) found.push(['Secret', name])
  for (const { resourceClaimName } of spec.resourceClaims ?? []) found.push(['ResourceClaim', resourceClaimName])
  return found.filter((one): one is [string, string] => one[1] !== undefined && one[1] !== 'default' && one[1] !== 'kube-root-ca.crt')
}

/** References that lead out of the namespace: the node, the volume, the devices. */
export function outsideOf({ object }: Item): { readonly kind: Kind | undefined; readonly title: string; readonly name: string }[] {
  const { spec = {}, status = {} } = object
  const found = []
  if (spec.nodeName) found.push({ kind: findKind('', 'nodes'), title: 'runs on', name: spec.nodeName as string })
  if (spec.volumeName) found.push({ kind: findKind('', 'persistentvolumes'), title: 'bound to', name: spec.volumeName as string })
  if (spec.storageClassName)
    found.push({ kind: findKind('storage.k8s.io', 'storageclasses'), title: 'of class', name: spec.storageClassName as string })
  for (const { driver, pool, device } of status.allocation?.devices?.results ?? [])
    found.push({ kind: undefined, title: 'holds device', name: `${driver}/${pool}/${device}` })
  return found
}
