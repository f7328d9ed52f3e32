/**
 * When a cache may answer, over a store that other processes write to as well. One question to the store serves all requests that came before
 * it was sent; later ones wait for the next question, since a write may have been acknowledged elsewhere in between:
 *
 *     a, b ask ──→ sent ─────────→ answered: 17 ──→ the cache has reached 17: a and b go on
 *                    c asks ───────┘ sent ─────────→ answered: 19 ──→ …
 *
 * A store that knows without asking answers at once, and most of the time the cache is there already.
 */
import { monotonicMs } from '../lib/environment.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Revision } from '../storage/store.ts'

export class Freshness {
  /** Every write that was acknowledged before this moment can be read, on the clock of `performance.now`. */
  #confirmedAt = Number.NEGATIVE_INFINITY
  readonly #ask: () => MaybePromise<Revision>
  #isAtOnce = false
  readonly #reach: (revision: Revision) => Promise<void> | void
  /** Settles when the question that was sent last has been answered. */
  #underWay: Promise<void> | undefined
  #next: Promise<void> | undefined

  /** `ask` gets the newest revision of the store, `reach` waits until it can be read. */
  constructor(ask: () => MaybePromise<Revision>, reach: (revision: Revision) => Promise<void> | void) {
    this.#ask = ask
    this.#reach = reach
  }

  /** Resolves once every write can be read that was acknowledged to any client before the call; undefined if that is so now. */
  now(): Promise<void> | undefined {
    if (this.#next) return this.#next
    if (!this.#underWay) return this.#send()
    this.#next = this.#underWay.then(() => {
      this.#next = undefined
      return this.#send()
    })
    return this.#next
  }

  /** Whether the store answered without asking anybody when it was last asked. */
  get isAtOnce(): boolean {
    return this.#isAtOnce
  }

  /** Reads see every write that was acknowledged at least this many milliseconds ago. */
  get ageMs(): number {
    return monotonicMs() - this.#confirmedAt
  }

  /** The cache has reached a revision that the store gave to something that was sent to it at this moment. */
  confirm(sentAt: number): void {
    if (sentAt > this.#confirmedAt) this.#confirmedAt = sentAt
  }

  #send(): Promise<void> | undefined {
    const sentAt = monotonicMs()
    const asked = this.#ask()
    this.#isAtOnce = !(asked instanceof Promise)
    if (!(asked instanceof Promise)) {
      const reached = this.#reach(asked)
      if (reached) return reached.then(() => this.confirm(sentAt))
      this.confirm(sentAt)
      return undefined
    }
    const answered: Promise<void> = asked.then(
      () => this.#answered(answered),
      () => this.#answered(answered),
    )
    this.#underWay = answered
    return asked.then(this.#reach).then(() => this.confirm(sentAt))
  }

  #answered(which: Promise<void>): void {
    if (this.#underWay === which) this.#underWay = undefined
  }
}
