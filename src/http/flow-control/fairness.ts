/** Fair shares: reads, writes and watches have seats of their own, and users take turns when there are not enough. */

import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { tooManyRequests } from '../../schema/status-error.ts'
import { type Exchange, type Handler, isLongRunning } from '../exchange.ts'
import type { Response, ResponseBody } from '../message.ts'
import { FairQueues, type Lane, type LaneLimits } from './fair-queues.ts'
import type { Place } from './room.ts'

export type FairnessLimits = {
  /** Reads and writes under way at once; 0 for any number. */
  readonly reads: number
  readonly writes: number
}
/** Requests that have not been started. */
export type Waiting = { readonly mutating: number; readonly readOnly: number }

const ADMINS = 'system:masters'
const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options'])
const HEALTH = /^\/(healthz|livez|readyz)(\/|$)/

export class Fairness implements Disposable {
  readonly #queues = new FairQueues({
    waiting: LIMITS.waiting,
    waitingPerUser: LIMITS.waitingPerUser,
    waitMs: LIMITS.waitMs,
  })
  readonly #reads: Lane
  readonly #writes: Lane
  readonly #watches: Lane

  constructor({ reads, writes }: FairnessLimits) {
    this.#reads = this.#queues.lane(shared(reads))
    this.#writes = this.#queues.lane(shared(writes))
    this.#watches = this.#queues.lane({ seats: LIMITS.watches, seatsPerUser: LIMITS.watchesPerUser, waits: false })
  }

  get waiting(): Waiting {
    return { mutating: this.#writes.waiting, readOnly: this.#reads.waiting }
  }

  /** Somebody asks; while several do, each waits less for the others. */
  seen(user: string): void {
    this.#queues.seen(user)
  }

  /** Where a request belongs; undefined for those that never wait: admins, who must get in when nobody else does, and probes. */
  laneOf(exchange: Exchange): Lane | undefined {
    const { route, user } = exchange
    if (user?.groups.includes(ADMINS)) return undefined
    if (isLongRunning(exchange)) return this.#watches
    if (route.form === 'path' && HEALTH.test(route.path)) return undefined
    return READS.has(route.attributes.verb) ? this.#reads : this.#writes
  }

  [Symbol.dispose](): void {
    this.#queues[Symbol.dispose]()
  }
}

/** A quarter of the seats is for others than the busiest user. */
const shared = (seats: number): LaneLimits => ({
  seats: seats || Number.POSITIVE_INFINITY,
  seatsPerUser: seats ? Math.ceil(seats * 0.75) : Number.POSITIVE_INFINITY,
  waits: true,
})

/** Lets a request in when it is its turn, and answers 429 when there is no room to wait or the turn does not come. */
export const takeTurns = (next: Handler, { fairness }: { readonly fairness?: Fairness }): Handler => {
  if (fairness === undefined) return next
  return exchange => {
    const user = exchange.user?.name ?? ''
    fairness.seen(user)
    const lane = fairness.laneOf(exchange)
    if (lane === undefined) return run(next, exchange, nothing)
    switch (lane.enter(user)) {
      case 'seated':
        return run(next, exchange, () => lane.leave(user))
      case 'full':
        return wait(next, exchange, { lane, user })
      case 'refused':
        throw refusal()
    }
  }
}

const nothing = () => {}
const refusal = () => tooManyRequests('Too many requests, please try again later.', 1)

const wait = (next: Handler, exchange: Exchange, { lane, user }: { lane: Lane; user: string }): Promise<Response> =>
  new Promise((resolve, reject) => {
    const refuse = () => reject(refusal())
    const start = () => {
      try {
        resolve(run(next, exchange, () => lane.leave(user)))
      } catch (error) {
        reject(error)
      }
    }
    if (!lane.wait({ user, isGone: () => exchange.request.isGone, start, refuse })) refuse()
  })

/**
 * Makes an answer. A small one is out of the way once it is made; a large one keeps its seat, and its room on the connection,
 * until the client has taken it.
 */
function run(next: Handler, exchange: Exchange, leave: () => void): MaybePromise<Response> {
  const { request } = exchange
  request.passed?.()
  const entered = request.room?.enter(() => request.isGone)
  if (!(entered instanceof Promise)) return runAt(entered, () => next(exchange), leave)
  return entered.then(place => {
    const start = () => {
      if (request.isGone) throw refusal()
      return next(exchange)
    }
    return runAt(place, start, leave)
  })
}

function runAt(place: Place | undefined, start: () => MaybePromise<Response>, leave: () => void): MaybePromise<Response> {
  const done = () => {
    place?.leave()
    leave()
  }
  const fail = (error: unknown) => {
    done()
    throw error
  }
  const finish = (response: Response) => {
    const { body } = response
    const held = bytesHeld(body)
    place?.settle(held)
    if (!(body instanceof Uint8Array) || held > LIMITS.smallBytes) return { taken: done, ...response }
    done()
    return response
  }
  let response: MaybePromise<Response>
  try {
    response = start()
  } catch (error) {
    return fail(error)
  }
  return response instanceof Promise ? response.then(finish, fail) : finish(response)
}

/** How much of an answer lies in memory at once. */
function bytesHeld(body: ResponseBody): number {
  if (body instanceof Uint8Array) return body.byteLength
  return body.form === 'pieces' ? Math.min(body.length ?? Number.POSITIVE_INFINITY, LIMITS.listPieceBytes) : 0
}
