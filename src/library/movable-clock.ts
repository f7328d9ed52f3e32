/** A clock that goes as the machine's does until it is put forward. */
import { type Clock, systemClock } from '../lib/clock.ts'

type Timer = { readonly at: number; readonly run: () => void; isCancelled: boolean }

export class MovableClock implements Clock {
  readonly #base: Clock
  #aheadMs = 0
  readonly #timers = new Timers()
  /** Those that only renew something or look at it again: they do not hold up time that is put forward. */
  readonly #routine = new Timers()
  #cancelWake = () => {}
  #isAdvancing = false

  constructor(base: Clock = systemClock) {
    this.#base = base
  }

  now(): number {
    return this.#base.now() + this.#aheadMs
  }

  after(delayMs: number, run: () => void, { isRoutine = false } = {}): () => void {
    const timer = { at: this.now() + Math.max(delayMs, 0), run, isCancelled: false }
    const timers = isRoutine ? this.#routine : this.#timers
    timers.push(timer)
    if (timers.next === timer) this.#wake()
    return () => {
      timer.isCancelled = true
    }
  }

  /**
   * Puts the clock forward. Everything that falls due on the way happens in its order and at its time, and `settled` says when what
   * it set off is done. Routines are due whenever time stops, before anything else, and at the end.
   */
  async advance(ms: number, settled: () => Promise<void>): Promise<void> {
    if (this.#isAdvancing) throw new Error('the clock is already being put forward')
    this.#isAdvancing = true
    try {
      const until = this.now() + ms
      for (;;) {
        const next = this.#timers.next
        const stop = next && next.at <= until ? next.at : until
        this.#aheadMs += Math.max(0, stop - this.now())
        if (this.#routine.runUntil(this.now())) await settled()
        // Those of one moment belong together.
        if (this.#timers.runUntil(Math.min(this.now(), until))) await settled()
        else if (this.now() >= until) return
      }
    } finally {
      this.#isAdvancing = false
      this.#wake()
    }
  }

  /** One timer of the machine for all of them. */
  #wake(): void {
    this.#cancelWake()
    const at = Math.min(this.#timers.next?.at ?? Number.POSITIVE_INFINITY, this.#routine.next?.at ?? Number.POSITIVE_INFINITY)
    if (at < Number.POSITIVE_INFINITY && !this.#isAdvancing) this.#cancelWake = this.#base.after(at - this.now(), this.#ring)
  }

  readonly #ring = (): void => {
    if (this.#isAdvancing) return
    this.#routine.runUntil(this.now())
    this.#timers.runUntil(this.now())
    this.#wake()
  }
}

/** A heap: the parent of i is at (i - 1) / 2 and is due no later. */
class Timers {
  readonly #heap: Timer[] = []

  /** The one that is due first. */
  get next(): Timer | undefined {
    while (this.#heap[0]?.isCancelled) this.#pop()
    return this.#heap[0]
  }

  /** Runs those that are due, and those that they set and that are due as well; whether there were any. */
  runUntil(now: number): boolean {
    let isAny = false
    for (let due = this.next; due && due.at <= now; due = this.next) {
      this.#pop()
      due.run()
      isAny = true
    }
    return isAny
  }

  push(timer: Timer): void {
    const heap = this.#heap
    let i = heap.push(timer) - 1
    for (let parent = (i - 1) >> 1; i > 0 && heap[parent]!.at > timer.at; parent = (i - 1) >> 1) {
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = timer
  }

  #pop(): void {
    const heap = this.#heap
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
