/**
 * Limits concurrency: only so many tasks run at once, and only so many start in one iteration of the event loop, so that other events are
 * handled in between. Tasks start in the order in which they were added, urgent ones before all others.
 */
import { nextIteration } from './environment.ts'
export class Slots {
  #free: number
  #begun = 0
  #isPumping = false
  readonly #perIteration: number
  readonly #urgent: (() => void)[] = []
  readonly #waiting: (() => void)[] = []

  constructor({ atOnce, perIteration }: { readonly atOnce: number; readonly perIteration: number }) {
    this.#free = atOnce
    this.#perIteration = perIteration
  }

  async run<T>(work: () => Promise<T>, { isUrgent = false }: { readonly isUrgent?: boolean } = {}): Promise<T> {
    if (this.#free > 0 && this.#begun < this.#perIteration) this.#begin()
    else await new Promise<void>(resolve => (isUrgent ? this.#urgent : this.#waiting).push(resolve))
    this.#pump()
    try {
      return await work()
    } finally {
      this.#free++
      this.#pump()
    }
  }

  #begin(): void {
    this.#free--
    this.#begun++
  }

  /** More tasks may start in the next iteration of the event loop. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    nextIteration(() => {
      this.#isPumping = false
      this.#begun = 0
      while (this.#free > 0 && this.#begun < this.#perIteration) {
        const next = this.#urgent.shift() ?? this.#waiting.shift()
        if (!next) return
        this.#begin()
        next()
      }
      if (this.#free > 0) this.#pump()
    })
  }
}
