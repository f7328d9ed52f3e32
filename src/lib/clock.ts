/** The time that stores, controllers and requests live by, handed in so that tests can move it. */

export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Runs something once after a delay; calling the result first cancels it. What is routine renews something or looks at it again: where
   * time is put forward, once is as good as a hundred times.
   */
  after(delayMs: number, run: () => void, options?: { readonly isRoutine?: boolean }): () => void
}

// Node fires timers with a longer delay at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The machine's clock; its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(Math.max(delayMs, 0), LONGEST_TIMER_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
