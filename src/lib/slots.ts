/**
 * Limits concurrency: only so many tasks run at once, and only so many start in one iteration of the event loop, so that other events are
 * handled in between. Tasks of one rank start in the order in which they were added.
 */
import { nextIteration } from './environment.ts'

/**
 * Which of the tasks that wait start first: those that must be in time; those that go on with something that others have begun, before more
 * of it is begun; all others. Of the last two, a few of the later rank start in between, so that neither waits for the other to end.
 */
export type Rank = 'urgent' | 'going on' | 'usual'
/** So many tasks that go on with something start until a usual one does. */
const IN_A_ROW = 3

export class Slots {
  #free: number
  #begun = 0
  #isPumping = false
  readonly #perIteration: number
  readonly #waiting: Readonly<Record<Rank, (() => void)[]>> = { urgent: [], 'going on': [], usual: [] }
  #inARow = 0

  constructor({ atOnce, perIteration }: { readonly atOnce: number; readonly perIteration: number }) {
    this.#free = atOnce
    this.#perIteration = perIteration
  }

  async run<T>(work: () => Promise<T>, rank: Rank = 'usual'): Promise<T> {
    if (this.#free > 0 && this.#begun < this.#perIteration) this.#begin()
    else await new Promise<void>(resolve => this.#waiting[rank].push(resolve))
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

  #next(): (() => void) | undefined {
    const { urgent, 'going on': goingOn, usual } = this.#waiting
    if (urgent.length > 0) return urgent.shift()
    if (usual.length > 0 && (goingOn.length === 0 || this.#inARow >= IN_A_ROW)) {
      this.#inARow = 0
      return usual.shift()
    }
    this.#inARow++
    return goingOn.shift()
  }

  /** More tasks may start in the next iteration of the event loop. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    nextIteration(() => {
      this.#isPumping = false
      this.#begun = 0
      while (this.#free > 0 && this.#begun < this.#perIteration) {
        const next = this.#next()
        if (!next) return
        this.#begin()
        next()
      }
      if (this.#free > 0) this.#pump()
    })
  }
}
