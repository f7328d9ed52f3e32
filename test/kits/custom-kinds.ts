/** A registry with custom kinds over a store in memory, used by method and path, without a socket. */

import assert from 'node:assert/strict'
import { Caches } from '../../src/cache/caches.ts'
import { startController } from '../../src/controllers/controller.ts'
import { customKindControllers } from '../../src/custom/custom-kinds.ts'
import { type WebhookParts, webhookConverter } from '../../src/custom/webhook-converter.ts'
import { route } from '../../src/http/route.ts'
import { CustomResourceDefinition } from '../../src/kinds/apiextensions/customresourcedefinition.ts'
import type { Registry } from '../../src/registry/api.ts'
import { Catalog } from '../../src/registry/catalog.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { Budget } from '../../src/schema/budget.ts'
import type { Kind } from '../../src/schema/kind.ts'
import { resourcesOf } from '../../src/schema/resource.ts'
import { StatusError } from '../../src/schema/status-error.ts'
import { createClients } from '../../src/server/clients/client-backend.ts'
import { MemoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { type Answer, answerOf, NOW } from './registry.ts'

export type Scope = { after(undo: () => unknown): void }
export type CustomBench = {
  readonly catalog: Catalog
  readonly caches: Caches
  readonly store: Store
  readonly errors: string[]
  readonly send: (request: string, body?: unknown, more?: { type?: string; userAgent?: string; now?: Date }) => Promise<Answer>
  /** Sends a definition and waits until its kind is served. */
  readonly define: (definition: object) => Promise<void>
  /** Waits until a condition holds. */
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
}

export type CustomBenchOptions = { store?: Store; post?: WebhookParts['post']; kinds?: readonly Kind<any>[]; now?: () => Date }

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Opens the inner parts of a server that has only definitions. */
export async function openCustomBench(
  t: Scope,
  { store = new MemoryStore(), post, kinds = [], now = () => NOW }: CustomBenchOptions = {},
): Promise<CustomBench> {
  const catalog = new Catalog(resourcesOf([CustomResourceDefinition, ...kinds], 'k8s.io'))
  const errors: string[] = []
  const fail = (error: unknown) => errors.push(String(error))
  const caches = await Caches.open({ store, resources: [...catalog], onFailure: fail })
  let uids = 0
  const newUid = () => `00000000-0000-0000-0000-${String(++uids).padStart(12, '0')}`
  const registry: Registry = createRegistry({
    store,
    caches,
    find: (group, version, plural) => catalog.find(group, version, plural),
    newUid,
    randomSuffix: () => Math.random().toString(36).slice(2, 7),
    tokenKey: Buffer.from('test'),
    tokenMs: Number.POSITIVE_INFINITY,
  })
  const ending = new AbortController()
  const [groupDomain, gate] = ['k8s.io', () => false]
  const { signal } = ending
  const { clientFor } = createClients({ caches, catalog, groupDomain, gate, now, registry: () => registry, onError: fail, signal })
  const webhook = {
    post: post ?? (() => Promise.reject(new Error('nobody there'))),
    newUid,
    groupDomain,
    resolve: () => assert.fail('no service is called'),
  }
  const converter = (definition: Parameters<typeof webhookConverter>[0]) => webhookConverter(definition, webhook)
  const onError = (error: unknown, name: string | undefined) => errors.push(`${name}: ${error}`)
  const [serving, cleanup] = customKindControllers({ catalog, caches, converter })
  await startController(serving, { clientFor, groupDomain, gate, onError, signal }).idle()
  startController(cleanup, { clientFor, groupDomain, gate, onError, signal })
  t.after(async () => {
    ending.abort()
    await caches[Symbol.asyncDispose]()
    await store.close()
  })

  const send: CustomBench['send'] = async (request, body, more = {}) => {
    const [method = '', path = ''] = request.split(' ')
    try {
      const target = route(method, path, catalog)
      if (target.type === 'refused') throw target.error
      if (target.type === 'path') return { code: 404, body: '404 page not found', warnings: [] }
      const bytes = body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
      const mediaType = more.type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json')
      const result = await registry.handle(
        target.call,
        {
          user: { name: 'tester', groups: [] },
          now: more.now ?? NOW,
          groupDomain,
          gate,
          budget: new Budget(),
          userAgent: more.userAgent ?? 'test/1',
          signal: new AbortController().signal,
        },
        bytes && { mediaType, bytes },
      )
      return answerOf(result)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return { code: error.code, body: { ...error, message: error.message }, warnings: [] }
    }
  }
  const until: CustomBench['until'] = async holds => {
    while (!(await holds())) await new Promise(resolve => setImmediate(resolve))
  }
  const define: CustomBench['define'] = async definition => {
    const { code, body } = await send(`POST ${DEFINITIONS}`, definition)
    if (code !== 201) throw new Error(body.message)
    await until(async () => isEstablished((await send(`GET ${DEFINITIONS}/${body.metadata.name}`)).body))
  }
  return { catalog, caches, store, errors, send, define, until }
}

export const isEstablished = (definition: any): boolean =>
  definition.status.conditions?.some((c: any) => c.type === 'Established' && c.status === 'True') ?? false

export const conditionOf = (definition: any, type: string): any => definition.status.conditions?.find((c: any) => c.type === type)

export type Version = { name?: string; served?: boolean; storage?: boolean; spec?: object; [more: string]: unknown }

/** A definition of widgets; by default its spec has a color and a size. */
export function widgetDefinition(
  versions: readonly Version[] = [{}],
  more: { group?: string; names?: object; scope?: string; [field: string]: unknown } = {},
) {
  const { group = 'stable.example.com', names, scope = 'Namespaced', ...rest } = more
  const called = { plural: 'widgets', kind: 'Widget', ...(names as { plural?: string }) }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${called.plural}.${group}` },
    spec: {
      group,
      scope,
      names: called,
      ...rest,
      versions: versions.map(({ name = 'v1', served = true, storage = true, spec, ...others }) => ({
        name,
        served,
        storage,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: spec ?? { color: { type: 'string' }, size: { type: 'integer' } } },
              status: { type: 'object', properties: { phase: { type: 'string' } } },
            },
          },
        },
        ...others,
      })),
    },
  }
}

export const widget = (name: string, spec: object = {}, more: { version?: string; metadata?: object } = {}) => ({
  apiVersion: `stable.example.com/${more.version ?? 'v1'}`,
  kind: 'Widget',
  metadata: { name, ...more.metadata },
  spec,
})

export const widgets = (rest = '', version = 'v1') => `/apis/stable.example.com/${version}/namespaces/default/widgets${rest}`
export const definitions = (rest = '') => `${DEFINITIONS}${rest}`
