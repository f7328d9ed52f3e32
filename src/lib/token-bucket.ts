/** A token bucket: a burst, then a rate per second. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  /** When the tokens were last counted, in milliseconds. */
  #counted = Number.NEGATIVE_INFINITY

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
  }

  /** Takes a token if there is one. */
  take(nowMs: number): boolean {
    const elapsed = Math.max(0, nowMs - this.#counted) / 1000
    const tokens = Math.min(this.#burst, this.#tokens + elapsed * this.#perSecond)
    if (tokens < 1) return false
    this.#tokens = tokens - 1
    this.#counted = nowMs
    return true
  }
}
