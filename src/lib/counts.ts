/** Counters of one metric, by the values of its labels. */
import type { Labels } from './exposition.ts'

export class Counts {
  readonly #counts = new Map<string, { readonly labels: Labels; count: number }>()

  add(labels: Labels): void {
    this.of(labels).count++
  }

  /** The counter for a combination of labels, for callers that count often. */
  of(labels: Labels): { count: number } {
    const key = Object.values(labels).join('\n')
    let known = this.#counts.get(key)
    if (!known) this.#counts.set(key, (known = { labels, count: 0 }))
    return known
  }

  get samples(): (readonly [Labels, number])[] {
    return [...this.#counts.values()].filter(({ count }) => count > 0).map(({ labels, count }) => [labels, count] as const)
  }
}
