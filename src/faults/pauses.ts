/** Delays that the end of the server, or of the waiting request, cuts short: no timer is left behind. */
import type { Cancellation } from '../lib/cancellation.ts'
import { startTimer, stopTimer } from '../lib/environment.ts'

export class Pauses {
  readonly #wakes = new Set<() => void>()
  #isOver = false

  /** Resolves after a time, when the signal is aborted, or when all delays are ended. */
  wait(ms: number, gone?: Cancellation): Promise<void> {
    if (this.#isOver || gone?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        stopTimer(timer)
        this.#wakes.delete(wake)
        gone?.removeEventListener('abort', wake)
        resolve()
      }
      const timer = startTimer(wake, ms)
      this.#wakes.add(wake)
      gone?.addEventListener('abort', wake)
    })
  }

  /** Ends all delays. */
  wakeAll(): void {
    for (const wake of [...this.#wakes]) wake()
  }

  /** Ends all delays for good. */
  stop(): void {
    this.#isOver = true
    this.wakeAll()
  }
}
