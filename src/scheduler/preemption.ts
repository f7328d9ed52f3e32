/**
 * Makes room for a pod by deleting less important ones: finds the nodes on which that helps, on each as few and as unimportant
 * pods as possible, and takes the node where the least is lost. Nothing is changed here.
 */
import type { PodDisruptionBudget } from '../kinds/policy/poddisruptionbudget.ts'
import { type Diagnosis, describe, type NodeRejection } from './diagnosis.ts'
import type { NodeInfo } from './node-info.ts'
import type { Nominations } from './nominations.ts'
import { type Cycle, unresolvable } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import { copyFilters, type NamedFilter, testNode } from './schedule-pod.ts'
import { selectorOf } from './selector.ts'

export type Budget = PodDisruptionBudget

/** Pods that leave together: a pod on its own, or those of a group that is not disrupted in part. */
export type Unit = {
  readonly pods: readonly PodInfo[]
  readonly priority: number
  /** Higher for larger things: 1 for a pod, 2 for a pod group, 3 for a composite one. */
  readonly rank: number
}

export type PreemptionParts = {
  readonly nominations: Nominations
  readonly random: () => number
  /** Milliseconds: pods that have not started are taken to start now. */
  readonly now: number
  readonly budgets: Iterable<Budget>
  readonly args: PreemptionArgs
  /** The units that have pods on a node; without it every pod is one. */
  readonly unitsOn?: ((node: NodeInfo) => Iterable<Unit>) | undefined
}

export type Preemption =
  | {
      readonly type: 'victims'
      readonly node: string
      readonly victims: readonly PodInfo[]
      readonly violations: number
      readonly message: string
    }
  /** `keeps`: the pod stays nominated where it is, because room is being made already. */
  | { readonly type: 'none'; readonly keeps: boolean; readonly message: string }

/** How many nodes are worth comparing. */
export type PreemptionArgs = { readonly minCandidateNodesPercentage: number; readonly minCandidateNodesAbsolute: number }

export const DEFAULT_PREEMPTION: PreemptionArgs = { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 }

const NOT_HELPFUL = unresolvable('Preemption is not helpful for scheduling')
const NO_VICTIMS = { ...unresolvable('No preemption victims found for incoming pod'), plugin: 'DefaultPreemption' }

/** A pod that no node fits, with the reasons. */
export type Rejected = { readonly diagnosis: Diagnosis; readonly filters: readonly NamedFilter[] }

export function preempt(cycle: Cycle, rejected: Rejected, parts: PreemptionParts): Preemption {
  const candidates = candidatesFor(cycle, rejected, parts)
  return Array.isArray(candidates) ? victimsAmong(candidates, parts.now) : candidates
}

/** The nodes on which preemption helps; the outcome when there are none. */
export function candidatesFor(
  cycle: Cycle,
  { diagnosis, filters }: Rejected,
  parts: PreemptionParts,
): Candidate[] | Extract<Preemption, { type: 'none' }> {
  const ineligible = whyNot(cycle, diagnosis)
  if (ineligible) return { type: 'none', keeps: true, message: `preemption: ${ineligible}` }
  const { cluster } = cycle
  const nodes = [...diagnosis.byNode].flatMap(([name, { isUnresolvable }]) => (isUnresolvable ? [] : (cluster.node(name) ?? [])))
  const { candidates, byNode } = findCandidates(nodes, cycle, { ...parts, filters })
  if (candidates.length > 0) return candidates
  const text = describe({ nodes: cluster.nodes.length, byNode, others: NOT_HELPFUL })
  return { type: 'none', keeps: false, message: `preemption: ${text}` }
}

/** Takes the candidate where the least is lost. */
export function victimsAmong(candidates: readonly Candidate[], now: number): Preemption {
  const { node, victims, violations } = bestCandidate(candidates, now)
  const message = `preemption: found a potential placement for pod on node ${node}, preempting ${victims.length} victims`
  return { type: 'victims', node, victims, violations, message }
}

/** Why the pod may not take the place of others, if it may not. */
function whyNot({ pod, info, cluster }: Cycle, { byNode, general, others }: Diagnosis): string | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.'
  const node = cluster.node(info.nominatedNodeName)
  if (!node) return undefined
  const status = byNode.get(node.name) ?? general ?? others
  if (status === undefined || status.isUnresolvable) return undefined
  for (const other of node.pods.values())
    if (other.isPreempted && other.priority < info.priority) return 'not eligible due to a terminating pod on the nominated node.'
  return undefined
}

/** A node on which the pod fits once some pods are gone, and how many disruption budgets that violates. */
export type Candidate = { readonly node: string; readonly victims: readonly PodInfo[]; readonly violations: number }
type Trial = PreemptionParts & { readonly filters: readonly NamedFilter[] }

function findCandidates(nodes: readonly NodeInfo[], cycle: Cycle, trial: Trial) {
  const candidates: Candidate[] = []
  const byNode = new Map<string, NodeRejection>()
  const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: least } = trial.args
  const enough = Math.min(Math.max(Math.floor((nodes.length * percentage) / 100), least), nodes.length)
  const offset = Math.floor(trial.random() * nodes.length)
  const budgets = nodes.length === 0 ? [] : [...trial.budgets]
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[(offset + i) % nodes.length]!
    const found = selectVictims(node, cycle, { ...trial, budgets })
    if ('reasons' in found) byNode.set(node.name, found)
    else if (found.victims.length > 0) candidates.push(found)
    if (candidates.length >= enough && candidates.some(({ violations }) => violations === 0)) break
  }
  return { candidates, byNode }
}

/** The pods that must leave a node: of those that could, all are kept that the pod fits beside, the most important first. */
function selectVictims(
  original: NodeInfo,
  { info: pod, cluster }: Cycle,
  { filters: given, nominations, budgets, now, unitsOn }: Trial,
): Candidate | NodeRejection {
  const lesser = unitsOn ? [...unitsOn(original)].filter(({ priority }) => priority < pod.priority) : podsBelow(pod.priority, original)
  if (lesser.length === 0) return NO_VICTIMS
  const node = original.copy()
  const filters = copyFilters(given)
  const move = ({ pods }: Unit, sign: 1 | -1) => {
    for (const other of pods) {
      const isHere = other.nodeName === node.name
      if (isHere && sign > 0) node.add(other)
      else if (isHere) node.remove(other.uid)
      // Pods of a group on other nodes leave as well, but the room there is of no use here.
      const where = isHere ? node : cluster.node(other.nodeName)
      if (where) for (const { filter } of filters) filter.adjust?.(other, where, sign)
    }
  }
  const rejection = () => testNode(node, { filters, pod, nominations })
  for (const unit of lesser) move(unit, -1)
  const failed = rejection()
  if (failed) return failed
  const victims: Unit[] = []
  const isKept = (unit: Unit): boolean => {
    move(unit, 1)
    if (!rejection()) return true
    move(unit, -1)
    victims.push(unit)
    return false
  }
  lesser.sort((a, b) => byImportance(a, b, now))
  const counts = violationsOf(lesser, budgets)
  let violations = 0
  for (let i = 0; i < lesser.length; i++) if (counts[i]! > 0 && !isKept(lesser[i]!)) violations += counts[i]!
  for (let i = 0; i < lesser.length; i++) if (counts[i] === 0) isKept(lesser[i]!)
  return { node: node.name, victims: victims.sort((a, b) => byImportance(a, b, now)).flatMap(({ pods }) => pods), violations }
}

/** The pods of a node that are less important, each on its own. */
function podsBelow(priority: number, { pods }: NodeInfo): Unit[] {
  const units: Unit[] = []
  for (const pod of pods.values()) if (pod.priority < priority) units.push({ pods: [pod], priority: pod.priority, rank: 1 })
  return units
}

/** The most important first: by priority, then groups before pods, larger groups before smaller ones, then those that have run longer. */
export const byImportance = (a: Unit, b: Unit, now: number): number =>
  b.priority - a.priority || b.rank - a.rank || b.pods.length - a.pods.length || begunAt(a, now) - begunAt(b, now)

function begunAt({ pods }: Unit, now: number): number {
  let first = pods[0]?.startedAt ?? now
  for (let i = 1; i < pods.length; i++) first = Math.min(first, pods[i]!.startedAt ?? now)
  return first
}

/** How many pods of each unit a disruption budget protects, given that those before them are deleted. */
export function violationsOf(units: readonly Unit[], budgets: Iterable<Budget>): number[] {
  const allowances = [...budgets].map(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    selector: selectorOf(spec.selector),
    disrupted: status.disruptedPods ?? {},
    allowed: status.disruptionsAllowed ?? 0,
  }))
  return units.map(({ pods }) => {
    if (allowances.length === 0) return 0
    let count = 0
    for (const pod of pods) if (isProtected(pod)) count++
    return count
  })

  function isProtected({ namespace, name, labels }: PodInfo): boolean {
    if (Object.keys(labels).length === 0) return false
    for (const allowance of allowances) {
      const { selector, disrupted } = allowance
      if (allowance.namespace !== namespace || selector.isEmpty || !selector.matches(labels) || Object.hasOwn(disrupted, name)) continue
      if (--allowance.allowed < 0) return true
    }
    return false
  }
}

/** Where the least is lost: one measure after another decides, as long as nodes are equal by those before it. */
function bestCandidate(candidates: readonly Candidate[], now: number): Candidate {
  const measures: ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    ({ victims }) => victims[0]!.priority,
    // Priorities may be negative, and even then more victims are worse.
    ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
    ({ victims }) => victims.length,
    ({ victims }) =>
      -Math.min(...victims.filter(({ priority }) => priority === victims[0]!.priority).map(({ startedAt = now }) => startedAt)),
  ]
  let left = candidates
  for (const measure of measures) {
    if (left.length === 1) break
    const least = Math.min(...left.map(measure))
    left = left.filter(candidate => measure(candidate) === least)
  }
  // Those whose budgets allow it come first.
  return left[0]!
}
