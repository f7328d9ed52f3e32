/** Revisions that somebody still reads: compaction leaves them while there is space. */
import type { Revision } from './store.ts'

export class Holds {
  readonly #held = new Map<symbol, Revision>()

  /** Holds a revision until disposed of. */
  hold(revision: Revision): Disposable {
    const id = Symbol()
    this.#held.set(id, revision)
    return { [Symbol.dispose]: () => this.#held.delete(id) }
  }

  /** The oldest of them. */
  get oldest(): Revision | undefined {
    return this.#held.size === 0 ? undefined : Math.min(...this.#held.values())
  }

  get count(): number {
    return this.#held.size
  }
}
