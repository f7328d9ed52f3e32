/**
 * One priority level: its seats, and a queue for each flow. Flows are served round robin, so that one request of a flow does not wait for
 * hundreds of another.
 *
 * kube-apiserver uses shuffle sharding: each flow has a hand of the level's queues. A queue per flow isolates flows at least as well; the
 * limits that follow from the hand are kept: a flow has at most `handSize * queueLengthLimit` requests waiting, the level `queues *
 * queueLengthLimit`, and a level with one queue does not distinguish flows.
 */

import { Queue } from '../../lib/queue.ts'
import type { Dispatcher, Waiting } from './dispatcher.ts'
import type { LevelConfiguration, SeatLimits } from './seats.ts'

/** One flow leaves a quarter of a level's seats to others, or slow clients of one user could hold them all. */
const FLOW_SHARE = 0.75
const MAX_REMEMBERED_FLOWS = 1000

export type Rejection = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled'
/** The result of a request for a seat. */
export type Entry = 'seated' | 'wait' | Rejection

/** `start` is called with the seat, `reject` when there is none in time. */
export type Waiter = {
  readonly flow: string
  /** How many seats it takes. */
  readonly seats: number
  readonly isGone: () => boolean
  readonly start: () => void
  readonly reject: (reason: Rejection) => void
}
type Queued = { readonly waiter: Waiter; readonly since: number }

export type LevelParts = {
  readonly dispatcher: Dispatcher
  /** Seats that levels lend and that are not borrowed. */
  readonly borrowable: () => number
}

export class PriorityLevel implements Waiting {
  readonly #parts: LevelParts
  #configuration: LevelConfiguration
  #limits: SeatLimits
  #perFlow = 0
  /** Flows with waiting requests, in the order in which they are served. */
  readonly #queues = new Map<string, Queue<Queued>>()
  readonly #taken = new Map<string, number>()
  #executing = 0
  /** Seats taken by flows within their share. */
  #within = 0
  #waiting = 0

  constructor(configuration: LevelConfiguration, limits: SeatLimits, parts: LevelParts) {
    this.#parts = parts
    this.#configuration = configuration
    this.#limits = limits
    this.configure(configuration, limits)
  }

  /** Takes effect for every request that starts or arrives later. */
  configure(configuration: LevelConfiguration, limits: SeatLimits): void {
    this.#configuration = configuration
    this.#limits = limits
    this.#perFlow = this.#hasFlows ? Math.ceil(limits.nominal * FLOW_SHARE) : limits.nominal
    this.#within = 0
    for (const taken of this.#taken.values()) this.#within += Math.min(taken, this.#perFlow)
  }

  get configuration(): LevelConfiguration {
    return this.#configuration
  }
  get limits(): SeatLimits {
    return this.#limits
  }
  get executing(): number {
    return this.#executing
  }
  /** Its seats that belong to other levels. */
  get borrowed(): number {
    return this.#executing - this.#own
  }
  get waiting(): number {
    return this.#waiting
  }
  get isIdle(): boolean {
    return this.#executing === 0 && this.#waiting === 0
  }
  /** Seats of its own that it could lend. */
  get lendable(): number {
    return Math.max(0, this.#limits.nominal - Math.max(this.#limits.lower, this.#own))
  }
  get ready(): number {
    return this.#waiting === 0 ? 0 : Math.min(this.#waiting, this.#free)
  }

  get #own(): number {
    return Math.min(this.#within, this.#limits.nominal)
  }
  get #borrowable(): number {
    const { nominal, upper } = this.#limits
    return Math.max(0, Math.min(upper - nominal - this.borrowed, this.#parts.borrowable()))
  }
  get #free(): number {
    return this.#limits.nominal - this.#own + this.#borrowable
  }
  get #hasFlows(): boolean {
    return (this.#configuration.queuing?.queues ?? 0) > 1
  }

  /** The key of a flow in this level. */
  flowOf(schema: string, distinguisher: string): string {
    return this.#hasFlows ? `${schema}/${distinguisher}` : ''
  }

  /** Takes seats if they are free and nothing waits for them. Every seated request must `leave` them. */
  enter(flow: string, seats = 1): Entry {
    const { isExempt, queuing } = this.#configuration
    if (isExempt) {
      this.#executing += seats
      return 'seated'
    }
    if (queuing === undefined) {
      // Requests that only wait for the CPU already have their seats.
      if (this.#waiting + seats > this.#free && this.#executing > 0) return 'concurrency-limit'
    } else if (!this.#hasSeats(flow, seats)) return 'wait'
    if (this.#waiting > 0 || !this.#parts.dispatcher.mayStart()) return 'wait'
    this.#sit(flow, seats)
    return 'seated'
  }

  /** Adds a request to the queue of its flow; false when that is full. */
  wait(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.flow)
    const length = queue?.length ?? 0
    const { queuing } = this.#configuration
    // A request that could have a seat waits for the CPU only, and does not count against the queue length.
    if (queuing !== undefined && !(length < this.#free && this.#hasSeats(waiter.flow, waiter.seats))) {
      const { queues, handSize, queueLengthLimit } = queuing
      if (this.#waiting >= queues * queueLengthLimit || length >= handSize * queueLengthLimit) return false
    }
    const queued = { waiter, since: this.#parts.dispatcher.now() }
    if (queue) queue.push(queued)
    else this.#queues.set(waiter.flow, new Queue(queued))
    this.#waiting++
    this.#parts.dispatcher.wake()
    return true
  }

  leave(flow: string, seats = 1): void {
    this.#executing -= seats
    if (this.#configuration.isExempt) return
    const taken = this.#taken.get(flow)!
    const left = taken - seats
    // Flows return: a map with constant insertions and deletions creates garbage, one of a thousand flows does not matter.
    if (left > 0 || this.#taken.size <= MAX_REMEMBERED_FLOWS) this.#taken.set(flow, left)
    else this.#taken.delete(flow)
    this.#within -= Math.min(taken, this.#perFlow) - Math.min(left, this.#perFlow)
    this.#parts.dispatcher.wake()
  }

  startNext(most: number): boolean {
    if (this.#waiting === 0) return false
    for (const [flow, queue] of this.#queues) {
      if (queue.length > most || !this.#hasSeats(flow, 1)) continue
      this.#dropGone(flow, queue)
      if (queue.length === 0) continue
      const { seats } = queue.first.waiter
      // Others must not take one by one the seats that a large request waits for.
      if (!this.#hasSeats(flow, seats)) return false
      const waiter = this.#nextOf(flow, queue)
      this.#sit(flow, seats)
      waiter.start()
      return true
    }
    return false
  }

  rejectBefore(time: number): void {
    for (const [flow, queue] of this.#queues) {
      while (queue.length > 0 && queue.first.since < time) {
        this.#waiting--
        queue.shift().waiter.reject('time-out')
      }
      if (queue.length === 0) this.#queues.delete(flow)
    }
  }

  /** Drops requests at the front whose clients are no longer connected. */
  #dropGone(flow: string, queue: Queue<Queued>): void {
    while (queue.length > 0 && queue.first.waiter.isGone()) {
      this.#waiting--
      queue.shift().waiter.reject('cancelled')
    }
    if (queue.length === 0) this.#queues.delete(flow)
  }

  /** The first request of a flow, which then moves behind all others that wait. */
  #nextOf(flow: string, queue: Queue<Queued>): Waiter {
    const { waiter } = queue.shift()
    this.#waiting--
    this.#queues.delete(flow)
    if (queue.length > 0) this.#queues.set(flow, queue)
    return waiter
  }

  /** Whether seats are free for a flow: those of the level within the flow's share, and borrowed ones. An idle level has any number. */
  #hasSeats(flow: string, seats: number): boolean {
    const own = Math.min(this.#limits.nominal - this.#within, this.#perFlow - (this.#taken.get(flow) ?? 0))
    if (own >= seats) return true
    return Math.max(0, own) + this.#borrowable >= seats || (seats > 1 && this.#executing === 0)
  }

  #sit(flow: string, seats: number): void {
    const taken = this.#taken.get(flow) ?? 0
    this.#executing += seats
    this.#within += Math.min(taken + seats, this.#perFlow) - Math.min(taken, this.#perFlow)
    this.#taken.set(flow, taken + seats)
  }
}
