/** What a plugin of the scheduler is: rules that filter nodes for a pod, score those that are left, and say when to try again. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Cluster } from './cluster.ts'
import type { ClusterEvent, EventName } from './cluster-event.ts'
import type { Lookups } from './lookups.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

/** Why a pod cannot be on a node. */
export type Rejection = {
  readonly reasons: readonly string[]
  /** Whether taking other pods off the node cannot change that. */
  readonly isUnresolvable: boolean
}

/** Others that go may make room. */
export const unschedulable = (...reasons: readonly string[]): Rejection => ({ reasons, isUnresolvable: false })
/** Whoever goes, nothing changes. */
export const unresolvable = (...reasons: readonly string[]): Rejection => ({ reasons, isUnresolvable: true })

/** One attempt to place one pod. */
export type Cycle = {
  readonly pod: Pod
  readonly info: PodInfo
  readonly cluster: Cluster
  readonly lookups: Lookups
  /** What plugins keep from one of their parts for another, by their names. */
  readonly state: Map<string, unknown>
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

/** What a plugin holds for a pod from the moment its node is chosen. */
export interface Reservation {
  /**
   * Writes what has to be written before the pod is bound. Throws when the pod cannot be bound: it is tried again. When something
   * else has to happen before, it says after how many milliseconds it is to be asked again, and earlier when a claim of the pod changes.
   */
  prepare(): Promise<number | undefined>
  /** The pod will not be bound: what was held or written for it is given back. */
  release(): Promise<void>
}

/** What a plugin does for a pod that has no node: what it says about that, and writes. */
export type PostFilterResult = { readonly message: string; readonly write: () => Promise<void> }

/** A plugin cannot decide about a pod: something is wrong with what it looked at. The pod is tried again after a while. */
export class PluginError extends Error {}

export type Plugin = {
  readonly name: string
  /** Whether a pod cannot be tried yet. It waits, without a word, for one of the changes that the plugin asks for. */
  readonly gate?: (pod: Pod, lookups: Lookups) => boolean
  /** Undefined when the plugin has nothing to say about the pod; a rejection when there is no node for it at all. */
  readonly filter?: (cycle: Cycle) => NodeFilter | Rejection | undefined
  /** Undefined when it makes no difference between nodes. */
  readonly score?: (cycle: Cycle, nodes: readonly NodeInfo[]) => NodeScorer | undefined
  readonly weight?: number
  /** Called when there is no node for the pod. */
  readonly postFilter?: (cycle: Cycle) => PostFilterResult | undefined
  /** Called when a node is chosen. Undefined when nothing has to be done before the pod is bound. */
  readonly reserve?: (cycle: Cycle, node: string) => Reservation | undefined
  /** The changes that are worth a look for pods that it has rejected. */
  readonly queueingHints?: { readonly [E in EventName]?: QueueingHint }
}

export const MAX_SCORE = 100

/** Whatever happened, it is worth another try. */
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
