/** The part of a pod that scheduling decisions need. */

import type { Pod } from '../kinds/core/pod/pod.ts'
import type { PodAffinityTerm } from '../kinds/rules/pod/scheduling/affinity.ts'
import { type HostPort, hostPortsOf } from '../kinds/rules/pod/scheduling/host-ports.ts'
import type { PodSpec } from '../kinds/rules/pod/spec.ts'
import { millisecondsAt } from '../lib/time.ts'
import { conditionOf } from '../schema/conditions.ts'
import { type PodRequests, requestsOf } from './resources.ts'
import { type Labels, type Selector, selectorOf } from './selector.ts'

/** Pods that a pod wants near, or far: those in the namespaces that the selector selects. */
export type AffinityTerm = {
  readonly topologyKey: string
  readonly selector: Selector
  readonly namespaces: ReadonlySet<string>
  /** Namespaces by their labels, beside those that are named. */
  readonly namespaceSelector: Selector
}
export type WeightedTerm = AffinityTerm & { readonly weight: number }

/** The rules of a pod about which pods to be near to or away from. */
export type PodAffinity = {
  /** The same for pods with the same rules, so that these are evaluated once. */
  readonly key: string
  readonly required: readonly AffinityTerm[]
  readonly requiredAnti: readonly AffinityTerm[]
  readonly preferred: readonly WeightedTerm[]
  readonly preferredAnti: readonly WeightedTerm[]
}

export type PodInfo = PodRequests & {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly labels: Labels
  readonly nodeName: string
  readonly nominatedNodeName: string
  readonly priority: number
  readonly schedulerName: string
  /** The pod group that it names; empty for none. */
  readonly group: string
  readonly ports: readonly HostPort[]
  readonly affinity: PodAffinity | undefined
  /** Claims in its namespace that it uses, those made for it among them. */
  readonly claims: readonly string[]
  /** Volumes that cannot be shared freely, if it has any. */
  readonly disks: readonly Disk[]
  readonly isTerminating: boolean
  /** Whether it has a node and waits there for more room. */
  readonly isResizeDeferred: boolean
  /** Whether it ends because another one was given its place. */
  readonly isPreempted: boolean
  /** Milliseconds; undefined for a pod that has not started. */
  readonly startedAt: number | undefined
}

export type Disk = Pick<NonNullable<PodSpec['volumes']>[number], 'gcePersistentDisk' | 'awsElasticBlockStore' | 'iscsi' | 'rbd'>

/** `withClaims`: its requests are those together with the devices of its claims. */
export function podInfoOf(pod: Pod, { withClaims = false } = {}): PodInfo {
  const { metadata, spec, status } = pod
  const { namespace = '', name = '', uid = '', labels = {}, deletionTimestamp } = metadata
  const volumes = spec.volumes ?? []
  return {
    uid,
    namespace,
    name,
    labels,
    nodeName: spec.nodeName ?? '',
    nominatedNodeName: status.nominatedNodeName ?? '',
    priority: spec.priority ?? 0,
    schedulerName: spec.schedulerName ?? '',
    group: spec.schedulingGroup?.podGroupName ?? '',
    ...requestsOf(pod, { withClaims }),
    ports: hostPortsOf(spec),
    affinity: podAffinityOf(pod),
    claims: volumes.length === 0 ? NONE : volumes.flatMap(volume => claimNameOf(volume, name) ?? []),
    disks: volumes.length === 0 ? NONE : volumes.filter(isExclusive),
    isTerminating: deletionTimestamp !== undefined,
    isResizeDeferred: isResizeDeferred(pod),
    isPreempted: deletionTimestamp !== undefined && wasPreempted(pod),
    startedAt: status.startTime === undefined ? undefined : millisecondsAt(status.startTime),
  }
}

const NONE: readonly never[] = []

/** Whether a pod has a node that would let it have more resources if there were room. */
export const isResizeDeferred = ({ spec, status }: Pod): boolean =>
  Boolean(spec.nodeName) && conditionOf(status.conditions, 'PodResizePending')?.reason === 'Deferred'

/** The claim behind a volume: one that is named, or the one that is made for the pod. */
export function claimNameOf(
  { name, persistentVolumeClaim, ephemeral }: NonNullable<PodSpec['volumes']>[number],
  pod: string,
): string | undefined {
  return persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod}-${name}` : undefined)
}

/** Whether a volume is of the kinds that several pods of a node cannot always have at once. */
const isExclusive = ({ gcePersistentDisk, awsElasticBlockStore, iscsi, rbd }: Disk): boolean =>
  (gcePersistentDisk ?? awsElasticBlockStore ?? iscsi ?? rbd) !== undefined

const wasPreempted = ({ status: { conditions = [] } }: Pod): boolean => {
  const target = conditionOf(conditions, 'DisruptionTarget')
  return target?.status === 'True' && target.reason === 'PreemptionByScheduler'
}

/** The pod affinity rules of a pod; undefined when it has none. */
export function podAffinityOf({ metadata: { namespace = '' }, spec: { affinity } }: Pod): PodAffinity | undefined {
  const { podAffinity, podAntiAffinity } = affinity ?? {}
  if (!podAffinity && !podAntiAffinity) return undefined
  const terms = (given: readonly PodAffinityTerm[] | undefined) => (given ?? []).map(term => affinityTerm(term, namespace))
  const weighted = (given: readonly { weight: number; podAffinityTerm: PodAffinityTerm }[] | undefined) =>
    (given ?? []).map(({ weight, podAffinityTerm }) => ({ weight, ...affinityTerm(podAffinityTerm, namespace) }))
  return {
    key: JSON.stringify([namespace, podAffinity, podAntiAffinity]),
    required: terms(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAnti: terms(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferred: weighted(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAnti: weighted(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
  }
}

function affinityTerm({ labelSelector, namespaces = [], namespaceSelector, topologyKey }: PodAffinityTerm, own: string): AffinityTerm {
  return {
    topologyKey,
    selector: selectorOf(labelSelector),
    namespaces: new Set(namespaces.length === 0 && namespaceSelector === undefined ? [own] : namespaces),
    namespaceSelector: selectorOf(namespaceSelector),
  }
}

/** Whether a term means a pod. `namespaceLabels` are those of the namespace of the pod. */
export const termMatches = (
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  { namespace, labels }: Pick<PodInfo, 'namespace' | 'labels'>,
  namespaceLabels: Labels,
): boolean => (namespaces.has(namespace) || namespaceSelector.matches(namespaceLabels)) && selector.matches(labels)
