/**
 * Finds nodes for the pods of a group, all or nothing: the pods of a pod group are placed one after another in a trial, as long as
 * enough of them can still be placed. A constraint on topology makes that one trial for each domain, of which the best is taken. A
 * composite group does the same with its groups. A failed placement is taken back at once; a successful one stays.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { monotonicMs } from '../../lib/environment.ts'
import type { KnownAnswers } from '../extenders/known-answers.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import type { QueuedPod } from '../scheduling-queue.ts'
import { type Candidate, domainsOf, type NodeSet, scoresOf } from './placements.ts'
import { type GroupKey, type GroupNode, leavesOf, minCountOf, type PodGroupNode } from './pod-groups.ts'
import { errorOfStatus, errorStatus, feasibility, type Status, unschedulableGroup } from './status.ts'
import type { Placed, PodOutcome, Trial } from './trial.ts'

export type WaitingPod = { readonly queued: QueuedPod; readonly pod: Pod }

export type GroupParts = {
  readonly trial: Trial
  /** The pods of a pod group that wait for a node, in the order in which they are tried. */
  readonly waiting: (leaf: PodGroupNode) => readonly WaitingPod[]
  /** The pods of a pod group that have a node, or have just been given one. */
  readonly scheduled: (leaf: PodGroupNode) => readonly PodInfo[]
  readonly nodes: readonly NodeInfo[]
  readonly nodeOf: (name: string) => NodeInfo | undefined
  /** Whether topology constraints are obeyed. */
  readonly hasTopology: boolean
  /** The answers of extenders; undefined when there are no extenders. */
  readonly answers?: KnownAnswers | undefined
  /** Takes note of the domains that a pod group can be tried in, and of those in which it was. */
  readonly onDomains?: (count: number) => void
  readonly onTried?: (result: 'feasible' | 'infeasible', seconds: number) => void
}

/** The result for a group; the outcomes are those of the pods that were tried, in their order. */
export type GroupResult = { status: Status; readonly outcomes: readonly PodOutcome[]; isAnyPlaced: boolean }
export type GroupResults = Map<GroupKey, GroupResult>

/** The results for a hierarchy. If that of its root is a success, the pods are placed in the trial. Throws MissingAnswers as a trial does. */
export function scheduleGroup(root: GroupNode, parts: GroupParts): GroupResults {
  const results: GroupResults = new Map()
  const result = schedule(root, { nodes: undefined }, results, parts)
  if (result.status.code === 'success' && !result.isAnyPlaced) result.status = unschedulableGroup()
  return results
}

/** The pods that a hierarchy of results has placed: a group counts only if those above it have succeeded. */
export function placedIn(node: GroupNode, results: GroupResults): Placed[] {
  const result = results.get(node.key)
  if (result?.status.code !== 'success') return []
  const below = node.children.flatMap(child => placedIn(child, results))
  return [...below, ...result.outcomes.filter(outcome => outcome.type === 'placed')]
}

function schedule(node: GroupNode, within: NodeSet, results: GroupResults, parts: GroupParts): GroupResult {
  const result = parts.hasTopology ? scheduleInBestDomain(node, within, results, parts) : scheduleIn(node, within, results, parts)
  results.set(node.key, result)
  return result
}

const scheduleIn = (node: GroupNode, within: NodeSet, results: GroupResults, parts: GroupParts): GroupResult =>
  node.type === 'podgroup' ? schedulePods(node, within, parts) : scheduleGroups(node, within, results, parts)

/** Tries every domain that the group's constraint allows, and places the group in the best. */
function scheduleInBestDomain(node: GroupNode, within: NodeSet, results: GroupResults, parts: GroupParts): GroupResult {
  const { trial, nodes: allNodes, nodeOf } = parts
  const scheduled = [...leavesOf(node)].flatMap(leaf => parts.scheduled(leaf))
  const domains = domainsOf(node, within, { scheduled, nodeOf, allNodes })
  if (domains.type === 'error') return failed(errorStatus(domains.message))
  if (domains.sets.length === 0) return failed({ code: 'unschedulable', reasons: ['no feasible placements found'] })
  const isObserved = node.type === 'podgroup'
  if (isObserved) parts.onDomains?.(domains.sets.length)
  let first: { readonly result: GroupResult; readonly below: GroupResults } | undefined
  const found: (Candidate & { readonly result: GroupResult; readonly below: GroupResults })[] = []
  for (const set of domains.sets) {
    const begin = trial.mark
    const begun = monotonicMs()
    const below: GroupResults = new Map()
    const result = scheduleIn(node, set, below, parts)
    trial.revert(begin)
    if (result.status.code === 'error') return result
    below.set(node.key, result)
    first ??= { result, below }
    if (isObserved) parts.onTried?.(result.status.code === 'success' ? 'feasible' : 'infeasible', (monotonicMs() - begun) / 1000)
    if (result.status.code !== 'success') continue
    found.push({ result, below, nodes: set.nodes ?? allNodes, placed: placedIn(node, below).map(({ info }) => info) })
  }
  if (found.length === 0) {
    const { result, below } = first!
    const text = `0/${domains.sets.length} placements are available, first placement status: ${errorOfStatus(result.status)}`
    for (const [key, each] of below) results.set(key, each)
    result.status = unschedulableGroup(text)
    return result
  }
  const best = found.length === 1 ? found[0]! : bestOf(found, scheduled.length, trial.random)
  for (const placed of placedIn(node, best.below)) trial.assume(placed)
  for (const [key, each] of best.below) results.set(key, each)
  return best.result
}

function bestOf<C extends Candidate>(found: readonly C[], scheduled: number, random: () => number): C {
  const scores = scoresOf(found, scheduled)
  const highest = Math.max(...scores)
  const best = found.filter((_, i) => scores[i] === highest)
  return best[Math.floor(random() * best.length)]!
}

/** Places the pods of a pod group one after another. */
function schedulePods(leaf: PodGroupNode, { nodes: among }: NodeSet, { trial, waiting, scheduled, answers }: GroupParts): GroupResult {
  const begin = trial.mark
  const pods = waiting(leaf)
  const minCount = minCountOf(leaf)
  const progress = { scheduled: scheduled(leaf).length, remaining: pods.length }
  let status = feasibility(minCount, progress)
  if (status.code === 'unschedulable') return failed(unschedulableGroup(...status.reasons))
  const outcomes: PodOutcome[] = []
  let isAnyPlaced = false
  for (const { pod } of pods) {
    const outcome = trial.place(pod, { among, answers })
    outcomes.push(outcome)
    if (outcome.type === 'error') {
      status = errorStatus(`failed to schedule other pod from a pod group: ${outcome.message}`)
      break
    }
    progress.remaining--
    if (outcome.type === 'placed') progress.scheduled++
    status = feasibility(minCount, progress)
    if (status.code === 'unschedulable') break
    isAnyPlaced ||= outcome.type === 'placed'
  }
  return settled({ status, outcomes, isAnyPlaced }, begin, trial)
}

/** Places the groups of a composite group one after another. */
function scheduleGroups(
  node: Extract<GroupNode, { type: 'compositepodgroup' }>,
  within: NodeSet,
  results: GroupResults,
  parts: GroupParts,
): GroupResult {
  const { trial } = parts
  const begin = trial.mark
  const minCount = minCountOf(node)
  const progress = { scheduled: 0, remaining: node.children.length }
  let status = feasibility(minCount, progress)
  let isAnyPlaced = false
  for (const child of node.children) {
    if (status.code === 'unschedulable') break
    const result = schedule(child, within, results, parts)
    if (result.status.code === 'error') {
      trial.revert(begin)
      return failed(errorStatus(`composite pod group evaluation failed due to child error: ${errorOfStatus(result.status)}`))
    }
    isAnyPlaced ||= result.isAnyPlaced
    progress.remaining--
    if (result.status.code === 'success') progress.scheduled++
    status = feasibility(minCount, progress)
  }
  return settled({ status, outcomes: [], isAnyPlaced }, begin, trial)
}

const failed = (status: Status): GroupResult => ({ status, outcomes: [], isAnyPlaced: false })

/** The end of a trial: anything but a success is taken back. */
function settled(result: GroupResult, begin: number, trial: Trial): GroupResult {
  if (result.status.code === 'wait') result.status = unschedulableGroup(...result.status.reasons)
  if (result.status.code === 'success') return result
  trial.revert(begin)
  result.isAnyPlaced = false
  return result
}
