/** Computes the conditions, taints and labels of nodes whose kubelet is silent or reports trouble. */

import type { Node } from '../../kinds/core/node.ts'
import type { Taint } from '../../kinds/rules/taints.ts'
import { conditionOf, withCondition } from '../../schema/conditions.ts'

type Condition = NonNullable<NonNullable<Node['status']>['conditions']>[number]

const NOT_READY = 'node.kubernetes.io/not-ready'
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'

/** How long a kubelet may be silent before its node counts as lost, and how long one may take to report for the first time. */
export type Grace = { readonly monitorMs: number; readonly startupMs: number }

/** The taint that keeps new pods away, by condition and its status. */
const TAINT_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
}
const CONDITION_TAINTS = new Set([...Object.values(TAINT_OF).flatMap(keys => Object.values(keys)), UNSCHEDULABLE])

export const readyOf = (node: Node | undefined): Condition | undefined => conditionOf(node?.status?.conditions, 'Ready')

/** How long a node may be silent from when it was last heard of. */
export const graceOf = (node: Node, { monitorMs, startupMs }: Grace): number => (readyOf(node) ? monitorMs : startupMs)

/** Names the heartbeat of a node as a renewal, for clocks that are put forward. */
export const heartbeatOf = (name: string): string => `heartbeat of node ${name}`

/** Conditions of a node that was silent for too long; undefined when they say so already. */
export function silentConditions(node: Node, now: string): Condition[] | undefined {
  const { metadata, status } = node
  if (readyOf(node)?.status === 'Unknown') return undefined
  const unknown = (type: string): Condition => {
    const known = conditionOf(status?.conditions, type)
    if (known?.status === 'Unknown') return known
    const why = known
      ? { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }
      : { reason: 'NodeStatusNeverUpdated', message: 'Kubelet never posted node status.' }
    return {
      lastHeartbeatTime: metadata.creationTimestamp,
      ...known,
      type,
      status: 'Unknown',
      lastTransitionTime: now,
      ...why,
    } as Condition
  }
  return REPORTED_BY_KUBELET.reduce((conditions, type) => withCondition(conditions, unknown(type)), status?.conditions ?? [])
}
const REPORTED_BY_KUBELET = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** The taints of a node with the NoSchedule taints that its conditions require; undefined when nothing changes. */
export function schedulingTaints({ spec, status }: Node, now: string): Taint[] | undefined {
  const wanted = new Set((status?.conditions ?? []).flatMap(({ type, status }) => TAINT_OF[type]?.[status] ?? []))
  if (spec.unschedulable) wanted.add(UNSCHEDULABLE)
  return swapped(
    spec.taints ?? [],
    [...wanted].map(key => ({ key, effect: 'NoSchedule', timeAdded: now })),
    ({ key, effect }) => effect === 'NoSchedule' && CONDITION_TAINTS.has(key),
  )
}

/** The NoExecute taint of a node that is not ready or unreachable. */
export const evictionTaint = (node: Node): string | undefined => TAINT_OF['Ready']![readyOf(node)?.status ?? '']

/** The taints of a node with the given NoExecute taint of these, or none; undefined when nothing changes. */
export const evictingTaints = ({ spec }: Node, key: string | undefined, now: string): Taint[] | undefined =>
  swapped(
    spec.taints ?? [],
    key === undefined ? [] : [{ key, effect: 'NoExecute', timeAdded: now }],
    taint => taint.effect === 'NoExecute' && (taint.key === NOT_READY || taint.key === UNREACHABLE),
  )

/** Replaces the taints of this controller by the desired ones; taints that stay keep their time. */
function swapped(taints: readonly Taint[], wanted: readonly Taint[], isOurs: (taint: Taint) => boolean): Taint[] | undefined {
  const isWanted = ({ key }: Taint) => wanted.some(each => each.key === key)
  const kept = taints.filter(taint => !isOurs(taint) || isWanted(taint))
  const added = wanted.filter(({ key }) => !taints.some(taint => isOurs(taint) && taint.key === key))
  return kept.length === taints.length && added.length === 0 ? undefined : [...kept, ...added]
}

/** Labels of older names that follow those of today; undefined when they do. */
export function olderLabels({ metadata: { labels = {} } }: Node): Record<string, string> | undefined {
  const wanted: Record<string, string> = {}
  for (const label of ['os', 'arch']) {
    const value = labels[`kubernetes.io/${label}`]
    if (value !== undefined && labels[`beta.kubernetes.io/${label}`] !== value) wanted[`beta.kubernetes.io/${label}`] = value
  }
  return Object.keys(wanted).length > 0 ? wanted : undefined
}

/** Nodes of one zone fail together more often than not. */
export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const [region, zone] = ['region', 'zone'].map(
    part => labels[`failure-domain.beta.kubernetes.io/${part}`] ?? labels[`topology.kubernetes.io/${part}`] ?? '',
  )
  return `${region}/${zone}`
}

/** From this share of nodes that are not ready on, something is wrong with the zone rather than with its nodes. */
const UNHEALTHY_SHARE = 0.55
/** Zones with more nodes than this continue to evict pods then, but slowly. */
const LARGE_ZONE = 50
const PER_SECOND = 0.1
const SLOWLY_PER_SECOND = 0.01
const EXCLUDED = 'node.kubernetes.io/exclude-disruption'

/**
 * How many nodes of a zone may be tainted NoExecute in a second. None where no node at all is ready: then
 * it is likely that the network between them and here is broken, and pods are better left alone.
 */
export function evictionRate(zone: string, nodes: Iterable<Node>): number | 'all down' {
  let [ready, notReady, readyElsewhere] = [0, 0, 0]
  for (const node of nodes) {
    if (node.metadata.labels?.[EXCLUDED] !== undefined) continue
    const isReady = readyOf(node)?.status === 'True'
    if (zoneOf(node) !== zone) readyElsewhere += Number(isReady)
    else if (isReady) ready++
    else notReady++
  }
  if (ready + readyElsewhere === 0) return 'all down'
  if (ready > 0 && notReady > 2 && notReady / (notReady + ready) >= UNHEALTHY_SHARE)
    return ready + notReady > LARGE_ZONE ? SLOWLY_PER_SECOND : 0
  return PER_SECOND
}
