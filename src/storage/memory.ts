/** The whole database in memory, for tests and for serving without a disk. */
import { type Clock, systemClock } from '../lib/clock.ts'
import { deadlineOf, Expiry } from './expiry.ts'
import { Feed } from './feed.ts'
import { History, type Version } from './history.ts'
import { checkKey } from './key-order.ts'
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
  StoreUnavailable,
  type Swap,
} from './store.ts'

type Kept = Version & { readonly entry: Entry | undefined }

const EVENTS_PER_CHUNK = 512
const SWEEP_REVISIONS = 1_024

/** Keeps values without copying them: a value must not be changed after it was stored. */
export class MemoryStore implements Store, AsyncDisposable {
  readonly #clock: Clock
  readonly #history = new History<Kept>()
  readonly #feed: Feed
  readonly #expiry: Expiry
  #closed = false

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    this.#clock = clock
    this.#feed = new Feed({ newest: () => this.#history.newest, read: (prefix, after) => this.#changes(prefix, after) })
    this.#expiry = new Expiry(clock, (key, modified) => this.swap(key, { expect: modified, value: null }))
  }

  async get(key: string, at?: Revision): Promise<Read> {
    this.#assertOpen()
    const version = at === undefined ? this.#history.latest(key) : this.#history.at(key, at)
    return { revision: at ?? this.#history.newest, entry: version?.entry }
  }

  async list(prefix: string, page: PageRequest = {}): Promise<Page> {
    this.#assertOpen()
    const { found, remaining } = this.#history.page(prefix, page)
    return { revision: page.at ?? this.#history.newest, entries: found.map(({ version }) => version.entry!), remaining }
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
    while (this.#history.sweep(SWEEP_REVISIONS)) await new Promise(setImmediate)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#expiry.stop()
    this.#feed.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #swap(key: string, { expect, value, ttlSeconds, fences = [] }: Change): Swap {
    this.#assertOpen()
    checkKey(key)
    for (const fence of fences) if ((this.#history.latest(fence.key)?.modified ?? 0) !== fence.modified) throw new FencedOff(fence)
    const deadline = deadlineOf(ttlSeconds, this.#clock)
    const current = this.#history.latest(key)
    if ((current?.modified ?? 0) !== expect || (!current && value === null)) return { ok: false, current: current?.entry }
    const bytes = value && bytesOf(value)
    const revision = this.#history.newest + 1
    const created = current?.created ?? revision
    const after = bytes === null ? undefined : { key, value: bytes, created, modified: revision }
    this.#history.append(key, { modified: revision, created, deleted: value === null, entry: after })
    this.#expiry.written(key, revision, after && deadline)
    this.#feed.publish({ revision, events: [{ key, after, revision }] })
    return { ok: true, revision }
  }

  #changes(prefix: string, after: Revision): Batch {
    const { revision, found } = this.#history.changes(prefix, after, EVENTS_PER_CHUNK)
    const events = found.map(({ key, version }) => ({ key, after: version.entry, revision: version.modified }))
    return { revision, events }
  }

  async probe(): Promise<void> {
    this.#assertOpen()
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
  }
}
