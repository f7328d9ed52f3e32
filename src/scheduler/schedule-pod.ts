/**
 * Finds a node for a pod: every plugin prepares its filter, the nodes that pass all filters are scored by every plugin, and the
 * best is taken. Nothing is changed and nothing is waited for.
 */
import type { Diagnosis, NodeRejection } from './diagnosis.ts'
import { type KeptResults, type LocalResults, roomOf } from './local-results.ts'
import type { NodeInfo } from './node-info.ts'
import type { Nominations } from './nominations.ts'
import { type Cycle, isRejection, type NodeFilter, type NodeScorer, type Plugin, type Rejection, unresolvable } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'

export type SchedulingParts = {
  readonly profile: Profile
  readonly nominations: Nominations
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** At which node the search begins, so that in large clusters every node has its turn; moved on by each search. */
  readonly rotation: { next: number }
  /** Whether others choose between the nodes that pass. */
  readonly isChosenByOthers?: boolean
  /** Results of earlier searches with the same profile. */
  readonly kept: KeptResults
  /** The only nodes that are looked at; all of them if that is not said. */
  readonly among?: readonly NodeInfo[]
}

export type NamedFilter = { readonly plugin: string; readonly filter: NodeFilter; readonly isLocal?: boolean }

export type Placement =
  | { readonly type: 'placed'; readonly node: string }
  | { readonly type: 'rejected'; readonly diagnosis: Diagnosis; readonly filters: readonly NamedFilter[] }
  | { readonly type: 'no nodes' }

/** Below so many nodes all are looked at; above, a share of them is enough. */
const MIN_FEASIBLE_NODES = 100
const MIN_PERCENTAGE = 5

export function schedulePod(cycle: Cycle, parts: SchedulingParts): Placement {
  const search = beginSearch(cycle, parts)
  if ('type' in search) return search
  const nominated = passingNominated(search)
  const feasible = nominated.length > 0 ? nominated : passingAll(search)
  return feasible.length > 0 ? { type: 'placed', node: bestOf(feasible, scoresOf(feasible, search), parts).name } : rejectionOf(search)
}

/** One search for a node. Others may have a say between its steps: about the nodes that pass, and about their scores. */
export type Search = {
  readonly filters: readonly NamedFilter[]
  /** The only nodes that can pass, and the plugins that restrict the pod to these. */
  readonly names: ReadonlySet<string> | undefined
  readonly restricting: readonly string[]
  /** Why nodes do not pass. */
  readonly byNode: Map<string, NodeRejection>
  readonly cycle: Cycle
  readonly parts: SchedulingParts
  /** The results on nodes that are known; undefined when none can be kept. */
  readonly results: LocalResults | undefined
}

/** Prepares the filters. A placement when it is decided already. */
export function beginSearch(cycle: Cycle, parts: SchedulingParts): Search | Placement {
  const { cluster } = cycle
  const nodes = (parts.among ?? cluster.nodes).length
  if (nodes === 0) return { type: 'no nodes' }
  const prepared = prepareFilters(cycle, parts.profile.filters)
  if ('general' in prepared)
    return { type: 'rejected', diagnosis: { nodes, byNode: new Map(), others: prepared.general, ...prepared }, filters: [] }
  const { filters, names, restricting } = prepared
  const room = roomOf(cycle)
  const results = room === undefined ? undefined : parts.kept.for(room)
  return { filters, names, restricting, byNode: new Map(), cycle, parts, results }
}

/** The node that the pod is nominated for, if it passes. */
export function passingNominated(search: Search): NodeInfo[] {
  const { cycle, parts } = search
  const nominated = cycle.cluster.node(cycle.info.nominatedNodeName)
  return nominated && isAmong(nominated, parts.among) ? passing([nominated], search) : []
}

/** The nodes that pass, or enough of them. */
export function passingAll(search: Search): NodeInfo[] {
  const { names, byNode, cycle, parts } = search
  const { cluster } = cycle
  const all = parts.among ?? cluster.nodes
  const named = names && [...names].flatMap(name => cluster.node(name) ?? [])
  const feasible = passing(named ? named.filter(node => isAmong(node, parts.among)) : all, search)
  parts.rotation.next = (parts.rotation.next + feasible.length + byNode.size) % all.length
  return feasible
}

/** The outcome when no node passes, with those that have rejected some without a reason. */
export function rejectionOf({ names, restricting, byNode, filters, cycle, parts }: Search, silent: readonly string[] = []): Placement {
  const rejectors = new Set([...silent, ...restricting, ...[...byNode.values()].map(({ plugin }) => plugin)])
  const others = names && unresolvable(`node(s) didn't satisfy plugin(s) [${restricting.join(' ')}]`)
  const { length: nodes } = parts.among ?? cycle.cluster.nodes
  const diagnosis = { nodes, byNode, rejectors, ...(others && { others }) }
  return { type: 'rejected', diagnosis, filters }
}

const isAmong = (node: NodeInfo, among: readonly NodeInfo[] | undefined): boolean => among === undefined || among.includes(node)

/** Why a pod cannot be on one node; undefined when it can. */
export function testPodOn(node: NodeInfo, cycle: Cycle, parts: Pick<SchedulingParts, 'profile' | 'nominations'>): Rejection | undefined {
  const prepared = prepareFilters(cycle, parts.profile.filters)
  if ('general' in prepared) return prepared.general
  if (prepared.names && !prepared.names.has(node.name)) return unresolvable('node is not among those that filters allow')
  return testNode(node, { filters: prepared.filters, pod: cycle.info, nominations: parts.nominations })
}

type Prepared =
  | { readonly filters: readonly NamedFilter[]; readonly names: ReadonlySet<string> | undefined; readonly restricting: readonly string[] }
  | { readonly general: Rejection; readonly rejectors: ReadonlySet<string> }

/** The filters that have something to say about the pod, and the nodes to which they restrict it beforehand. */
function prepareFilters(cycle: Cycle, plugins: readonly Plugin[]): Prepared {
  const filters: NamedFilter[] = []
  const restricting: string[] = []
  let names: ReadonlySet<string> | undefined
  const isResize = cycle.info.isResizeDeferred
  for (const { name: plugin, filter: prepare, isLocal = false, seesResizes } of plugins) {
    if (isResize && !seesResizes) continue
    const filter = prepare?.(cycle)
    if (!filter) continue
    if (isRejection(filter)) return { general: filter, rejectors: new Set([plugin]) }
    filters.push({ plugin, filter, isLocal })
    if (!filter.names) continue
    restricting.push(plugin)
    const only = filter.names
    names = names ? new Set([...names].filter(name => only.has(name))) : only
    if (names.size > 0) continue
    const which = [...restricting].sort()
    const reason = which.length === 1 ? `plugin ${which[0]}` : `plugin(s) [${which.join(' ')}] simultaneously`
    return { general: unresolvable(`node(s) didn't satisfy ${reason}`), rejectors: new Set(restricting) }
  }
  return { filters, names, restricting: restricting.sort() }
}

/** The nodes that pass all filters, or enough of them; the rejections of the others are noted. */
function passing(nodes: readonly NodeInfo[], { filters, byNode, cycle, parts, results }: Search): NodeInfo[] {
  const enough = enoughOf(nodes.length, parts)
  const feasible: NodeInfo[] = []
  const trial = { filters, pod: cycle.info, nominations: parts.nominations }
  const test = results ? keepingTest(trial, results) : (node: NodeInfo) => testNode(node, trial)
  for (let i = 0; i < nodes.length && feasible.length < enough; i++) {
    const node = nodes[(parts.rotation.next + i) % nodes.length]!
    const rejection = test(node)
    if (rejection) byNode.set(node.name, rejection)
    else feasible.push(node)
  }
  return feasible
}

/** Tests nodes by the results that are known, and keeps those that are not. */
function keepingTest(trial: NodeTrial, results: LocalResults): (node: NodeInfo) => NodeRejection | undefined {
  // Local filters are asked first. Those that come after others are asked with these, so that the first rejection is the same.
  const found = trial.filters.findIndex(({ isLocal }) => !isLocal)
  const split = found < 0 ? trial.filters.length : found
  const [local, others] = [trial.filters.slice(0, split), trial.filters.slice(split)]
  return node => {
    if (trial.nominations.isAnyOn(node.name)) return testNode(node, trial)
    if (!results.isKnown(node)) results.setRejection(node, runFilters(local, node))
    return results.rejection(node) ?? (others.length > 0 ? runFilters(others, node) : undefined)
  }
}

/** How many nodes that pass are enough; one, if nothing would choose between them. */
function enoughOf(nodes: number, { profile, isChosenByOthers }: SchedulingParts): number {
  const { scorers, percentageOfNodesToScore } = profile
  if (scorers.length === 0 && !isChosenByOthers) return 1
  if (nodes < MIN_FEASIBLE_NODES) return nodes
  const percentage = percentageOfNodesToScore || Math.max(50 - Math.floor(nodes / 125), MIN_PERCENTAGE)
  return Math.max(Math.floor((nodes * percentage) / 100), MIN_FEASIBLE_NODES)
}

export type NodeTrial = { readonly filters: readonly NamedFilter[]; readonly pod: PodInfo; readonly nominations: Nominations }

/**
 * Why the pod cannot be on a node; undefined when it can. Pods that are nominated for the node and are no less important must have
 * their room, but may also end up elsewhere: the pod must fit with them and without them.
 */
export function testNode(node: NodeInfo, { filters, pod, nominations }: NodeTrial): NodeRejection | undefined {
  let isTried = false
  let withThem = node
  let filtersWithThem = filters
  for (const other of nominations.on(node.name)) {
    if (other.priority < pod.priority || other.uid === pod.uid) continue
    if (!isTried) {
      withThem = node.copy()
      filtersWithThem = copyFilters(filters)
      isTried = true
    }
    withThem.add(other)
    for (const { filter } of filtersWithThem) filter.adjust?.(other, withThem, 1)
  }
  return (isTried ? runFilters(filtersWithThem, withThem) : undefined) ?? runFilters(filters, node)
}

export const copyFilters = (filters: readonly NamedFilter[]): NamedFilter[] =>
  filters.map(({ plugin, filter }) => ({ plugin, filter: filter.copy?.() ?? filter }))

function runFilters(filters: readonly NamedFilter[], node: NodeInfo): NodeRejection | undefined {
  for (const { plugin, filter } of filters) {
    const rejection = filter.test(node)
    if (rejection) return { plugin, ...rejection }
  }
  return undefined
}

/** A node with the highest score. */
export function bestOf(nodes: readonly NodeInfo[], totals: readonly number[], { random }: Pick<SchedulingParts, 'random'>): NodeInfo {
  if (nodes.length === 1) return nodes[0]!
  let highest = Number.NEGATIVE_INFINITY
  for (const total of totals) if (total > highest) highest = total
  const best = nodes.filter((_, i) => totals[i] === highest)
  return best[Math.floor(random() * best.length)]!
}

/** The sum of the weighted scores of each node. A single node needs none. */
export function scoresOf(nodes: readonly NodeInfo[], { cycle, parts, results }: Search): number[] {
  if (nodes.length === 1) return [0]
  const totals: number[] = Array(nodes.length).fill(0)
  const local: { readonly scorer: NodeScorer; readonly weight: number }[] = []
  for (const { plugin, weight } of parts.profile.scorers) {
    const { score: prepare, isLocal } = plugin
    const scorer = prepare?.(cycle, nodes)
    if (!scorer) continue
    if (isLocal && results && !scorer.normalize) {
      local.push({ scorer, weight })
      continue
    }
    const scores = nodes.map(node => scorer.score(node))
    scorer.normalize?.(scores, nodes)
    for (let i = 0; i < scores.length; i++) totals[i]! += scores[i]! * weight
  }
  if (results && local.length > 0) for (let i = 0; i < nodes.length; i++) totals[i]! += localScore(nodes[i]!, results, local)
  return totals
}

/** The sum of the scores that depend on the node alone. */
function localScore(
  node: NodeInfo,
  results: LocalResults,
  scorers: readonly { readonly scorer: NodeScorer; readonly weight: number }[],
): number {
  const known = results.score(node)
  if (known !== undefined) return known
  let score = 0
  for (const { scorer, weight } of scorers) score += scorer.score(node) * weight
  results.setScore(node, score)
  return score
}
