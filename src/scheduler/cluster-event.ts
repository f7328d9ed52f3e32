/** Changes that can make a pod fit that did not fit before, and which of them a changed object stands for. */
import type { Node } from '../kinds/core/node.ts'
import type { PersistentVolume } from '../kinds/core/persistentvolume.ts'
import type { PersistentVolumeClaim } from '../kinds/core/persistentvolumeclaim.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { DeviceClass } from '../kinds/resource/deviceclass.ts'
import type { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import type { CSIDriver } from '../kinds/storage/csidriver.ts'
import type { CSINode } from '../kinds/storage/csinode.ts'
import type { CSIStorageCapacity } from '../kinds/storage/csistoragecapacity.ts'
import type { StorageClass } from '../kinds/storage/storageclass.ts'
import { deepEqual } from '../lib/json-value.ts'
import { type PodInfo, podInfoOf } from './pod-info.ts'
import type { Resources } from './resources.ts'

/** The objects of events. `pod` is a pod on a node, `self` the waiting pod itself. */
type Objects = {
  readonly node: Node
  readonly pod: PodInfo
  readonly self: Pod
  readonly claim: PersistentVolumeClaim
  readonly volume: PersistentVolume
  readonly class: StorageClass
  readonly csiNode: CSINode
  readonly csiDriver: CSIDriver
  readonly capacity: CSIStorageCapacity
  readonly attachment: object
  readonly resourceClaim: ResourceClaim
  readonly deviceClass: DeviceClass
  readonly devices: object
}

type Names = {
  readonly node:
    | 'node added'
    | 'node labels'
    | 'node taints'
    | 'node allocatable'
    | 'node features'
    | 'node preemption policy'
    | 'node deleted'
  readonly pod: 'pod added' | 'pod labels' | 'pod scaled down' | 'pod scaled up' | 'pod deleted'
  readonly self: 'self labels' | 'self tolerations' | 'self scaled down' | 'self gates' | 'self claims' | 'self changed'
  readonly claim: 'claim added' | 'claim changed'
  readonly volume: 'volume added' | 'volume changed'
  readonly class: 'class added' | 'class changed'
  readonly csiNode: 'csiNode added' | 'csiNode changed'
  readonly csiDriver: 'csiDriver changed'
  readonly capacity: 'capacity added' | 'capacity changed'
  readonly attachment: 'attachment deleted'
  readonly resourceClaim: 'resourceClaim added' | 'resourceClaim changed' | 'resourceClaim deleted'
  readonly deviceClass: 'deviceClass changed'
  readonly devices: 'devices changed'
}

/** Added objects have no `before`, deleted objects no `after`. */
export type ClusterEvent = {
  [K in keyof Objects]: { readonly about: K; readonly name: Names[K]; readonly before?: Objects[K]; readonly after?: Objects[K] }
}[keyof Objects]
export type EventName = ClusterEvent['name']

/** The events of a changed node that can matter to waiting pods. */
export function nodeEvents(before: Node | undefined, after: Node | undefined): ClusterEvent[] {
  const event = (name: Names['node']): ClusterEvent => ({ about: 'node', name, ...(before && { before }), ...(after && { after }) })
  if (!before || !after) return [event(after ? 'node added' : 'node deleted')]
  const names: Names['node'][] = []
  if ((before.spec?.unschedulable && !after.spec?.unschedulable) || !deepEqual(before.spec?.taints, after.spec?.taints))
    names.push('node taints')
  if (!deepEqual(before.status?.allocatable, after.status?.allocatable)) names.push('node allocatable')
  if (!deepEqual(before.metadata.labels, after.metadata.labels)) names.push('node labels')
  if (!deepEqual(before.status?.declaredFeatures, after.status?.declaredFeatures)) names.push('node features')
  if (!deepEqual(before.spec?.podPreemptionPolicy, after.spec?.podPreemptionPolicy)) names.push('node preemption policy')
  return names.map(event)
}

/** The events of a changed pod on a node. */
export function podEvents(before: PodInfo | undefined, after: PodInfo | undefined): ClusterEvent[] {
  const event = (name: Names['pod']): ClusterEvent => ({ about: 'pod', name, ...(before && { before }), ...(after && { after }) })
  if (!before || !after) return [event(after ? 'pod added' : 'pod deleted')]
  const names: Names['pod'][] = []
  if (!deepEqual(before.labels, after.labels)) names.push('pod labels')
  if (isLess(after.requests, before.requests)) names.push('pod scaled down')
  if (isLess(before.requests, after.requests)) names.push('pod scaled up')
  return names.map(event)
}

/** The events of a waiting pod that was changed itself. */
export function selfEvents(before: Pod, after: Pod): ClusterEvent[] {
  const names: Names['self'][] = []
  if (!deepEqual(before.metadata.labels, after.metadata.labels)) names.push('self labels')
  if (isLess(podInfoOf(after).requests, podInfoOf(before).requests)) names.push('self scaled down')
  if (!after.spec.schedulingGates?.length && before.spec.schedulingGates?.length) names.push('self gates')
  if (after.spec.tolerations?.length !== before.spec.tolerations?.length) names.push('self tolerations')
  if (!deepEqual(before.status.resourceClaimStatuses, after.status.resourceClaimStatuses)) names.push('self claims')
  if (names.length === 0) names.push('self changed')
  return names.map(name => ({ about: 'self', name, before, after }))
}

/** Whether any amount is smaller. */
function isLess(a: Resources, b: Resources): boolean {
  if (a.cpu < b.cpu || a.memory < b.memory || a.ephemeralStorage < b.ephemeralStorage) return true
  for (const [name, amount] of b.scalars) if ((a.scalars.get(name) ?? 0) < amount) return true
  return false
}
