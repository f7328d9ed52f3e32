/**
 * The domains of one topology key, such as zones, each under a number: with arrays by the slot of a node and by the number of a
 * domain, a look at thousands of nodes needs neither their labels nor texts.
 */
import type { NodeInfo } from './node-info.ts'

export class NodeDomains {
  /** How many domains there are. */
  readonly count: number
  /** How many slots there are, those without node among them. */
  readonly slots: number
  /** The number of the domain, by the slot of the node. */
  readonly #numbers: number[]
  /** Whether the node has a label of the key, by its slot. */
  readonly #isLabelled: boolean[]

  constructor(nodes: readonly NodeInfo[], topologyKey: string) {
    const byValue = new Map<string, number>()
    this.slots = nodes.reduce((most, { slot }) => Math.max(most, slot + 1), 0)
    this.#numbers = Array<number>(this.slots).fill(0)
    this.#isLabelled = Array<boolean>(this.slots).fill(false)
    for (const { labels, slot } of nodes) {
      const isLabelled = Object.hasOwn(labels, topologyKey)
      const value = isLabelled ? labels[topologyKey]! : ''
      const number = byValue.get(value) ?? byValue.size
      byValue.set(value, number)
      this.#numbers[slot] = number
      this.#isLabelled[slot] = isLabelled
    }
    this.count = byValue.size
  }

  /** Whether a node has a label of the key. */
  has({ slot }: NodeInfo): boolean {
    return this.#isLabelled[slot] === true
  }

  /** The number of the domain of a node; one without label is in the domain of the empty value. */
  of({ slot }: NodeInfo): number {
    return this.#numbers[slot] ?? 0
  }
}
