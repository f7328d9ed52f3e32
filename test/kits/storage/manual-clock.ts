/** A clock that moves only when advanced, for tests. */
import type { Clock } from '../../../src/lib/clock.ts'

type Timer = { readonly at: number; readonly run: () => void }

/** Stands still between calls of `advance`. */
export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>()
  #now: number

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.#now + Math.max(delayMs, 0), run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Advances the clock and runs, in order, the timers that are due. */
  advance(ms: number): void {
    const target = this.#now + ms
    for (let due = this.#soonest(target); due; due = this.#soonest(target)) {
      this.#timers.delete(due)
      this.#now = Math.max(this.#now, due.at)
      due.run()
    }
    this.#now = target
  }

  #soonest(until: number): Timer | undefined {
    let soonest: Timer | undefined
    for (const timer of this.#timers) if (timer.at <= until && (!soonest || timer.at < soonest.at)) soonest = timer
    return soonest
  }
}
