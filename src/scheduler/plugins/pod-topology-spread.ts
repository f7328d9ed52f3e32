/** Spreads pods that belong together evenly over nodes, zones and other topology domains. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import type { TopologySpreadConstraint } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { type NodeTest, requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { type InEffect, untoleratedTaint } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import type { LabelTerms } from '../../schema/selectors.ts'
import type { ClusterEvent } from '../cluster-event.ts'
import { SpreadDomains } from '../domain-counts.ts'
import type { Lookups } from '../lookups.ts'
import type { NodeDomains } from '../node-domains.ts'
import type { NodeInfo } from '../node-info.ts'
import { type Cycle, MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import { type Labels, type Selector, selectorFor, selectorForLabels, selectorOf } from '../selector.ts'

const SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
const UNLABELLED = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
const HOSTNAME = 'kubernetes.io/hostname'

export type TopologySpreadArgs = {
  /** How pods of services and workloads are spread that say nothing about it; without these, as the system does. */
  readonly defaultConstraints?: readonly TopologySpreadConstraint[]
}

const SYSTEM_DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
]

export function podTopologySpreadWith({ defaultConstraints }: TopologySpreadArgs, inEffect: InEffect): Plugin {
  const defaults: Defaults = { constraints: defaultConstraints ?? SYSTEM_DEFAULTS, isSystem: defaultConstraints === undefined }
  /** The constraints that decide whether the pod can be on a node. */
  const required = (pod: Pod, { lookups }: Pick<Cycle, 'lookups'>) => constraintsFor(pod, 'DoNotSchedule', { defaults, lookups })
  return {
    name: 'PodTopologySpread',
    weight: 2,
    filter(cycle) {
      const constraints = required(cycle.pod, cycle)
      return constraints.length === 0 ? undefined : spreadFilter(cycle, constraints, inEffect)
    },
    score: (cycle, nodes) => spreadScorer(cycle, nodes, { defaults, inEffect }),
    queueingHints: {
      'pod added': (pod, event, context) => event.about === 'pod' && isCounted(pod, event.after, required(pod, context)),
      'pod deleted': (pod, event, context) => event.about === 'pod' && isCounted(pod, event.before, required(pod, context)),
      'pod labels': (pod, event, context) =>
        event.about === 'pod' &&
        event.after?.namespace === pod.metadata.namespace &&
        changesCount(required(pod, context), event.before, event.after),
      'self labels': (pod, event, context) =>
        event.about === 'self' && changesCount(required(pod, context), event.before?.metadata, event.after?.metadata),
      'self tolerations': (pod, _, context) => required(pod, context).some(({ honorsTaints }) => honorsTaints),
      'node added': (pod, event, context) => nodeMatters(required(pod, context), event),
      'node deleted': (pod, event, context) => nodeMatters(required(pod, context), event),
      'node labels': (pod, event, context) => nodeMatters(required(pod, context), event),
      'node taints': (pod, event, context) => nodeMatters(required(pod, context), event),
    },
  }
}

/** `isSystem`: nodes need not have all topology keys, so that those without zone are still spread over. */
type Defaults = { readonly constraints: readonly TopologySpreadConstraint[]; readonly isSystem: boolean }

type Constraint = {
  readonly maxSkew: number
  readonly topologyKey: string
  readonly selector: Selector
  /** The selector as it is written. */
  readonly text: unknown
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
      return constraintOf(constraint, selectorOf(constraint.labelSelector, shared), constraint.labelSelector)
    })
}

const constraintOf = (
  { maxSkew, topologyKey, minDomains, nodeAffinityPolicy, nodeTaintsPolicy }: TopologySpreadConstraint,
  selector: Selector,
  text: unknown,
): Constraint => ({
  maxSkew,
  topologyKey,
  selector,
  text,
  minDomains: minDomains ?? 1,
  honorsAffinity: nodeAffinityPolicy !== 'Ignore',
  honorsTaints: nodeTaintsPolicy === 'Honor',
})

/** The constraints of a pod, or the default ones if it has none at all. */
function constraintsFor(
  pod: Pod,
  action: Action,
  { defaults, lookups }: { readonly defaults: Defaults; readonly lookups: Lookups },
): Constraint[] {
  if (pod.spec.topologySpreadConstraints?.length) return constraintsOf(pod, action)
  const applied = defaults.constraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
  const selector = applied.length === 0 ? undefined : defaultSelectorOf(pod, lookups)
  return selector ? applied.map(constraint => constraintOf(constraint, selector.selector, selector.terms)) : []
}

/** The pods that belong together with one: those of its services and of the workload that controls it. Undefined when that is nothing. */
function defaultSelectorOf({ metadata }: Pod, lookups: Lookups): { readonly selector: Selector; readonly terms: LabelTerms } | undefined {
  const { namespace = '', labels = {}, ownerReferences = [] } = metadata
  const shared: Record<string, string> = {}
  for (const selector of lookups.serviceSelectors(namespace))
    if (selectorForLabels(selector).matches(labels)) Object.assign(shared, selector)
  const owner = ownerReferences.find(({ controller }) => controller)
  const workload = owner && lookups.workloadSelector(owner, namespace)
  if (workload && 'labels' in workload) Object.assign(shared, workload.labels)
  const terms = workload && 'selector' in workload ? (labelTermsOf(workload.selector) ?? []) : []
  const own = Object.entries(shared).map(([key, value]) => ({ key, operator: '=', values: [value] }) as const)
  const all = [...own, ...terms]
  return all.length === 0 ? undefined : { selector: selectorFor(all), terms: all }
}

const hasAllKeys = (labels: Labels, constraints: readonly Constraint[]): boolean =>
  constraints.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey))

/** Which nodes a constraint looks at. */
type Inclusion = (constraint: Constraint, node: NodeInfo) => boolean
function inclusionFor({ spec }: Pod, inEffect: InEffect): Inclusion {
  const tolerations = inEffect(spec.tolerations)
  const required: NodeTest | undefined = requiredNodes(spec)
  return ({ honorsAffinity, honorsTaints }, node) =>
    (!honorsAffinity || !required || required(node)) &&
    (!honorsTaints || untoleratedTaint(node.node?.spec?.taints, tolerations) === undefined)
}

/** Tells constraints of pods apart that count different pods or nodes. */
const spreadKey = (what: string, { metadata: { namespace, labels = {} }, spec }: Pod, constraints: readonly Constraint[]): string =>
  JSON.stringify([
    what,
    namespace,
    constraints.map(({ text, topologyKey, honorsAffinity, honorsTaints }) => [text, topologyKey, honorsAffinity, honorsTaints]),
    (spec.topologySpreadConstraints ?? []).flatMap(({ matchLabelKeys = [] }) => matchLabelKeys.map(key => getOwn(labels, key))),
    constraints.some(({ honorsAffinity }) => honorsAffinity) && [spec.nodeSelector, spec.affinity?.nodeAffinity],
    constraints.some(({ honorsTaints }) => honorsTaints) && spec.tolerations,
  ])

/** Whether a constraint counts a pod of the namespace of its own. */
const counts = ({ selector }: Constraint, { labels }: { readonly labels: Labels }): boolean => !selector.isEmpty && selector.matches(labels)

/** The domains of each constraint, with how many of its pods are in each. */
function spreadFilter({ pod, info, cluster }: Cycle, constraints: readonly Constraint[], inEffect: InEffect): NodeFilter {
  const includes = inclusionFor(pod, inEffect)
  const { namespace } = info
  const places = constraints.map(({ topologyKey }) => cluster.domains(topologyKey))
  const isLookedAt = (node: NodeInfo) => places.every(each => each.has(node))
  const domains = cluster.answers.to({
    key: spreadKey('domains', pod, constraints),
    answer() {
      const domains = constraints.map(() => new SpreadDomains())
      const groups = [...cluster.groupsIn([namespace])]
      for (const [i, constraint] of constraints.entries()) {
        const counted = groups.filter(group => counts(constraint, group))
        for (const node of cluster.nodes) {
          if (!isLookedAt(node) || !includes(constraint, node)) continue
          const pods = counted.reduce((sum, { notTerminating }) => sum + (notTerminating.get(node.name) ?? 0), 0)
          domains[i]!.add(places[i]!.of(node), pods)
        }
      }
      return domains
    },
    update(domains, { pod: moved, node, sign }) {
      if (moved.namespace !== namespace || moved.isTerminating || !node.node || !isLookedAt(node)) return
      for (const [i, constraint] of constraints.entries())
        if (counts(constraint, moved) && includes(constraint, node)) domains[i]!.add(places[i]!.of(node), sign)
    },
  })
  const own = constraints.map(({ selector }) => (selector.matches(info.labels) ? 1 : 0))
  return filterOver({ constraints, places, domains, own, includes, namespace })
}

type Spread = {
  readonly constraints: readonly Constraint[]
  /** In which domain of each constraint a node is, and how many pods are in each domain. */
  readonly places: readonly NodeDomains[]
  readonly domains: readonly SpreadDomains[]
  /** Whether the pod counts itself, as a number. */
  readonly own: readonly number[]
  readonly includes: Inclusion
  readonly namespace: string
}

function filterOver(spread: Spread): NodeFilter {
  const { constraints, places, domains, own, includes, namespace } = spread
  return {
    test(node) {
      for (let i = 0; i < constraints.length; i++) {
        const { minDomains, maxSkew } = constraints[i]!
        if (!places[i]!.has(node)) return UNLABELLED
        if (domains[i]!.count(places[i]!.of(node)) + own[i]! - domains[i]!.least(minDomains) > maxSkew) return SKEWED
      }
      return undefined
    },
    copy: () => filterOver({ ...spread, domains: domains.map(each => each.copy()) }),
    adjust(pod, node, sign) {
      if (pod.namespace !== namespace || pod.isTerminating || !places.every(each => each.has(node))) return
      for (const [i, constraint] of constraints.entries())
        if (constraint.selector.matches(pod.labels) && includes(constraint, node)) domains[i]!.add(places[i]!.of(node), sign)
    },
  }
}

/** The fewer pods of its kind are near, the better; domains count by their number, so that few zones weigh as much as many nodes. */
function spreadScorer(
  { pod, info, cluster, lookups }: Cycle,
  nodes: readonly NodeInfo[],
  { defaults, inEffect }: { readonly defaults: Defaults; readonly inEffect: InEffect },
): NodeScorer | undefined {
  const constraints = constraintsFor(pod, 'ScheduleAnyway', { defaults, lookups })
  // A node without zone is still one of many nodes, but only as long as nobody has asked for zones.
  const needsAllKeys = !defaults.isSystem || (pod.spec.topologySpreadConstraints?.length ?? 0) > 0
  if (constraints.length === 0) return undefined
  const keys = constraints.map(({ topologyKey }) => cluster.domains(topologyKey))
  const hasAll = (node: NodeInfo) => keys.every(each => each.has(node))
  const ignored = new Set(needsAllKeys ? nodes.filter(node => !hasAll(node)) : [])
  const includes = inclusionFor(pod, inEffect)
  const { namespace } = info
  const parts = constraints.map((constraint, i) => {
    const { topologyKey, maxSkew } = constraint
    const places = keys[i]!
    const isHost = topologyKey === HOSTNAME
    const isLookedAt = (node: NodeInfo) => isHost || ((!needsAllKeys || hasAll(node)) && includes(constraint, node))
    /** Each node is a domain of its own, even where several say that they are the same host. */
    const domainOf = (node: NodeInfo) => (isHost ? node.slot : places.of(node))
    const counted = cluster.answers.to({
      key: spreadKey(`${needsAllKeys} ${topologyKey}`, pod, needsAllKeys ? [constraint, ...constraints] : [constraint]),
      answer() {
        const counted = Array<number>(isHost ? places.slots : places.count).fill(0)
        for (const group of cluster.groupsIn([namespace]))
          if (counts(constraint, group))
            for (const [name, count] of group.notTerminating) {
              const node = cluster.node(name)
              if (node && isLookedAt(node)) counted[domainOf(node)]! += count
            }
        return counted
      },
      update(counted, { pod: moved, node, sign }) {
        if (moved.namespace === namespace && !moved.isTerminating && node.node && counts(constraint, moved) && isLookedAt(node))
          counted[domainOf(node)]! += sign
      },
    })
    const size = isHost ? nodes.length - ignored.size : sizeOf(places)
    return { places, isHost, counted, maxSkew, weight: Math.log(size + 2) }
  })
  /** In how many domains the nodes are. */
  function sizeOf(places: NodeDomains): number {
    const isSeen = new Uint8Array(places.count)
    let size = 0
    for (const node of nodes) {
      const number = places.of(node)
      if (isSeen[number] === 1 || ignored.has(node)) continue
      isSeen[number] = 1
      size++
    }
    return size
  }
  return {
    score(node) {
      if (ignored.has(node)) return 0
      let score = 0
      for (const { places, isHost, counted, maxSkew, weight } of parts)
        if (places.has(node)) score += counted[isHost ? node.slot : places.of(node)]! * weight + (maxSkew - 1)
      return Math.round(score)
    },
    normalize(scores, nodes) {
      let [least, most] = [Number.POSITIVE_INFINITY, 0]
      for (let i = 0; i < scores.length; i++) {
        if (ignored.has(nodes[i]!)) continue
        least = Math.min(least, scores[i]!)
        most = Math.max(most, scores[i]!)
      }
      for (let i = 0; i < scores.length; i++) {
        if (ignored.has(nodes[i]!)) scores[i] = 0
        else scores[i] = most === 0 ? MAX_SCORE : Math.trunc((MAX_SCORE * (most + least - scores[i]!)) / most)
      }
    },
  }
}

const isCounted = (pod: Pod, other: PodInfo | undefined, constraints: readonly Constraint[]): boolean =>
  other !== undefined && other.namespace === pod.metadata.namespace && constraints.some(({ selector }) => selector.matches(other.labels))

type Labelled = { readonly labels?: Labels }
const changesCount = (constraints: readonly Constraint[], before: Labelled | undefined, after: Labelled | undefined): boolean =>
  constraints.some(({ selector }) => selector.matches(before?.labels ?? {}) !== selector.matches(after?.labels ?? {}))

function nodeMatters(constraints: readonly Constraint[], event: ClusterEvent): boolean {
  if (event.about !== 'node') return false
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
