/**
 * Decides when waiting requests start. Priority levels have seats, but all share one CPU: an iteration of the event loop starts a
 * handful of requests and then reads the sockets again, so that a request does not wait for a thousand requests of another user
 * that arrived in one packet.
 */
import { monotonicMs, nextIteration, startInterval, startTimer, stopTimer, type Timer } from '../../lib/environment.ts'

/** Requests started in one iteration of the event loop, and their maximum total time before the sockets are read. */
const BURST = 8
const SLICE_MS = 0.5
/**
 * While more than one user sends requests, an iteration starts one request of the next flow, and after it only requests of flows with few
 * waiting. Flows with many waiting, the backlog, get an eighth of the time: after an iteration that served them they pause for seven times
 * as long. Otherwise all other users would wait for requests of the backlog that have just started.
 */
const FEW = 4
const REST = 7
/** How long two users count as concurrent after their requests. */
const SHARED_FOR_MS = 50
/** The interval of checks for requests that have waited too long. */
const CHECK_MS = 1000

/** A priority level with waiting requests. */
export interface Waiting {
  readonly waiting: number
  /** The number of them that could start now. */
  readonly ready: number
  /** Starts one request of the next flow among those with no more than `most` waiting; false when none can start. */
  startNext(most: number): boolean
  /** Rejects requests that have waited since before a time. */
  rejectBefore(time: number): void
}

export class Dispatcher implements Disposable {
  readonly now: () => number
  readonly #waitMs: number
  #levels: readonly Waiting[] = []
  /** Requests started without waiting, in this iteration of the event loop. */
  #started = 0
  #scheduled = 0
  #iterationBegan = 0
  #idle = true
  #next = 0
  #checking: Timer | undefined
  #lastUser: string | undefined
  #sharedUntil = 0
  #restsUntil = 0
  #resting: Timer | undefined

  constructor({ waitMs, now = monotonicMs }: { readonly waitMs: number; readonly now?: () => number }) {
    this.#waitMs = waitMs
    this.now = now
  }

  [Symbol.dispose](): void {
    stopTimer(this.#checking)
    stopTimer(this.#resting)
  }

  /** Replaces the levels whose requests are started. */
  serve(levels: readonly Waiting[]): void {
    this.#levels = levels
    this.wake()
  }

  /** Records a user's request, whether it waits or not; while several users send requests, the backlog of one gets less time. */
  seen(user: string): void {
    if (user === this.#lastUser) return
    if (this.#lastUser !== undefined) this.#sharedUntil = this.now() + SHARED_FOR_MS
    this.#lastUser = user
  }

  /** Whether a request may start without waiting; counts it. */
  mayStart(): boolean {
    const isShared = this.#sharedUntil > 0 && this.now() < this.#sharedUntil
    if (this.#started >= (isShared ? FEW : BURST)) return false
    if (this.#started++ === 0) nextIteration(this.#endIteration)
    return true
  }

  /** Called when a request waits, or a seat has become free. */
  wake(): void {
    if (!this.#levels.some(({ waiting }) => waiting > 0)) return
    this.#schedule()
    this.#checking ??= startInterval(this.#rejectLate, CHECK_MS).unref()
  }

  #endIteration = (): void => {
    this.#started = 0
  }

  /** Each start has a callback of its own, so that its synchronous work is done before the next. */
  #schedule(): void {
    if (this.#scheduled > 0) return
    const ready = this.#levels.reduce((sum, level) => sum + level.ready, 0)
    this.#scheduled = Math.min(BURST, ready)
    this.#iterationBegan = 0
    this.#idle = true
    for (let i = 0; i < this.#scheduled; i++) nextIteration(this.#startOne)
  }

  #startOne = (): void => {
    this.#scheduled--
    const now = this.now()
    if (this.#iterationBegan === 0) this.#iterationBegan = now
    const isShared = now < this.#sharedUntil
    const rests = isShared && now < this.#restsUntil
    const forAll = !isShared || (this.#idle && !rests)
    if (now - this.#iterationBegan < SLICE_MS && this.#startNext(forAll ? Number.POSITIVE_INFINITY : FEW)) {
      this.#idle = false
      if (isShared && forAll) this.#restAfter(now)
    }
    if (this.#scheduled > 0) return
    if (!this.#idle) this.#schedule()
    // Otherwise a seat must become free first, or the pause of the backlog end.
    else if (rests) this.#resting ??= startTimer(this.#endRest, Math.min(this.#restsUntil, this.#sharedUntil) - now)
  }

  /** An iteration ends when the callbacks of the next one run; the time of all its work counts, not only that of requests started here. */
  #restAfter(began: number): void {
    nextIteration(() => {
      const now = this.now()
      this.#restsUntil = now + (now - began) * REST
    })
  }

  #endRest = (): void => {
    this.#resting = undefined
    this.#schedule()
  }

  #startNext(most: number): boolean {
    for (let i = 0; i < this.#levels.length; i++) if (this.#levels[this.#next++ % this.#levels.length]!.startNext(most)) return true
    return false
  }

  #rejectLate = (): void => {
    const eldest = this.now() - this.#waitMs
    for (const level of this.#levels) level.rejectBefore(eldest)
    if (this.#levels.some(({ waiting }) => waiting > 0)) return
    stopTimer(this.#checking)
    this.#checking = undefined
  }
}
