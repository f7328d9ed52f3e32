/** The reading half of an embedded store: an index of the log in memory, values from the mapped file, watches. */
import { nextIteration } from '../../lib/environment.ts'
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import { Feed } from '../feed.ts'
import type { History, KeyedState } from '../history.ts'
import type { FromStorage, RecordTransformer } from '../record-transformer.ts'
import {
  type Batch,
  Compacted,
  type Entry,
  type Event,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  StoreUnavailable,
} from '../store.ts'
import { type Loaded, loadHistory } from './load.ts'
import type { LogFile, Snapshot } from './log-file.ts'
import { decodeEntry, decodeHeader, encodeHeader, type Stored } from './record.ts'

const EVENTS_PER_CHUNK = 256
const BYTES_PER_CHUNK = 4 << 20
const BYTES_PER_PAGE = 8 << 20
const MAX_BATCH_ENTRIES = 512
const SWEEP_REVISIONS = 512

export type LogReaderOptions = {
  /** Whether another process makes the writes. */
  readonly isFollowing: boolean
  readonly transformer?: RecordTransformer | undefined
  /** Values by key that this process has sent to the one that writes: where such a value comes back, its very bytes are used. */
  readonly sent?: () => ReadonlyMap<string, Uint8Array>
}

/** How entries are read: so many bytes of them, and whether as they are stored. */
type Reading = { readonly mostBytes: number; readonly asStored?: true | undefined; readonly snapshot?: Snapshot | undefined }

/** Reads see the writes in the index. A process that follows another one brings it up to date before each of them, by `follow`. */
export class LogReader {
  readonly file: LogFile
  readonly feed: Feed
  #history: History<Stored>
  /** Damaged records as they were found when the file was loaded. */
  readonly #damaged: Loaded['damaged']
  readonly #transformer: RecordTransformer | undefined
  readonly #sent: () => ReadonlyMap<string, Uint8Array>
  readonly #reads = new Set<Promise<unknown>>()
  #isFollowing: boolean
  /** The commit of the other process that the index is at; see `commitUnless`. */
  #commit = 0
  #isSweeping = false
  #isClosed = false
  /** Undefined where the index has all that any process can read from the file; otherwise resolves when it has. */
  settled: () => Promise<void> | undefined = () => undefined

  constructor(file: LogFile, { history, damaged }: Loaded, { isFollowing, transformer, sent = () => NOTHING_SENT }: LogReaderOptions) {
    this.#transformer = transformer
    this.#sent = sent
    this.file = file
    this.#history = history
    this.#damaged = damaged
    this.#isFollowing = isFollowing
    this.feed = new Feed({ newest: () => this.#history.newest, read: (prefix, after) => this.#changes(prefix, after) })
  }

  get history(): History<Stored> {
    return this.#history
  }

  /** Damaged records that are not forgotten yet. */
  get damaged(): Loaded['damaged'] {
    return this.#damaged.filter(({ header, revision }) => this.history.exact(decodeHeader(header).key, revision) !== undefined)
  }

  /** From now on this process makes all writes, and the index has them. */
  lead(): void {
    this.follow()
    this.#isFollowing = false
  }

  /** Takes up what another process has committed, and tells watches. Returns the newest revision. */
  follow(): Revision {
    const { file } = this
    if (!this.#isFollowing) return this.#history.newest
    file.refresh()
    const commit = file.commitUnless(this.#commit)
    if (commit === undefined) return this.#history.newest
    const compacted = file.compacted() ?? 1
    // Deletions that were made and compacted while this process was stopped have left no trace.
    if (compacted > this.#history.newest) this.#loadAgain()
    else if (file.newest() > this.#history.newest) this.#takeUp()
    if (compacted > this.#history.oldest) {
      this.#history.forget(compacted)
      if (!this.#isSweeping) this.#sweep()
    }
    this.#commit = commit
    return this.#history.newest
  }

  /** The newest revision of all processes. */
  fresh(): Revision {
    const newest = this.follow()
    this.release()
    return newest
  }

  /** Ends the use of the file by a read: a process that is stopped now must not keep pages from being reused. */
  release(): void {
    if (this.#isFollowing) this.file.refresh()
  }

  latest(key: string): MaybePromise<Entry | undefined> {
    this.follow()
    const state = this.history.latest(key)
    const entry = state && this.entry(key, state)
    this.release()
    return entry
  }

  get(key: string, at?: Revision): MaybePromise<Read> {
    const newest = this.follow()
    const state = at === undefined ? this.history.latest(key) : this.history.at(key, at)
    const found = state && this.entry(key, state)
    this.release()
    return whenDone(found, entry => ({ revision: at ?? newest, entry }))
  }

  /** Whether the current record of a key would be stored otherwise today. */
  isStale(key: string): MaybePromise<boolean> {
    const transformer = this.#transformer
    if (!transformer?.mayBeStale(key)) return false
    this.follow()
    const state = this.history.latest(key)
    const stored = state && this.stored(key, state)
    this.release()
    if (!stored || stored.fault !== undefined) return false
    return whenDone(transformer.fromStorage({ key, place: key }, stored.value), read => read.fault === undefined && read.isStale)
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    const state = this.history.exact(key, modified)
    if (!state || state.deleted) return undefined
    if (this.#isFollowing && !state.damage && !this.file.body(encodeHeader(key, state))) {
      // It was removed by a compaction that was not noticed yet, or else is damaged.
      this.follow()
      if (this.history.exact(key, modified) !== state || modified < this.history.oldest) return undefined
    }
    const entry = this.entry(key, state)
    this.release()
    // The key of a record that was read before is known.
    return entry instanceof Promise ? undefined : entry
  }

  async list(prefix: string, page: PageRequest = {}): Promise<Page> {
    for (;;) {
      try {
        return await this.#list(prefix, page)
      } catch (error) {
        // A list of now that was overtaken by a compaction is begun again.
        if (!(error instanceof Compacted) || page.at !== undefined) throw error
      }
    }
  }

  async #list(prefix: string, page: PageRequest): Promise<Page> {
    const newest = this.follow()
    const { found, remaining } = this.history.page(prefix, page)
    const revision = page.at ?? newest
    // Whoever reads page by page need not hold more than so many bytes at once.
    const mostBytes = page.limit === undefined ? Number.POSITIVE_INFINITY : BYTES_PER_PAGE
    const how = { mostBytes, asStored: page.asStored }
    const isShort = found.length <= MAX_BATCH_ENTRIES
    const reading = isShort ? allOf(this.#entries(found, how)) : this.reading(this.#entriesYielding(found, revision, how))
    if (isShort) this.release()
    const entries = await reading
    return { revision, entries, remaining: remaining + found.length - entries.length }
  }

  /** A read that closing waits for. */
  async reading<R>(read: Promise<R>): Promise<R> {
    this.#reads.add(read)
    try {
      return await read
    } finally {
      this.#reads.delete(read)
    }
  }

  /** The entry with the value that was written. */
  entry(key: string, state: Stored): MaybePromise<Entry> {
    return this.#opened(this.stored(key, state))
  }

  /** The entry with the value as it is stored. */
  stored(key: string, state: Stored, snapshot?: Snapshot): Entry {
    const header = encodeHeader(key, state)
    return decodeEntry(key, state, { header, body: state.damage ? undefined : this.file.body(header, snapshot) })
  }

  /** Ends watches and waits for reads. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.feed.close()
    await Promise.allSettled(this.#reads)
  }

  #loadAgain(): void {
    this.#history = loadHistory(this.file, this.damaged).history
    this.feed.fallBehind()
  }

  #takeUp(): void {
    const { file, history, feed } = this
    const found: KeyedState<Stored>[] = []
    for (const header of file.headers(history.newest)) {
      const write = decodeHeader(header)
      // Damaged ones were there when the file was loaded; they may sort behind all others.
      if (write.state.damage) continue
      history.append(write.key, write.state)
      found.push(write)
    }
    if (found.length === 0 || !feed.isWatched) return
    const events = found.length <= EVENTS_PER_CHUNK ? this.#events(found).map(asSentIn(this.#sent())) : undefined
    // Watches read later if the events are too many to hold in memory, or have to be waited for.
    if (events?.length === found.length && !events.some(isWaiting)) feed.publish({ revision: history.newest, events: events as Event[] })
    else feed.fallBehind()
  }

  /** Drops what can no longer be read from the index. */
  #sweep(): void {
    this.#isSweeping = this.#isFollowing && !this.#isClosed && this.history.sweep(SWEEP_REVISIONS) !== undefined
    if (this.#isSweeping) nextIteration(() => this.#sweep())
  }

  #changes(prefix: string, after: Revision): MaybePromise<Batch> {
    const newest = this.follow()
    const settled = after > newest ? this.settled() : undefined
    if (settled) return settled.then(() => this.#changes(prefix, after))
    const { revision, found } = this.history.changes(prefix, after, EVENTS_PER_CHUNK)
    const events = this.#events(found)
    this.release()
    const last = events.length < found.length ? events.at(-1)!.revision : revision
    if (!events.some(isWaiting)) return { revision: last, events: events as Event[] }
    return Promise.all(events.map(async ({ after, ...event }) => ({ ...event, after: await after }))).then(events => ({
      revision: last,
      events,
    }))
  }

  #opened(entry: Entry): MaybePromise<Entry> {
    if (!this.#transformer || entry.fault !== undefined) return entry
    const { key, value } = entry
    return whenDone(this.#transformer.fromStorage({ key, place: key }, value), read => withValue(entry, read))
  }

  /** The events of changes, as many as have so many bytes; one at least. */
  #events(found: readonly KeyedState<Stored>[]): ComingEvent[] {
    const events: ComingEvent[] = []
    let size = 0
    for (const { key, state } of found) {
      if (size > BYTES_PER_CHUNK) break
      const stored = state.deleted ? undefined : this.stored(key, state)
      events.push({ key, after: stored && this.#opened(stored), revision: state.modified })
      size += stored?.value.length ?? 0
    }
    return events
  }

  /** The entries found, as many as have so many bytes; one at least. */
  #entries(found: readonly KeyedState<Stored>[], { mostBytes, asStored, snapshot }: Reading): MaybePromise<Entry>[] {
    const entries: MaybePromise<Entry>[] = []
    let bytes = 0
    for (const { key, state } of found) {
      if (bytes > mostBytes) break
      const entry = this.stored(key, state, snapshot)
      bytes += entry.value.length
      entries.push(asStored ? entry : this.#opened(entry))
    }
    return entries
  }

  /**
   * Yields now and then. Where this process alone has the file open, a snapshot keeps the records even if a compaction removes them
   * meanwhile; in one that follows, it would keep the pages of all from being reused if the process was stopped.
   */
  async #entriesYielding(found: readonly KeyedState<Stored>[], revision: Revision, { mostBytes, asStored }: Reading): Promise<Entry[]> {
    const snapshot = this.#isFollowing ? undefined : this.file.snapshot()
    try {
      const entries: Entry[] = []
      let bytes = 0
      while (entries.length < found.length && bytes <= mostBytes) {
        const next = found.slice(entries.length, entries.length + MAX_BATCH_ENTRIES)
        const reading = allOf(this.#entries(next, { mostBytes: mostBytes - bytes, asStored, snapshot }))
        this.release()
        for (const entry of await reading) {
          entries.push(entry)
          bytes += entry.value.length
        }
        await new Promise<void>(nextIteration)
        if (this.#isClosed) throw new StoreUnavailable('the store is closed')
        if (snapshot) continue
        this.follow()
        this.history.check(revision)
      }
      return entries
    } finally {
      snapshot?.[Symbol.dispose]()
    }
  }
}

/** An event whose value may have to be waited for. */
type ComingEvent = Omit<Event, 'after'> & { readonly after: MaybePromise<Entry> | undefined }
const isWaiting = ({ after }: ComingEvent): boolean => after instanceof Promise

const NOTHING_SENT: ReadonlyMap<string, Uint8Array> = new Map()

/** Whoever has sent a value knows more of it than the bytes say, and recognises it by its identity. */
const asSentIn =
  (sent: ReadonlyMap<string, Uint8Array>) =>
  (event: ComingEvent): ComingEvent => {
    const { after } = event
    const own = after && sent.get(event.key)
    if (!own || after instanceof Promise || after.fault !== undefined || Buffer.compare(own, after.value) !== 0) return event
    return { ...event, after: { ...after, value: own } }
  }

/** An entry with another value, or with the reason why it has none. */
function withValue(entry: Entry, read: FromStorage): Entry {
  if (read.fault !== undefined) return { ...entry, value: NO_VALUE, fault: read.fault }
  return read.value === entry.value ? entry : { ...entry, value: read.value }
}
const NO_VALUE = new Uint8Array()

/** The entries, without a promise for each where none has to be waited for. */
function allOf(entries: MaybePromise<Entry>[]): MaybePromise<Entry[]> {
  return entries.some(entry => entry instanceof Promise) ? Promise.all(entries) : (entries as Entry[])
}
