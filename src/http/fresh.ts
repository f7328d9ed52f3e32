/**
 * Over a store that other servers write to: whatever decides about a request, such as roles, namespaces, definitions and policies, and
 * whatever answers it, comes from caches.
 *
 * A read brings them up to date first, so that it is as good as one from the store. Only those that say which state they need may be
 * answered from an older one.
 *
 * A write begins at once if the caches were up to date a moment ago, as every write that was stored shows. It is compared with what is
 * stored in any case, but a rejection could be about a state that is over, of a namespace that was created through another server, say.
 * So who would be rejected begins again once the caches are up to date; whatever has been forbidden is so on all servers after that
 * moment. Where many writes are on their way they wait as reads do: one question serves all of them, and they reach the store together,
 * which costs it less than one by one.
 */
import { LIMITS } from '../lib/limits.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Catalog } from '../registry/catalog.ts'
import { StatusError } from '../schema/status-error.ts'
import type { Exchange, Handler } from './exchange.ts'
import { header, type Request, type Response } from './message.ts'
import { type Route, route } from './route.ts'

export interface FreshnessApi {
  readonly catalog: Catalog
  /** Absent where no other server writes to the store. */
  readonly freshness?: Freshness
}

export interface Freshness {
  readonly caches: {
    /** The newest that can be read. */
    readonly revision: number
    /** How old that may be: every write that was acknowledged to any client before can be read. */
    readonly ageMs: number
    /** How many writes are on their way to the store. */
    readonly writing: number
    /** Resolves once every write can be read that was acknowledged to any client before the call. */
    fresh(): Promise<void> | undefined
  }
  /** Resolves once the kinds are served that can be read as defined. */
  served(): Promise<void>
}

export const refresh = (next: Handler, { freshness, catalog }: FreshnessApi): Handler => {
  if (!freshness) return next
  const { caches } = freshness
  const afterwards = async (exchange: Exchange) => {
    await caches.fresh()
    if (exchange.route.type !== 'call') {
      await freshness.served()
      exchange.route = route(exchange.request.method, exchange.request.target, catalog)
    }
    return next(exchange)
  }
  const atOnce = (exchange: Exchange): MaybePromise<Response> => {
    const { revision } = caches
    const rejected = async (error: unknown) => {
      if (!dependsOnState(error)) throw error
      await caches.fresh()
      if (caches.revision === revision) throw error
      exchange.explanation = exchange.explain = exchange.confirm = undefined
      return next(exchange)
    }
    exchange.confirm = () => caches.fresh()
    try {
      const response = next(exchange)
      return response instanceof Promise ? response.catch(rejected) : response
    } catch (error) {
      return rejected(error)
    }
  }
  return exchange => {
    const { request, route } = exchange
    if (mayBeStale(route)) return next(exchange)
    const mayBeBehind = caches.writing < LIMITS.behindWrites && isRepeatable(request, route) && caches.ageMs < LIMITS.behindMs
    return mayBeBehind ? atOnce(exchange) : afterwards(exchange)
  }
}

/** A read from a resourceVersion on waits for that alone, and one of any version for nothing; a next page names the version of the first. */
function mayBeStale({ type, query, attributes: { verb, resource } }: Route): boolean {
  if (resource === undefined) return true
  if (type !== 'call' || (verb !== 'get' && verb !== 'list' && verb !== 'watch')) return false
  return Boolean(query.get('resourceVersion') || query.get('continue'))
}

/** Whether a request is a small write of one object, which has no effect until it is compared and swapped. */
function isRepeatable(request: Request, route: Route): boolean {
  if (route.type !== 'call') return false
  const { verb, subresource, resource, query } = route.call
  if (!WRITES.has(verb) || (subresource !== '' && subresource !== 'status') || resource.def.virtual || query.has('dryRun')) return false
  return Number(header(request.headers, 'content-length') ?? (verb === 'delete' ? 0 : Number.NaN)) <= LIMITS.behindBytes
}
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete'])

/** Whether an error rejects a request for what is stored, or can be. */
const dependsOnState = (error: unknown): boolean =>
  error instanceof StatusError && !error.isUnknown && !error.isFinal && STATE_CODES.has(error.code)
const STATE_CODES: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 422])
