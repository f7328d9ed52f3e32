/**
 * One priority level: its seats, and a queue for each flow. Flows are served round robin, so that one request of a flow does not wait for
 * hundreds of another.
 *
 * kube-apiserver uses shuffle sharding: each flow has a hand of the level's queues. A queue per flow isolates flows at least as well; the
 * limits that follow from the hand are kept: a flow has at most `handSize * queueLengthLimit` requests waiting, the level `queues *
 * queueLengthLimit`, and a level with one queue does not distinguish flows.
 */
import type { Dispatcher, Waiting } from './dispatcher.ts'
import { Queue } from './queue.ts'
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

  /** Takes a seat if one is free and nothing waits for it. Every seated request must `leave`. */
  enter(flow: string): Entry {
    const { isExempt, queuing } = this.#configuration
    if (isExempt) {
      this.#executing++
      return 'seated'
    }
    if (queuing === undefined) {
      // Requests that only wait for the CPU already have their seats.
      if (this.#waiting >= this.#free) return 'concurrency-limit'
    } else if (!this.#hasSeat(flow)) return 'wait'
    if (this.#waiting > 0 || !this.#parts.dispatcher.mayStart()) return 'wait'
    this.#sit(flow)
    return 'seated'
  }

  /** Adds a request to the queue of its flow; false when that is full. */
  wait(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.flow)
    const length = queue?.length ?? 0
    const { queuing } = this.#configuration
    // A request that could have a seat waits for the CPU only, and does not count against the queue length.
    if (queuing !== undefined && !(length < this.#free && this.#hasSeat(waiter.flow))) {
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

  leave(flow: string): void {
    this.#executing--
    if (this.#configuration.isExempt) return
    const left = this.#taken.get(flow)! - 1
    // Flows return: a map with constant insertions and deletions creates garbage, one of a thousand flows does not matter.
    if (left > 0 || this.#taken.size <= MAX_REMEMBERED_FLOWS) this.#taken.set(flow, left)
    else this.#taken.delete(flow)
    if (left < this.#perFlow) this.#within--
    this.#parts.dispatcher.wake()
  }

  startNext(most: number): boolean {
    if (this.#waiting === 0) return false
    for (const [flow, queue] of this.#queues) {
      if (queue.length > most || !this.#hasSeat(flow)) continue
      const waiter = this.#nextOf(flow, queue)
      if (waiter === undefined) continue
      this.#sit(flow)
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

  /** The first request of a flow whose client is still connected; the flow then moves behind all others that wait. */
  #nextOf(flow: string, queue: Queue<Queued>): Waiter | undefined {
    let waiter: Waiter | undefined
    while (waiter === undefined && queue.length > 0) {
      const first = queue.shift().waiter
      this.#waiting--
      if (first.isGone()) first.reject('cancelled')
      else waiter = first
    }
    this.#queues.delete(flow)
    if (queue.length > 0) this.#queues.set(flow, queue)
    return waiter
  }

  /** Whether a seat is free for a flow: one of the level within the flow's share, or a borrowed one. */
  #hasSeat(flow: string): boolean {
    if (this.#within < this.#limits.nominal && (this.#taken.get(flow) ?? 0) < this.#perFlow) return true
    return this.#borrowable > 0
  }

  #sit(flow: string): void {
    const taken = this.#taken.get(flow) ?? 0
    this.#executing++
    if (taken < this.#perFlow) this.#within++
    this.#taken.set(flow, taken + 1)
  }
}
