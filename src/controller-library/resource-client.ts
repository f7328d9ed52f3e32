/** The objects of one resource, over HTTP. */
import { ApiError } from '../library/api-error.ts'
import { collectionPath } from '../schema/resource.ts'
import type { Connection } from './connection.ts'
import type {
  ApiObject,
  ApplyOptions,
  DeleteOptions,
  Draft,
  ListOptions,
  Named,
  PatchOptions,
  ResourceClient,
  ResourceName,
} from './public.d.ts'

const PATCH_TYPES: Readonly<Record<NonNullable<PatchOptions['type']>, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
}

/** Objects of a page: a server need not hold all of a long list in one response. */
const PAGE = 500

/** A list, and the resourceVersion to watch from. */
export type Listed<T> = { readonly items: readonly T[]; readonly resourceVersion: string }

export type WatchEvent<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: T }

export class RemoteResource<T extends ApiObject> implements ResourceClient<T> {
  readonly resource: ResourceName
  readonly #connection: Connection

  constructor(connection: Connection, resource: ResourceName) {
    this.#connection = connection
    this.resource = resource
  }

  get(named: Named): Promise<T | undefined> {
    return unless(['NotFound'], this.#connection.json<T>('GET', this.#path(named)))
  }

  async list(options: ListOptions = {}): Promise<T[]> {
    return [...(await this.listed(options)).items]
  }

  /** All pages of a list. If the later ones have expired meanwhile, the whole list is read at once, as client-go does. */
  async listed(options: ListOptions): Promise<Listed<T>> {
    const { apiVersion, kind } = this.resource
    let items: T[] = []
    let query: PageQuery = { limit: PAGE }
    for (;;) {
      const page = await this.#page(options, query)
      if (page === 'expired') {
        items = []
        query = {}
        continue
      }
      // Items of a list do not repeat its kind.
      for (const item of page.items) items.push({ ...item, apiVersion, kind })
      const { continue: next, resourceVersion } = page.metadata
      if (!next) return { items, resourceVersion }
      query = { limit: PAGE, continue: next }
    }
  }

  async #page({ namespace, labelSelector, fieldSelector }: ListOptions, page: PageQuery): Promise<Page<T> | 'expired'> {
    const query = { labelSelector, fieldSelector, ...page }
    try {
      return await this.#connection.json('GET', this.#collection(namespace), { query })
    } catch (error) {
      if (isExpired(error) && page.continue !== undefined) return 'expired'
      throw error
    }
  }

  /** The events after a resourceVersion, until the server or the signal ends them. Throws ApiError for an event that is an error. */
  async *watch(
    { namespace, labelSelector, fieldSelector }: ListOptions,
    {
      resourceVersion,
      timeoutSeconds,
      signal,
    }: { readonly resourceVersion: string; readonly timeoutSeconds: number; readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    const path = this.#collection(namespace)
    const query = { watch: true, allowWatchBookmarks: true, labelSelector, fieldSelector, resourceVersion, timeoutSeconds }
    for await (const line of this.#connection.lines(path, query, signal)) {
      const event: WatchEvent<T> | { readonly type: 'ERROR'; readonly object: { readonly code?: number } } = JSON.parse(line)
      if (event.type === 'ERROR') throw new ApiError(`WATCH ${path}`, event.object.code ?? 500, JSON.stringify(event.object))
      yield event
    }
  }

  create(object: Draft<T>): Promise<T | undefined> {
    const { apiVersion, kind } = this.resource
    const { namespace } = (object.metadata ?? {}) as Named
    const sent = { query: this.#byManager(), body: { apiVersion, kind, ...object } }
    return unless(['AlreadyExists'], this.#connection.json<T>('POST', this.#collection(namespace), sent))
  }

  update(object: T): Promise<T | undefined> {
    return this.#replace(object, '')
  }

  updateStatus(object: T): Promise<T | undefined> {
    return this.#replace(object, 'status')
  }

  #replace(object: T, subresource: string): Promise<T | undefined> {
    const sent = { query: this.#byManager(), body: object }
    return unless(['NotFound'], this.#connection.json<T>('PUT', this.#path(object.metadata, subresource), sent))
  }

  patch(named: Named, patch: object, { type = 'merge', subresource = '' }: PatchOptions = {}): Promise<T | undefined> {
    const sent = { query: this.#byManager(), body: patch, contentType: PATCH_TYPES[type] }
    return unless(['NotFound'], this.#connection.json<T>('PATCH', this.#path(named, subresource), sent))
  }

  apply(draft: Draft<T>, { fieldManager = this.#connection.fieldManager, subresource = '', force = true }: ApplyOptions = {}): Promise<T> {
    const { apiVersion, kind } = this.resource
    const sent = { query: { fieldManager, force }, body: { apiVersion, kind, ...draft }, contentType: 'application/apply-patch+yaml' }
    return this.#connection.json<T>('PATCH', this.#path((draft.metadata ?? {}) as Named, subresource), sent)
  }

  async delete({ metadata }: Pick<ApiObject, 'metadata'>, options: DeleteOptions = {}): Promise<boolean> {
    const { uid } = metadata
    const body = { ...options, ...(uid && { preconditions: { uid } }) }
    return (await unless(['NotFound', 'Conflict'], this.#connection.json<object>('DELETE', this.#path(metadata), { body }))) !== undefined
  }

  #collection(namespace = ''): string {
    const { apiVersion, plural, namespaced = true } = this.resource
    return collectionPath({ apiVersion, plural, namespaced }, namespace)
  }

  #path({ namespace, name }: Named, subresource = ''): string {
    if (!name) throw new TypeError(`an object of ${this.resource.plural} is named by its name`)
    const { namespaced = true, plural } = this.resource
    if (namespaced && !namespace) throw new TypeError(`${plural} ${name}: objects of ${plural} are in namespaces, and none is named`)
    return `${this.#collection(namespace)}/${encodeURIComponent(name)}${subresource && `/${encodeURIComponent(subresource)}`}`
  }

  #byManager(): { readonly fieldManager: string } {
    return { fieldManager: this.#connection.fieldManager }
  }
}

type PageQuery = { readonly limit?: number; readonly continue?: string }
type Page<T> = { readonly items: readonly T[]; readonly metadata: { readonly resourceVersion: string; readonly continue?: string } }

/** Whether a resourceVersion or a page is older than the history of the server. */
export const isExpired = (error: unknown): boolean => error instanceof ApiError && error.status === 410

/** Undefined for failures that the caller has to expect. */
async function unless<R>(reasons: readonly string[], result: Promise<R>): Promise<R | undefined> {
  try {
    return await result
  } catch (error) {
    if (error instanceof ApiError && reasons.includes(error.reason)) return undefined
    throw error
  }
}
