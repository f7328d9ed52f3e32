/** Spreads pods that belong together evenly over nodes, zones and other topology domains. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import type { TopologySpreadConstraint } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { type NodeTest, requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { untoleratedTaint } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import type { Cluster } from '../cluster.ts'
import type { ClusterEvent } from '../cluster-event.ts'
import type { Lookups } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import { type Cycle, MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import { type Labels, type Selector, selectorFor, selectorForLabels, selectorOf } from '../selector.ts'

const SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
const UNLABELLED = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
const HOSTNAME = 'kubernetes.io/hostname'

/** How pods of services and workloads are spread that say nothing about it. */
const SYSTEM_DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
]

export const podTopologySpread: Plugin = {
  name: 'PodTopologySpread',
  weight: 2,
  filter(cycle) {
    const constraints = constraintsOf(cycle.pod, 'DoNotSchedule')
    return constraints.length === 0 ? undefined : spreadFilter(cycle, constraints)
  },
  score: spreadScorer,
  queueingHints: {
    'pod added': (pod, event) => event.about === 'pod' && isCounted(pod, event.after),
    'pod deleted': (pod, event) => event.about === 'pod' && isCounted(pod, event.before),
    'pod labels': (pod, event) =>
      event.about === 'pod' && event.after?.namespace === pod.metadata.namespace && changesCount(pod, event.before, event.after),
    'self labels': (pod, event) => event.about === 'self' && changesCount(pod, event.before?.metadata, event.after?.metadata),
    'self tolerations': pod => constraintsOf(pod, 'DoNotSchedule').some(({ honorsTaints }) => honorsTaints),
    'node added': (pod, event) => nodeMatters(pod, event),
    'node deleted': (pod, event) => nodeMatters(pod, event),
    'node labels': (pod, event) => nodeMatters(pod, event),
    'node taints': (pod, event) => nodeMatters(pod, event),
  },
}

type Constraint = {
  readonly maxSkew: number
  readonly topologyKey: string
  readonly selector: Selector
  readonly minDomains: number
  /** Whether only nodes count that the pod accepts by its node selector and affinity. */
  readonly honorsAffinity: boolean
  /** Whether only nodes count whose taints the pod tolerates. */
  readonly honorsTaints: boolean
}

type Action = 'DoNotSchedule' | 'ScheduleAnyway'

function constraintsOf({ metadata: { labels = {} }, spec }: Pod, action: Action): Constraint[] {
  return (spec.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map(constraint => {
      const shared: Record<string, string> = {}
      for (const key of constraint.matchLabelKeys ?? []) {
        const value = getOwn(labels, key)
        if (value !== undefined) shared[key] = value
      }
      return constraintOf(constraint, selectorOf(constraint.labelSelector, shared))
    })
}

const constraintOf = (
  { maxSkew, topologyKey, minDomains, nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
  selector: Selector,
): Constraint => ({
  maxSkew,
  topologyKey,
  selector,
  minDomains: minDomains ?? 1,
  honorsAffinity: nodeAffinityPolicy !== 'Ignore',
  honorsTaints: nodeTaintsPolicy === 'Honor',
})

/** The pods that belong together with one: those of its services and of the workload that controls it. Undefined when that is nothing. */
function defaultSelectorOf({ metadata }: Pod, lookups: Lookups): Selector | undefined {
  const { namespace = '', labels = {}, ownerReferences = [] } = metadata
  const shared: Record<string, string> = {}
  for (const selector of lookups.serviceSelectors(namespace))
    if (selectorForLabels(selector).matches(labels)) Object.assign(shared, selector)
  const owner = ownerReferences.find(({ controller }) => controller)
  const workload = owner && lookups.workloadSelector(owner, namespace)
  if (workload && 'labels' in workload) Object.assign(shared, workload.labels)
  const terms = workload && 'selector' in workload ? (labelTermsOf(workload.selector) ?? []) : []
  const own = Object.entries(shared).map(([key, value]) => ({ key, operator: '=', values: [value] }) as const)
  return own.length + terms.length === 0 ? undefined : selectorFor([...own, ...terms])
}

const hasAllKeys = (labels: Labels, constraints: readonly Constraint[]): boolean =>
  constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey))

/** Which nodes a constraint looks at. */
type Inclusion = (constraint: Constraint, node: NodeInfo) => boolean
function inclusionFor({ spec }: Pod): Inclusion {
  const required: NodeTest | undefined = requiredNodes(spec)
  return ({ honorsAffinity, honorsTaints }, node) =>
    (!honorsAffinity || !required || required(node)) &&
    (!honorsTaints || untoleratedTaint(node.node?.spec?.taints, spec.tolerations) === undefined)
}

/** The pods that a constraint counts, by node. */
function countsFor({ selector }: Constraint, namespace: string, cluster: Cluster): ReadonlyMap<string, number> {
  return selector.isEmpty ? NO_COUNTS : cluster.countPods({ namespaces: [namespace], matches: selector.matches }, 'notTerminating')
}
const NO_COUNTS: ReadonlyMap<string, number> = new Map()

/** The counts of a constraint by topology value, and the smallest of them. */
class Domains {
  readonly #counts: Map<string, number>
  #least: number | undefined

  constructor(counts: Iterable<[string, number]> = []) {
    this.#counts = new Map(counts)
  }

  copy(): Domains {
    return new Domains(this.#counts)
  }

  /** Also a domain without pods is one. */
  add(value: string, count: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + count)
    this.#least = undefined
  }

  count(value: string): number {
    return this.#counts.get(value) ?? 0
  }

  /** Zero while there are too few domains: then new ones are to come into use. */
  least(minDomains: number): number {
    if (this.#counts.size < minDomains) return 0
    if (this.#least === undefined) {
      let least = Number.POSITIVE_INFINITY
      for (const count of this.#counts.values()) least = Math.min(least, count)
      this.#least = least
    }
    return this.#least
  }
}

function spreadFilter({ pod, info, cluster }: Cycle, constraints: readonly Constraint[]): NodeFilter {
  const includes = inclusionFor(pod)
  const counts = constraints.map(constraint => countsFor(constraint, info.namespace, cluster))
  const domains = constraints.map(() => new Domains())
  for (const node of cluster.nodes) {
    const { labels, name } = node
    if (!hasAllKeys(labels, constraints)) continue
    for (const [i, constraint] of constraints.entries())
      if (includes(constraint, node)) domains[i]!.add(labels[constraint.topologyKey]!, counts[i]!.get(name) ?? 0)
  }
  const own = constraints.map(({ selector }) => (selector.matches(info.labels) ? 1 : 0))
  return filterOver({ constraints, domains, own, includes, namespace: info.namespace })
}

type Spread = {
  readonly constraints: readonly Constraint[]
  readonly domains: readonly Domains[]
  /** Whether the pod counts itself, as a number. */
  readonly own: readonly number[]
  readonly includes: Inclusion
  readonly namespace: string
}

function filterOver(spread: Spread): NodeFilter {
  const { constraints, domains, own, includes, namespace } = spread
  return {
    test({ labels }) {
      for (const [i, { topologyKey, minDomains, maxSkew }] of constraints.entries()) {
        if (!Object.hasOwn(labels, topologyKey)) return UNLABELLED
        if (domains[i]!.count(labels[topologyKey]!) + own[i]! - domains[i]!.least(minDomains) > maxSkew) return SKEWED
      }
      return undefined
    },
    copy: () => filterOver({ ...spread, domains: domains.map(each => each.copy()) }),
    adjust(pod, node, sign) {
      if (pod.namespace !== namespace || pod.isTerminating || !hasAllKeys(node.labels, constraints)) return
      for (const [i, constraint] of constraints.entries())
        if (constraint.selector.matches(pod.labels) && includes(constraint, node))
          domains[i]!.add(node.labels[constraint.topologyKey]!, sign)
    },
  }
}

/** The fewer pods of its kind are near, the better; domains count by their number, so that few zones weigh as much as many nodes. */
function spreadScorer({ pod, info, cluster, lookups }: Cycle, nodes: readonly NodeInfo[]): NodeScorer | undefined {
  const isOwn = (pod.spec.topologySpreadConstraints?.length ?? 0) > 0
  const constraints = isOwn ? constraintsOf(pod, 'ScheduleAnyway') : defaultConstraints(pod, lookups)
  if (constraints.length === 0) return undefined
  const ignored = new Set<NodeInfo>()
  // A node without zone is still one of many nodes, but only as long as nobody has asked for zones.
  if (isOwn) for (const node of nodes) if (!hasAllKeys(node.labels, constraints)) ignored.add(node)
  const includes = inclusionFor(pod)
  const parts = constraints.map(constraint => {
    const counts = countsFor(constraint, info.namespace, cluster)
    const { topologyKey, maxSkew } = constraint
    if (topologyKey === HOSTNAME)
      return {
        topologyKey,
        maxSkew,
        weight: Math.log(nodes.length - ignored.size + 2),
        count: (node: NodeInfo) => counts.get(node.name) ?? 0,
      }
    const values = new Map<string, number>()
    for (const node of nodes) if (!ignored.has(node)) values.set(node.labels[topologyKey] ?? '', 0)
    for (const node of cluster.nodes) {
      const count = counts.get(node.name)
      const value = node.labels[topologyKey] ?? ''
      if (count === undefined || !values.has(value)) continue
      if ((!isOwn || hasAllKeys(node.labels, constraints)) && includes(constraint, node)) bumpValue(values, value, count)
    }
    return {
      topologyKey,
      maxSkew,
      weight: Math.log(values.size + 2),
      count: (node: NodeInfo) => values.get(node.labels[topologyKey]!) ?? 0,
    }
  })
  return {
    score(node) {
      if (ignored.has(node)) return 0
      let score = 0
      for (const { topologyKey, maxSkew, weight, count } of parts)
        if (Object.hasOwn(node.labels, topologyKey)) score += count(node) * weight + (maxSkew - 1)
      return Math.round(score)
    },
    normalize(scores, nodes) {
      const counted = scores.filter((_, i) => !ignored.has(nodes[i]!))
      const [least, most] = [Math.min(...counted), Math.max(0, ...counted)]
      for (const [i, score] of scores.entries()) {
        if (ignored.has(nodes[i]!)) scores[i] = 0
        else scores[i] = most === 0 ? MAX_SCORE : Math.trunc((MAX_SCORE * (most + least - score)) / most)
      }
    },
  }
}

const bumpValue = (values: Map<string, number>, value: string, by: number) => values.set(value, values.get(value)! + by)

function defaultConstraints(pod: Pod, lookups: Lookups): Constraint[] {
  const selector = defaultSelectorOf(pod, lookups)
  return selector ? SYSTEM_DEFAULTS.map(constraint => constraintOf(constraint, selector)) : []
}

const isCounted = (pod: Pod, other: PodInfo | undefined): boolean =>
  other !== undefined &&
  other.namespace === pod.metadata.namespace &&
  constraintsOf(pod, 'DoNotSchedule').some(({ selector }) => selector.matches(other.labels))

type Labelled = { readonly labels?: Labels }
const changesCount = (pod: Pod, before: Labelled | undefined, after: Labelled | undefined): boolean =>
  constraintsOf(pod, 'DoNotSchedule').some(
    ({ selector }) => selector.matches(before?.labels ?? {}) !== selector.matches(after?.labels ?? {}),
  )

function nodeMatters(pod: Pod, event: ClusterEvent): boolean {
  if (event.about !== 'node') return false
  const constraints = constraintsOf(pod, 'DoNotSchedule')
  const { before, after } = event
  const [old, now] = [before?.metadata.labels ?? {}, after?.metadata.labels ?? {}]
  const [wasCounted, isNowCounted] = [
    before !== undefined && hasAllKeys(old, constraints),
    after !== undefined && hasAllKeys(now, constraints),
  ]
  if (!before || !after) return wasCounted || isNowCounted
  if (wasCounted !== isNowCounted) return true
  if (!isNowCounted) return false
  return constraints.some(({ topologyKey }) => old[topologyKey] !== now[topologyKey]) || !deepEqual(before.spec?.taints, after.spec?.taints)
}
