/**
 * One request, top to bottom. A request is routed, then authenticated, authorized, its body read, handled by the registry, and its
 * result encoded. The wrappers around that are one list, outermost first.
 */

import type { Auditor } from '../audit/auditor.ts'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Authenticator, Cancellable } from '../authn/authenticator.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import { goQuote } from '../lib/go-text.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Stopwatch } from '../lib/stopwatch.ts'
import type { Call, CallContext, Registry } from '../registry/api.ts'
import type { Attributes, Decision } from '../schema/access.ts'
import { Budget } from '../schema/budget.ts'
import { forbidden } from '../schema/forbidden.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Annotate } from '../schema/request-context.ts'
import { internalError, StatusError, unauthorized, unavailable } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import type { Aggregated, Sender } from './aggregated.ts'
import { audit, auditResult, auditUnauthenticated, holdForAudit } from './audit.ts'
import { compress } from './compress.ts'
import { type Cors, shareWithOrigins } from './cors.ts'
import { credentialsOf } from './cross-site.ts'
import { encode } from './encode.ts'
import type { Endpoints } from './endpoints.ts'
import { type Exchange, type Handler, isConnect, openExchange } from './exchange.ts'
import { explain } from './explain.ts'
import type { FlowControl } from './flow-control/flow-control.ts'
import { takeSeat } from './flow-control/take-seat.ts'
import { type FreshnessApi, refresh } from './fresh.ts'
import { Impersonation, impersonatedUser } from './impersonation.ts'
import { header, type Request, type Response, textResponse } from './message.ts'
import { negotiate, PLAIN, type ServedMedia, servedMedia } from './negotiate.ts'
import type { Log } from './observability/log.ts'
import type { Metrics } from './observability/metrics.ts'
import type { OpenStreams } from './observability/open-streams.ts'
import type { RequestLog } from './observability/request-log.ts'
import type { SlowRequests } from './observability/slow-requests.ts'
import type { Peers } from './peers.ts'
import { isRead, readBody } from './read-body.ts'
import { type Route, Router } from './route.ts'
import { deadline, recover, trace } from './surround.ts'
import type { Tracer } from './tracing/tracer.ts'

/** The dependencies of request handling. */
export interface Api extends FreshnessApi {
  readonly registry: Registry
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  readonly endpoints: Endpoints
  /** Group versions of other servers. */
  readonly aggregated?: Aggregated
  /** Servers that may serve what this one does not; without it, no request is passed on to them. */
  readonly peers?: Peers | undefined
  readonly metrics: Metrics
  /** Makes traces of requests; without it, none is made. */
  readonly tracer?: Tracer | undefined
  /** Origins whose pages may use the API in browsers; without it, none. */
  readonly cors?: Cors | undefined
  /** Remembers the slowest requests. */
  readonly slowRequests?: SlowRequests
  /** Records requests while somebody looks at them. */
  readonly requestLog?: RequestLog | undefined
  /** Knows the watches that are open. */
  readonly openStreams?: OpenStreams | undefined
  /** Records requests; without it, none is. */
  readonly auditor?: Auditor | undefined
  /** Without it, requests never wait. */
  readonly flowControl?: FlowControl
  readonly log: Log
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  /** A stored namespace. */
  readonly namespace?: (name: string) => AnyObject | undefined
  readonly now: () => Date
  /** Wrappers that tests put around request handling. */
  readonly surroundings?: Surroundings
}

export type Surroundings = {
  /** Records every request and its response. */
  readonly record?: (next: Handler) => Handler
  /** Makes requests wait. */
  readonly hold?: (next: Handler) => Handler
  /** Runs between authentication and the response, such as fault injection. */
  readonly disturb?: (next: Handler) => Handler
}

/** The server as a function. The deadline starts when a request has its seat. */
export function createServe(api: Api): (request: Request) => MaybePromise<Response> {
  const { record, hold, disturb } = api.surroundings ?? {}
  const recorded = record ? [record] : []
  const disturbed = [hold, disturb].filter(wrap => wrap !== undefined)
  const shared = api.cors ? [shareWithOrigins] : []
  const { tracer, now } = api
  const traced = tracer ? [(next: Handler) => tracer.around(next, now)] : []
  const around = [
    holdForAudit,
    trace,
    ...recorded,
    ...shared,
    recover,
    refresh,
    authenticate,
    ...traced,
    audit,
    impersonate,
    ...disturbed,
    explain,
    takeSeat,
    deadline,
  ]
  const media = servedMedia(api)
  const handle = around.reduceRight<Handler>(
    (next, wrap) => wrap(next, api),
    exchange => answer(exchange, api, media),
  )
  const router = new Router(api.catalog)
  return request => handle(openExchange(request, router))
}

/** Authenticates the request. */
const authenticate =
  (next: Handler, { authenticator, metrics, auditor, cors }: Api): Handler =>
  exchange => {
    const { request } = exchange
    const authenticated = authenticator.authenticate(credentialsOf(request, cors), auditor ? noting(exchange) : request)
    return whenDone(authenticated, found => {
      if (found.outcome !== 'user') {
        metrics.authenticated(found.outcome === 'none' ? 'failure' : 'error')
        const refusal = unauthorized()
        return whenDone(auditUnauthenticated(exchange, refusal, { auditor }), () => {
          throw refusal
        })
      }
      metrics.authenticated('success', found.user.name)
      exchange.user = found.user
      exchange.stopwatch.lapAfter(authenticated, 'authn')
      return next(exchange)
    })
  }

/** The request for authenticators, whose annotations are kept until its audit event is made. */
function noting(exchange: Exchange): Cancellable {
  const annotate: Annotate = (key, value) => {
    exchange.notes ??= []
    exchange.notes.push([key, value])
  }
  return { signal: exchange.request.signal, annotate }
}

/** Impersonation: if the requestor may, the request continues as the other user. */
const impersonate = (next: Handler, { authorizer, groupDomain, gate }: Api): Handler => {
  const impersonation = new Impersonation({ authorizer, groupDomain, isConstrained: gate('ConstrainedImpersonation') })
  return exchange => {
    const { request, route } = exchange
    const impersonated = impersonatedUser(request)
    if (!impersonated) return next(exchange)
    const requestor = exchange.user!
    return impersonation.become({ impersonated, requestor, attributes: route.attributes, request }).then(({ user, constraint }) => {
      exchange.user = user
      exchange.impersonator = requestor
      exchange.audit?.impersonates(user, constraint)
      return next(exchange)
    })
  }
}

function answer(exchange: Exchange, api: Api, media: ServedMedia): MaybePromise<Response> {
  const { request, route } = exchange
  const { id, stopwatch, audit, explanation, endsAt, confirm } = exchange
  const caller = { id, user: exchange.user!, attributes: route.attributes, api, media, stopwatch, audit, explanation, endsAt, confirm }
  const decided = authorize(caller, exchange)
  const answered = whenDone(decided, failure => {
    stopwatch.lapAfter(decided, 'authz')
    if (failure) return failure
    return answerRoute(request, route, caller)
  })
  return whenDone(answered, response => compress(request, response, api))
}

function answerRoute(request: Request, route: Route, caller: Caller): MaybePromise<Response> {
  const elsewhere = caller.api.aggregated?.at(route.attributes)
  if (elsewhere) return elsewhere.answer(request, senderOf(caller))
  const byPeer = route.type === 'call' ? undefined : caller.api.peers?.answer(request, route.attributes, senderOf(caller))
  if (byPeer) return byPeer
  switch (route.type) {
    case 'refused':
      throw route.error
    case 'path':
      return caller.api.endpoints.answer(request, route, caller.user)
    case 'call':
      return handleCall(request, route.call, caller)
  }
}

const senderOf = ({ user, id, stopwatch: { trace } }: Caller): Sender => ({ user, auditId: id, trace })

/** User and attributes of the request. */
type Caller = Pick<Exchange, 'id' | 'stopwatch' | 'audit' | 'explanation' | 'endsAt' | 'confirm'> & {
  readonly user: User
  readonly attributes: Attributes
  readonly api: Api
  readonly media: ServedMedia
}

/**
 * Throws unless the user is allowed. Returns a promise only when the authorizer has to wait. Where nothing allowed the request and an
 * authorizer failed, that is an error of the server, not of the client: the response has kube-apiserver's words, and is no Status.
 */
function authorize({ user, attributes, api, audit }: Caller, exchange: Exchange): MaybePromise<Response | undefined> {
  const { request } = exchange
  const settle = (decision: Decision) => {
    if (audit) annotateDecision(audit, decision)
    if (decision.verdict === 'allow') return undefined
    if (decision.error !== undefined) return textResponse(500, `Internal Server Error: ${goQuote(request.target)}: ${decision.error}\n`)
    exchange.isForbidden = true
    throw forbidden(user, attributes, decision.reason)
  }
  const decided = api.authorizer.authorize(user, attributes, request)
  return decided instanceof Promise ? decided.then(settle) : settle(decided)
}

/** Records in the audit event the authorizer that allowed the request, or why none did. */
function annotateDecision(record: RequestAudit, { verdict, reason, error }: Decision): void {
  if (verdict !== 'allow' && error !== undefined) {
    record.annotate(AUTHORIZATION_REASON, 'internal error')
    return
  }
  record.annotate(AUTHORIZATION_DECISION, verdict === 'allow' ? 'allow' : 'forbid')
  record.annotate(AUTHORIZATION_REASON, reason ?? '')
}

const DEPRECATED = 'k8s.io/deprecated'
const AUTHORIZATION_DECISION = 'authorization.k8s.io/decision'
const AUTHORIZATION_REASON = 'authorization.k8s.io/reason'

/** Errors of a deprecated kind include its warning, too. */
function handleCall(request: Request, call: Call, caller: Caller): MaybePromise<Response> {
  const { deprecated } = call.resource.def
  if (deprecated === undefined) return answerCall(request, call, caller)
  caller.audit?.annotate(DEPRECATED, 'true')
  const warned = (error: unknown): never => {
    if (error instanceof StatusError) error.warnings = [deprecated, ...error.warnings]
    throw error
  }
  try {
    const response = answerCall(request, call, caller)
    return response instanceof Promise ? response.catch(warned) : response
  } catch (error) {
    return warned(error)
  }
}

function answerCall(request: Request, call: Call, caller: Caller): MaybePromise<Response> {
  const { registry, now } = caller.api
  const time = now()
  const isConnected = isConnect(call)
  // A node chooses the media type itself.
  const negotiated = isConnected ? PLAIN : negotiate(request, call, caller.media)
  const format = request.upgrade === 'websocket' ? { ...negotiated, messages: true } : negotiated
  const reading = isConnected || isRead(call) ? undefined : readBody(request, call, caller.media)
  return whenDone(reading, body => {
    caller.stopwatch.lapAfter(reading, 'decode')
    // The client may have disconnected while the body was read, or while the request waited.
    if (request.isGone) throw unavailable('the client has gone')
    return whenDone(registry.handle(call, new Context(request, time, caller), body), result => {
      caller.stopwatch.lap('handle')
      if (result.type === 'forward') return import('./forward.ts').then(({ forward }) => forward(request, call, result.upstream))
      if (result.type === 'session')
        return import('./sessions/open-session.ts').then(({ openSession }) => openSession(request, result.session))
      const { audit } = caller
      if (!audit) return encode(result, format, time)
      const recorded = auditResult(audit, result, { format, now: time })
      return recorded instanceof Promise ? recorded.then(() => encode(result, format, time)) : encode(result, format, time)
    })
  })
}

/** The context of a call. */
class Context implements CallContext {
  readonly user: User
  readonly now: Date
  readonly groupDomain: string
  readonly gate: Api['gate']
  readonly namespace: Api['namespace'] | undefined
  readonly userAgent: string
  readonly budget = new Budget()
  readonly stopwatch: Stopwatch
  readonly explanation: Exchange['explanation']
  readonly confirm: Exchange['confirm']
  readonly #request: Request
  readonly #caller: Caller

  constructor(request: Request, now: Date, caller: Caller) {
    const { user, api } = caller
    this.user = user
    this.now = now
    this.groupDomain = api.groupDomain
    this.gate = api.gate
    this.namespace = api.namespace
    this.userAgent = header(request.headers, 'user-agent') ?? ''
    this.stopwatch = caller.stopwatch
    this.explanation = caller.explanation
    this.confirm = caller.confirm
    this.#request = request
    this.#caller = caller
  }

  /** Throws unless the user may also create; if an authorizer failed, it is the server's error, as for the request itself. */
  async authorizeCreate(): Promise<void> {
    const { user, api } = this.#caller
    const attributes = { ...this.#caller.attributes, verb: 'create' }
    const decision = await api.authorizer.authorize(user, attributes, this.#request)
    if (decision.verdict === 'allow') return
    throw decision.error === undefined ? forbidden(user, attributes, decision.reason) : internalError(decision.error)
  }

  async reasonAgainst(verb: string): Promise<string | undefined> {
    const { user, api, attributes } = this.#caller
    const decision = await api.authorizer.authorize(user, { ...attributes, verb }, this.#request)
    if (decision.verdict === 'allow') return undefined
    if (decision.error !== undefined) throw internalError(decision.error)
    return decision.reason ?? ''
  }

  get signal(): Cancellation {
    return this.#request.signal
  }

  get annotate(): CallContext['annotate'] {
    const { audit } = this.#caller
    return audit && ((key, value, level) => audit.annotate(key, value, level))
  }

  get sent(): CallContext['sent'] {
    return this.#caller.audit?.sent
  }

  get remainingMs(): number | undefined {
    const { endsAt, stopwatch } = this.#caller
    return endsAt === undefined ? undefined : endsAt - stopwatch.total
  }
}
