/**
 * One watch on one resource. It first sends what the client asked to begin with, then what happened since, then goes live:
 *
 *     snapshot ──→ replay ──→ live
 *                    ↑__________│   when the client does not keep up
 *
 * Nothing is queued for a slow client: it goes back to reading the log, and is dropped only when the log has moved past it.
 */
import { startTimer, stopTimer, type Timer } from '../lib/environment.ts'
import { LIMITS } from '../lib/limits.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { Resource } from '../schema/resource.ts'
import { expired, internalError, type StatusError, storeReadError, timedOut } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'
import { bookmarkOf } from './bookmark.ts'
import { type CachedRevision, corruptObject } from './cached-revision.ts'
import type { ResourceCache } from './resource-cache.ts'
import type { Selection } from './selection.ts'
import { WatchEvent, type WatchSink, type WatchStream } from './watch-stream.ts'
import { EventsOf, type Watcher } from './watchers.ts'

/** How long before its end a watch sends a last bookmark, as in Kubernetes. */
const LAST_BOOKMARK_MS = 2000
/** How many events, and objects of how many bytes, are sent before the watch yields to other requests: encoding them anew takes long. */
const MAX_BATCH_EVENTS = 512
const MAX_BATCH_BYTES = 1 << 16

export type WatchRequest = {
  readonly selection: Selection
  /** Everything after this revision is sent. */
  readonly from: Revision
  /** First send the objects as they are; `from` is then the newest revision. */
  readonly initial: boolean
  /** Sent once the initial objects are out. */
  readonly afterInitial?: (revision: Revision) => WatchEvent
  readonly bookmarks: boolean
  readonly timeoutMs: number
}

/** The error of kube-apiserver for an object that a watch cannot send. */
function unreadable(resource: Resource, current: CachedRevision): StatusError {
  if (current.deleted) return storeReadError(`saw a DELETED event, but object data is corrupt - ${current.fault}`)
  return internalError(corruptObject(resource, current))
}

export class Watch implements WatchStream, Watcher {
  readonly selection: Selection
  readonly wantsBookmarks: boolean
  readonly cache: ResourceCache
  readonly #request: WatchRequest
  readonly #newest: () => Revision
  readonly #onEnd: () => void
  #sink: WatchSink | undefined
  #initial: Iterator<CachedRevision> | undefined
  /** All up to here has been sent. */
  #position: Revision
  #state: 'new' | 'snapshot' | 'replay' | 'live' | 'ended' = 'new'
  #waiting = false
  /** Bytes of the objects that were sent since the watch last yielded. */
  #sentBytes = 0
  /** No regular bookmark has come by yet. */
  #isNew = true
  #error: StatusError | undefined
  #endsAfterInitial = false
  #timer: Timer | undefined

  constructor(cache: ResourceCache, request: WatchRequest, owner: { newest: () => Revision; onEnd: () => void }) {
    this.cache = cache
    this.#request = request
    this.#newest = owner.newest
    this.#onEnd = owner.onEnd
    this.selection = request.selection
    this.wantsBookmarks = request.bookmarks
    this.#position = request.from
    // Read now, so that the initial events show the state at this moment.
    if (request.initial) this.#initial = cache.list({ selection: request.selection }).objects.values()
  }

  open(sink: WatchSink): void {
    // It may have been ended before it was opened.
    if (this.#state === 'ended') sink.end(this.#error)
    if (this.#state !== 'new') return
    this.#sink = sink
    this.#state = this.#initial ? 'snapshot' : 'replay'
    this.#startTimer()
    this.#go()
  }

  close(): void {
    this.#leave()
  }

  /** A watch with bookmarks gets one shortly before its timeout, to resume from. */
  #startTimer(): void {
    const { timeoutMs } = this.#request
    const early = this.wantsBookmarks && timeoutMs > LAST_BOOKMARK_MS
    const first = early ? () => this.#sayGoodbye() : () => this.#timeOut()
    this.#timer = startTimer(first, early ? timeoutMs - LAST_BOOKMARK_MS : timeoutMs).unref()
  }

  #sayGoodbye(): void {
    this.bookmark(bookmarkOf(this.cache.resource, this.#newest()))
    this.#timer = startTimer(() => this.#timeOut(), LAST_BOOKMARK_MS).unref()
  }

  /** A client that does not take the initial objects is not waited for. */
  #timeOut(): void {
    this.end(this.#initial && timedOut('the watch ended before all objects could be sent'))
  }

  /**
   * Ends the stream, cleanly or with an error the client sees. A clean end comes after all initial objects: to a client that gets only
   * some of them, or none, there would be no others.
   */
  end(error?: StatusError): void {
    if (this.#state === 'ended') return
    if (this.#initial && !error) {
      this.#endsAfterInitial = true
      return
    }
    this.#leave()
    this.#error = error
    this.#sink?.end(error)
  }

  receive(event: WatchEvent, current: CachedRevision): void {
    // A watch may start at a future revision.
    if (current.revision <= this.#position) return
    if (!this.#send(event, current)) return
    this.#position = current.revision
    if (this.#sink!.backlog > LIMITS.watchBacklogBytes) this.#fallBehind()
  }

  /** Sends a bookmark, if the client asked for them and the watch is up to date. */
  bookmark(event: WatchEvent): void {
    // A watch from a future revision has not reached it yet.
    const isThere = this.#state === 'live' && this.#newest() >= this.#request.from
    if (isThere && this.#sink!.backlog <= LIMITS.watchBacklogBytes) this.#sink!.event(event)
  }

  /** One of the bookmarks that all watches get at once. A watch that was opened since the last one has just been told where it is. */
  regularBookmark(event: WatchEvent): void {
    if (this.#isNew) this.#isNew = false
    else this.bookmark(event)
  }

  #go(): void {
    this.#sentBytes = 0
    for (let sent = 0; this.#state === 'snapshot' || this.#state === 'replay'; sent++) {
      if (this.#sink!.backlog > LIMITS.watchBacklogBytes) this.#await(resume => this.#sink!.onDrain(resume))
      else if (sent === MAX_BATCH_EVENTS || this.#sentBytes > MAX_BATCH_BYTES) this.#await(resume => void yieldToOthers().then(resume))
      if (this.#waiting) return
      if (this.#state === 'snapshot') this.#sendInitial()
      else this.#replayNext()
    }
  }

  #await(until: (resume: () => void) => void): void {
    if (this.#waiting) return
    this.#waiting = true
    until(() => {
      this.#waiting = false
      this.#go()
    })
  }

  #sendInitial(): void {
    const { value: current, done } = this.#initial!.next()
    if (current) this.#send(new WatchEvent('ADDED', this.cache.resource, current.peek()), current)
    if (!done) return
    this.#initial = undefined
    const mark = this.#request.afterInitial?.(this.#position)
    if (mark) this.#sink!.event(mark)
    this.#state = 'replay'
    if (this.#endsAfterInitial) this.end()
  }

  /** Sends the next logged change, or goes live when there is none. */
  #replayNext(): void {
    const { oldest } = this.cache
    if (this.#position < oldest) {
      this.end(expired(`too old resource version: ${this.#position} (${oldest})`))
      return
    }
    for (const current of this.cache.since(this.#position)) {
      this.#position = current.revision
      const before = current.previous?.deleted ? undefined : current.previous
      const event = new EventsOf(this.cache.resource, current, before).for(this.selection)
      if (!event) continue
      this.#send(event, current)
      return
    }
    this.#position = Math.max(this.#position, this.#newest())
    this.#state = 'live'
    this.cache.watchers.add(this)
  }

  /** A watch must not silently leave out an object: if one cannot be read, it ends with an error that names it. */
  #send(event: WatchEvent, current: CachedRevision): boolean {
    if (event.json.length === 0) this.end(unreadable(this.cache.resource, current))
    else {
      this.#sentBytes += event.json.length
      this.#sink!.event(event)
    }
    return this.#state !== 'ended'
  }

  #fallBehind(): void {
    this.cache.watchers.remove(this)
    this.#state = 'replay'
    this.#await(resume => this.#sink!.onDrain(resume))
  }

  #leave(): void {
    if (this.#state === 'live') this.cache.watchers.remove(this)
    this.#state = 'ended'
    stopTimer(this.#timer)
    this.#onEnd()
  }
}
