/**
 * Limits concurrency: only so many tasks run at once, and only so many start in one iteration of the event loop, so that other events are
 * handled in between. Tasks of one rank start in the order in which they were added.
 */
import { nextIteration } from './environment.ts'
import { Queue } from './queue.ts'

/**
 * Which of the tasks that wait start first: those that must be in time; those that complete something; those that go on with something that
 * others have begun, before more of it is begun; all others. Of the ranks after the first, a few tasks of a later one start in between, so
 * that none waits for another to end.
 */
export const RANKS = ['urgent', 'completing', 'going on', 'usual'] as const
export type Rank = (typeof RANKS)[number]
/** The ranks that share. */
const SHARING = RANKS.slice(1)
/** So many tasks of a rank start until one of a later rank does. */
const IN_A_ROW = 3

/** A value for each rank. */
export const byRank = <V>(of: (rank: Rank) => V): Record<Rank, V> =>
  Object.fromEntries(RANKS.map(rank => [rank, of(rank)])) as Record<Rank, V>

export class Slots {
  #free: number
  #begun = 0
  #isPumping = false
  readonly #perIteration: number
  readonly #waiting = byRank(() => new Queue<() => void>())
  /** How many of a rank have started since one of a later rank did. */
  readonly #inARow = byRank(() => 0)

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
    if (this.#waiting.urgent.length > 0) return this.#waiting.urgent.shift()
    const waiting = SHARING.filter(rank => this.#waiting[rank].length > 0)
    const rank = waiting.find(each => this.#inARow[each] < IN_A_ROW) ?? waiting.at(-1)
    if (rank === undefined) return undefined
    for (const earlier of SHARING.slice(0, SHARING.indexOf(rank))) this.#inARow[earlier] = 0
    this.#inARow[rank]++
    return this.#waiting[rank].shift()
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
