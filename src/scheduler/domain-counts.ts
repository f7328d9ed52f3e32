/** Counts by topology domain: how many pods, or how much of something, there is in each zone, on each host and so on. */
import type { PodGroup } from './cluster.ts'
import type { PodMove } from './kept-answers.ts'
import { bump, type NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Labels } from './selector.ts'

/** Counts by topology key and value; a count of zero is no entry. */
export class DomainCounts {
  readonly #counts: ReadonlyMap<string, Map<string, number>>
  /** Changes of a copy, which shares the counts with its original. */
  readonly #changes: Map<string, Map<string, number>>

  constructor(from?: DomainCounts) {
    this.#changes = new Map()
    this.#counts = from ? from.#counts : this.#changes
    if (!from) return
    if (from.#isCopy) for (const [key, values] of from.#changes) this.#changes.set(key, new Map(values))
  }

  /** The same, to try something out. It is good as long as the original does not change. */
  copy(): DomainCounts {
    return new DomainCounts(this)
  }

  get #isCopy(): boolean {
    return this.#changes !== this.#counts
  }

  get isEmpty(): boolean {
    if (!this.#isCopy) return this.#counts.size === 0
    for (const [key, values] of this.#counts) for (const value of values.keys()) if (this.#of(key, value) !== 0) return false
    for (const [key, values] of this.#changes) for (const value of values.keys()) if (this.#of(key, value) !== 0) return false
    return true
  }

  /** Counts pods on a node with these labels; one without the key is in no domain. */
  add(labels: Labels | undefined, key: string, count: number): void {
    if (!labels || !Object.hasOwn(labels, key)) return
    const values = this.#changes.get(key) ?? new Map<string, number>()
    bump(values, labels[key]!, count)
    if (values.size === 0) this.#changes.delete(key)
    else this.#changes.set(key, values)
  }

  /** The count of the domain of a node. */
  of(labels: Labels, key: string): number {
    return Object.hasOwn(labels, key) ? this.#of(key, labels[key]!) : 0
  }

  /** Whether the count of any domain of a node is above zero. */
  includesAny(labels: Labels): boolean {
    for (const key of this.#counts.keys()) if (this.of(labels, key) > 0) return true
    if (this.#isCopy) for (const key of this.#changes.keys()) if (this.of(labels, key) > 0) return true
    return false
  }

  /** The sum over the domains of a node. */
  sum(labels: Labels): number {
    let sum = 0
    for (const key of this.#counts.keys()) sum += this.of(labels, key)
    return sum
  }

  #of(key: string, value: string): number {
    const count = this.#counts.get(key)?.get(value) ?? 0
    return !this.#isCopy ? count : count + (this.#changes.get(key)?.get(value) ?? 0)
  }
}

/** Tells the contribution of a pod to counts: an amount under a topology key. */
export type Contribution = (pod: Pick<PodInfo, 'namespace' | 'labels' | 'affinity'>, add: (key: string, by: number) => void) => void

/** Counts what all pods of some groups contribute. */
export function countGroups(
  groups: Iterable<PodGroup>,
  contribution: Contribution,
  labelsOf: (node: string) => Labels | undefined,
): DomainCounts {
  const counts = new DomainCounts()
  for (const group of groups)
    contribution(group, (key, by) => {
      for (const [node, count] of group.all) counts.add(labelsOf(node), key, by * count)
    })
  return counts
}

/** Takes the coming or leaving of a pod into counts. */
export const countMove = (counts: DomainCounts, { pod, node, sign }: PodMove, contribution: Contribution): void =>
  contribution(pod, (key, by) => counts.add(node.labels, key, sign * by))

/** The counts of the domains of one topology key by their numbers, those without pods among them, and the smallest of all. */
export class SpreadDomains {
  readonly #counts: Map<number, number>
  readonly #changes: Map<number, number> | undefined
  /** How many domains have a count. */
  readonly #tally: Map<number, number>
  #size: number
  #least: number

  constructor(from?: SpreadDomains) {
    this.#counts = from ? from.#counts : new Map()
    this.#changes = from && new Map(from.#changes)
    this.#tally = new Map(from ? from.#tally : [])
    this.#size = from ? from.#size : 0
    this.#least = from ? from.#least : Number.POSITIVE_INFINITY
  }

  /** The same, to try something out. It is good as long as the original does not change. */
  copy(): SpreadDomains {
    return new SpreadDomains(this)
  }

  /** Also a domain without pods is one. */
  add(domain: number, by: number): void {
    const before = this.#get(domain)
    const after = (before ?? 0) + by
    if (this.#changes) this.#changes.set(domain, after)
    else this.#counts.set(domain, after)
    if (before === undefined) this.#size++
    else if (before !== after) bump(this.#tally, before, -1)
    if (before !== after) bump(this.#tally, after, 1)
    if (after < this.#least) this.#least = after
    else if (before === this.#least && !this.#tally.has(before)) this.#least = Math.min(...this.#tally.keys())
  }

  count(domain: number): number {
    return this.#get(domain) ?? 0
  }

  /** Zero while there are too few domains: then new ones are to come into use. */
  least(minDomains: number): number {
    return this.#size < minDomains ? 0 : this.#least
  }

  #get(domain: number): number | undefined {
    return this.#changes?.get(domain) ?? this.#counts.get(domain)
  }
}

/** The labels of a node that is there. */
export const labelsIn =
  (cluster: { node(name: string): NodeInfo | undefined }) =>
  (name: string): Labels | undefined =>
    cluster.node(name)?.labels
