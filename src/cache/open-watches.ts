/** The open watches of all resources: they get bookmarks, and end together or with their cache. */
import { startInterval, stopTimer, type Timer } from '../lib/environment.ts'
import type { StatusError } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import { bookmarkOf } from './bookmark.ts'
import type { ResourceCache } from './resource-cache.ts'
import { Watch, type WatchRequest } from './watch.ts'
import type { WatchEvent } from './watch-stream.ts'

export class OpenWatches {
  readonly #watches = new Set<Watch>()
  readonly #newest: () => Revision
  readonly #bookmarkMs: number
  /** Runs while there are watches. */
  #bookmarks: Timer | undefined
  #isEnded = false

  /** `newest` is the newest revision that all caches have. */
  constructor(newest: () => Revision, bookmarkMs: number) {
    this.#newest = newest
    this.#bookmarkMs = bookmarkMs
  }

  open(cache: ResourceCache, request: WatchRequest): Watch {
    const watch: Watch = new Watch(cache, request, { newest: this.#newest, onEnd: () => this.#ended(watch) })
    this.#watches.add(watch)
    this.#bookmarks ??= startInterval(() => this.#sendBookmarks(), this.#bookmarkMs).unref()
    // The request arrived while the server was shutting down.
    if (this.#isEnded) watch.end()
    return watch
  }

  /** Ends the watches of one cache, cleanly or with an error that the clients see. */
  endThoseOf(cache: ResourceCache, error?: StatusError): void {
    for (const watch of this.#watches) if (watch.cache === cache) watch.end(error)
  }

  /** Ends every watch; those that are opened later end at once. */
  endAll(error?: StatusError): void {
    this.#isEnded = true
    for (const watch of this.#watches) watch.end(error)
  }

  #ended(watch: Watch): void {
    this.#watches.delete(watch)
    if (this.#watches.size > 0) return
    stopTimer(this.#bookmarks)
    this.#bookmarks = undefined
  }

  /** Sends a bookmark to every watch that asked for them; it is encoded once for all watches of a resource. */
  #sendBookmarks(): void {
    const made = new Map<ResourceCache, WatchEvent>()
    for (const watch of this.#watches) {
      if (!watch.wantsBookmarks) continue
      let event = made.get(watch.cache)
      if (!event) made.set(watch.cache, (event = bookmarkOf(watch.cache.resource, this.#newest())))
      watch.regularBookmark(event)
    }
  }
}
