/** The time of day of moments that were measured with the monotonic clock, most of which costs no further look at a clock. */
import { monotonicMs } from './environment.ts'

/** How far apart both clocks are is found out again after so long, as the other one may be set. */
const KNOWN_MS = 1

export class WallTimes {
  readonly #now: () => number
  /** How much the other clock is ahead of the monotonic one, and the moment at which that was so. */
  #ahead = 0
  #knownAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number) {
    this.#now = now
  }

  /** Milliseconds since the epoch at a moment of the monotonic clock. */
  at(moment: number): number {
    if (Math.abs(moment - this.#knownAt) >= KNOWN_MS) {
      this.#knownAt = monotonicMs()
      this.#ahead = this.#now() - this.#knownAt
    }
    return this.#ahead + moment
  }
}
