/** The interface of scheduler plugins: they filter nodes for a pod, score the remaining ones, and tell when to try again. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Cluster } from './cluster.ts'
import type { ClusterEvent, EventName } from './cluster-event.ts'
import type { Lookups } from './lookups.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { PodRequests } from './resources.ts'

/** Why a pod cannot be on a node. */
export type Rejection = {
  readonly reasons: readonly string[]
  /** Whether taking other pods off the node cannot change that. */
  readonly isUnresolvable: boolean
}

/** The node could fit if other pods left it. */
export const unschedulable = (...reasons: readonly string[]): Rejection => ({ reasons, isUnresolvable: false })
/** The node cannot fit, whichever pods leave it. */
export const unresolvable = (...reasons: readonly string[]): Rejection => ({ reasons, isUnresolvable: true })

/** One attempt to place one pod. */
export type Cycle = {
  readonly pod: Pod
  readonly info: PodInfo
  readonly cluster: Cluster
  readonly lookups: Lookups
  /** State that a plugin hands from one of its functions to another, by the name of the plugin. */
  readonly state: Map<string, unknown>
  /** State that the attempts for all pods of a group share; undefined for a pod on its own. */
  readonly shared?: Map<string, unknown>
}

/** The test of nodes for one pod. */
export interface NodeFilter {
  /** Undefined when the pod can be on the node. */
  test(node: NodeInfo): Rejection | undefined
  /** The only nodes that can pass, where that is known beforehand. */
  readonly names?: ReadonlySet<string>
  /** The same, to try something out with `adjust`; needed by those that look at more than the node. */
  copy?(): NodeFilter
  /** Takes in that a pod comes to a node or leaves it. */
  adjust?(pod: PodInfo, node: NodeInfo, sign: 1 | -1): void
}

/** The scores of nodes for one pod: any numbers, which `normalize` turns into 0 to 100 where they are not yet. */
export interface NodeScorer {
  score(node: NodeInfo): number
  normalize?(scores: number[], nodes: readonly NodeInfo[]): void
}

/** Whether a change can make a difference to a pod that the plugin has rejected. */
export type QueueingHint = (pod: Pod, event: ClusterEvent, context: Pick<Cycle, 'cluster' | 'lookups'>) => boolean

/** A reservation of a plugin for a pod, from the moment its node is chosen. */
export interface Reservation {
  /** The requests of the pod once it is on the node, where the reservation adds to them. */
  readonly requests?: PodRequests | undefined
  /** Whether nothing has to happen before the binding, so that `prepare` does nothing. */
  readonly isReady?: boolean
  /**
   * Makes the writes that have to precede the binding. Throws when the pod cannot be bound: it is tried again. Resolves to milliseconds
   * when something else has to happen first: it is called again after that time, or earlier when a claim of the pod changes.
   */
  prepare(): Promise<number | undefined>
  /** Takes the reservation back before `prepare` was called: the node was only tried out. */
  withdraw(): void
  /** Gives back everything that was reserved or written: the pod will not be bound. */
  release(): Promise<void>
}

/** A pod on its node, with whatever plugins have reserved for it there. */
export function placedOn(node: string, info: PodInfo, reservations: readonly { readonly reservation: Reservation }[]): PodInfo {
  let placed = { ...info, nodeName: node }
  for (const { reservation } of reservations) if (reservation.requests) placed = { ...placed, ...reservation.requests }
  return placed
}

/** The message and the write of a plugin for a pod that no node fits. */
export type PostFilterResult = { readonly message: string; readonly write: () => Promise<void> }

/** The same for the pods of a group that does not fit. */
export type GroupPostFilterResult = { readonly message: string; readonly writes: readonly (() => Promise<void>)[] }

/** A plugin cannot decide about a pod because of inconsistent objects. The pod is tried again after a delay. */
export class PluginError extends Error {}

export type Plugin = {
  readonly name: string
  /**
   * Whether the filter and the unnormalized scores depend on nothing but the node with its pods and the room that the pod takes
   * (`roomOf`): they are kept for the next such pod until the node changes.
   */
  readonly isLocal?: boolean
  /** Whether the filter is asked about a pod that has a node and waits there for more room; the others have decided before. */
  readonly seesResizes?: boolean
  /** Whether a pod cannot be tried yet. It waits, without a report, for one of the events in the queueing hints. */
  readonly gate?: (pod: Pod, lookups: Lookups) => boolean
  /** Undefined when the plugin does not apply to the pod; a rejection when no node can fit. */
  readonly filter?: (cycle: Cycle) => NodeFilter | Rejection | undefined
  /** Undefined when it makes no difference between nodes. */
  readonly score?: (cycle: Cycle, nodes: readonly NodeInfo[]) => NodeScorer | undefined
  /** The weight of its scores in the default profile. */
  readonly weight?: number
  /** Called when there is no node for the pod. */
  readonly postFilter?: (cycle: Cycle) => PostFilterResult | undefined
  /** Called with the attempts for the pods of a group that does not fit, and whether the group has pods with a node. */
  readonly groupPostFilter?: (cycles: readonly Cycle[], group: { readonly isAnyPlaced: boolean }) => GroupPostFilterResult
  /** Called when a node is chosen. Undefined when nothing has to be done before the pod is bound. */
  readonly reserve?: (cycle: Cycle, node: string) => Reservation | undefined
  /** The events that may help pods that the plugin has rejected. */
  readonly queueingHints?: { readonly [E in EventName]?: QueueingHint }
}

export const MAX_SCORE = 100

/** Every event of that name is worth another attempt. */
export const always: QueueingHint = () => true

export const isRejection = (result: NodeFilter | Rejection): result is Rejection => 'reasons' in result

/** Scales scores so that the highest becomes the maximum; `reversed` makes the lowest the best. */
export function scaleToMax(scores: number[], { reversed = false }: { readonly reversed?: boolean } = {}): void {
  const highest = Math.max(0, ...scores)
  for (const [i, score] of scores.entries()) {
    const scaled = highest === 0 ? 0 : Math.trunc((MAX_SCORE * score) / highest)
    scores[i] = reversed ? MAX_SCORE - scaled : scaled
  }
}
