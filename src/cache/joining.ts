/**
 * Resources that are loaded while the caches follow the store: their objects are read as of a revision, and the events that come meanwhile
 * are kept and applied at the end.
 */
import { sleep } from '../lib/environment.ts'
import type { Resource } from '../schema/resource.ts'
import { Compacted, type Event, type Store } from '../storage/store.ts'
import type { CacheTable } from './cache-table.ts'
import { eachEntry, LOAD_AGAIN_MS, REPLAYED, replay } from './loading.ts'
import type { Observers } from './observers.ts'
import type { OpenWatches } from './open-watches.ts'
import type { Position } from './position.ts'
import type { ResourceCache } from './resource-cache.ts'
import { Slabs } from './slabs.ts'

export type JoiningParts = {
  readonly store: Store
  readonly position: Position
  readonly table: CacheTable
  readonly watches: OpenWatches
  readonly observers: Observers
}

export type JoinOptions = {
  /** How many past writes are read back. */
  readonly replayed?: number
  /** Called when the objects can be read, before watches of the former cache end. */
  readonly ready?: () => void
}

export class Joining {
  readonly #parts: JoiningParts
  /** The events of each resource that is being loaded, by its prefix. */
  readonly #kept = new Map<string, Event[]>()

  constructor(parts: JoiningParts) {
    this.#parts = parts
  }

  /** Keeps an event of a resource that is being loaded. */
  keep(prefix: string, event: Event): void {
    if (this.#kept.size > 0) this.#kept.get(prefix)?.push(event)
  }

  /** Loads a resource from the store without blocking anything else; then its cache replaces the former one, whose watches end. */
  async join(resource: Resource, { replayed = REPLAYED, ready }: JoinOptions = {}): Promise<void> {
    const { table, watches, observers } = this.#parts
    const { prefix } = resource
    if (this.#kept.has(prefix)) throw new Error(`${resource.qualified} is being loaded already`)
    try {
      const cache = await this.#load(resource, replayed)
      for (const event of this.#kept.get(prefix)!) cache.apply(event)
      const former = table.use(cache)
      ready?.()
      observers.joined(resource)
      if (former) watches.endThoseOf(former)
    } finally {
      this.#kept.delete(prefix)
    }
  }

  /** Loads all resources again that are not being loaded, without their past. */
  async reload(): Promise<void> {
    const loaded = Array.from(this.#parts.table.values(), ({ resource }) => resource).filter(({ prefix }) => !this.#kept.has(prefix))
    await Promise.all(loaded.map(resource => this.join(resource, { replayed: 0 })))
  }

  /** Loads the resources again of which an object could not be read and can be now. */
  async retryUnreadable(): Promise<void> {
    const { store, table } = this.#parts
    for (const cache of [...table.values()])
      for (const { key } of [...cache.unreadable()]) {
        const { entry } = await store.get(key)
        if (!table.has(cache) || this.#kept.has(cache.resource.prefix)) break
        if (!entry || entry.fault !== undefined) continue
        await this.join(cache.resource)
        break
      }
  }

  /** A cache loaded from the store, complete up to the revision from which on events are kept for it. */
  async #load(resource: Resource, replayed: number): Promise<ResourceCache> {
    const { store, position, table } = this.#parts
    for (;;) {
      this.#kept.set(resource.prefix, [])
      const { restarts, revision: newest } = position
      const since = Math.min(newest, Math.max((await store.extent()).oldest, newest - replayed))
      const cache = table.create(resource, since)
      const slabs = new Slabs()
      try {
        await eachEntry(store, { prefix: resource.prefix, at: since }, entry => cache.load(entry, slabs))
        await replay(store, cache, { since, until: newest })
        // Events that were missed before everything was read again are missing here as well.
        if (restarts === position.restarts) return cache
      } catch (error) {
        // The history that was being read has been compacted meanwhile: start again from a newer revision.
        if (!(error instanceof Compacted) && restarts === position.restarts && !position.isReloading) throw error
        if (position.isReloading) await sleep(LOAD_AGAIN_MS)
      }
    }
  }
}
