/**
 * The memory that bytes of objects may take, over a store from which they can be read again without waiting. Objects are evicted as by
 * a clock: a hand goes around all of them; whoever was read since it last came by stays, the others lose their bytes.
 *
 *     a  b* c  d*      b and d were read: the hand takes the bytes of a and c, and the marks of b and d
 *     ↑→ → → →
 *
 * The first round takes large ones only, which cost the most memory and the least time per byte to read again; the next takes all but
 * the smallest. The properties of an object that selectors and indexes read always stay.
 */
import { nextIteration } from '../lib/environment.ts'

/** The objects that the hand of the clock passes. */
export interface Evictable {
  /**
   * Looks at the objects behind a key, or at the first ones, and evicts the unread of at least a size, until enough bytes are free.
   * Returns the last key; undefined at the end.
   */
  evictAfter(key: string | undefined, many: number, leastSize: number): string | undefined
}

const LARGE = 64 << 10
/** The memory that a buffer and its bookkeeping take: below it little is gained. */
const MIN_BYTES = 1 << 10
/** The least size that each round takes. A round may only find marks to take, and the first may be the rest of the one before. */
const ROUNDS = [LARGE, LARGE, LARGE, MIN_BYTES, MIN_BYTES]
/** How many objects are looked at before other work gets its time. */
const MAX_BATCH = 512

export class ByteBudget {
  readonly limit: number
  readonly #all: () => Iterable<Evictable>
  #bytes = 0
  /** The resources that the hand has still to go around, and the key that it is at in the last of them. */
  #left: Evictable[] = []
  #key: string | undefined
  #round = 0
  #isSweeping = false
  /** From how many bytes on it is worth to look again, after nothing more could be evicted. */
  #enough: number

  constructor(limit: number, all: () => Iterable<Evictable>) {
    this.limit = limit
    this.#all = all
    this.#enough = limit
  }

  /** Bytes that are in memory. */
  get bytes(): number {
    return this.#bytes
  }

  get isUsedUp(): boolean {
    return this.#bytes > this.limit
  }

  /** So many bytes more, or less. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.limit) this.#enough = this.limit
    if (this.#bytes <= this.#enough || this.#isSweeping) return
    this.#isSweeping = true
    this.#round = 0
    nextIteration(this.#sweep)
  }

  #sweep = (): void => {
    if (this.#bytes > this.limit && this.#round < ROUNDS.length) {
      this.#moveOn()
      nextIteration(this.#sweep)
      return
    }
    this.#isSweeping = false
    this.#enough = this.#bytes > this.limit ? this.#bytes + this.limit / 16 : this.limit
  }

  #moveOn(): void {
    const current = this.#left.at(-1)
    if (current) {
      this.#key = current.evictAfter(this.#key, MAX_BATCH, ROUNDS[this.#round]!)
      if (this.#key === undefined) this.#left.pop()
    } else {
      this.#left = [...this.#all()]
      this.#round++
    }
  }
}
