/** Puts pods near those they want near and away from those they want away, and heeds what the pods that are there want. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Cluster, labelKey, type PodGroup } from '../cluster.ts'
import type { ClusterEvent } from '../cluster-event.ts'
import { type Contribution, countGroups, countMove, DomainCounts, labelsIn } from '../domain-counts.ts'
import type { Lookups } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import { type Cycle, MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin, unresolvable, unschedulable } from '../plugin.ts'
import { type AffinityTerm, type PodAffinity, type PodInfo, podAffinityOf, termMatches } from '../pod-info.ts'
import { type Labels, NOTHING } from '../selector.ts'

const NOT_NEAR = unresolvable("node(s) didn't match pod affinity rules")
const TOO_NEAR = unschedulable("node(s) didn't match pod anti-affinity rules")
const UNWANTED = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

export type InterPodAffinityArgs = {
  /** The weight of a required affinity term of an existing pod that matches the new one. */
  readonly hardPodAffinityWeight: number
  /** Whether preferences of existing pods do not count for pods that have none themselves. */
  readonly ignorePreferredTermsOfExistingPods: boolean
}

export const interPodAffinityWith = (args: InterPodAffinityArgs): Plugin => ({
  name: 'InterPodAffinity',
  weight: 2,
  filter: affinityFilter,
  score: cycle => affinityScorer(cycle, args),
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
})

export const interPodAffinity = interPodAffinityWith({ hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false })

/** The same term with the namespaces that its selector means now, so that nobody has to look at namespaces again. */
function resolved<T extends AffinityTerm>(term: T, lookups: Lookups): T {
  if (term.namespaceSelector.isEmpty || term.namespaceSelector === NOTHING) return term
  const namespaces = new Set([...term.namespaces, ...lookups.namespacesMatching(term.namespaceSelector)])
  return { ...term, namespaces, namespaceSelector: NOTHING }
}

/** The pods that a term can mean, in groups. */
const groupsFor = (term: AffinityTerm | undefined, cluster: Cluster): Iterable<PodGroup> =>
  term ? cluster.groupsIn(term.namespaceSelector.isEmpty ? cluster.namespaces : term.namespaces) : []

/** Counts what pods contribute to the domains of nodes; the answer is kept. */
function domainCounts(
  cluster: Cluster,
  { key, groups, contribution }: { readonly key: string; readonly groups: () => Iterable<PodGroup>; readonly contribution: Contribution },
): DomainCounts {
  return cluster.answers.to({
    key,
    answer: () => countGroups(groups(), contribution, labelsIn(cluster)),
    update: (counts, move) => move.node.node && countMove(counts, move, contribution),
  })
}

/** Tells pods apart whose terms mean different pods: by the rules, and by the namespaces that these select now. */
const termsKey = (affinity: PodAffinity, terms: readonly AffinityTerm[]): string =>
  `${affinity.key} ${terms.map(({ namespaces, namespaceSelector }) => (namespaceSelector === NOTHING ? [...namespaces].sort().join(',') : '')).join(' ')}`

/** Tells pods apart that are meant by different terms of others. */
const subjectKey = ({ namespace, labels }: PodInfo, own: Labels): string => `${namespace} ${labelKey(labels)} ${labelKey(own)}`

const EMPTY = new DomainCounts()

function affinityFilter({ info, cluster, lookups }: Cycle): NodeFilter | undefined {
  const { affinity } = info
  const required = (affinity?.required ?? []).map(term => resolved(term, lookups))
  const anti = (affinity?.requiredAnti ?? []).map(term => resolved(term, lookups))
  const own = lookups.namespaceLabels(info.namespace)
  const unwanted = unwantedDomains(info, own, cluster)
  if (unwanted.isEmpty && required.length === 0 && anti.length === 0) return undefined
  // One pod has to match all terms at once, so those of the first are asked about the others.
  const near = affinity && required.length > 0 ? nearDomains(affinity, required, cluster) : EMPTY
  const away = affinity && anti.length > 0 ? awayDomains(affinity, anti, cluster) : EMPTY
  return filterOver({ info, required, anti, own, near, away, unwanted })
}

/** The domains of pods that have anti-affinity to a pod. */
function unwantedDomains(info: PodInfo, own: Labels, cluster: Cluster): DomainCounts {
  if (cluster.groupsWithAffinity.size === 0) return EMPTY
  return domainCounts(cluster, {
    key: `unwanted ${subjectKey(info, own)}`,
    groups: () => cluster.groupsWithAffinity,
    contribution: ({ affinity }, add) => {
      for (const term of affinity?.requiredAnti ?? []) if (termMatches(term, info, own)) add(term.topologyKey, 1)
    },
  })
}

/** The domains of pods that match all required terms. */
const nearDomains = (affinity: PodAffinity, required: readonly AffinityTerm[], cluster: Cluster): DomainCounts =>
  domainCounts(cluster, {
    key: `near ${termsKey(affinity, required)}`,
    groups: () => groupsFor(required[0], cluster),
    contribution: (pod, add) => {
      if (matchesAll(required, pod)) for (const { topologyKey } of required) add(topologyKey, 1)
    },
  })

/** The domains of pods that match one of the terms about which to be away from. */
const awayDomains = (affinity: PodAffinity, anti: readonly AffinityTerm[], cluster: Cluster): DomainCounts =>
  domainCounts(cluster, {
    key: `away ${termsKey(affinity, anti)}`,
    groups: () => new Set(anti.flatMap(term => [...groupsFor(term, cluster)])),
    contribution: (pod, add) => {
      for (const term of anti) if (termMatches(term, pod, {})) add(term.topologyKey, 1)
    },
  })

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
    if (required.every(({ topologyKey }) => near.of(labels, topologyKey) > 0)) return true
    // The first of several pods with affinity to each other has no other pod to be near.
    return near.isEmpty && matchesAll(required, info)
  }
  return {
    test(node) {
      if (required.length > 0 && !isNear(node)) return NOT_NEAR
      if (anti.some(({ topologyKey }) => away.of(node.labels, topologyKey) > 0)) return TOO_NEAR
      return unwanted.includesAny(node.labels) ? UNWANTED : undefined
    },
    copy: () => filterOver({ ...affinities, near: near.copy(), away: away.copy(), unwanted: unwanted.copy() }),
    adjust(pod, { labels }, sign) {
      for (const term of pod.affinity?.requiredAnti ?? []) if (termMatches(term, info, own)) unwanted.add(labels, term.topologyKey, sign)
      if (matchesAll(required, pod)) for (const { topologyKey } of required) near.add(labels, topologyKey, sign)
      for (const term of anti) if (termMatches(term, pod, {})) away.add(labels, term.topologyKey, sign)
    },
  }
}

function affinityScorer({ info, cluster, lookups }: Cycle, args: InterPodAffinityArgs): NodeScorer | undefined {
  const { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods } = args
  const { affinity } = info
  const preferred = (affinity?.preferred ?? []).map(term => resolved(term, lookups))
  const preferredAnti = (affinity?.preferredAnti ?? []).map(term => resolved(term, lookups))
  const terms = [...preferred, ...preferredAnti]
  if (terms.length === 0 && (ignorePreferredTermsOfExistingPods || cluster.groupsWithAffinity.size === 0)) return undefined
  const own = lookups.namespaceLabels(info.namespace)
  const scores = domainCounts(cluster, {
    key: `scores ${hardPodAffinityWeight} ${affinity && terms.length > 0 ? termsKey(affinity, terms) : ''} ${subjectKey(info, own)}`,
    groups: () => new Set([...cluster.groupsWithAffinity, ...terms.flatMap(term => [...groupsFor(term, cluster)])]),
    contribution(pod, add) {
      for (const term of preferred) if (termMatches(term, pod, {})) add(term.topologyKey, term.weight)
      for (const term of preferredAnti) if (termMatches(term, pod, {})) add(term.topologyKey, -term.weight)
      if (!pod.affinity) return
      const { required, preferred: theirs, preferredAnti: theirsAnti } = pod.affinity
      if (hardPodAffinityWeight > 0)
        for (const term of required) if (termMatches(term, info, own)) add(term.topologyKey, hardPodAffinityWeight)
      for (const term of theirs) if (termMatches(term, info, own)) add(term.topologyKey, term.weight)
      for (const term of theirsAnti) if (termMatches(term, info, own)) add(term.topologyKey, -term.weight)
    },
  })
  if (scores.isEmpty) return undefined
  return {
    score: ({ labels }) => scores.sum(labels),
    normalize(given) {
      let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      for (const score of given) {
        least = Math.min(least, score)
        most = Math.max(most, score)
      }
      for (let i = 0; i < given.length; i++) given[i] = most > least ? Math.trunc(MAX_SCORE * ((given[i]! - least) / (most - least))) : 0
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
