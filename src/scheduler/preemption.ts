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

export type PreemptionParts = {
  readonly nominations: Nominations
  readonly random: () => number
  /** Milliseconds: pods that have not started are taken to start now. */
  readonly now: number
  readonly budgets: Iterable<Budget>
}

export type Preemption =
  | { readonly type: 'victims'; readonly node: string; readonly victims: readonly PodInfo[]; readonly message: string }
  /** `keeps`: the pod stays nominated where it is, because room is being made already. */
  | { readonly type: 'none'; readonly keeps: boolean; readonly message: string }

/** How many nodes are worth comparing. */
const MIN_CANDIDATES = 100
const CANDIDATE_PERCENTAGE = 10

const NOT_HELPFUL = unresolvable('Preemption is not helpful for scheduling')
const NO_VICTIMS = { ...unresolvable('No preemption victims found for incoming pod'), plugin: 'DefaultPreemption' }

export function preempt(
  cycle: Cycle,
  { diagnosis, filters }: { readonly diagnosis: Diagnosis; readonly filters: readonly NamedFilter[] },
  parts: PreemptionParts,
): Preemption {
  const ineligible = whyNot(cycle, diagnosis)
  if (ineligible) return { type: 'none', keeps: true, message: `preemption: ${ineligible}` }
  const { cluster } = cycle
  const nodes = [...diagnosis.byNode].flatMap(([name, { isUnresolvable }]) => (isUnresolvable ? [] : (cluster.node(name) ?? [])))
  const { candidates, byNode } = findCandidates(nodes, cycle, { ...parts, filters })
  if (candidates.length === 0) {
    const text = describe({ nodes: cluster.nodes.length, byNode, others: NOT_HELPFUL })
    return { type: 'none', keeps: false, message: `preemption: ${text}` }
  }
  const { node, victims } = bestCandidate(candidates, parts.now)
  const message = `preemption: found a potential placement for pod on node ${node}, preempting ${victims.length} victims`
  return { type: 'victims', node, victims, message }
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

type Candidate = { readonly node: string; readonly victims: readonly PodInfo[]; readonly violations: number }
type Trial = PreemptionParts & { readonly filters: readonly NamedFilter[] }

function findCandidates(nodes: readonly NodeInfo[], { info }: Cycle, trial: Trial) {
  const candidates: Candidate[] = []
  const byNode = new Map<string, NodeRejection>()
  const enough = Math.min(Math.max(Math.floor((nodes.length * CANDIDATE_PERCENTAGE) / 100), MIN_CANDIDATES), nodes.length)
  const offset = Math.floor(trial.random() * nodes.length)
  const budgets = nodes.length === 0 ? [] : [...trial.budgets]
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[(offset + i) % nodes.length]!
    const found = selectVictims(node, info, { ...trial, budgets })
    if ('reasons' in found) byNode.set(node.name, found)
    else if (found.victims.length > 0) candidates.push(found)
    if (candidates.length >= enough && candidates.some(({ violations }) => violations === 0)) break
  }
  return { candidates, byNode }
}

/** The pods that must leave a node: of those that could, all are kept that the pod fits beside, the most important first. */
function selectVictims(original: NodeInfo, pod: PodInfo, { filters: given, nominations, budgets, now }: Trial): Candidate | NodeRejection {
  const lesser = [...original.pods.values()].filter(({ priority }) => priority < pod.priority)
  if (lesser.length === 0) return NO_VICTIMS
  const node = original.copy()
  const filters = copyFilters(given)
  const move = (other: PodInfo, sign: 1 | -1) => {
    if (sign > 0) node.add(other)
    else node.remove(other.uid)
    for (const { filter } of filters) filter.adjust?.(other, node, sign)
  }
  const rejection = () => testNode(node, { filters, pod, nominations })
  for (const other of lesser) move(other, -1)
  const failed = rejection()
  if (failed) return failed
  const victims: PodInfo[] = []
  const isKept = (other: PodInfo): boolean => {
    move(other, 1)
    if (!rejection()) return true
    move(other, -1)
    victims.push(other)
    return false
  }
  lesser.sort((a, b) => byImportance(a, b, now))
  const { protectedPods, others } = splitByBudget(lesser, budgets)
  let violations = 0
  for (const other of protectedPods) if (!isKept(other)) violations++
  for (const other of others) isKept(other)
  return { node: node.name, victims: victims.sort((a, b) => byImportance(a, b, now)), violations }
}

/** The most important first: by priority, then those that have run longer. */
const byImportance = (a: PodInfo, b: PodInfo, now: number): number => b.priority - a.priority || (a.startedAt ?? now) - (b.startedAt ?? now)

/** Pods whose deletion a disruption budget does not allow, given that those before them are deleted, and the rest. */
function splitByBudget(pods: readonly PodInfo[], budgets: Iterable<Budget>): { protectedPods: PodInfo[]; others: PodInfo[] } {
  const allowances = [...budgets].map(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    selector: selectorOf(spec.selector),
    disrupted: status.disruptedPods ?? {},
    allowed: status.disruptionsAllowed ?? 0,
  }))
  const split: { protectedPods: PodInfo[]; others: PodInfo[] } = { protectedPods: [], others: [] }
  for (const pod of pods) (isProtected(pod) ? split.protectedPods : split.others).push(pod)
  return split

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
