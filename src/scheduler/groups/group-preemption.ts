/**
 * Makes room for a whole group by deleting less important pods, wherever in the cluster they are: all of them are taken away in a
 * trial, the group is placed, and as many as possible are put back beside it, the most important first. Nothing is changed here.
 */
import type { PodDisruptionBudget } from '../../kinds/policy/poddisruptionbudget.ts'
import { monotonicMs } from '../../lib/environment.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import { byImportance, type Unit, violationsOf } from '../preemption.ts'
import { type GroupNode, priorityOf } from './pod-groups.ts'
import { type GroupParts, type GroupResults, placedIn, scheduleGroup, type WaitingPod } from './schedule-group.ts'
import { messageOfStatus, type Status } from './status.ts'
import type { Units } from './units.ts'

export type GroupPreemptionParts = GroupParts & {
  readonly units: Units
  readonly budgets: Iterable<PodDisruptionBudget>
  /** Milliseconds: pods that have not started are taken to start now. */
  readonly now: number
  /** Whether groups, and not their pods, say whether they preempt. */
  readonly hasPolicy: boolean
  /** Takes note of a choice of victims, and of the time that it took. */
  readonly onEvaluated?: (code: Status['code'], seconds: number) => void
}

/** `nominated`: the nodes of the pods that were placed, by uid. */
export type GroupPreemption =
  | {
      readonly type: 'victims'
      readonly victims: readonly PodInfo[]
      /** How many units that are groups, or pods of one, leave; and how many of the pods disruption budgets protect. */
      readonly units: number
      readonly violations: number
      readonly nominated: ReadonlyMap<string, string>
      readonly reason: string
    }
  | { readonly type: 'ongoing'; readonly nominated: ReadonlyMap<string, string>; readonly reason: string }
  | { readonly type: 'none'; readonly status: Status }

const NO_VICTIMS = 'No preemption victims found for incoming preemptor'

export function preemptForGroup(root: GroupNode, waiting: readonly WaitingPod[], parts: GroupPreemptionParts): GroupPreemption {
  const none = (code: Status['code'], ...reasons: readonly string[]): GroupPreemption => ({ type: 'none', status: { code, reasons } })
  if (isNever(root, waiting, parts.hasPolicy)) return none('unschedulable', 'not eligible due to preemptionPolicy=Never.')
  const priority = priorityOf(root)
  if (isUnderWay(waiting, priority, parts)) {
    const nominated = new Map(waiting.map(({ queued, pod }) => [queued.uid, pod.status.nominatedNodeName ?? '']))
    return { type: 'ongoing', nominated, reason: 'ongoing preemption on nominated nodes' }
  }
  const begun = monotonicMs()
  const preemption = evaluate(root, priority, parts)
  parts.onEvaluated?.(preemption.type === 'none' ? preemption.status.code : 'success', (monotonicMs() - begun) / 1000)
  return preemption
}

/** Chooses the victims. */
function evaluate(root: GroupNode, priority: number, parts: GroupPreemptionParts): GroupPreemption {
  const units = [...parts.units.in(parts.nodes)].filter(unit => unit.priority < priority)
  if (units.length === 0) return { type: 'none', status: { code: 'unresolvable', reasons: [NO_VICTIMS] } }
  const { trial } = parts
  const begin = trial.mark
  try {
    for (const { pods } of units) for (const pod of pods) trial.remove(pod)
    const empty = trial.mark
    const results: GroupResults = scheduleGroup(root, parts)
    const { status } = results.get(root.key)!
    if (status.code !== 'success') return { type: 'none', status: { code: status.code, reasons: [messageOfStatus(status)] } }
    const placed = placedIn(root, results)
    trial.revert(empty)
    const chosen = choose(units, { ...parts, isFitting: () => placed.every(each => trial.placeAgain(each)) })
    const nominated = new Map(placed.map(({ info }) => [info.uid, info.nodeName]))
    const { length } = chosen.victims
    return { type: 'victims', ...chosen, nominated, reason: `found a placement for podgroup, preempting ${length} victims` }
  } finally {
    trial.revert(begin)
  }
}

/** The pods that must leave: those of the units beside which the group does not fit. */
function choose(
  units: readonly Unit[],
  { trial, budgets, now, isFitting }: GroupPreemptionParts & { readonly isFitting: () => boolean },
): { readonly victims: readonly PodInfo[]; readonly units: number; readonly violations: number } {
  const sorted = [...units].sort((a, b) => byImportance(a, b, now))
  const counts = violationsOf(sorted, budgets)
  const inTurn = [...sorted.filter((_, i) => counts[i]! > 0), ...sorted.filter((_, i) => counts[i] === 0)]
  const victims = new Set<Unit>()
  for (const unit of inTurn) {
    for (const pod of unit.pods) trial.putBack(pod)
    const mark = trial.mark
    const isKept = isFitting()
    trial.revert(mark)
    if (isKept) continue
    for (const pod of unit.pods) trial.remove(pod)
    victims.add(unit)
  }
  let violations = 0
  for (const [i, unit] of sorted.entries()) if (victims.has(unit)) violations += counts[i]!
  return {
    victims: sorted.flatMap(unit => (victims.has(unit) ? unit.pods : [])),
    units: [...victims].filter(({ rank }) => rank > 1).length,
    violations,
  }
}

/** Whether the group may not take the place of others: it says so itself, or one of its pods does. */
function isNever({ object: { spec } }: GroupNode, waiting: readonly WaitingPod[], hasPolicy: boolean): boolean {
  return hasPolicy ? spec.preemptionPolicy === 'Never' : waiting.some(({ pod }) => pod.spec.preemptionPolicy === 'Never')
}

/** Whether pods are leaving a node already for which a pod of the group is nominated. */
function isUnderWay(waiting: readonly WaitingPod[], priority: number, { nodeOf, units }: GroupPreemptionParts): boolean {
  const names = new Set(waiting.flatMap(({ pod }) => pod.status.nominatedNodeName || []))
  const isLeaving = (node: NodeInfo | undefined) =>
    [...(node?.pods.values() ?? [])].some(pod => pod.isPreempted && units.priorityOf(pod) < priority)
  return [...names].some(name => isLeaving(nodeOf(name)))
}
