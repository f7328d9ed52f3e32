/** The clock of stores, controllers and requests, passed as a parameter so that tests can advance it. */
import { monotonicMs, startTimer, stopTimer, type Timer, wallMs } from './environment.ts'

export type TimerOptions = {
  /** The timer only renews or checks something again: when time is advanced, running it once is as good as a hundred times. */
  readonly isRoutine?: boolean
  /** Names a renewal: a routine timer performs it, and any other timer is a deadline that passes only without it. */
  readonly renewal?: string
}

export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds of a clock that nobody sets, for ages; left out where `now` is such a clock. */
  elapsed?(): number
  /** Runs a function once, never before the delay has passed; calling the result first cancels it. */
  after(delayMs: number, run: () => void, options?: TimerOptions): () => void
}

// Node fires timers with a longer delay immediately.
const MAX_TIMER_MS = 2 ** 31 - 1
// Node's timers count whole milliseconds of another clock and may fire early. If they are earlier than this, the machine's clock was set
// back.
const MAX_EARLY_MS = 1000

/** The machine's clock; its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: wallMs,
  elapsed: monotonicMs,
  after(delayMs, run) {
    let left = Math.max(Math.ceil(delayMs), 0)
    const due = wallMs() + left
    let timer: Timer
    const fired = () => {
      const early = due - wallMs()
      if (left === 0 && early > 0 && early <= MAX_EARLY_MS) left = early
      if (left > 0) wait()
      else run()
    }
    const wait = () => {
      const ms = Math.min(left, MAX_TIMER_MS)
      left -= ms
      timer = startTimer(fired, ms).unref()
    }
    wait()
    return () => stopTimer(timer)
  },
}
