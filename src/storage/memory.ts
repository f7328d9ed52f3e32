/** The whole database in memory, for tests and for serving without a disk. */
import { type Clock, systemClock } from '../lib/clock.ts'
import { nextIteration } from '../lib/environment.ts'
import { deadlineOf, Expiry } from './expiry.ts'
import { Feed } from './feed.ts'
import { History, type KeyState } from './history.ts'
import { checkKey } from './key-order.ts'
import { type Limits, Quota } from './quota.ts'
import {
  type Batch,
  bytesOf,
  type Change,
  type Entry,
  type Extent,
  FencedOff,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  type Store,
  type StoreSize,
  StoreUnavailable,
  type Swap,
} from './store.ts'

type Kept = KeyState & { readonly entry: Entry | undefined }

const EVENTS_PER_CHUNK = 512
const SWEEP_REVISIONS = 1_024
/** Bytes that a revision takes beside its key and value. */
const VERSION_BYTES = 256

/** Keeps values without copying them: a value must not be changed after it was stored. */
export class MemoryStore implements Store, AsyncDisposable {
  readonly #clock: Clock
  readonly #history = new History<Kept>()
  readonly #feed: Feed
  readonly #expiry: Expiry
  readonly #quota: Quota
  /** The most events that a watch which catches up reads at once. */
  readonly #eventsPerChunk: number
  /** Bytes of all states, and of those that are current. */
  #bytes = 0
  #currentBytes = 0
  #closed = false

  constructor({
    clock = systemClock,
    eventsPerChunk = EVENTS_PER_CHUNK,
    ...limits
  }: Limits & { clock?: Clock; eventsPerChunk?: number } = {}) {
    this.#clock = clock
    this.#eventsPerChunk = eventsPerChunk
    this.#quota = new Quota(limits, { bytes: () => this.#bytes, keys: () => this.#history.keys })
    this.#feed = new Feed({ newest: () => this.#history.newest, read: (prefix, after) => this.#changes(prefix, after) })
    this.#expiry = new Expiry(clock, (key, modified) => this.swap(key, { expect: modified, value: null }))
  }

  async get(key: string, at?: Revision): Promise<Read> {
    this.#assertOpen()
    const state = at === undefined ? this.#history.latest(key) : this.#history.at(key, at)
    return { revision: at ?? this.#history.newest, entry: state?.entry }
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    return this.#history.exact(key, modified)?.entry
  }

  async list(prefix: string, page: PageRequest = {}): Promise<Page> {
    this.#assertOpen()
    const { found, remaining } = this.#history.page(prefix, page)
    return { revision: page.at ?? this.#history.newest, entries: found.map(({ state }) => state.entry!), remaining }
  }

  swap(key: string, change: Change): Promise<Swap> {
    try {
      return Promise.resolve(this.#swap(key, change))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#feed.watch(prefix, after, signal)
  }

  fresh(): Revision {
    this.#assertOpen()
    return this.#history.newest
  }

  async extent(): Promise<Extent> {
    this.#assertOpen()
    return { oldest: this.#history.oldest, newest: this.#history.newest }
  }

  async compact(before: Revision): Promise<void> {
    this.#assertOpen()
    this.#history.forget(before)
    for (;;) {
      const dropped = this.#history.sweep(SWEEP_REVISIONS)
      if (!dropped) return
      for (const { key, state } of dropped) this.#bytes -= bytesIn(key, state)
      this.#quota.freed()
      await new Promise<void>(nextIteration)
    }
  }

  size(): StoreSize {
    const used = this.#bytes
    const historyBytes = used - this.#currentBytes
    return { bytes: used, usedBytes: used, historyBytes, quotaBytes: this.#quota.limit, isFull: this.#quota.isFull }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#expiry.stop()
    this.#feed.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #swap(key: string, { expect, value, ttlSeconds, isEnding = false, fences = [] }: Change): Swap {
    this.#assertOpen()
    checkKey(key)
    for (const fence of fences) if ((this.#history.latest(fence.key)?.modified ?? 0) !== fence.modified) throw new FencedOff(fence)
    const deadline = deadlineOf(ttlSeconds, this.#clock)
    const current = this.#history.latest(key)
    if ((current?.modified ?? 0) !== expect || (!current && value === null)) return { ok: false, current: current?.entry }
    const bytes = value && bytesOf(value)
    if (bytes) {
      this.#quota.admit({ bytes: bytes.length, isNew: !current, replaced: () => current?.entry?.value.length, isEnding })
      this.#quota.settle(bytes.length, true)
    }
    const revision = this.#history.newest + 1
    const created = current?.created ?? revision
    const after = bytes === null ? undefined : { key, value: bytes, created, modified: revision }
    const state = { modified: revision, created, deleted: value === null, entry: after }
    this.#history.append(key, state)
    this.#bytes += bytesIn(key, state)
    this.#currentBytes += (after ? bytesIn(key, state) : 0) - (current ? bytesIn(key, current) : 0)
    this.#expiry.written(key, revision, after && deadline)
    this.#feed.publish({ revision, events: [{ key, after, revision }] })
    return { ok: true, revision }
  }

  #changes(prefix: string, after: Revision): Batch {
    const { revision, found } = this.#history.changes(prefix, after, this.#eventsPerChunk)
    const events = found.map(({ key, state }) => ({ key, after: state.entry, revision: state.modified }))
    return { revision, events }
  }

  async probe(): Promise<void> {
    this.#assertOpen()
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
  }
}

const bytesIn = (key: string, { entry }: Kept): number => VERSION_BYTES + key.length + (entry?.value.length ?? 0)
