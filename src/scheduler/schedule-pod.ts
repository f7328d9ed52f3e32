/**
 * Finds a node for a pod: every plugin prepares its filter, the nodes that pass all filters are scored by every plugin, and the
 * best is taken. Nothing is changed and nothing is waited for.
 */
import type { Diagnosis, NodeRejection } from './diagnosis.ts'
import type { NodeInfo } from './node-info.ts'
import type { Nominations } from './nominations.ts'
import { type Cycle, isRejection, type NodeFilter, type Plugin, type Rejection, unresolvable } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'

export type SchedulingParts = {
  readonly plugins: readonly Plugin[]
  readonly nominations: Nominations
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
  /** At which node the search begins, so that in large clusters every node has its turn; moved on by each search. */
  readonly rotation: { next: number }
}

export type NamedFilter = { readonly plugin: string; readonly filter: NodeFilter }

export type Placement =
  | { readonly type: 'placed'; readonly node: string }
  | { readonly type: 'rejected'; readonly diagnosis: Diagnosis; readonly filters: readonly NamedFilter[] }
  | { readonly type: 'no nodes' }

/** Below so many nodes all are looked at; above, a share of them is enough. */
const MIN_FEASIBLE_NODES = 100
const MIN_PERCENTAGE = 5

export function schedulePod(cycle: Cycle, parts: SchedulingParts): Placement {
  const { cluster } = cycle
  if (cluster.nodes.length === 0) return { type: 'no nodes' }
  const prepared = prepareFilters(cycle, parts.plugins)
  const nodes = cluster.nodes.length
  if ('general' in prepared)
    return { type: 'rejected', diagnosis: { nodes, byNode: new Map(), others: prepared.general, ...prepared }, filters: [] }
  const { filters, names, restricting } = prepared
  const byNode = new Map<string, NodeRejection>()
  const search = { filters, byNode, cycle, parts }
  const nominated = cluster.node(cycle.info.nominatedNodeName)
  let feasible = nominated ? passing([nominated], search) : []
  if (feasible.length === 0) {
    const candidates = names ? [...names].flatMap(name => cluster.node(name) ?? []) : cluster.nodes
    feasible = passing(candidates, search)
    parts.rotation.next = (parts.rotation.next + feasible.length + byNode.size) % nodes
  }
  if (feasible.length > 0) return { type: 'placed', node: bestOf(feasible, cycle, parts).name }
  const rejectors = new Set([...restricting, ...[...byNode.values()].map(({ plugin }) => plugin)])
  const others = names && unresolvable(`node(s) didn't satisfy plugin(s) [${restricting.join(' ')}]`)
  return { type: 'rejected', diagnosis: { nodes, byNode, rejectors, ...(others && { others }) }, filters }
}

type Prepared =
  | { readonly filters: readonly NamedFilter[]; readonly names: ReadonlySet<string> | undefined; readonly restricting: readonly string[] }
  | { readonly general: Rejection; readonly rejectors: ReadonlySet<string> }

/** The filters that have something to say about the pod, and the nodes to which they restrict it beforehand. */
function prepareFilters(cycle: Cycle, plugins: readonly Plugin[]): Prepared {
  const filters: NamedFilter[] = []
  const restricting: string[] = []
  let names: ReadonlySet<string> | undefined
  for (const { name: plugin, filter: prepare } of plugins) {
    const filter = prepare?.(cycle)
    if (!filter) continue
    if (isRejection(filter)) return { general: filter, rejectors: new Set([plugin]) }
    filters.push({ plugin, filter })
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

type Search = {
  readonly filters: readonly NamedFilter[]
  readonly byNode: Map<string, NodeRejection>
  readonly cycle: Cycle
  readonly parts: SchedulingParts
}

/** The nodes that pass all filters, or enough of them; the rejections of the others are noted. */
function passing(nodes: readonly NodeInfo[], { filters, byNode, cycle, parts }: Search): NodeInfo[] {
  const enough = enoughOf(nodes.length)
  const feasible: NodeInfo[] = []
  for (let i = 0; i < nodes.length && feasible.length < enough; i++) {
    const node = nodes[(parts.rotation.next + i) % nodes.length]!
    const rejection = testNode(node, { filters, pod: cycle.info, nominations: parts.nominations })
    if (rejection) byNode.set(node.name, rejection)
    else feasible.push(node)
  }
  return feasible
}

function enoughOf(nodes: number): number {
  if (nodes < MIN_FEASIBLE_NODES) return nodes
  const percentage = Math.max(50 - Math.floor(nodes / 125), MIN_PERCENTAGE)
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

function bestOf(nodes: readonly NodeInfo[], cycle: Cycle, { plugins, random }: SchedulingParts): NodeInfo {
  if (nodes.length === 1) return nodes[0]!
  const totals = scoresOf(nodes, cycle, plugins)
  const highest = Math.max(...totals)
  const best = nodes.filter((_, i) => totals[i] === highest)
  return best[Math.floor(random() * best.length)]!
}

/** The sum of the weighted scores of each node. */
function scoresOf(nodes: readonly NodeInfo[], cycle: Cycle, plugins: readonly Plugin[]): number[] {
  const totals = nodes.map(() => 0)
  for (const { score: prepare, weight = 1 } of plugins) {
    const scorer = prepare?.(cycle, nodes)
    if (!scorer) continue
    const scores = nodes.map(node => scorer.score(node))
    scorer.normalize?.(scores, nodes)
    for (const [i, score] of scores.entries()) totals[i]! += score * weight
  }
  return totals
}
