/** The cache of each resource, found by the prefix of its keys, and the limits on memory that all of them share. */
import type { Resource } from '../schema/resource.ts'
import type { Revision, Store } from '../storage/store.ts'
import { ByteBudget } from './byte-budget.ts'
import { HistoryBudget } from './history-budget.ts'
import { type HistoryLimits, type ReadBack, ResourceCache } from './resource-cache.ts'

export type CacheLimits = {
  readonly history: HistoryLimits
  /** Bytes of objects that are kept in memory, where the store can read the others back. */
  readonly objectBytes: number
  readonly now?: (() => number) | undefined
}

export class CacheTable {
  readonly #byPrefix = new Map<string, ResourceCache>()
  readonly #options: { readonly limits: HistoryLimits; readonly readBack?: ReadBack; readonly now?: () => number }
  readonly history: HistoryBudget
  /** The store has forgotten the revisions before this one, or is about to. */
  #forgotten: Revision = 0

  constructor(store: Store, { history, objectBytes, now }: CacheLimits) {
    const readBack = readBackWithin(store, new ByteBudget(objectBytes, () => this.#byPrefix.values()))
    this.#options = { limits: history, ...(now && { now }), ...(readBack && { readBack }) }
    this.history = new HistoryBudget(history.totalBytes ?? Number.POSITIVE_INFINITY, () => this.#byPrefix.values())
  }

  /** An empty cache, which is not in the table yet. */
  create(resource: Resource, since: Revision): ResourceCache {
    return new ResourceCache(resource, { since, ...this.#options })
  }

  get(prefix: string): ResourceCache | undefined {
    return this.#byPrefix.get(prefix)
  }

  /** The cache of the object with this key. */
  ofKey(key: string): ResourceCache | undefined {
    return this.#byPrefix.get(prefixOf(key))
  }

  has(cache: ResourceCache): boolean {
    return this.#byPrefix.get(cache.resource.prefix) === cache
  }

  values(): IterableIterator<ResourceCache> {
    return this.#byPrefix.values()
  }

  /** Uses a cache from now on; returns the one that it replaces. */
  use(cache: ResourceCache): ResourceCache | undefined {
    const { prefix } = cache.resource
    const former = this.#byPrefix.get(prefix)
    cache.forgetBefore(this.#forgotten)
    this.#byPrefix.set(prefix, cache)
    former?.release()
    this.history.recount()
    return former
  }

  /** Removes the cache with this prefix, and returns it. */
  remove(prefix: string): ResourceCache | undefined {
    const cache = this.#byPrefix.get(prefix)
    if (!cache) return undefined
    this.#byPrefix.delete(prefix)
    cache.release()
    this.history.recount()
    return cache
  }

  /** Bytes of objects that are kept in memory and could be read again; undefined where all are. */
  get objectBytes(): number | undefined {
    return this.#options.readBack?.budget.bytes
  }

  /** Drops history that the store is about to forget, in caches that are added later as well. */
  forgetBefore(revision: Revision): void {
    this.#forgotten = Math.max(this.#forgotten, revision)
    for (const cache of this.#byPrefix.values()) cache.forgetBefore(revision)
    this.history.recount()
  }

  /** The store has gone back: its revisions begin again before those that it had forgotten. */
  goBack(): void {
    this.#forgotten = 0
  }

  /** Drops history that is too old, which it becomes also where nothing is written. */
  dropOld(): void {
    for (const cache of this.#byPrefix.values()) cache.dropOld()
    this.history.recount()
  }
}

/** A store that other processes write to may forget revisions that are evicted here before this server hears of it. */
const readBackWithin = (store: Store, budget: ByteBudget): ReadBack | undefined =>
  !store.readBack || store.isShared || budget.limit === Number.POSITIVE_INFINITY ? undefined : { store, budget }

/** `/apps/daemonsets/` of `/apps/daemonsets/default/a`. */
export const prefixOf = (key: string): string => key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1)
