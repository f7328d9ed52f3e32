/** The bytes that the history of all resources takes together, and the limit on them. */

/** A cache that can give up history. */
export interface Shrinkable {
  readonly historyBytes: number
  /** Drops the oldest history until no more than this is left. */
  shrinkHistory(bytes: number): void
}

export class HistoryBudget {
  readonly #maxBytes: number
  readonly #caches: () => Iterable<Shrinkable>
  #bytes = 0

  constructor(maxBytes: number, caches: () => Iterable<Shrinkable>) {
    this.#maxBytes = maxBytes
    this.#caches = caches
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Adds the growth of one cache; negative when it has dropped some. */
  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Counts anew, after caches were added, removed or shortened. */
  recount(): void {
    this.#bytes = 0
    for (const cache of this.#caches()) this.#bytes += cache.historyBytes
  }

  /** Over the limit the caches with the most history give some up: a resource with few writes keeps its own. */
  enforce(): void {
    if (this.#bytes <= this.#maxBytes) return
    const caches = [...this.#caches()].filter(({ historyBytes }) => historyBytes > 0)
    caches.sort((a, b) => a.historyBytes - b.historyBytes)
    // A little more than needed is dropped, so that not every write has to look again.
    let left = this.#maxBytes - this.#maxBytes / 8
    for (const [i, cache] of caches.entries()) {
      cache.shrinkHistory(Math.max(0, left / (caches.length - i)))
      left -= cache.historyBytes
    }
    this.recount()
  }
}
