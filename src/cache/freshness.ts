/**
 * When a cache may answer, over a store that other processes write to as well. One question to the store serves all who asked before
 * it was sent; who comes later waits for the next one, since a write may have been acknowledged elsewhere in between:
 *
 *     a, b ask ──→ sent ─────────→ answered: 17 ──→ the cache has reached 17: a and b go on
 *                    c asks ───────┘ sent ─────────→ answered: 19 ──→ …
 */
import type { Revision } from '../storage/store.ts'

export class Freshness {
  readonly #ask: () => Promise<Revision>
  readonly #reach: (revision: Revision) => Promise<void> | void
  /** Settles when the question that was sent last has been answered. */
  #underWay: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** `ask` gets the newest revision of the store, `reach` waits until it can be read. */
  constructor(ask: () => Promise<Revision>, reach: (revision: Revision) => Promise<void> | void) {
    this.#ask = ask
    this.#reach = reach
  }

  /** Resolves once every write can be read that was acknowledged to any client before the call. */
  now(): Promise<void> {
    if (this.#next) return this.#next
    if (!this.#underWay) return this.#send()
    this.#next = this.#underWay.then(() => {
      this.#next = undefined
      return this.#send()
    })
    return this.#next
  }

  #send(): Promise<void> {
    const asked = this.#ask()
    const answered: Promise<void> = asked.then(
      () => this.#answered(answered),
      () => this.#answered(answered),
    )
    this.#underWay = answered
    return asked.then(this.#reach)
  }

  #answered(which: Promise<void>): void {
    if (this.#underWay === which) this.#underWay = undefined
  }
}
