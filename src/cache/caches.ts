/**
 * One cache per resource, kept up to date with the store, so that reads never touch the disk. The parts have files of their own:
 * `cache-table.ts` has the caches, `position.ts` the revision that they have reached, `follower.ts` applies the events of the store,
 * `joining.ts` loads resources meanwhile, and `own-writes.ts` sends the writes of this server.
 */
import type { Cancellation } from '../lib/cancellation.ts'
import { startInterval, stopTimer, type Timer } from '../lib/environment.ts'
import { Assertions } from '../schema/assertions.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import { noSuchResource, type StatusError, unavailable } from '../schema/status-error.ts'
import { type Change, Compacted, type Revision, type Store, type Swap } from '../storage/store.ts'
import { CacheTable } from './cache-table.ts'
import { Follower } from './follower.ts'
import { Freshness } from './freshness.ts'
import { Joining } from './joining.ts'
import { eachEntry, REPLAYED } from './loading.ts'
import { Observers } from './observers.ts'
import { OpenWatches } from './open-watches.ts'
import { OwnWrites } from './own-writes.ts'
import { Position } from './position.ts'
import { DEFAULT_HISTORY, type HistoryLimits, type ResourceCache } from './resource-cache.ts'
import { Slabs } from './slabs.ts'
import type { Watch, WatchRequest } from './watch.ts'

const BOOKMARK_MS = 30_000
/** How often old history is searched for while nothing is written. */
const MAX_AGING_MS = 5_000
const MIN_AGING_MS = 100

export type CachesOptions = {
  readonly store: Store
  /** Read again where loading has to begin anew. */
  readonly resources: readonly Resource[]
  /** Called when following the store fails for good. */
  readonly onFailure: (error: unknown) => void
  readonly history?: HistoryLimits
  /** Bytes of objects that are kept in memory, over a store from which the others can be read without waiting; all by default. */
  readonly objectBytes?: number
  /** How often watches that want bookmarks get one; default 30 seconds. */
  readonly bookmarkMs?: number
  /** Old history is dropped by `dropOld` alone, not from time to time. */
  readonly agesOnDemand?: boolean
  /** Told at the start how many objects more have been read. */
  readonly onLoaded?: (objects: number) => void
  /** Counts and reports failed assertions. */
  readonly assertions?: Assertions
  readonly now?: () => number
}

export class Caches implements AsyncDisposable {
  readonly assertions: Assertions
  readonly #stop = new AbortController()
  readonly #table: CacheTable
  readonly #position: Position
  readonly #watches: OpenWatches
  readonly #observers = new Observers()
  readonly #freshness: Freshness | undefined
  readonly #ownWrites: OwnWrites
  readonly #joining: Joining
  readonly #follower: Follower
  #following: Promise<void> = Promise.resolve()
  #aging: Timer | undefined

  /** Caches of nothing, as of a revision. */
  private constructor(options: CachesOptions, revision: Revision) {
    const { store, history = DEFAULT_HISTORY, objectBytes = Number.POSITIVE_INFINITY, bookmarkMs = BOOKMARK_MS, now } = options
    const { assertions = new Assertions() } = options
    const position = new Position(store, { revision, signal: this.#stop.signal })
    const table = new CacheTable(store, { history, objectBytes, now })
    const watches = new OpenWatches(() => position.revision, bookmarkMs)
    const freshness = store.isShared
      ? new Freshness(
          () => store.fresh(),
          revision => position.reachSoon(revision),
        )
      : undefined
    const parts = { store, position, table, watches, observers: this.#observers, assertions }
    this.assertions = assertions
    this.#position = position
    this.#table = table
    this.#watches = watches
    this.#freshness = freshness
    this.#ownWrites = new OwnWrites({ ...parts, freshness })
    this.#joining = new Joining(parts)
    this.#follower = new Follower({ ...parts, joining: this.#joining, ownWrites: this.#ownWrites })
  }

  /** Loads all objects, then follows the store. */
  static async open(options: CachesOptions): Promise<Caches> {
    const { onFailure, agesOnDemand, history = DEFAULT_HISTORY } = options
    const { caches, newest } = await Caches.#loadAll(options)
    caches.#following = caches.#follower.follow(caches.#stop.signal).catch(onFailure)
    await caches.reached(newest)
    if (agesOnDemand) return caches
    const agingMs = Math.min(Math.max(history.ageMs / 20, MIN_AGING_MS), MAX_AGING_MS)
    caches.#aging = startInterval(() => caches.dropOld(), agingMs)
    caches.#aging.unref()
    return caches
  }

  /** All objects as they were a little while ago, so that later changes are history that can be watched. */
  static async #loadAll(options: CachesOptions): Promise<{ caches: Caches; newest: Revision }> {
    const { store, resources, onLoaded } = options
    const { oldest, newest } = await store.extent()
    const since = Math.max(oldest, newest - REPLAYED)
    const caches = new Caches(options, since)
    const slabs = new Slabs()
    try {
      for (const resource of resources) {
        // Other served versions of the same objects are read from the cache of their stored version.
        if (resource.conversion) continue
        const cache = caches.#table.create(resource, since)
        caches.#table.use(cache)
        await eachEntry(store, { prefix: resource.prefix, at: since, onLoaded }, entry => cache.load(entry, slabs))
      }
      return { caches, newest }
    } catch (error) {
      // Another process has compacted the revision that was being read.
      if (error instanceof Compacted) return Caches.#loadAll(options)
      throw error
    }
  }

  /** The newest revision all caches have. */
  get revision(): Revision {
    return this.#position.revision
  }

  /** Bytes of past object revisions that are kept in memory. */
  get historyBytes(): number {
    return this.#table.history.bytes
  }

  /** Bytes of objects that are kept in memory and could be read again; undefined where all are. */
  get objectBytes(): number | undefined {
    return this.#table.objectBytes
  }

  /** Drops history that the store is about to forget. */
  forgetBefore(revision: Revision): void {
    this.#table.forgetBefore(revision)
  }

  /** Whether the store has gone back to an earlier state, and all that is here has to be read again. */
  get isReloading(): boolean {
    return this.#position.isReloading
  }

  /** Whether a revision is one that the store had before it went back. Those below the newest cannot be told from the ones that took their place. */
  isLost(revision: Revision): boolean {
    return this.#position.isLost(revision)
  }

  of(resource: Resource): ResourceCache {
    // Cached objects may be gone from the store, or no longer be readable for this user.
    if (this.#position.isReloading) throw unavailable('the store has gone back to an earlier state, and everything is being read again')
    const cache = this.#table.get(resource.prefix)
    // A custom kind may have been removed while a request for it was running.
    if (!cache) throw resource.def.custom ? noSuchResource() : unavailable(`${resource.qualified} is not being served yet`)
    return cache
  }

  /** Number and bytes of the objects of a resource; undefined if they are not cached. */
  sizeOf(resource: Resource): { readonly count: number; readonly bytes: number } | undefined {
    const cache = this.#table.get(resource.prefix)
    return cache && { count: cache.count, bytes: cache.size }
  }

  /** Whether objects of the resource are cached. */
  has(resource: Resource): boolean {
    return this.#table.get(resource.prefix) !== undefined
  }

  /**
   * Starts to cache the objects of a resource, or replaces how they are cached. Objects and recent history are loaded from the
   * store without blocking anything else; then `ready` is called, and watches of the former cache end.
   */
  join(resource: Resource, ready?: () => void): Promise<void> {
    return this.#joining.join(resource, ready && { ready })
  }

  /** Reads all objects again, as after a restart. Watches end, and earlier revisions can no longer be watched. */
  reload(): Promise<void> {
    return this.#joining.reload()
  }

  /**
   * Reads objects again that could not be read, as their keys may be there now. Where one can be read, the resource is loaded again and
   * its watches end.
   */
  retryUnreadable(): Promise<void> {
    return this.#joining.retryUnreadable()
  }

  /** Stops caching a resource; its watches end. */
  leave({ prefix }: Resource): void {
    const cache = this.#table.remove(prefix)
    if (cache) this.#watches.endThoseOf(cache)
  }

  /**
   * Resolves once everything can be read here that anybody had been told when this was called. Undefined where that is always so,
   * since nobody else writes to the store. Throws a StatusError when the store cannot be asked, or the cache does not get there soon.
   */
  fresh(): Promise<void> | undefined {
    return this.#freshness?.now()
  }

  /** Whether `fresh` costs next to nothing: the store knew its newest revision without asking anybody when it was last asked. */
  get isFreshAtOnce(): boolean {
    return this.#freshness?.isAtOnce ?? false
  }

  /** The age of the cache in milliseconds: reads see every write that was acknowledged before that. */
  get ageMs(): number {
    return this.#freshness?.ageMs ?? 0
  }

  /** How many writes are on their way to the store. */
  get writing(): number {
    return this.#ownWrites.count
  }

  /** Resolves once everything up to a revision can be read, or the signal is aborted. */
  reached(revision: Revision, signal?: Cancellation): Promise<void> {
    return this.#position.reached(revision, signal)
  }

  /**
   * Writes to the store. Once it resolves with success the write can be read here. Where the change has the decoded value as its
   * `object`, that need not be decoded again when it comes back as an event.
   */
  write(key: string, change: Change): Promise<Swap> {
    return this.#ownWrites.write(key, change, false)
  }

  /** As `write`, for a new object that nobody changes any more: whoever reads it gets this very object. */
  create(key: string, value: Uint8Array, object: AnyObject): Promise<Swap> {
    return this.#ownWrites.write(key, { expect: 0, value, object, unique: true }, true)
  }

  watch(resource: Resource, request: WatchRequest): Watch {
    return this.#watches.open(this.of(resource), request)
  }

  /** Reports every change of every resource until the signal is aborted. */
  observe(observer: Observer, signal: AbortSignal): void {
    this.#observers.add(observer, signal)
  }

  /** Ends every watch, cleanly or with an error the clients see; those that are opened later end at once. */
  endWatches(error?: StatusError): void {
    this.#watches.endAll(error)
  }

  /** Drops history that is too old, which it becomes also where nothing is written. */
  dropOld(): void {
    this.#table.dropOld()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    stopTimer(this.#aging)
    this.endWatches()
    this.#stop.abort()
    await this.#following
    // No further revision will be reached; waiters learn from the store that it is closed.
    this.#position.wakeAll()
  }
}
