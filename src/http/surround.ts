/** Wrappers around the handling of a request: tracing, recovery, deadlines. */
import { DurationError, parseDuration } from '../lib/duration.ts'
import { startTimer, stopTimer } from '../lib/environment.ts'
import { LIMITS } from '../lib/limits.ts'
import { whenDone } from '../lib/maybe-promise.ts'
import type { ExplanationStep } from '../schema/explanation.ts'
import { badRequest, timedOut } from '../schema/status-error.ts'
import { errorResponse } from './error.ts'
import { type Exchange, type Handler, isLongRunning } from './exchange.ts'
import type { Outlet, Response, ResponseHeaders } from './message.ts'
import { servedMedia } from './negotiate.ts'
import type { Fields, Log } from './observability/log.ts'
import type { Metrics } from './observability/metrics.ts'
import type { OpenStreams } from './observability/open-streams.ts'
import { hasPublicBodies, rememberBody } from './observability/request-bodies.ts'
import type { RequestLog } from './observability/request-log.ts'
import type { SlowRequests } from './observability/slow-requests.ts'

type WrapParts = {
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly log: Log
  readonly metrics: Metrics
  readonly slowRequests?: SlowRequests
  readonly requestLog?: RequestLog | undefined
  readonly openStreams?: OpenStreams | undefined
  readonly now: () => Date
}
type Wrap = (next: Handler, api: WrapParts) => Handler

/** Counts and logs every request, and adds the common headers to every response. */
export const trace: Wrap =
  (next, { log, metrics, slowRequests, requestLog, openStreams, now }) =>
  exchange => {
    const observed = metrics.begin(exchange.route)
    if (requestLog?.isRecording) exchange.stopwatch.isWatched = true
    const sent = requestLog?.bodies.isRecording && hasPublicBodies(exchange) ? rememberBody(exchange.request) : undefined
    return whenDone(next(exchange), response => {
      const ms = exchange.stopwatch.total
      if (response.counted) metrics.count(observed, response.counted)
      observed.answered(response.status, sizeOf(response), { seconds: ms / 1000, elsewhere: exchange.stopwatch.elsewhere / 1000 })
      if (exchange.isTerminated) observed.terminated(response.status)
      if (slowRequests?.isSlow(ms) && !isLongRunning(exchange)) {
        const { verb, path } = exchange.route.attributes
        const user = exchange.user?.name ?? ''
        slowRequests.note({ at: now().getTime(), verb, path: path.slice(0, LIMITS.cachedTargetLength), user, status: response.status, ms })
      }
      if (log.enabled('debug')) log.debug(fieldsOf(exchange, response, ms), 'request')
      else if (ms > SLOW_MS && log.enabled('info') && !isLongRunning(exchange)) {
        exchange.stopwatch.lap('encode')
        log.info({ ...fieldsOf(exchange, response, ms), phases: exchange.stopwatch.phases }, 'slow request')
      }
      if (exchange.stopwatch.isWatched) requestLog?.note(exchange, response, sent)
      const { body } = response
      // The spread comes last: V8 makes a new hidden class for every object that begins with a spread and then adds other names.
      const headers = { 'audit-id': exchange.id, 'cache-control': 'no-cache, private', ...moreHeaders(exchange), ...response.headers }
      if (body instanceof Uint8Array || body.type === 'pieces') return { ...response, headers }
      const start = (outlet: Outlet) => {
        observed.opened()
        outlet.once('close', () => observed.closed())
        body.start(outlet, openStreams?.open(exchange, outlet, { observer: observed, at: now().getTime() }) ?? observed)
      }
      return { ...response, headers, body: { ...body, start } }
    })
  }

/** Slower requests are logged. */
const SLOW_MS = 1000

const NO_HEADERS: ResponseHeaders = {}
const flowHeaders = ({ flow }: Exchange): ResponseHeaders =>
  flow === undefined ? NO_HEADERS : { 'x-kubernetes-pf-flowschema-uid': flow.schemaUid, 'x-kubernetes-pf-prioritylevel-uid': flow.levelUid }
const moreHeaders = (exchange: Exchange): ResponseHeaders =>
  exchange.explain === undefined ? flowHeaders(exchange) : { 'keelson-explain': exchange.explain(), ...flowHeaders(exchange) }

/** Turns every error into a response. */
export const recover: Wrap = (next, api) => {
  const { log } = api
  const { served } = servedMedia(api)
  return exchange => {
    const answerTo = (error: unknown) => errorResponse(error, exchange, { log, served })
    try {
      const response = next(exchange)
      return response instanceof Promise ? response.catch(answerTo) : response
    } catch (error) {
      return answerTo(error)
    }
  }
}

/** Responds 504 when handling takes too long; the client may request a shorter timeout, not a longer one. */
export const deadline: Wrap = next => exchange => {
  if (isLongRunning(exchange)) return next(exchange)
  const asked = askedTime(exchange.route.query.get('timeout'))
  const ms = Math.min(LIMITS.deadlineMs, asked ?? Number.POSITIVE_INFINITY)
  exchange.endsAt = exchange.stopwatch.total + ms
  const response = next(exchange)
  // A synchronous response was in time: nothing could have stopped it.
  return response instanceof Promise ? within(ms, response, exchange) : response
}

const within = (ms: number, response: Promise<Response>, exchange: Exchange) =>
  new Promise<Response>((resolve, reject) => {
    const timer = startTimer(() => {
      const late = timedOut('Timeout: request did not complete within the allotted timeout')
      exchange.isTerminated = true
      exchange.request.cancel(late)
      reject(late)
    }, ms)
    const settle =
      <T>(done: (value: T) => void) =>
      (value: T) => {
        stopTimer(timer)
        done(value)
      }
    response.then(settle(resolve), settle(reject))
  })

/** The client's timeout in milliseconds; undefined when it sets none, or zero. */
function askedTime(text: string | null): number | undefined {
  if (text === null || text === '') return undefined
  try {
    const asked = Number(parseDuration(text)) / 1e6
    return asked > 0 ? asked : undefined
  } catch (error) {
    if (error instanceof DurationError) throw badRequest(`invalid timeout specified in the request URL - ${error.message}`)
    throw error
  }
}

const sizeOf = ({ body }: Response) => (body instanceof Uint8Array ? body.byteLength : body.type === 'pieces' ? (body.length ?? 0) : 0)

/** Messages of policies and webhooks may quote the object: only the outcome of steps that were not skipped is logged. */
function loggable({ because, ...step }: ExplanationStep): ExplanationStep {
  return because !== undefined && step['outcome'] === 'skipped' ? { ...step, because } : step
}

/** The path is logged without its query, which may contain tokens. */
function fieldsOf({ request, route, id, user, impersonator, explanation }: Exchange, { status }: Response, ms: number): Fields {
  const { verb, path } = route.attributes
  const steps = (explanation?.steps ?? []).map(loggable)
  return {
    auditID: id,
    verb,
    path,
    protocol: request.protocol,
    user: user?.name,
    ...(impersonator && { impersonator: impersonator.name }),
    source: request.peer.address,
    status,
    ms: Math.round(ms * 1000) / 1000,
    ...(steps.length > 0 && { admission: steps }),
  }
}
