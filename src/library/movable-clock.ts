/** A clock that goes as the machine's does until it is put forward. */
import { type Clock, systemClock } from '../lib/clock.ts'

type Timer = { readonly at: number; readonly run: () => void; isCancelled: boolean }

export class MovableClock implements Clock {
  readonly #base: Clock
  #aheadMs = 0
  /** A heap: the parent of i is at (i - 1) / 2 and is due no later. */
  readonly #timers: Timer[] = []
  #cancelWake = () => {}
  #isAdvancing = false

  constructor(base: Clock = systemClock) {
    this.#base = base
  }

  now(): number {
    return this.#base.now() + this.#aheadMs
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { at: this.now() + Math.max(delayMs, 0), run, isCancelled: false }
    this.#push(timer)
    if (this.#timers[0] === timer) this.#wake()
    return () => {
      timer.isCancelled = true
    }
  }

  /**
   * Puts the clock forward. Everything that falls due on the way happens in its order and at its time, and `settled` says when what
   * it set off is done.
   */
  async advance(ms: number, settled: () => Promise<void>): Promise<void> {
    if (this.#isAdvancing) throw new Error('the clock is already being put forward')
    this.#isAdvancing = true
    try {
      const until = this.now() + ms
      for (let next = this.#next(); next && next.at <= until; next = this.#next()) {
        this.#aheadMs += Math.max(0, next.at - this.now())
        // Those of one moment belong together.
        for (let due = this.#next(); due && due.at <= this.now(); due = this.#next()) {
          this.#pop()
          due.run()
        }
        await settled()
      }
      this.#aheadMs += Math.max(0, until - this.now())
    } finally {
      this.#isAdvancing = false
      this.#wake()
    }
  }

  /** One timer of the machine for all of them. */
  #wake(): void {
    this.#cancelWake()
    const next = this.#next()
    if (next && !this.#isAdvancing) this.#cancelWake = this.#base.after(next.at - this.now(), this.#ring)
  }

  readonly #ring = (): void => {
    if (this.#isAdvancing) return
    for (let due = this.#next(); due && due.at <= this.now(); due = this.#next()) {
      this.#pop()
      due.run()
    }
    this.#wake()
  }

  #next(): Timer | undefined {
    while (this.#timers[0]?.isCancelled) this.#pop()
    return this.#timers[0]
  }

  #push(timer: Timer): void {
    const heap = this.#timers
    let i = heap.push(timer) - 1
    for (let parent = (i - 1) >> 1; i > 0 && heap[parent]!.at > timer.at; parent = (i - 1) >> 1) {
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = timer
  }

  #pop(): void {
    const heap = this.#timers
    const last = heap.pop()
    if (!last || heap.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++
      if (child >= heap.length || heap[child]!.at >= last.at) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
  }
}
