/** Reads and writes objects over HTTP as one user, with references such as `deployment/web` in place of paths. */
import type { Client } from '../client/client.ts'
import type { FetchInit, ListOptions, ObjectAccess, ObjectReference, PatchType, WatchEvent, WriteOptions } from '../public.d.ts'
import { collectionPath } from '../schema/resource.ts'
import { ApiError } from './api-error.ts'
import type { Fetch } from './fetch.ts'
import { findKind, findNamed } from './object-reference.ts'

const PATCH_TYPES: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
}

/** The field manager of patches that name none. */
const MANAGER = 'keelson'

type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** The methods of a user with rights of their own; they may be taken apart from the object. */
export function objectAccess(fetch: Fetch, client: Client): ObjectAccess {
  const requests = new Requests(fetch)
  const pathTo = (object: string | ObjectReference, options: Place) => pathOfObject(client, object, options)
  /** The objects of all namespaces, unless one is given. */
  const pathOfKind = (kind: string, namespace = '') => collectionPath(findKind(client, kind), namespace)
  return {
    get: async (object, options = {}) => requests.json('GET', pathTo(object, options), { resourceVersion: options.resourceVersion }),

    async list<T>(kind: string, { namespace, labelSelector, fieldSelector, resourceVersion }: ListOptions = {}) {
      const { apiVersion, kind: name } = findKind(client, kind)
      const query = { labelSelector, fieldSelector, resourceVersion }
      const { items } = await requests.json<{ items: T[] }>('GET', pathOfKind(kind, namespace), query)
      // Items of a list do not repeat its kind.
      return items.map(item => ({ apiVersion, kind: name, ...item }))
    },

    async create(object, options = {}) {
      const { path, body } = toWrite(client, object, options)
      const target = options.subresource === undefined ? path.slice(0, path.lastIndexOf('/')) : path
      return requests.json('POST', target, writeQuery(options), { body })
    },

    async update(object, options = {}) {
      const { path, body } = toWrite(client, object, options)
      return requests.json('PUT', path, writeQuery(options), { body })
    },

    async patch(object, patch, options = {}) {
      const { type = 'merge', force } = options
      if (!Object.hasOwn(PATCH_TYPES, type)) throw new TypeError(`type must be ${Object.keys(PATCH_TYPES).join(', ')}, not ${type}`)
      const query = { fieldManager: MANAGER, ...writeQuery(options), ...(type === 'apply' && { force }) }
      const headers = { 'content-type': PATCH_TYPES[type] }
      return requests.json('PATCH', pathTo(object, options), query, { headers, body: JSON.stringify(patch) })
    },

    async delete(object, options = {}) {
      const { dryRun, propagationPolicy, gracePeriodSeconds, preconditions } = options
      // The API ignores parameters beside a body.
      const body = JSON.stringify({ propagationPolicy, gracePeriodSeconds, preconditions, ...(dryRun && { dryRun: ['All'] }) })
      await requests.json('DELETE', pathTo(object, options), {}, { body })
    },

    watch: (kind, { namespace, signal, ...query } = {}) =>
      requests.watch(pathOfKind(kind, namespace), { watch: true, ...query }, signal as AbortSignal | undefined),

    async logs(pod, { namespace, ...query } = {}) {
      const path = pathTo(pod.includes('/') ? pod : `pod/${pod}`, { namespace, subresource: 'log' })
      return (await requests.send('GET', path, query)).text()
    },
  }
}

type Place = { readonly namespace?: string | undefined; readonly subresource?: string | undefined }

function pathOfObject(client: Client, object: string | ObjectReference, { namespace: given, subresource }: Place): string {
  const { kind, resource, key } = findNamed(client, object, given)
  const served = resource()?.resource
  if (!served) throw new TypeError(`the kind ${kind} is not served yet; wait for its CustomResourceDefinition to be Established`)
  const { namespace, name } = key()
  const below = subresource === undefined ? '' : `/${encodeURIComponent(subresource)}`
  return `${collectionPath(served, namespace)}/${encodeURIComponent(name)}${below}`
}

/** The path of an object that is written, and its JSON with the namespace. */
function toWrite(client: Client, object: object, options: WriteOptions): { readonly path: string; readonly body: string } {
  const { metadata, ...rest } = object as ObjectReference
  // An object with generateName has no name yet.
  const reference = { ...rest, metadata: { ...metadata, name: metadata?.name ?? '-' } }
  const { namespace } = findNamed(client, reference, options.namespace).key()
  const body = JSON.stringify({ ...rest, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } })
  return { path: pathOfObject(client, reference, options), body }
}

class Requests {
  readonly #fetch: Fetch

  constructor(fetch: Fetch) {
    this.#fetch = fetch
  }

  async json<T>(method: string, path: string, query: Query, init?: FetchInit): Promise<T> {
    return (await this.send(method, path, query, init)).json() as Promise<T>
  }

  /** Throws ApiError for a response that is an error. */
  async send(method: string, path: string, query: Query, init: FetchInit = {}): Promise<Response> {
    const parameters = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
    const search = parameters.toString()
    const response = await this.#fetch(search === '' ? path : `${path}?${search}`, { method, ...init })
    if (response.status >= 400) throw new ApiError(`${method} ${path}`, response.status, await response.text())
    return response
  }

  /** Ends when the loop over it ends, when it is aborted, or when the server ends the watch. */
  async *watch<T>(path: string, query: Query, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<T>, void, void> {
    const left = new AbortController()
    try {
      const response = await this.send('GET', path, query, { signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal })
      for await (const line of linesOf(response)) {
        const event: WatchEvent<T> = JSON.parse(line)
        if ((event.type as string) === 'ERROR') throw new ApiError(`WATCH ${path}`, errorCode(event.object), JSON.stringify(event.object))
        yield event
      }
    } catch (error) {
      if (!signal?.aborted) throw error
    } finally {
      left.abort()
    }
  }
}

const writeQuery = ({ fieldManager, dryRun, fieldValidation }: WriteOptions): Query => ({
  ...(fieldManager !== undefined && { fieldManager }),
  ...(dryRun && { dryRun: 'All' }),
  ...(fieldValidation !== undefined && { fieldValidation }),
})

const errorCode = (status: unknown): number => Number((status as { readonly code?: number }).code ?? 500)

async function* linesOf(response: Response): AsyncGenerator<string> {
  let rest = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    yield* lines.filter(line => line !== '')
  }
}
