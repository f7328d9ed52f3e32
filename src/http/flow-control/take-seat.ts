/** The step of a request that waits for a seat, holds it while the response is made, and releases it. */
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { type Exchange, type Handler, isLongRunning } from '../exchange.ts'
import { type Response, type ResponseBody, textResponse } from '../message.ts'
import { type Classified, type FlowControl, flowOf } from './flow-control.ts'
import { OpenWatches } from './open-watches.ts'
import type { Rejection } from './priority-level.ts'
import type { Reservation } from './unsent-responses.ts'

/** Lets a request start when its priority level has seats for it; responds 429 when the queue is full, or the wait is too long. */
export const takeSeat = (next: Handler, { flowControl }: { readonly flowControl?: FlowControl }): Handler => {
  if (flowControl === undefined) return next
  const { dispatcher } = flowControl
  const watches = new OpenWatches({ most: LIMITS.watches, mostPerUser: LIMITS.watchesPerUser })
  return exchange => {
    const user = exchange.user!
    const { attributes } = exchange.route
    const classified = flowControl.classify(user, attributes)
    const { schema, level, counts } = classified
    // Long-running requests other than watches get no headers: in kube-apiserver they belong to no flow.
    if (attributes.verb === 'watch' || !isLongRunning(exchange))
      exchange.flow = { schemaUid: schema.uid, levelUid: level.configuration.uid }
    dispatcher.seen(user.name)
    const flow = flowOf(classified, user, attributes)
    const seats = flowControl.seatsOf(classified, exchange.route)
    const seat = (waitedMs: number) => {
      counts.dispatched++
      counts.executing++
      counts.executingSeats += seats
      counts.waited.observe(waitedMs / 1000)
      const began = dispatcher.now()
      return () => {
        counts.executing--
        counts.executingSeats -= seats
        counts.executed.observe((dispatcher.now() - began) / 1000)
        level.leave(flow, seats)
      }
    }
    const isLimited = isLongRunning(exchange) && !level.configuration.isExempt
    const start = (leave: () => void) => {
      if (isLimited && !watches.open(user.name)) {
        leave()
        return reject(exchange, classified, 'concurrency-limit')
      }
      const forget = attributes.verb === 'watch' ? flowControl.watchOpened(exchange.route) : undefined
      if (!isLimited && !forget) return run(next, exchange, { leave })
      const closed = () => {
        if (isLimited) watches.close(user.name)
        forget?.()
      }
      return run(next, exchange, { leave, closed })
    }
    const entry = level.enter(flow, seats)
    if (entry === 'seated') return start(seat(0))
    if (entry !== 'wait') return reject(exchange, classified, entry)
    const queue = READS.has(attributes.verb) ? 'readOnly' : 'mutating'
    const waiting = (change: 1 | -1) => {
      counts.waiting += change
      counts.waitingSeats += change * seats
      flowControl.waiting[queue] += change
    }
    return wait(exchange, {
      classified,
      flow,
      seats,
      waiting,
      now: dispatcher.now,
      start: waitedMs => {
        exchange.stopwatch.lap('queue')
        exchange.stopwatch.waitedFor(waitedMs)
        return start(seat(waitedMs))
      },
    })
  }
}

/** The response to a request that finds no seat, in kube-apiserver's words. */
function reject(exchange: Exchange, { counts }: Classified, reason: Rejection): Response {
  exchange.isTerminated = true
  counts.reject(reason)
  const { headers, ...response } = textResponse(429, 'Too many requests, please try again later.\n')
  return { ...response, headers: { 'retry-after': '1', ...headers } }
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options'])

type Wait = {
  readonly classified: Classified
  readonly flow: string
  readonly seats: number
  /** Counts waiting requests. */
  readonly waiting: (change: 1 | -1) => void
  readonly now: () => number
  readonly start: (waitedMs: number) => MaybePromise<Response>
}

const wait = (exchange: Exchange, { classified, flow, seats, waiting, now, start }: Wait): MaybePromise<Response> => {
  const { level, counts } = classified
  const since = now()
  let settle: { resolve: (response: MaybePromise<Response>) => void; reject: (error: unknown) => void } | undefined
  const isQueued = level.wait({
    flow,
    seats,
    isGone: () => exchange.request.isGone,
    start() {
      waiting(-1)
      try {
        settle!.resolve(start(now() - since))
      } catch (error) {
        settle!.reject(error)
      }
    },
    reject(reason) {
      waiting(-1)
      counts.waitedInVain.observe((now() - since) / 1000)
      settle!.resolve(reject(exchange, classified, reason))
    },
  })
  if (!isQueued) return reject(exchange, classified, 'queue-full')
  waiting(1)
  return new Promise((resolve, refuse) => (settle = { resolve, reject: refuse }))
}

type Seat = {
  readonly leave: () => void
  /** Called when a watch has ended. */
  readonly closed?: () => void
}

/**
 * Makes a response. A small one releases its seat once it is made; a large one keeps its seat, and its reservation on the connection, until
 * the client has read it. A watch releases its seat when it starts.
 */
function run(next: Handler, exchange: Exchange, seat: Seat): MaybePromise<Response> {
  const { request } = exchange
  request.passed?.()
  const reserved = request.unsentResponses?.reserve(() => request.isGone)
  if (!(reserved instanceof Promise)) return runAt(reserved, () => next(exchange), seat)
  return reserved.then(reservation => runAt(reservation, () => (request.isGone ? GONE : next(exchange)), seat))
}

/** The response to a client that has disconnected. */
const GONE = textResponse(499, '')

function runAt(reservation: Reservation | undefined, start: () => MaybePromise<Response>, { leave, closed }: Seat): MaybePromise<Response> {
  const fail = (error: unknown) => {
    reservation?.release()
    leave()
    closed?.()
    throw error
  }
  const finish = (response: Response) => {
    const { body } = response
    const held = bytesHeld(body)
    reservation?.settle(held)
    const isSmall = body instanceof Uint8Array && held <= LIMITS.smallBytes
    const leavesNow = isSmall || (!(body instanceof Uint8Array) && body.type === 'stream')
    if (leavesNow) leave()
    const taken = () => {
      reservation?.release()
      closed?.()
      if (!leavesNow) leave()
    }
    if (isSmall) {
      taken()
      return response
    }
    const { taken: own } = response
    if (!own) return { taken, ...response }
    const both = () => {
      own()
      taken()
    }
    return { ...response, taken: both }
  }
  let response: MaybePromise<Response>
  try {
    response = start()
  } catch (error) {
    return fail(error)
  }
  return response instanceof Promise ? response.then(finish, fail) : finish(response)
}

/** The bytes of a response that are in memory at once. */
function bytesHeld(body: ResponseBody): number {
  if (body instanceof Uint8Array) return body.byteLength
  return body.type === 'pieces' ? Math.min(body.length ?? Number.POSITIVE_INFINITY, LIMITS.listPieceBytes) : 0
}
