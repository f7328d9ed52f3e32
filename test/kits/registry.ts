/** A registry over a store in memory, for tests that call it as HTTP does, without a socket. */
import type { AdmissionObserver } from '../../src/admission/observer.ts'
import { type Plugin, pluginChain } from '../../src/admission/plugin.ts'
import { Caches } from '../../src/cache/caches.ts'
import type { HistoryLimits } from '../../src/cache/resource-cache.ts'
import { itemBytes } from '../../src/codec/list-item.ts'
import { parseObject } from '../../src/codec/stored-bytes.ts'
import { HandedOver } from '../../src/lib/handed-over.ts'
import type { Allocations } from '../../src/registry/allocations.ts'
import type { Call, Registry, Result } from '../../src/registry/api.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Access } from '../../src/schema/access.ts'
import { Budget } from '../../src/schema/budget.ts'
import type { ComponentHealth, Kind } from '../../src/schema/kind.ts'
import { type Resource, resourcesOf } from '../../src/schema/resource.ts'
import { StatusError } from '../../src/schema/status-error.ts'
import { isAlwaysOn } from '../../src/server/feature-gates.ts'
import { MemoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'

export const NOW = new Date('2026-07-01T12:00:00Z')

export type Answer = { readonly code: number; readonly body: any; readonly warnings: readonly string[] }

export type Bench = {
  readonly registry: Registry
  readonly caches: Caches
  readonly store: Store
  /** Sends a request such as `POST widgets?dryRun=All`, `PATCH widgets/a/status`; results and errors are both returned as a response. */
  readonly send: (request: string, body?: unknown, more?: Sending) => Promise<Answer>
  readonly close: () => Promise<void>
}
export type Sending = {
  readonly type?: string
  readonly now?: Date
  readonly namespace?: string
  readonly userAgent?: string
  readonly verb?: 'watch'
  /** The body is handed over as the server's own components do, without a text. */
  readonly isHandedOver?: boolean
  /** The API version of the request, for kinds with several. */
  readonly apiVersion?: string
}

let uids = 0

export type BenchOptions = {
  plugins?: readonly Plugin[]
  history?: HistoryLimits
  /** How long pages can be continued. */
  tokenMs?: number
  suffix?: () => string
  gates?: readonly string[]
  /** The components that the server reports. */
  parts?: () => readonly ComponentHealth[]
  /** The parts of access control that kinds may use. */
  access?: Partial<Access>
  /** A store to use instead of a fresh one in memory; closing the bench closes it. */
  store?: Store
  /** Creates the allocations from the other parts; the registry is available once the bench is open. */
  allocations?: (parts: { store: Store; caches: Caches; resources: readonly Resource[]; registry: () => Registry }) => Promise<Allocations>
}

/** Opens a registry that serves these kinds, each in the namespace `default`. */
export async function openBench(kinds: readonly Kind<any>[], more: BenchOptions = {}): Promise<Bench> {
  const resources = resourcesOf(kinds, 'k8s.io')
  const store = more.store ?? new MemoryStore()
  const caches = await Caches.open({
    store,
    resources,
    onFailure(error) {
      throw error
    },
    ...(more.history && { history: more.history }),
  })
  const allocations = await more.allocations?.({ store, caches, resources, registry: () => registry })
  const registry: Registry = createRegistry({
    ...(allocations && { allocations }),
    store,
    caches,
    ...(more.plugins && { admission: pluginChain(more.plugins, silentObserver) }),
    find: (group, version, plural) => resources.find(r => r.group === group && r.version === version && r.plural === plural),
    parts: more.parts,
    ...(more.access && { access: more.access as Access }),
    newUid: () => `00000000-0000-0000-0000-${String(++uids).padStart(12, '0')}`,
    randomSuffix: more.suffix ?? (() => Math.random().toString(36).slice(2, 7)),
    tokenKey: Buffer.from('test'),
    tokenMs: more.tokenMs ?? Number.POSITIVE_INFINITY,
  })
  const send: Bench['send'] = async (request, body, sending = {}) => {
    const read = readCall(request, inVersion(resources, sending.apiVersion), sending.namespace ?? 'default')
    const call = sending.verb ? { ...read, verb: sending.verb } : read
    const mediaType = sending.type ?? (call.verb === 'patch' ? 'application/merge-patch+json' : 'application/json')
    try {
      return answerOf(
        await registry.handle(
          call,
          {
            user: { name: 'tester', groups: [] },
            now: sending.now ?? NOW,
            groupDomain: 'k8s.io',
            budget: new Budget(),
            gate: name => isAlwaysOn(name) || (more.gates ?? ['WatchList', 'AllowUnsafeMalformedObjectDeletion']).includes(name),
            userAgent: sending.userAgent ?? 'test/1',
            signal: new AbortController().signal,
          },
          body === undefined ? undefined : { mediaType, ...contentOf(body, sending) },
        ),
      )
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return { code: error.code, body: { ...error, message: error.message }, warnings: [] }
    }
  }
  const close = async () => {
    await caches[Symbol.asyncDispose]()
    await store.close()
  }
  return { registry, caches, store, send, close }
}

const contentOf = (body: unknown, { isHandedOver }: Sending) =>
  isHandedOver
    ? { bytes: new Uint8Array(), object: new HandedOver(body as object) }
    : { bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }

const inVersion = (resources: readonly Resource[], apiVersion: string | undefined) =>
  apiVersion === undefined ? resources : resources.filter(r => r.apiVersion === apiVersion)

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch' } as const

function readCall(request: string, resources: readonly Resource[], namespace: string): Call {
  const [method = '', target = ''] = request.split(' ')
  const [path = '', query = ''] = target.split('?')
  const [plural, name = '', subresource = ''] = path.split('/')
  const resource = resources.find(r => r.plural === plural)!
  const parameters = new URLSearchParams(query)
  const verb =
    method === 'GET'
      ? parameters.get('watch') === 'true'
        ? 'watch'
        : name === ''
          ? 'list'
          : 'get'
      : method === 'DELETE'
        ? name === ''
          ? 'deletecollection'
          : 'delete'
        : VERBS[method as keyof typeof VERBS]
  return { verb, resource, namespace: resource.namespaced ? namespace : '', name, subresource, query: parameters }
}

/** A result in the form that tests compare. */
export function answerOf(result: Result): Answer {
  switch (result.type) {
    case 'object':
      return { code: result.code, body: parseObject(result.json), warnings: result.warnings }
    case 'status':
      return { code: result.code, body: result.status, warnings: result.warnings }
    case 'list':
      return { code: 200, body: { items: result.items.map(item => parseObject(itemBytes(item))), metadata: result.meta }, warnings: [] }
    case 'watch':
      return { code: 200, body: result.stream, warnings: [] }
    case 'bytes':
      return { code: result.code, body: result.body, warnings: [] }
    case 'forward':
      return { code: 200, body: result.upstream, warnings: [] }
    case 'session':
      return { code: 101, body: result.session, warnings: [] }
  }
}

/** An observer that does nothing. */
const silentObserver: AdmissionObserver = {
  plugin: () => () => {},
  uninvolved: () => () => {},
  step: () => () => {},
  webhookCalled() {},
  webhookRejected() {},
  webhookFailedOpen() {},
  excludedByCondition() {},
  conditionFailed() {},
  policyChecked() {},
  policyMutated() {},
}
