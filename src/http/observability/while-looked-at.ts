/** A recording that goes on while somebody looks at it, and some minutes longer; or always, on servers for tests. */
import type { Clock } from '../../lib/clock.ts'
import { LIMITS } from '../../lib/limits.ts'

export class WhileLookedAt {
  /** Read for each request. */
  isOn = false
  /** The time at which it was switched on, in milliseconds since the epoch. */
  since = 0
  readonly #clock: Clock
  readonly #onEnd: () => void
  #lookedAt = 0
  #isAlwaysOn = false

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock
    this.#onEnd = onEnd
  }

  /** Switches it on for good. */
  keepOn(): void {
    this.#isAlwaysOn = true
    this.isOn = true
    this.since = this.#clock.now()
  }

  /** From now on it begins anew. */
  restart(): void {
    if (this.isOn) this.since = this.#clock.now()
    this.#onEnd()
  }

  look(): void {
    if (this.#isAlwaysOn) return
    this.#lookedAt = this.#clock.now()
    if (this.isOn) return
    this.isOn = true
    this.since = this.#lookedAt
    this.#endLater(LIMITS.recordedRequests.lookedAtMs)
  }

  #endLater(ms: number): void {
    const check = () => {
      const left = this.#lookedAt + LIMITS.recordedRequests.lookedAtMs - this.#clock.now()
      if (left > 0) return this.#endLater(left)
      this.isOn = false
      this.#onEnd()
    }
    this.#clock.after(ms, check, { isRoutine: true })
  }
}
