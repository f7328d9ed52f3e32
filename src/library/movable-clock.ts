/** A clock that follows the machine's until it is advanced or frozen. */
import { type Clock, systemClock, type TimerOptions } from '../lib/clock.ts'

type Timer = {
  readonly at: number
  readonly run: () => void
  readonly renewal: string | undefined /** It ran or was cancelled. */
  isOver: boolean
}

export class MovableClock implements Clock {
  readonly #base: Clock
  #aheadMs = 0
  /** The time at which it stands still. */
  #frozenAt: number | undefined
  /** The difference between its time and the time that has passed, once it was moved or frozen: nothing else sets it then. */
  #sinceEpochMs: number | undefined
  readonly #timers = new Timers()
  /** Routine timers, which only renew or check something again: they do not hold up time that is advanced. */
  readonly #routine = new Timers()
  /** The next routine of each renewal. */
  readonly #renewals = new Map<string, Timer>()
  #cancelWake = () => {}
  #isAdvancing = false

  constructor(base: Clock = systemClock) {
    this.#base = base
  }

  now(): number {
    return this.#frozenAt ?? this.#base.now() + this.#aheadMs
  }

  elapsed(): number {
    return this.#sinceEpochMs === undefined ? (this.#base.elapsed?.() ?? this.#base.now()) : this.now() - this.#sinceEpochMs
  }

  get isFrozen(): boolean {
    return this.#frozenAt !== undefined
  }

  /** Stops time until `resume`: only `advance` moves it, and timers fire only then. */
  freeze(): void {
    this.#leaveBase()
    this.#frozenAt = this.now()
    this.#wake()
  }

  /** Lets time go on from where it stands. */
  resume(): void {
    if (this.#frozenAt === undefined) return
    this.#aheadMs = this.#frozenAt - this.#base.now()
    this.#frozenAt = undefined
    this.#wake()
  }

  #leaveBase(): void {
    this.#sinceEpochMs ??= this.now() - this.elapsed()
  }

  after(delayMs: number, run: () => void, { isRoutine = false, renewal }: TimerOptions = {}): () => void {
    const timer = { at: this.now() + Math.max(delayMs, 0), run, renewal, isOver: false }
    const timers = isRoutine ? this.#routine : this.#timers
    timers.push(timer)
    if (isRoutine && renewal !== undefined) this.#renewals.set(renewal, timer)
    if (timers.next === timer) this.#wake()
    return () => {
      timer.isOver = true
    }
  }

  /**
   * Advances the clock. Everything that falls due on the way happens in order and at its time, and `settled` resolves when its consequences
   * are done. Routines are due whenever time stops, before anything else, and at the end. Time does not stop at a deadline that a routine
   * would have renewed before:
   *
   *     lease renewed every 10 s, lost after 40 s, advance(1 h) ─→ one renewal at 1 h, no stop at 40 s, 80 s …
   */
  async advance(ms: number, settled: () => Promise<void>): Promise<void> {
    if (this.#isAdvancing) throw new Error('the clock is already being put forward')
    this.#isAdvancing = true
    this.#leaveBase()
    try {
      const until = this.now() + ms
      for (;;) {
        const renewed = this.#setRenewedAside(until)
        const next = this.#timers.next
        const stop = next && next.at <= until ? next.at : until
        this.#moveTo(stop)
        for (const timer of renewed) this.#timers.push(timer)
        if (this.#routine.runUntil(this.now())) await settled()
        // Timers of the same time belong together.
        if (this.#timers.runUntil(Math.min(this.now(), until))) await settled()
        else if (this.now() >= until) return
      }
    } finally {
      this.#isAdvancing = false
      this.#wake()
    }
  }

  #moveTo(time: number): void {
    const ms = Math.max(0, time - this.now())
    if (this.#frozenAt === undefined) this.#aheadMs += ms
    else this.#frozenAt += ms
  }

  /** Removes the first deadlines, up to the first that no routine renews before it passes. */
  #setRenewedAside(until: number): Timer[] {
    const renewed: Timer[] = []
    for (let next = this.#timers.next; next && next.at <= until && this.#isRenewed(next); next = this.#timers.next)
      renewed.push(this.#timers.take())
    return renewed
  }

  #isRenewed({ at, renewal }: Timer): boolean {
    const routine = renewal === undefined ? undefined : this.#renewals.get(renewal)
    if (routine?.isOver) this.#renewals.delete(renewal!)
    return routine !== undefined && !routine.isOver && routine.at <= at
  }

  /** One timer of the machine for all of them. */
  #wake(): void {
    this.#cancelWake()
    const at = Math.min(this.#timers.next?.at ?? Number.POSITIVE_INFINITY, this.#routine.next?.at ?? Number.POSITIVE_INFINITY)
    if (at < Number.POSITIVE_INFINITY && !this.#isAdvancing && !this.isFrozen)
      this.#cancelWake = this.#base.after(at - this.now(), this.#ring)
  }

  readonly #ring = (): void => {
    if (this.#isAdvancing || this.isFrozen) return
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
    while (this.#heap[0]?.isOver) this.take()
    return this.#heap[0]
  }

  /** Runs timers that are due, and those that they set and that are due as well; whether there were any. */
  runUntil(now: number): boolean {
    let isAny = false
    for (let due = this.next; due && due.at <= now; due = this.next) {
      this.take()
      due.isOver = true
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

  /** Removes the one that is due first. */
  take(): Timer {
    const heap = this.#heap
    const first = heap[0]!
    const last = heap.pop()!
    if (heap.length === 0) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++
      if (child >= heap.length || heap[child]!.at >= last.at) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
    return first
  }
}
