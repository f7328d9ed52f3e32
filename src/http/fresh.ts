/**
 * Over a store that other servers write to: whatever decides about a request, such as roles, namespaces, definitions and policies, and
 * whatever answers it, comes from caches. So they are brought up to date first, once, and a request is as good as one that reads the store.
 * Only those that say which state they need may be answered from an older one.
 */
import type { Catalog } from '../registry/catalog.ts'
import type { Exchange, Handler } from './exchange.ts'
import { type Route, route } from './route.ts'

export interface FreshnessApi {
  readonly catalog: Catalog
  /** Absent where no other server writes to the store. */
  readonly freshness?: Freshness
}

export interface Freshness {
  /** Resolves once every write can be read that was acknowledged to any client before the call. */
  now(): Promise<void> | undefined
  /** Resolves once the kinds are served that can be read as defined. */
  served(): Promise<void>
}

export const refresh = (next: Handler, { freshness, catalog }: FreshnessApi): Handler => {
  if (!freshness) return next
  const again = async (exchange: Exchange) => {
    await freshness.now()
    if (exchange.route.type !== 'call') {
      await freshness.served()
      exchange.route = route(exchange.request.method, exchange.request.target, catalog)
    }
    return next(exchange)
  }
  return exchange => (mayBeStale(exchange.route) ? next(exchange) : again(exchange))
}

/** A read from a resourceVersion on waits for that alone, and one of any version for nothing; a next page names the version of the first. */
function mayBeStale({ type, query, attributes: { verb, resource } }: Route): boolean {
  if (resource === undefined) return true
  if (type !== 'call' || (verb !== 'get' && verb !== 'list' && verb !== 'watch')) return false
  return Boolean(query.get('resourceVersion') || query.get('continue'))
}
