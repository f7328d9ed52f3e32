/**
 * The writes of events that wait for their turn. Events come after other writes, so a busy server may record them faster than it
 * writes them; those for which there is no room are lost, as with kube-scheduler, so that memory is not.
 */
import { LIMITS } from '../lib/limits.ts'
import { Queue } from '../lib/queue.ts'

export type EventBacklogOptions = {
  /** How many are written at the same time. */
  readonly concurrency: number
  readonly onError: (error: unknown) => void
}

export class EventBacklog {
  readonly #options: EventBacklogOptions
  readonly #waiting = new Queue<() => Promise<void>>()
  readonly #writing = new Set<Promise<void>>()
  /** Since the backlog was last empty. */
  #hasLost = false

  constructor(options: EventBacklogOptions) {
    this.#options = options
  }

  /** Resolves when the write is made, or has failed. Undefined when it is lost. */
  add(write: () => Promise<void>): Promise<void> | undefined {
    if (this.#waiting.length >= LIMITS.waitingEvents) {
      this.#lose()
      return undefined
    }
    return new Promise(resolve => {
      this.#waiting.push(() => write().finally(resolve))
      this.#begin()
    })
  }

  /** Resolves when nothing waits any more. */
  async flushed(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing)
  }

  #begin(): void {
    const { concurrency, onError } = this.#options
    while (this.#writing.size < concurrency && this.#waiting.length > 0) {
      const write = this.#waiting.shift()
      // Not before the caller, who may be in the middle of something, is done.
      const written = Promise.resolve()
        .then(write)
        .catch(onError)
        .finally(() => {
          this.#writing.delete(written)
          this.#begin()
        })
      this.#writing.add(written)
    }
    if (this.#waiting.length === 0) this.#hasLost = false
  }

  /** Tells of the first that is lost: there will be many. */
  #lose(): void {
    if (this.#hasLost) return
    this.#hasLost = true
    this.#options.onError(new Error(`events are lost: ${LIMITS.waitingEvents} wait to be written, and more come faster than they are`))
  }
}
