/** Deletes keys whose time to live has passed. */
import type { Clock } from './clock.ts'
import type { Revision } from './store.ts'

/** Deletes a key if it is still at this revision; rejects if the store cannot take writes now. */
export type Expire = (key: string, modified: Revision) => Promise<unknown>

type Due = { readonly deadline: number; readonly key: string; readonly modified: Revision }

const DUE_AT_ONCE = 256
const RETRY_MS = 1_000

/** Remembers deadlines in a heap, soonest first, and keeps one timer for the soonest. */
export class Expiry {
  readonly #clock: Clock
  readonly #expire: Expire
  readonly #heap: Due[] = []
  #cancelTimer: (() => void) | undefined
  #timerFor = Infinity
  #stopped = false

  constructor(clock: Clock, expire: Expire) {
    this.#clock = clock
    this.#expire = expire
  }

  /** Has a key expire at a deadline, unless it is written again before. */
  track(key: string, modified: Revision, deadline: number): void {
    push(this.#heap, { deadline, key, modified })
    this.#arm()
  }

  /** Forgets all deadlines. */
  stop(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    this.#heap.length = 0
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
    for (let n = 0; n < DUE_AT_ONCE && this.#heap.length > 0 && this.#heap[0]!.deadline <= now; n++) {
      const { key, modified } = pop(this.#heap)
      this.#expire(key, modified).catch(() => {
        if (!this.#stopped) this.track(key, modified, this.#clock.now() + RETRY_MS)
      })
    }
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
