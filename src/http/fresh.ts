/**
 * Freshness, when other servers write to the store: roles, namespaces, definitions and policies that decide about a request, and the data
 * of its response, come from caches.
 *
 * A read brings them up to date first, so that it is as fresh as a read from the store. Only requests that set a resourceVersion may be
 * served from an older state.
 *
 * A write starts immediately if the caches were up to date a moment ago, as every stored write shows. It is compared with the stored object
 * in any case, but a rejection could be based on an outdated state, such as before a namespace was created through another server. So a
 * write that would be rejected starts again once the caches are up to date; from then on a revoked permission is revoked on all servers.
 * Where many writes are in flight they wait as reads do: one check serves all of them, and they reach the store together, which costs it
 * less than one by one.
 *
 * Where the store tells its newest revision without being asked over a connection, a write brings the caches up to date first as well.
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
    /** The newest revision that can be read. */
    readonly revision: number
    /** The age of that state: all writes acknowledged to any client before can be read. */
    readonly ageMs: number
    /** Whether it costs next to nothing to bring that state up to date. */
    readonly isFreshAtOnce?: boolean
    /** The number of writes in flight to the store. */
    readonly writing: number
    /** Resolves once all writes that were acknowledged to any client before the call can be read. */
    fresh(): Promise<void> | undefined
  }
  /** Resolves once all defined kinds that can be read are served. */
  served(): Promise<void>
}

export const refresh = (next: Handler, { freshness, catalog }: FreshnessApi): Handler => {
  if (!freshness) return next
  const { caches } = freshness
  const afterwards = async (exchange: Exchange) => {
    await caches.fresh()
    exchange.stopwatch.lap('fresh')
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
    if (caches.isFreshAtOnce) return route.type === 'call' && caches.fresh() === undefined ? next(exchange) : afterwards(exchange)
    const mayBeBehind = caches.writing < LIMITS.behindWrites && isRepeatable(request, route) && caches.ageMs < LIMITS.behindMs
    return mayBeBehind ? atOnce(exchange) : afterwards(exchange)
  }
}

/**
 * A read from a resourceVersion waits only for that one, and a read at any version (0) for nothing; a continue token contains the revision
 * of the first page.
 */
function mayBeStale({ type, query, attributes: { verb, resource } }: Route): boolean {
  if (resource === undefined) return true
  if (type !== 'call' || (verb !== 'get' && verb !== 'list' && verb !== 'watch')) return false
  return Boolean(query.get('resourceVersion') || query.get('continue'))
}

/** Whether a request is a small write of one object, which has no effect until the compare-and-swap. */
function isRepeatable(request: Request, route: Route): boolean {
  if (route.type !== 'call') return false
  const { verb, subresource, resource, query } = route.call
  if (!WRITES.has(verb) || (subresource !== '' && subresource !== 'status') || resource.def.virtual || query.has('dryRun')) return false
  return Number(header(request.headers, 'content-length') ?? (verb === 'delete' ? 0 : Number.NaN)) <= LIMITS.behindBytes
}
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete'])

/** Whether an error rejects a request because of stored state, or may do so. */
const dependsOnState = (error: unknown): boolean =>
  error instanceof StatusError && !error.isUnknown && !error.isFinal && STATE_CODES.has(error.code)
const STATE_CODES: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 422])
