/** Follows the store and keeps one cache per resource up to date, so that reads never touch the disk. */
import { ExpectedBytes } from '../codec/stored-bytes.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import { monotonicMs, sleep, startInterval, startTimer, stopTimer, type Timer } from '../lib/environment.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import { Assertions } from '../schema/assertions.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import { expired, noSuchResource, type StatusError, tooLargeRevision, unavailable } from '../schema/status-error.ts'
import {
  type Batch,
  type Change,
  Compacted,
  type Entry,
  type Event,
  madeBytes,
  type Revision,
  type Store,
  type Swap,
  type Value,
} from '../storage/store.ts'
import { ByteBudget } from './byte-budget.ts'
import { EventOrder, WrongEvents } from './event-order.ts'
import { Freshness } from './freshness.ts'
import { HistoryBudget } from './history-budget.ts'
import { eachEntry, replay } from './loading.ts'
import { OpenWatches } from './open-watches.ts'
import { DEFAULT_HISTORY, type HistoryLimits, type ReadBack, type Replaced, ResourceCache } from './resource-cache.ts'
import { RevisionWaiters } from './revision-waiters.ts'
import type { Watch, WatchRequest } from './watch.ts'

/** How many past writes are read back at start, so that watches opened before a restart can go on. */
const REPLAYED = 10_000
const BOOKMARK_MS = 30_000
/** How often old history is searched for while nothing is written. */
const MAX_AGING_MS = 5_000
const MIN_AGING_MS = 100
/** How long a read waits for the cache to get to where the store is; as in kube-apiserver. */
const BEHIND_MS = 3_000
/** How long until a store that others write to is followed again after that failed. */
const FOLLOW_AGAIN_MS = 200

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

type Writing = {
  readonly value: Value
  readonly object: AnyObject
  /** Whether nobody changes the object any more. */
  readonly isKept: boolean
  expected: ExpectedBytes | undefined
}
/** Options of every resource's cache. */
type Made = { readonly limits: HistoryLimits; readonly readBack?: ReadBack; readonly now?: () => number }
type Budgeted = { readonly objectBytes: number; readonly bookmarkMs: number; readonly assertions: Assertions }
export class Caches implements AsyncDisposable {
  readonly assertions: Assertions
  readonly #store: Store
  readonly #order: EventOrder
  readonly #byPrefix = new Map<string, ResourceCache>()
  /** Events of resources that are being loaded, kept until they are. */
  readonly #joining = new Map<string, Event[]>()
  readonly #watches: OpenWatches
  readonly #observers = new Set<Observer>()
  /**
   * Writes in progress, in the order of their events. Not a Map: its former entries survive until a full garbage
   * collection, see CONTRIBUTING.md.
   */
  readonly #writing: Writing[] = []
  readonly #stop = new AbortController()
  readonly #waiters = new RevisionWaiters()
  #revision: Revision
  #following: Promise<void> = Promise.resolve()
  #aging: Timer | undefined
  readonly #history: HistoryBudget
  readonly #freshness: Freshness | undefined
  /** Counts how often everything had to be read again. */
  #resets = 0
  /** The generation of the store whose objects are cached. */
  #generation: number
  /** Revisions up to here that are not here are of a state that the store has gone back from. */
  #lostUpTo: Revision = 0

  readonly #made: Made
  /** The store has forgotten the revisions before this one, or is about to. */
  #forgotten: Revision = 0

  private constructor(store: Store, revision: Revision, { objectBytes, bookmarkMs, assertions, ...made }: Made & Budgeted) {
    this.assertions = assertions
    this.#store = store
    this.#order = new EventOrder(assertions, store)
    this.#watches = new OpenWatches(() => this.#revision, bookmarkMs)
    this.#generation = store.generation ?? 0
    this.#revision = revision
    const readBack = this.#readBackWithin(objectBytes)
    this.#made = { ...made, ...(readBack && { readBack }) }
    this.#history = new HistoryBudget(made.limits.totalBytes ?? Number.POSITIVE_INFINITY, () => this.#byPrefix.values())
    if (store.isShared)
      this.#freshness = new Freshness(
        () => store.fresh(),
        revision => this.#reachSoon(revision),
      )
  }

  /** Loads all objects, then follows the store. */
  static async open(options: CachesOptions): Promise<Caches> {
    const { onFailure, agesOnDemand } = options
    const { caches, newest } = await Caches.#loadAll(options)
    caches.#following = caches.#follow().catch(onFailure)
    await caches.reached(newest)
    if (agesOnDemand) return caches
    const agingMs = Math.min(Math.max(caches.#made.limits.ageMs / 20, MIN_AGING_MS), MAX_AGING_MS)
    caches.#aging = startInterval(() => caches.dropOld(), agingMs)
    caches.#aging.unref()
    return caches
  }

  /** All objects as they were a little while ago, so that later changes are history that can be watched. */
  static async #loadAll(options: CachesOptions): Promise<{ caches: Caches; newest: Revision }> {
    const { store, resources, history = DEFAULT_HISTORY, objectBytes = Number.POSITIVE_INFINITY, bookmarkMs = BOOKMARK_MS, now } = options
    const { assertions = new Assertions() } = options
    const { oldest, newest } = await store.extent()
    const since = Math.max(oldest, newest - REPLAYED)
    const caches = new Caches(store, since, { limits: history, objectBytes, bookmarkMs, assertions, ...(now && { now }) })
    try {
      for (const resource of resources) {
        // Other served versions of the same objects are read from the cache of their stored version.
        if (resource.conversion) continue
        const cache = new ResourceCache(resource, { since, ...caches.#made })
        caches.#byPrefix.set(resource.prefix, cache)
        await eachEntry(store, { prefix: resource.prefix, at: since, onLoaded: options.onLoaded }, entry => cache.load(entry))
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
    return this.#revision
  }

  /** Bytes of past object revisions that are kept in memory. */
  get historyBytes(): number {
    return this.#history.bytes
  }

  /** Bytes of objects that are kept in memory and could be read again; undefined where all are. */
  get objectBytes(): number | undefined {
    return this.#made.readBack?.budget.bytes
  }

  /** A store that other processes write to may forget revisions that are evicted here before this server hears of it. */
  #readBackWithin(bytes: number): ReadBack | undefined {
    const store = this.#store
    if (!store.readBack || store.isShared || bytes === Number.POSITIVE_INFINITY) return undefined
    return { store, budget: new ByteBudget(bytes, () => this.#byPrefix.values()) }
  }

  /** Drops history that the store is about to forget. */
  forgetBefore(revision: Revision): void {
    this.#forgotten = Math.max(this.#forgotten, revision)
    for (const cache of this.#byPrefix.values()) cache.forgetBefore(revision)
    this.#history.recount()
  }

  /** Whether the store has gone back to an earlier state, and all that is here has to be read again. */
  get isReloading(): boolean {
    return this.#generation !== (this.#store.generation ?? 0)
  }

  /** Whether a revision is one that the store had before it went back. Those below the newest cannot be told from the ones that took their place. */
  isLost(revision: Revision): boolean {
    return revision > this.#revision && revision <= this.#lostUpTo
  }

  of(resource: Resource): ResourceCache {
    // Cached objects may be gone from the store, or no longer be readable for this user.
    if (this.isReloading) throw unavailable('the store has gone back to an earlier state, and everything is being read again')
    const cache = this.#byPrefix.get(resource.prefix)
    // A custom kind may have been removed while a request for it was running.
    if (!cache) throw resource.def.custom ? noSuchResource() : unavailable(`${resource.qualified} is not being served yet`)
    return cache
  }

  /** Number and bytes of the objects of a resource; undefined if they are not cached. */
  sizeOf(resource: Resource): { readonly count: number; readonly bytes: number } | undefined {
    const cache = this.#byPrefix.get(resource.prefix)
    return cache && { count: cache.count, bytes: cache.size }
  }

  /** Whether objects of the resource are cached. */
  has(resource: Resource): boolean {
    return this.#byPrefix.has(resource.prefix)
  }

  /**
   * Starts to cache the objects of a resource, or replaces how they are cached. Objects and recent history are loaded from the
   * store without blocking anything else; then `ready` is called, and watches of the former cache end.
   */
  join(resource: Resource, ready: () => void = () => {}): Promise<void> {
    return this.#join(resource, REPLAYED, ready)
  }

  /** Reads all objects again, as after a restart. Watches end, and earlier revisions can no longer be watched. */
  async reload(): Promise<void> {
    const loaded = Array.from(this.#byPrefix.values(), ({ resource }) => resource).filter(({ prefix }) => !this.#joining.has(prefix))
    await Promise.all(loaded.map(resource => this.#join(resource, 0)))
  }

  /**
   * Reads objects again that could not be read, as their keys may be there now. Where one can be read, the resource is loaded again and
   * its watches end.
   */
  async retryUnreadable(): Promise<void> {
    for (const cache of [...this.#byPrefix.values()])
      for (const { key } of [...cache.unreadable()]) {
        const { entry } = await this.#store.get(key)
        if (this.#byPrefix.get(cache.resource.prefix) !== cache || this.#joining.has(cache.resource.prefix)) break
        if (!entry || entry.fault !== undefined) continue
        await this.join(cache.resource)
        break
      }
  }

  async #join(resource: Resource, replayed: number, ready: () => void = () => {}): Promise<void> {
    const { prefix } = resource
    if (this.#joining.has(prefix)) throw new Error(`${resource.qualified} is being loaded already`)
    try {
      const cache = await this.#load(resource, replayed)
      const former = this.#byPrefix.get(prefix)
      for (const event of this.#joining.get(prefix)!) cache.apply(event)
      cache.forgetBefore(this.#forgotten)
      this.#byPrefix.set(prefix, cache)
      former?.release()
      this.#history.recount()
      ready()
      for (const observer of this.#observers) observer.joined(resource)
      if (former) this.#watches.endThoseOf(former)
    } finally {
      this.#joining.delete(prefix)
    }
  }

  /** Stops caching a resource; its watches end. */
  leave({ prefix }: Resource): void {
    const cache = this.#byPrefix.get(prefix)
    if (!cache) return
    this.#byPrefix.delete(prefix)
    cache.release()
    this.#history.recount()
    this.#watches.endThoseOf(cache)
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
    return this.#writing.length
  }

  /** Resolves once everything up to a revision can be read, or the signal is aborted. */
  reached(revision: Revision, signal?: Cancellation): Promise<void> {
    if (this.#revision >= revision || this.#stop.signal.aborted) return Promise.resolve()
    return this.#waiters.wait(revision, signal)
  }

  /**
   * Writes to the store. Once it resolves with success the write can be read here. Where the change has the decoded value as its
   * `object`, that need not be decoded again when it comes back as an event.
   */
  write(key: string, change: Change): Promise<Swap> {
    return this.#write(key, change, false)
  }

  /** As `write`, for a new object that nobody changes any more: whoever reads it gets this very object. */
  create(key: string, value: Uint8Array, object: AnyObject): Promise<Swap> {
    return this.#write(key, { expect: 0, value, object, unique: true }, true)
  }

  #write(key: string, change: Change, isKept: boolean): Promise<Swap> {
    const { value, object } = change
    const sentAt = this.#freshness ? monotonicMs() : 0
    if (!value || object === undefined) return this.#store.swap(key, change).then(swapped => this.#settle(key, change, { swapped, sentAt }))
    const writing: Writing = { value, object: object as AnyObject, isKept, expected: undefined }
    this.#writing.push(writing)
    const forget = () => this.#writing.splice(this.#writing.indexOf(writing), 1)
    const swapping = this.#store.swap(key, change)
    // The store is at work.
    const bytes = madeBytes(value)
    if (bytes) writing.expected = ExpectedBytes.of(bytes, this.#revision + 1)
    return swapping.then(
      swapped => {
        const settled = this.#settle(key, change, { swapped, sentAt })
        if (settled instanceof Promise) return settled.finally(forget)
        forget()
        return settled
      },
      error => {
        forget()
        throw error
      },
    )
  }

  /** A write that succeeded is one once it can be read here, and with it all that was acknowledged before it was sent. */
  #settle(key: string, change: Change, { swapped, sentAt }: { readonly swapped: Swap; readonly sentAt: number }): MaybePromise<Swap> {
    if (!swapped.ok) return swapped
    const { revision } = swapped
    if (revision <= change.expect)
      throw this.assertions.failed('revision_order', `${key} was at ${change.expect} and is written at ${revision}`, { isStored: true })
    return whenDone(this.#revision < revision ? this.reached(revision) : undefined, () => {
      this.#freshness?.confirm(sentAt)
      if (!this.#hasWritten(key, change, revision))
        throw this.assertions.failed('history_complete', `the write of ${key} at ${revision} is not among the events of the store`, {
          isStored: true,
        })
      return swapped
    })
  }

  /** Whether a write is among the events that were applied up to its revision; taken for granted where that can no longer be seen. */
  #hasWritten(key: string, { value }: Change, revision: Revision): boolean {
    const cache = this.#byPrefix.get(prefixOf(key))
    if (!cache || this.#revision < revision || cache.oldest >= revision) return true
    const found = cache.newestRevisionOf(key)
    return found === undefined ? value === null : found >= revision
  }

  watch(resource: Resource, request: WatchRequest): Watch {
    return this.#watches.open(this.of(resource), request)
  }

  /** Reports every change of every resource until the signal is aborted. */
  observe(observer: Observer, signal: AbortSignal): void {
    this.#observers.add(observer)
    signal.addEventListener('abort', () => this.#observers.delete(observer), { once: true })
  }

  /** Ends every watch, cleanly or with an error the clients see; those that are opened later end at once. */
  endWatches(error?: StatusError): void {
    this.#watches.endAll(error)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    stopTimer(this.#aging)
    this.endWatches()
    this.#stop.abort()
    await this.#following
    // No further revision will be reached; waiters learn from the store that it is closed.
    this.#waiters.wake(Number.POSITIVE_INFINITY)
  }

  #reachSoon(revision: Revision): Promise<void> | void {
    if (this.#revision >= revision) return
    const patience = new AbortController()
    const timer = startTimer(() => patience.abort(), BEHIND_MS)
    return this.reached(revision, patience.signal).then(() => {
      stopTimer(timer)
      if (this.#revision < revision) throw tooLargeRevision(revision, this.#revision)
    })
  }

  /** A cache loaded from the store, complete up to the revision from which on events are kept for it. */
  async #load(resource: Resource, replayed: number): Promise<ResourceCache> {
    for (;;) {
      this.#joining.set(resource.prefix, [])
      const resets = this.#resets
      const newest = this.#revision
      const since = Math.min(newest, Math.max((await this.#store.extent()).oldest, newest - replayed))
      const cache = new ResourceCache(resource, { since, ...this.#made })
      try {
        await eachEntry(this.#store, { prefix: resource.prefix, at: since }, entry => cache.load(entry))
        await replay(this.#store, cache, { since, until: newest })
        // Events that were missed before everything was read again are missing here as well.
        if (resets === this.#resets) return cache
      } catch (error) {
        // The history that was being read has been compacted meanwhile: start again from a newer revision.
        if (!(error instanceof Compacted) && resets === this.#resets && !this.isReloading) throw error
        if (this.isReloading) await sleep(FOLLOW_AGAIN_MS)
      }
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    for (;;) {
      try {
        for await (const batch of this.#store.watch('/', this.#revision, signal)) this.#take(batch)
        return
      } catch (error) {
        const isWrong = error instanceof WrongEvents
        // A store of this process alone does not come back.
        if (!this.#store.isShared && !isWrong) throw error
        if (error instanceof Compacted || this.isReloading) await this.#reset().catch(() => {})
        else if (isWrong) await this.#reset(error.failure).catch(() => {})
        if (signal.aborted) return
      }
      await sleep(FOLLOW_AGAIN_MS, { signal }).catch(() => {})
    }
  }

  /**
   * Reads everything again: this server was away for longer than the store keeps history, or the store has gone back. Watches end, since
   * what they would have to send is lost; observers are told the difference. The same after a failure that events have shown: they can
   * no longer be relied on.
   */
  async #reset(failure?: StatusError): Promise<void> {
    const [isBack, generation] = [this.isReloading, this.#store.generation ?? 0]
    const { oldest, newest } = await this.#store.extent()
    // The history that the store still has is read again, too. A store that went back has none: its revisions no longer are the
    // writes that clients know by these numbers.
    const since = isBack || failure ? newest : Math.max(oldest, newest - REPLAYED, this.#revision)
    const read: [ResourceCache, Entry[]][] = []
    for (const cache of this.#byPrefix.values()) {
      const entries: Entry[] = []
      await eachEntry(this.#store, { prefix: cache.resource.prefix, at: since }, entry => entries.push(entry))
      read.push([cache, entries])
    }
    // It has gone back once more.
    if (generation !== (this.#store.generation ?? 0)) return
    this.#resets++
    if (isBack) {
      this.#lostUpTo = Math.max(this.#lostUpTo, this.#revision)
      this.#forgotten = 0
    }
    this.#generation = generation
    this.#revision = since
    for (const [cache, entries] of read) {
      if (this.#byPrefix.get(cache.resource.prefix) !== cache) continue
      this.#watches.endThoseOf(cache, isBack ? expired(`too old resource version: the store went back to ${since}`) : failure)
      for (const { current, previous } of cache.reset(entries, since, { isBack })) {
        for (const observer of this.#observers) observer.changed(cache.resource, current, previous)
        previous?.releaseObject()
      }
    }
    this.#history.recount()
    // Nobody knows whether what they wait for will ever be.
    this.#waiters.wake(isBack ? Number.POSITIVE_INFINITY : since)
  }

  #take({ revision, events }: Batch): void {
    for (const event of events) {
      this.#order.check(event, this.#revision)
      const prefix = prefixOf(event.key)
      // An observer may start to load a resource here: earlier events of this batch are history to it.
      this.#revision = event.revision
      const joining = this.#joining.get(prefix)
      const cache = this.#byPrefix.get(prefix)
      const written = event.after && this.#writing.find(({ value }) => madeBytes(value) === event.after!.value)
      const previous = cache?.get(event.key)
      const historyBytes = cache?.historyBytes ?? 0
      const current = cache?.apply(event, written)
      if (cache) this.#history.add(cache.historyBytes - historyBytes)
      if (written?.isKept) current?.keepObject(written.object)
      if (current) this.#tellObservers(cache!.resource, { current, previous }, written)
      previous?.releaseObject()
      joining?.push(event)
    }
    this.#order.checkEnd(revision, this.#revision)
    this.#revision = revision
    this.#history.enforce()
    this.#waiters.wake(revision)
  }

  #tellObservers(resource: Resource, { current, previous }: Replaced, written: Writing | undefined): void {
    // The stored bytes of a custom kind may have become another object by its schema.
    const isOffered = written !== undefined && resource.def.custom === undefined
    if (isOffered) current.offerObject(written.object)
    for (const observer of this.#observers) observer.changed(resource, current, previous)
    if (isOffered) current.offerObject(undefined)
  }

  /** Drops history that is too old, which it becomes also where nothing is written. */
  dropOld(): void {
    for (const cache of this.#byPrefix.values()) cache.dropOld()
    this.#history.recount()
  }
}

/** `/apps/daemonsets/` of `/apps/daemonsets/default/a`. */
const prefixOf = (key: string) => key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1)
