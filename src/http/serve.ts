/**
 * One request, top to bottom. A request is routed, then authenticated, authorized, decoded, handled by the registry, and its
 * result encoded. What surrounds that is one list, outermost first.
 */
import type { Authenticator } from '../authn/authenticator.ts'
import { type Authorizer, forbidden } from '../authz/authorizer.ts'
import type { Body, Call, CallContext, Registry } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Attributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { unauthorized } from '../schema/status-error.ts'
import { compress } from './compress.ts'
import { decode, isRead } from './decode.ts'
import { encode } from './encode.ts'
import type { Endpoints } from './endpoints.ts'
import { type Exchange, type Handler, openExchange } from './exchange.ts'
import { type Fairness, takeTurns } from './fairness.ts'
import { Impersonation, wantedUser } from './impersonation.ts'
import type { Log } from './log.ts'
import { header, type Request, type Response } from './message.ts'
import type { Metrics } from './metrics.ts'
import { negotiate } from './negotiate.ts'
import { deadline, recover, trace } from './surround.ts'

/** All that answering a request needs. */
export interface Api {
  readonly catalog: Catalog
  readonly registry: Registry
  readonly authenticator: Authenticator
  readonly authorizer: Authorizer
  readonly endpoints: Endpoints
  readonly metrics: Metrics
  /** Without it, nobody waits. */
  readonly fairness?: Fairness
  readonly log: Log
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  /** A namespace as it is stored. */
  readonly namespace?: (name: string) => AnyObject | undefined
  readonly now: () => Date
}

/** The server as a function. Audit will stand inside `trace`; time runs from when a request is let in, not while it waits for its turn. */
export function createServe(api: Api): (request: Request) => Promise<Response> {
  const around = [trace, recover, identify, impersonate, takeTurns, deadline]
  const handle = around.reduceRight<Handler>(
    (next, wrap) => wrap(next, api),
    exchange => answer(exchange, api),
  )
  return request => handle(openExchange(request, api.catalog))
}

/** Finds out who asks; everything after it depends on that. */
const identify =
  (next: Handler, { authenticator }: Api): Handler =>
  async exchange => {
    const { request } = exchange
    const credentials = { authorization: header(request.headers, 'authorization'), certificate: request.peer.certificate }
    const found = await authenticator.authenticate(credentials, request)
    if (found.outcome !== 'user') throw unauthorized()
    exchange.user = found.user
    return next(exchange)
  }

/** Lets those who may go on as somebody else; from here on the request is that user's. */
const impersonate = (next: Handler, { authorizer, groupDomain, gate }: Api): Handler => {
  const impersonation = new Impersonation({ authorizer, groupDomain, isConstrained: gate('ConstrainedImpersonation') })
  return async exchange => {
    const { request, route } = exchange
    const wanted = wantedUser(request)
    if (!wanted) return next(exchange)
    const requestor = exchange.user!
    exchange.user = await impersonation.become({ wanted, requestor, attributes: route.attributes, request })
    exchange.impersonator = requestor
    return next(exchange)
  }
}

async function answer(exchange: Exchange, api: Api): Promise<Response> {
  const { request, route } = exchange
  const user = exchange.user!
  const decided = authorize(user, route.attributes, { request, api })
  if (decided) await decided
  switch (route.form) {
    case 'refused':
      throw route.error
    case 'path':
      return compress(request, await api.endpoints.answer(request, route))
    case 'call':
      return compress(request, await handleCall(request, route.call, { user, attributes: route.attributes, api }))
  }
}

/** Throws unless the user may. A promise only when the authorizer has to wait. */
function authorize(user: User, attributes: Attributes, { request, api }: { request: Request; api: Api }): void | Promise<void> {
  const settle = ({ verdict, reason }: Decision) => {
    if (verdict !== 'allow') throw forbidden(user, attributes, reason)
  }
  const decided = api.authorizer.authorize(user, attributes, request)
  return decided instanceof Promise ? decided.then(settle) : settle(decided)
}

type Asker = { readonly user: User; readonly attributes: Attributes; readonly api: Api }

async function handleCall(request: Request, call: Call, { user, attributes, api }: Asker): Promise<Response> {
  const now = api.now()
  const negotiated = negotiate(request, call, `meta.${api.groupDomain}`)
  const format = request.upgrade === undefined ? negotiated : { ...negotiated, messages: true }
  const body = isRead(call) ? undefined : await decode(request, call)
  const result = await api.registry.handle(call, new Context(request, { body, user, now, attributes, api }))
  return encode(result, format, now)
}

/** What comes with a call. The signal is made when it is asked for, which a copy of the rest does not do: most calls never wait. */
class Context implements CallContext {
  readonly body: Body | undefined
  readonly user: User
  readonly now: Date
  readonly groupDomain: string
  readonly gate: Api['gate']
  readonly namespace: Api['namespace'] | undefined
  readonly userAgent: string
  readonly #request: Request
  readonly #asker: Asker

  constructor(request: Request, { body, now, ...asker }: Pick<CallContext, 'body' | 'now'> & Asker) {
    const { user, api } = asker
    this.body = body
    this.user = user
    this.now = now
    this.groupDomain = api.groupDomain
    this.gate = api.gate
    this.namespace = api.namespace
    this.userAgent = header(request.headers, 'user-agent') ?? ''
    this.#request = request
    this.#asker = asker
  }

  async authorizeCreate(): Promise<void> {
    const { user, attributes, api } = this.#asker
    await authorize(user, { ...attributes, verb: 'create' }, { request: this.#request, api })
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }
}
