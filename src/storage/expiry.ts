/** Deletes keys whose time to live has passed. */
import type { Clock } from '../lib/clock.ts'
import type { Revision } from './store.ts'

/** Deletes a key if it is still at this revision; rejects if the store cannot take writes now. */
export type Expire = (key: string, modified: Revision) => Promise<unknown>

type Due = { readonly deadline: number; readonly key: string; readonly modified: Revision }

const MAX_BATCH = 256
const RETRY_MS = 1_000
const SUPERSEDED = 1_000

/** Remembers deadlines in a heap, soonest first, and keeps one timer for the soonest. */
export class Expiry {
  readonly #clock: Clock
  readonly #expire: Expire
  readonly #dues = new Map<string, Due>()
  /** Holds also what has been superseded in the map, until that is most of it. */
  #heap: Due[] = []
  #cancelTimer: (() => void) | undefined
  #timerFor = Infinity
  #stopped = false

  constructor(clock: Clock, expire: Expire) {
    this.#clock = clock
    this.#expire = expire
  }

  /** Records a write: from now on the key expires at its deadline, or not at all. */
  written(key: string, modified: Revision, deadline: number | undefined): void {
    if (deadline === undefined) {
      this.#dues.delete(key)
      return
    }
    const due = { deadline, key, modified }
    this.#dues.set(key, due)
    push(this.#heap, due)
    // A sorted list is a heap.
    if (this.#heap.length > 2 * this.#dues.size + SUPERSEDED) this.#heap = [...this.#dues.values()].sort((a, b) => a.deadline - b.deadline)
    this.#arm()
  }

  /** Forgets all deadlines. */
  stop(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#dues.clear()
    this.#heap = []
  }

  #arm(): void {
    const soonest = this.#heap[0]
    if (this.#stopped || !soonest || soonest.deadline >= this.#timerFor) return
    this.#cancelTimer?.()
    this.#timerFor = soonest.deadline
    this.#cancelTimer = this.#clock.after(soonest.deadline - this.#clock.now(), () => {
      this.#timerFor = Infinity
      this.#expireDue()
      this.#arm()
    })
  }

  #expireDue(): void {
    const now = this.#clock.now()
    for (let n = 0; n < MAX_BATCH && this.#heap.length > 0 && this.#heap[0]!.deadline <= now; ) {
      const due = pop(this.#heap)
      if (this.#dues.get(due.key) !== due) continue
      this.#dues.delete(due.key)
      n++
      this.#expire(due.key, due.modified).catch(() => this.#retry(due))
    }
  }

  #retry({ key, modified }: Due): void {
    const writtenSince = this.#dues.has(key)
    if (!this.#stopped && !writtenSince) this.written(key, modified, this.#clock.now() + RETRY_MS)
  }
}

/** The deadline of a write, if it has one. */
export function deadlineOf(ttlSeconds: number | undefined, clock: Clock): number | undefined {
  if (ttlSeconds === undefined) return undefined
  if (!(ttlSeconds >= 0)) throw new RangeError(`a time to live is a number of seconds, not ${ttlSeconds}`)
  return Math.min(clock.now() + Math.ceil(ttlSeconds * 1000), Number.MAX_SAFE_INTEGER)
}

function push(heap: Due[], due: Due): void {
  let at = heap.push(due) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (heap[parent]!.deadline <= due.deadline) break
    heap[at] = heap[parent]!
    at = parent
  }
  heap[at] = due
}

function pop(heap: Due[]): Due {
  const top = heap[0]!
  const last = heap.pop()!
  if (heap.length === 0) return top
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && heap[child + 1]!.deadline < heap[child]!.deadline) child++
    if (heap[child]!.deadline >= last.deadline) break
    heap[at] = heap[child]!
    at = child
  }
  heap[at] = last
  return top
}
