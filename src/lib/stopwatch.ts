/** Where the time of a request goes: each lap adds what has passed since the last to one of a few phases. */
export class Stopwatch {
  readonly #now: () => number
  readonly #began: number
  readonly #phases: Record<string, number> = {}
  #last: number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#began = this.#last = now()
  }

  lap(phase: string): void {
    const now = this.#now()
    this.#phases[phase] = (this.#phases[phase] ?? 0) + now - this.#last
    this.#last = now
  }

  /** Milliseconds since the beginning. */
  get total(): number {
    return this.#now() - this.#began
  }

  /** Whole milliseconds of each phase that took one at least. */
  get phases(): Readonly<Record<string, number>> {
    const whole = Object.entries(this.#phases).map(([phase, ms]) => [phase, Math.round(ms)] as const)
    return Object.fromEntries(whole.filter(([, ms]) => ms > 0))
  }
}
