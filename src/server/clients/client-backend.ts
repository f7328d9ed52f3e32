/** The backend of the server's own components: reads from the caches, writes through the registry, each write authorized. */

import type { Authorizer } from '../../authz/authorizer.ts'
import type { CachedRevision } from '../../cache/cached-revision.ts'
import type { Caches } from '../../cache/caches.ts'
import type { Selection, Term } from '../../cache/selection.ts'
import type { Backend, ListOptions, WriteGuard, WriteRequest } from '../../client/backend.ts'
import { Client, type ClientFor } from '../../client/client.ts'
import { Informers } from '../../client/informer.ts'
import { monotonicMs } from '../../lib/environment.ts'
import { LIMITS } from '../../lib/limits.ts'
import { byRank, type Rank, Slots } from '../../lib/slots.ts'
import type { Registry } from '../../registry/api.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Decision } from '../../schema/access.ts'
import { Budget } from '../../schema/budget.ts'
import { forbidden } from '../../schema/forbidden.ts'
import { keyOf, type Resource } from '../../schema/resource.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'
import { unavailable } from '../../schema/status-error.ts'
import { FencedOff } from '../../storage/store.ts'
import type { ClientMetrics } from './client-metrics.ts'

export type BackendParts = {
  readonly caches: Caches
  readonly catalog: Catalog
  readonly groupDomain: string
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  /** Called at the first write: the registry is created after some of the components that write. */
  readonly registry: () => Registry
  /** Called at the first write, too. Without an authorizer every write is allowed. */
  readonly authorizer?: () => Authorizer
  readonly onError: (error: unknown) => void
  /** Counts every write. */
  readonly metrics?: ClientMetrics
  readonly signal: AbortSignal
}

export type Clients = {
  /** For components that requests wait for. */
  readonly clientFor: ClientFor
  /** For controllers and nodes: their concurrent writes are limited, so that clients do not wait behind all of them. */
  readonly backgroundClientFor: ClientFor
  /** The same with a guard: a write fails when the guard forbids it, at the latest before it is stored. */
  readonly guardedClientFor: (guard: WriteGuard) => ClientFor
}

/** The clients of all components. They share their informers and the decoded objects in the caches. */
export function createClients(parts: BackendParts): Clients {
  const backend = createBackend(parts)
  const informers = new Informers(backend, parts)
  const slots = new Slots(LIMITS.backgroundWrites)
  const backgroundFor = (rank: Rank): Backend => ({ ...backend, write: request => slots.run(() => backend.write(request), rank) })
  const lowPriority = backgroundFor('usual')
  const backgrounds = byRank(rank => ({ ...backgroundFor(rank), lowPriority }))
  const guarded = (background: Backend, guard: WriteGuard): Backend => {
    const { mayWrite, fence } = guard
    const superseded = () => unavailable('another server has taken over')
    const beforeStore = () => {
      if (!mayWrite()) throw superseded()
    }
    const write = (request: WriteRequest) =>
      background.write({ ...request, beforeStore, fence }).catch(error => {
        throw error instanceof FencedOff ? superseded() : error
      })
    return { ...background, write, ...(background.lowPriority && { lowPriority: guarded(background.lowPriority, guard) }) }
  }
  const clientsOf =
    (backends: Readonly<Record<Rank, Backend>>): ClientFor =>
    (identity, { rank = 'usual' } = {}) =>
      new Client(backends[rank], informers, identity)
  return {
    clientFor: identity => new Client(backend, informers, identity),
    backgroundClientFor: clientsOf(backgrounds),
    guardedClientFor: guard => clientsOf(byRank(rank => guarded(backgrounds[rank], guard))),
  }
}

const NEVER_CANCELLED = new AbortController()
/** The group whose members may do everything, whatever the roles. */
const PRIVILEGED = 'system:masters'

function createBackend({ caches, catalog, groupDomain, gate, now, registry, authorizer, metrics }: BackendParts): Backend {
  const namespace = (name: string) => {
    const namespaces = catalog.findKnown('', 'v1', 'namespaces')
    return namespaces && caches.of(namespaces).get(keyOf(namespaces, '', name))?.object
  }
  const list: Backend['list'] = (resource, options) => {
    const cache = caches.of(resource)
    if (cache.count === 0) return NOTHING
    return isEverything(options) ? cache.current() : cache.list({ selection: selectionOf(options) }).objects
  }
  return {
    now,
    revision: () => caches.revision,
    findResource: (group, version, plural) => catalog.findKnown(group.replace('{group_domain}', groupDomain), version, plural),
    resources: () => catalog.storedResources(),
    resourceOfKind: (apiVersion, kind) => catalog.findKind(apiVersion, kind),
    get: (resource, key) => caches.of(resource).get(key),
    list,
    count: (resource, options) => (isEverything(options) ? caches.of(resource).count : lengthOf(list(resource, options))),
    observe: (observer, signal) => caches.observe(observer, signal),
    async authorize(user, attributes) {
      if (!authorizer || user.groups.includes(PRIVILEGED)) return
      const decision: Decision = await authorizer().authorize(user, attributes, NEVER_CANCELLED)
      if (decision.verdict !== 'allow') throw forbidden(user, attributes, decision.reason)
    },
    async write({ user, manager, body, authorizeCreate, beforeStore, fence, ...call }) {
      beforeStore?.()
      const context = {
        user,
        now: now(),
        groupDomain,
        gate,
        budget: new Budget(),
        namespace,
        userAgent: manager,
        signal: NEVER_CANCELLED.signal,
        authorizeCreate,
        ...(beforeStore && { beforeStore }),
        ...(fence && { fence }),
      }
      const begun = monotonicMs()
      const seconds = () => (monotonicMs() - begun) / 1000
      try {
        const result = await registry().handle({ ...call, resource: servedBy(catalog, call.resource) }, context, body)
        metrics?.written(call.verb, result.type === 'object' ? result.code : 200, seconds())
        return result.type === 'object' ? result.json : undefined
      } catch (error) {
        metrics?.written(call.verb, error, seconds())
        throw error
      }
    },
  }
}

/**
 * The resource as clients reach it. Objects of a custom kind may be stored in an older version, and only a served version converts
 * the objects that it finds; read as the stored version they would lose fields that it does not have.
 */
function servedBy(catalog: Catalog, resource: Resource): Resource {
  if (!resource.def.custom) return resource
  const { group, version, plural, versions } = resource
  return catalog.find(group, version, plural) ?? versions[0] ?? resource
}

const NOTHING: readonly CachedRevision[] = []

function lengthOf(objects: Iterable<unknown>): number {
  let length = 0
  for (const _ of objects) length++
  return length
}

const isEverything = ({ namespace, name, field, labels }: ListOptions) => !namespace && !name && !field && !labels?.length

function selectionOf({ namespace = '', name = '', field, labels = [] }: ListOptions): Selection {
  const label = labels.find(({ operator }) => operator === '=' || operator === '==' || operator === 'in')
  const term: Term | undefined = field
    ? { on: 'field', key: field.key, values: [field.value] }
    : label && { on: 'label', key: label.key, values: label.values }
  if (!term && labels.length === 0) return { namespace, name }
  const test = (revision: CachedRevision) =>
    (!field || revision.fields[field.key] === field.value) && matchesLabelTerms(labels, revision.labels)
  return { namespace, name, ...(term && { term }), test }
}
