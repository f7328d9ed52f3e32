/** Audits requests: opens the record of each that the policy wants, and completes it with the outcome. */
import { isIP } from 'node:net'
import type { Auditor } from '../audit/auditor.ts'
import type { RequestAudit } from '../audit/request-audit.ts'
import { stringifyJson } from '../codec/json.ts'
import { formatDuration } from '../lib/duration.ts'
import { goQuote } from '../lib/go-text.ts'
import { linesOf } from '../lib/header-lines.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Result } from '../registry/api.ts'
import { StatusError } from '../schema/status-error.ts'
import { encode } from './encode.ts'
import { statusOf } from './error.ts'
import { type Exchange, type Handler, isLongRunning } from './exchange.ts'
import { header, type Outlet, type Request, type Response, textResponse } from './message.ts'
import type { Format } from './negotiate.ts'

export type AuditApi = { readonly auditor?: Auditor | undefined }

/**
 * Wraps everything that follows authentication, so that impersonation, authorization and flow control are recorded, too. A request that
 * waits for nothing gets no closure and no promise here.
 */
export const audit = (next: Handler, { auditor }: AuditApi): Handler => {
  if (!auditor) return next
  const begin = (exchange: Exchange, record: RequestAudit): MaybePromise<Response> => {
    const waiting = mayHaveEffects(exchange) ? auditor.keeping?.settled() : undefined
    return waiting ? waiting.then(() => conclude(next, exchange, record)) : conclude(next, exchange, record)
  }
  const refuse = ({ request }: Exchange): Response => {
    auditor.rejected()
    return textResponse(500, `Internal Server Error: ${goQuote(request.target)}: failed to store audit event\n`)
  }
  return exchange => {
    const record = open(exchange, auditor)
    if (!record) return next(exchange)
    exchange.audit = record
    // A read that waits for nothing is over within this iteration: both of its events are written then.
    if (auditor.isGrouped && !mayHaveEffects(exchange)) {
      record.hold()
      return conclude(next, exchange, record)
    }
    const kept = record.stage('RequestReceived')
    if (kept instanceof Promise) return kept.then(isKept => (isKept ? begin(exchange, record) : refuse(exchange)))
    return kept ? begin(exchange, record) : refuse(exchange)
  }
}

/**
 * Whether the line of the received request has to be written before it is handled. A read leaves no trace if the server is killed before its
 * response, so that only the response has to wait.
 */
const mayHaveEffects = (exchange: Exchange): boolean =>
  (exchange.request.method !== 'GET' && exchange.request.method !== 'HEAD') || isLongRunning(exchange)

/** Holds responses back until the events of their requests are kept. */
export const holdForAudit = (next: Handler, { auditor }: AuditApi): Handler => {
  const keeping = auditor?.keeping
  if (!keeping) return next
  const flush = () => keeping.flush()
  const hold = ({ request, audit: record }: Exchange, response: Response): MaybePromise<Response> => {
    if (!record) return response
    if (request.beforeSending) {
      request.beforeSending(flush)
      return response
    }
    const waiting = keeping.settled()
    return waiting ? waiting.then(() => response) : response
  }
  return exchange => {
    const response = next(exchange)
    return response instanceof Promise ? response.then(made => hold(exchange, made)) : hold(exchange, response)
  }
}

/** Records a request whose sender could not be authenticated: one event, when it is refused. */
export function auditUnauthenticated(exchange: Exchange, refusal: StatusError, { auditor }: AuditApi): MaybePromise<unknown> {
  const record = auditor && open(exchange, auditor)
  if (!record) return undefined
  exchange.audit = record
  fail(record, refusal)
  return record.stage('ResponseStarted')
}

function open({ request, route, id, user, notes, stopwatch }: Exchange, auditor: Auditor): RequestAudit | undefined {
  const facts = {
    auditID: id,
    requestURI: request.target,
    user,
    sourceIPs: sourceIPs(request),
    userAgent: shortAgent(header(request.headers, 'user-agent') ?? ''),
    stopwatch,
  }
  const record = auditor.begin(facts, route.attributes)
  if (record && notes) for (const [key, value] of notes) record.annotate(key, value)
  return record
}

function conclude(next: Handler, exchange: Exchange, record: RequestAudit): MaybePromise<Response> {
  let response: MaybePromise<Response>
  try {
    response = next(exchange)
  } catch (error) {
    return failed(error, exchange, record)
  }
  if (!(response instanceof Promise)) return finish(response, exchange, record)
  void record.release()
  return response.then(
    made => finish(made, exchange, record),
    error => failed(error, exchange, record),
  )
}

/** Records an error, and throws it again. */
function failed(error: unknown, exchange: Exchange, record: RequestAudit): MaybePromise<never> {
  const isExpected = error instanceof StatusError
  if (isExpected) fail(record, error)
  else
    record.answeredWith({
      status: 'Failure',
      message: `APIServer panic'd: ${(error as Error).message}`,
      reason: 'InternalError',
      code: 500,
    })
  const written = isExpected ? complete(record, exchange) : record.stage('Panic')
  return whenDone(written, () => {
    throw error
  })
}

function fail(record: RequestAudit, error: StatusError): void {
  const { kind, apiVersion, metadata, ...status } = statusOf(error) as JsonObject & { code: number }
  record.answeredWith(status)
  record.responded(stringifyJson({ kind: kind!, apiVersion: apiVersion!, metadata: metadata!, ...status }))
}

/** Writes the last event: at once for a response that is there as a whole, at its end for one that stays open. */
function finish(response: Response, exchange: Exchange, record: RequestAudit): MaybePromise<Response> {
  record.answered(response.status)
  const { body, tunnel } = response
  const isOpen = !(body instanceof Uint8Array) && body.type === 'stream'
  if (!isOpen && !tunnel) {
    const completed = complete(record, exchange)
    return completed instanceof Promise ? completed.then(() => response) : response
  }
  const end = () => void record.stage('ResponseComplete')
  return whenDone(record.stage('ResponseStarted'), () => {
    if (tunnel)
      return {
        ...response,
        tunnel: {
          ...(tunnel.messages && {
            messages: {
              ...tunnel.messages,
              start: (webSocket, protocol) => {
                webSocket.once('close', end)
                tunnel.messages!.start(webSocket, protocol)
              },
            },
          }),
          start: (socket, head) => {
            socket.once('close', end)
            tunnel.start(socket, head)
          },
          abandon: () => {
            end()
            tunnel.abandon()
          },
        },
      }
    if (!isOpen) return response
    const start: typeof body.start = (outlet: Outlet, observer) => {
      outlet.once('close', end)
      body.start(outlet, observer)
    }
    return { ...response, body: { ...body, start } }
  })
}

function complete(record: RequestAudit, exchange: Exchange): MaybePromise<unknown> {
  const elapsed = exchange.stopwatch.total
  if (elapsed > SLOW_MS) annotateLatency(record, exchange, elapsed)
  if (!isLongRunning(exchange)) {
    const kept = record.stage('ResponseComplete', elapsed)
    // Unless somebody waits for the event, the request is as good as over.
    if (!(kept instanceof Promise)) exchange.stopwatch.stop(elapsed)
    return kept
  }
  return whenDone(record.stage('ResponseStarted'), () => record.stage('ResponseComplete'))
}

const LATENCY = 'apiserver.latency.k8s.io/'
const SLOW_MS = 500
/** The phases of a request that kube-apiserver has names for. */
const PHASES: Readonly<Record<string, string>> = { authn: 'authentication', authz: 'authorization', queue: 'apf-queue-wait' }

/** Says of a slow request where its time went. */
function annotateLatency(record: RequestAudit, { stopwatch }: Exchange, total: number): void {
  for (const [phase, ms] of Object.entries(stopwatch.phases))
    if (PHASES[phase] !== undefined) record.annotate(LATENCY + PHASES[phase], durationText(ms))
  record.annotate(`${LATENCY}total`, durationText(total))
}

/** Milliseconds as a duration in Go's format. */
const durationText = (ms: number) => formatDuration(BigInt(Math.round(ms * 1e6)))

/** Adds the result of a call to the record: its `Status`, and at the level RequestResponse the object. */
export function auditResult(
  record: RequestAudit,
  result: Exclude<Result, { type: 'forward' | 'session' }>,
  { format, now }: { readonly format: Format; readonly now: Date },
): MaybePromise<void> {
  if (result.type === 'status') record.answeredWith({ ...(result.status as object), code: result.code })
  if (!record.includes('RequestResponse') || result.type === 'watch' || result.type === 'bytes') return undefined
  const json = encode(result, { ...format, mediaType: 'application/json', pretty: false }, now)
  return whenDone(json, async ({ body }) => record.responded(await textOf(body)))
}

async function textOf(body: Response['body']): Promise<string> {
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  const parts: Uint8Array[] = []
  // A piece holds only until the next is asked for.
  if (body.type === 'pieces') for await (const piece of body.pieces) parts.push(Uint8Array.from(piece))
  return Buffer.concat(parts).toString()
}

/** The addresses that a request came through, the nearest last: as its headers name them, which anybody can write, and its connection. */
export function sourceIPs(request: Pick<Request, 'headers' | 'headerLines' | 'peer'>): string[] {
  const { headers } = request
  if (headers['x-forwarded-for'] === undefined && headers['x-real-ip'] === undefined) return ownAddress(request)
  const forwarded: string[] = []
  let real: string | undefined
  for (const [name, value] of linesOf(request)) {
    if (name === 'x-forwarded-for') forwarded.push(...value.split(',').map(part => part.trim()))
    else if (name === 'x-real-ip') real ??= value.trim()
  }
  const found = forwarded.filter(text => isIP(text) !== 0)
  if (real !== undefined && isIP(real) !== 0 && !found.includes(real)) found.push(real)
  const { address } = request.peer
  if (address !== '' && found.at(-1) !== address) found.push(address)
  return found
}

const ownAddress = ({ peer: { address } }: Pick<Request, 'peer'>): string[] => (address === '' ? [] : [address])

const MAX_AGENT_LENGTH = 1024
const shortAgent = (agent: string) => (agent.length > MAX_AGENT_LENGTH ? `${agent.slice(0, MAX_AGENT_LENGTH)}...TRUNCATED` : agent)
