/** Puts pods near those they want near and away from those they want away, and heeds what the pods that are there want. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Cluster } from '../cluster.ts'
import type { ClusterEvent } from '../cluster-event.ts'
import type { Lookups } from '../lookups.ts'
import { bump, type NodeInfo } from '../node-info.ts'
import { type Cycle, MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import { type AffinityTerm, type PodInfo, podAffinityOf, termMatches, type WeightedTerm } from '../pod-info.ts'
import { type Labels, NOTHING } from '../selector.ts'

const NOT_NEAR = unresolvable("node(s) didn't match pod affinity rules")
const TOO_NEAR = unschedulable("node(s) didn't match pod anti-affinity rules")
const UNWANTED = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

/** The weight of a required affinity term of an existing pod that matches the new one. */
const REQUIRED_WEIGHT = 1

export const interPodAffinity: Plugin = {
  name: 'InterPodAffinity',
  weight: 2,
  filter: affinityFilter,
  score: affinityScorer,
  queueingHints: {
    'pod added': (pod, event, { lookups }) => event.about === 'pod' && matchesAll(demandsOf(pod, lookups).required, event.after),
    'pod labels': (pod, event, { lookups }) => {
      if (event.about !== 'pod') return false
      const { required, requiredAnti } = demandsOf(pod, lookups)
      return (
        (!matchesAll(required, event.before) && matchesAll(required, event.after)) ||
        (matchesAny(requiredAnti, event.before) && !matchesAny(requiredAnti, event.after))
      )
    },
    'pod deleted': (pod, event, { lookups }) => {
      if (event.about !== 'pod' || !event.before) return false
      if (matchesAny(demandsOf(pod, lookups).requiredAnti, event.before)) return true
      const { namespace = '', labels = {} } = pod.metadata
      const own = lookups.namespaceLabels(namespace)
      return event.before.affinity?.requiredAnti.some(term => termMatches(term, { namespace, labels }, own)) ?? false
    },
    'self labels': () => true,
    'node added': nodeMatters,
    'node labels': nodeMatters,
  },
}

/** How many pods there are in each topology domain: by topology key and value. */
class DomainCounts {
  readonly #counts: Map<string, Map<string, number>>

  constructor(from?: DomainCounts) {
    this.#counts = new Map(from ? [...from.#counts].map(([key, values]) => [key, new Map(values)]) : [])
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  /** Counts pods on a node with these labels; one without the key is in no domain. */
  add(labels: Labels | undefined, key: string, count: number): void {
    if (!labels || !Object.hasOwn(labels, key)) return
    const values = this.#counts.get(key) ?? new Map<string, number>()
    bump(values, labels[key]!, count)
    if (values.size === 0) this.#counts.delete(key)
    else this.#counts.set(key, values)
  }

  includes(labels: Labels, key: string): boolean {
    const values = this.#counts.get(key)
    return values !== undefined && Object.hasOwn(labels, key) && (values.get(labels[key]!) ?? 0) > 0
  }

  includesAny(labels: Labels): boolean {
    for (const key of this.#counts.keys()) if (this.includes(labels, key)) return true
    return false
  }
}

/** The same term with the namespaces that its selector means now, so that nobody has to look at namespaces again. */
function resolved<T extends AffinityTerm>(term: T, lookups: Lookups): T {
  if (term.namespaceSelector.isEmpty || term.namespaceSelector === NOTHING) return term
  const namespaces = new Set([...term.namespaces, ...lookups.namespacesMatching(term.namespaceSelector)])
  return { ...term, namespaces, namespaceSelector: NOTHING }
}

const namespacesOf = ({ namespaces, namespaceSelector }: AffinityTerm, cluster: Cluster): Iterable<string> =>
  namespaceSelector.isEmpty ? cluster.namespaces : namespaces

function affinityFilter({ info, cluster, lookups }: Cycle): NodeFilter | undefined {
  const required = (info.affinity?.required ?? []).map(term => resolved(term, lookups))
  const anti = (info.affinity?.requiredAnti ?? []).map(term => resolved(term, lookups))
  const own = lookups.namespaceLabels(info.namespace)
  const [unwanted, near, away] = [new DomainCounts(), new DomainCounts(), new DomainCounts()]
  for (const { affinity, byNode } of cluster.antiAffinities)
    for (const term of affinity.requiredAnti)
      if (termMatches(term, info, own))
        for (const [node, count] of byNode) unwanted.add(cluster.node(node)?.labels, term.topologyKey, count)
  if (unwanted.isEmpty && required.length === 0 && anti.length === 0) return undefined
  if (required.length > 0) {
    // One pod has to match all terms at once, so those of the first are asked about the others.
    const matches = (namespace: string) => (labels: Labels) => required.every(term => termMatches(term, { namespace, labels }, {}))
    for (const namespace of namespacesOf(required[0]!, cluster))
      for (const [node, count] of cluster.countPods({ namespaces: [namespace], matches: matches(namespace) }, 'all'))
        for (const { topologyKey } of required) near.add(cluster.node(node)?.labels, topologyKey, count)
  }
  for (const term of anti)
    for (const [node, count] of cluster.countPods({ namespaces: namespacesOf(term, cluster), matches: term.selector.matches }, 'all'))
      away.add(cluster.node(node)?.labels, term.topologyKey, count)
  return filterOver({ info, required, anti, own, near, away, unwanted })
}

type Affinities = {
  readonly info: PodInfo
  readonly required: readonly AffinityTerm[]
  readonly anti: readonly AffinityTerm[]
  /** The labels of the namespace of the pod. */
  readonly own: Labels
  /** Domains of pods that it has affinity to, anti-affinity to, and that have anti-affinity to it. */
  readonly near: DomainCounts
  readonly away: DomainCounts
  readonly unwanted: DomainCounts
}

function filterOver(affinities: Affinities): NodeFilter {
  const { info, required, anti, own, near, away, unwanted } = affinities
  const isNear = ({ labels }: NodeInfo): boolean => {
    if (!required.every(({ topologyKey }) => Object.hasOwn(labels, topologyKey))) return false
    if (required.every(({ topologyKey }) => near.includes(labels, topologyKey))) return true
    // The first of several pods with affinity to each other has no other pod to be near.
    return near.isEmpty && matchesAll(required, info)
  }
  return {
    test(node) {
      if (required.length > 0 && !isNear(node)) return NOT_NEAR
      if (anti.some(({ topologyKey }) => away.includes(node.labels, topologyKey))) return TOO_NEAR
      return unwanted.includesAny(node.labels) ? UNWANTED : undefined
    },
    copy: () =>
      filterOver({ ...affinities, near: new DomainCounts(near), away: new DomainCounts(away), unwanted: new DomainCounts(unwanted) }),
    adjust(pod, { labels }, sign) {
      for (const term of pod.affinity?.requiredAnti ?? []) if (termMatches(term, info, own)) unwanted.add(labels, term.topologyKey, sign)
      if (matchesAll(required, pod)) for (const { topologyKey } of required) near.add(labels, topologyKey, sign)
      for (const term of anti) if (termMatches(term, pod, {})) away.add(labels, term.topologyKey, sign)
    },
  }
}

function affinityScorer({ info, cluster, lookups }: Cycle): NodeScorer | undefined {
  const scores = new Map<string, Map<string, number>>()
  const add = (node: string, { topologyKey }: AffinityTerm, by: number) => {
    const labels = cluster.node(node)?.labels
    if (!labels || !Object.hasOwn(labels, topologyKey)) return
    const values = scores.get(topologyKey) ?? new Map<string, number>()
    scores.set(topologyKey, values)
    const value = labels[topologyKey]!
    values.set(value, (values.get(value) ?? 0) + by)
  }
  const addOwn = (terms: readonly WeightedTerm[], sign: 1 | -1) => {
    for (const term of terms.map(each => resolved(each, lookups)))
      for (const [node, count] of cluster.countPods({ namespaces: namespacesOf(term, cluster), matches: term.selector.matches }, 'all'))
        add(node, term, sign * term.weight * count)
  }
  addOwn(info.affinity?.preferred ?? [], 1)
  addOwn(info.affinity?.preferredAnti ?? [], -1)
  const own = lookups.namespaceLabels(info.namespace)
  for (const { affinity, byNode } of cluster.affinities) {
    const addTheirs = (terms: readonly (AffinityTerm & { weight?: number })[], sign: 1 | -1) => {
      for (const term of terms)
        if (termMatches(term, info, own))
          for (const [node, count] of byNode) add(node, term, sign * (term.weight ?? REQUIRED_WEIGHT) * count)
    }
    addTheirs(affinity.required, 1)
    addTheirs(affinity.preferred, 1)
    addTheirs(affinity.preferredAnti, -1)
  }
  if (scores.size === 0) return undefined
  return {
    score({ labels }) {
      let score = 0
      for (const [key, values] of scores) if (Object.hasOwn(labels, key)) score += values.get(labels[key]!) ?? 0
      return score
    },
    normalize(given) {
      const [least, most] = [Math.min(...given), Math.max(...given)]
      for (const [i, score] of given.entries()) given[i] = most > least ? Math.trunc(MAX_SCORE * ((score - least) / (most - least))) : 0
    },
  }
}

type Subject = Pick<PodInfo, 'namespace' | 'labels'>

const matchesAll = (terms: readonly AffinityTerm[], pod: Subject | undefined): boolean =>
  pod !== undefined && terms.length > 0 && terms.every(term => termMatches(term, pod, {}))
const matchesAny = (terms: readonly AffinityTerm[], pod: Subject | undefined): boolean =>
  pod !== undefined && terms.some(term => termMatches(term, pod, {}))

/** The required affinity terms of a pod. */
function demandsOf(pod: Pod, lookups: Lookups) {
  const { required = [], requiredAnti = [] } = podAffinityOf(pod) ?? {}
  const all = (terms: readonly AffinityTerm[]) => terms.map(term => resolved(term, lookups))
  return { required: all(required), requiredAnti: all(requiredAnti) }
}

/** Whether a node that is new, or has moved to another topology domain, makes a difference to the demands of a pod. */
function nodeMatters(pod: Pod, event: ClusterEvent): boolean {
  if (event.about !== 'node') return false
  const { required = [], requiredAnti = [] } = podAffinityOf(pod) ?? {}
  const { before, after } = event
  if (!before) return requiredAnti.length > 0 || required.some(({ topologyKey }) => domainOf(after, topologyKey) !== undefined)
  return (
    required.some(({ topologyKey: key }) => domainOf(after, key) !== undefined && domainOf(before, key) !== domainOf(after, key)) ||
    requiredAnti.some(({ topologyKey: key }) => domainOf(before, key) !== undefined && domainOf(before, key) !== domainOf(after, key))
  )
}

function domainOf(node: Node | undefined, key: string): string | undefined {
  const labels = node?.metadata.labels ?? {}
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}
