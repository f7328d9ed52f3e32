/** Follows the store: applies each event to the cache of its resource, and reads everything again where events are missing. */
import { sleep } from '../lib/environment.ts'
import type { Assertions } from '../schema/assertions.ts'
import { expired, type StatusError } from '../schema/status-error.ts'
import { type Batch, Compacted, type Entry, type Event, type Revision, type Store } from '../storage/store.ts'
import { type CacheTable, prefixOf } from './cache-table.ts'
import { EventOrder, WrongEvents } from './event-order.ts'
import type { Joining } from './joining.ts'
import { eachEntry, LOAD_AGAIN_MS, REPLAYED } from './loading.ts'
import type { Observers } from './observers.ts'
import type { OpenWatches } from './open-watches.ts'
import type { OwnWrites } from './own-writes.ts'
import { generationOf, type Position } from './position.ts'
import type { ResourceCache } from './resource-cache.ts'

export type FollowerParts = {
  readonly store: Store
  readonly position: Position
  readonly table: CacheTable
  readonly joining: Joining
  readonly ownWrites: OwnWrites
  readonly watches: OpenWatches
  readonly observers: Observers
  readonly assertions: Assertions
}

export class Follower {
  readonly #store: Store
  readonly #position: Position
  readonly #table: CacheTable
  readonly #joining: Joining
  readonly #ownWrites: OwnWrites
  readonly #watches: OpenWatches
  readonly #observers: Observers
  readonly #order: EventOrder

  constructor({ store, position, table, joining, ownWrites, watches, observers, assertions }: FollowerParts) {
    this.#store = store
    this.#position = position
    this.#table = table
    this.#joining = joining
    this.#ownWrites = ownWrites
    this.#watches = watches
    this.#observers = observers
    this.#order = new EventOrder(assertions, store)
  }

  /** Applies events until the signal is aborted. Rejects when a store of this process alone fails. */
  async follow(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        for await (const batch of this.#store.watch('/', this.#position.revision, signal)) this.#take(batch)
        return
      } catch (error) {
        const isWrong = error instanceof WrongEvents
        // A store of this process alone does not come back.
        if (!this.#store.isShared && !isWrong) throw error
        if (error instanceof Compacted || this.#position.isReloading) await this.#readAgain().catch(() => {})
        else if (isWrong) await this.#readAgain(error.failure).catch(() => {})
        if (signal.aborted) return
      }
      await sleep(LOAD_AGAIN_MS, { signal }).catch(() => {})
    }
  }

  #take({ revision, events }: Batch): void {
    const position = this.#position
    for (const event of events) {
      this.#order.check(event, position.revision)
      // An observer may start to load a resource here: earlier events of this batch are history to it.
      position.advance(event.revision)
      this.#apply(event)
    }
    this.#order.checkEnd(revision, position.revision)
    position.advance(revision)
    this.#table.history.enforce()
    position.wake()
  }

  #apply(event: Event): void {
    const prefix = prefixOf(event.key)
    // First, as an observer that starts to load this resource reads the event from the store.
    this.#joining.keep(prefix, event)
    const cache = this.#table.get(prefix)
    if (cache) this.#applyTo(cache, event)
  }

  #applyTo(cache: ResourceCache, event: Event): void {
    const written = this.#ownWrites.find(event)
    const previous = cache.get(event.key)
    const { historyBytes } = cache
    const current = cache.apply(event, written)
    this.#table.history.add(cache.historyBytes - historyBytes)
    if (current) {
      if (written?.isKept) current.keepObject(written.object)
      this.#observers.changed(cache.resource, { current, previous }, written?.object)
    }
    previous?.releaseObject()
  }

  /**
   * Reads everything again: this server was away for longer than the store keeps history, or the store has gone back. Watches end, since
   * what they would have to send is lost; observers are told the difference. The same after a failure that events have shown: they can
   * no longer be relied on.
   */
  async #readAgain(failure?: StatusError): Promise<void> {
    const position = this.#position
    const [isBack, generation] = [position.isReloading, generationOf(this.#store)]
    const { oldest, newest } = await this.#store.extent()
    // The history that the store still has is read again, too. A store that went back has none: its revisions no longer are the
    // writes that clients know by these numbers.
    const since = isBack || failure ? newest : Math.max(oldest, newest - REPLAYED, position.revision)
    const read = await this.#readAll(since)
    // It has gone back once more.
    if (generation !== generationOf(this.#store)) return
    position.restart(since, generation)
    if (isBack) this.#table.goBack()
    const reason = isBack ? expired(`too old resource version: the store went back to ${since}`) : failure
    for (const [cache, entries] of read) {
      if (!this.#table.has(cache)) continue
      this.#watches.endThoseOf(cache, reason)
      for (const replaced of cache.reset(entries, since, { isBack })) {
        this.#observers.changed(cache.resource, replaced)
        replaced.previous?.releaseObject()
      }
    }
    this.#table.history.recount()
    if (isBack) position.wakeAll()
    else position.wake()
  }

  async #readAll(since: Revision): Promise<[ResourceCache, Entry[]][]> {
    const read: [ResourceCache, Entry[]][] = []
    for (const cache of this.#table.values()) {
      const entries: Entry[] = []
      await eachEntry(this.#store, { prefix: cache.resource.prefix, at: since }, entry => entries.push(entry))
      read.push([cache, entries])
    }
    return read
  }
}
