/** The durable default store: an lmdb database of every write, an index of it in memory, group commits. */

import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Fence } from '../../lib/fence.ts'
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import { deadlineOf, Expiry } from '../expiry.ts'
import { Feed } from '../feed.ts'
import type { History, Versioned } from '../history.ts'
import { checkKey } from '../key-order.ts'
import { type Limits, Quota } from '../quota.ts'
import type { FromStorage, RecordTransformer } from '../record-transformer.ts'
import {
  type Batch,
  type Change,
  type Entry,
  type Extent,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  type Store,
  type StoreSize,
  StoreUnavailable,
  type Swap,
} from '../store.ts'
import { type Engine, openEngine } from './engine.ts'
import { explain } from './failure.ts'
import { loadHistory } from './load.ts'
import { LogReader } from './log-reader.ts'
import { Writer } from './writer.ts'

/** How much of the database may be in use, and how many keys it may hold; without limits, as much as there is room for. */
export type EmbeddedOptions = Limits & {
  readonly dir: string
  readonly clock?: Clock
  /** Encrypts values at rest; without it they are stored as they are. */
  readonly transformer?: RecordTransformer
  /** Called for every commit that was synced to disk, with the time that it took. */
  readonly onCommit?: (ms: number) => void
}

/**
 * Opens the store kept in a directory, making it if there is none. Throws `StoreUnavailable`, saying what to do, if another
 * process has it open, it cannot be written, or a later release wrote it.
 */
export async function openEmbeddedStore({ dir, ...options }: EmbeddedOptions): Promise<EmbeddedStore> {
  const engine = await openEngine(dir)
  try {
    return new EmbeddedStore(engine, options)
  } catch (error) {
    await engine.close().catch(() => {})
    throw explain(error, `cannot read the store in ${dir}`)
  }
}

/** One process's open store; `openEmbeddedStore` makes it. */
class EmbeddedStore implements Store, AsyncDisposable {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #transformer: RecordTransformer | undefined
  readonly #history: History<Stored>
  readonly #commits: GroupCommit<Pending>
  readonly #feed: Feed
  readonly #expiry: Expiry
  readonly #quota: Quota
  /** The last pending write of each key; entries are emptied when committed, as a Map keeps former entries in memory. */
  readonly #pending = new Map<string, { write: Pending | undefined }>()
  readonly #reads = new Set<Promise<unknown>>()
  /** Headers of records that can no longer be read. */
  #garbage: Uint8Array[]
  #assigned: Revision
  #compaction: Promise<void> = Promise.resolve()
  #failed: StoreUnavailable | undefined
  #closing: Promise<void> | undefined

  constructor(engine: Engine, options: Omit<EmbeddedOptions, 'dir'>) {
    const { clock = systemClock, transformer, onCommit = () => {}, ...limits } = options
    const { history, garbage } = loadHistory(engine)
    this.#engine = engine
    this.#transformer = transformer
    this.#clock = clock
    this.#history = history
    this.#garbage = garbage
    this.#assigned = history.newest
    this.#quota = new Quota(limits, { bytes: () => usedBytes(engine.size()), keys: () => history.keys })
    const commit = async (work: Work) => {
      const began = performance.now()
      await engine.commit(work)
      onCommit(performance.now() - began)
    }
    this.#commits = new GroupCommit(commit, {
      committed: writes => this.#committed(writes),
      failed: (writes, error) => this.#commitFailed(writes, error),
    })
    this.#feed = new Feed({ newest: () => history.newest, read: (prefix, after) => this.#changes(prefix, after) })
    this.#expiry = new Expiry(clock, (key, modified) => this.swap(key, { expect: modified, value: null }))
    this.#first = setTimeout(() => void this.probe().catch(() => {}), RESERVE_AFTER_MS).unref()
    for (const { key, version } of history.current()) this.#expiry.written(key, version.modified, version.deadline)
  }

  async get(key: string, at?: Revision): Promise<Read> {
    this.#assertOpen()
    const version = at === undefined ? this.#history.latest(key) : this.#history.at(key, at)
    const revision = at ?? this.#history.newest
    return { revision, entry: version && (await this.#entry(key, version)) }
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    this.#assertOpen()
    const version = this.#history.exact(key, modified)
    const entry = version && !version.deleted ? this.#entry(key, version) : undefined
    // The key of a record that was read before is known.
    return entry instanceof Promise ? undefined : entry
  }

  isStale(key: string): MaybePromise<boolean> {
    this.#assertOpen()
    const version = this.#transformer?.mayBeStale(key) ? this.#history.latest(key) : undefined
    if (!version) return false
    const { value, fault } = this.#stored(key, version)
    if (fault !== undefined) return false
    return whenDone(this.#transformer!.fromStorage({ key, place: key }, value), read => read.fault === undefined && read.isStale)
  }

  async list(prefix: string, page?: PageRequest): Promise<Page> {
    this.#assertOpen()
    const { found, remaining } = this.#history.page(prefix, page)
    const revision = page.at ?? this.#history.newest
    // Whoever reads page by page need not hold more than so many bytes at once.
    const most = page.limit === undefined ? Number.POSITIVE_INFINITY : BYTES_PER_PAGE
    const entries =
      found.length <= ENTRIES_AT_ONCE ? await allOf(this.#entries(found, most)) : await this.#reading(this.#entriesYielding(found, most))
    return { revision, entries, remaining: remaining + found.length - entries.length }
  }

  /** A read that closing waits for. */
  async #reading<R>(read: Promise<R>): Promise<R> {
    this.#reads.add(read)
    try {
      return await read
    } finally {
      this.#reads.delete(read)
    }
  }

  swap(key: string, change: Change): Promise<Swap> {
    return this.#writer.swap(key, change)
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch> {
    return this.#reader.feed.watch(prefix, after, signal)
  }

  fresh(): Revision {
    this.#assertOpen()
    return this.#reader.history.newest
  }

  async extent(): Promise<Extent> {
    this.#assertOpen()
    const { oldest, newest } = this.#reader.history
    return { oldest, newest }
  }

  compact(before: Revision): Promise<void> {
    return this.#writer.compact(before)
  }

  /** Saves a copy of the store to a new file, while it goes on serving; as `keelson.lmdb` in a directory of its own it can be opened. */
  async save(file: string): Promise<void> {
    this.#assertOpen()
    try {
      await this.#reader.reading(this.#engine.file.copyTo(file))
    } catch (error) {
      throw explain(error, `cannot save the store to ${file}`)
    }
  }

  probe(): Promise<void> {
    return this.#writer.probe()
  }

  size(): StoreSize & { readonly freePages: number } {
    this.#assertOpen()
    return this.#writer.size()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Decides against what is committed and what is about to be, at once and in order, so that one commit can hold many swaps. */
  #decide(key: string, { expect, value: given, ttlSeconds, fences, isEnding = false }: Change): Promise<Swap> {
    this.#assertWritable()
    checkKey(key)
    const value = given && bytesOf(given)
    const isFreeing = value === null || isEnding
    if (!isFreeing && !this.#engine.admitsWrites) throw this.#noSpace()
    for (const fence of fences ?? []) {
      const broken = this.#brokenBy(fence)
      if (broken) return broken.then(() => Promise.reject(new FencedOff(fence)))
    }
    const deadline = deadlineOf(ttlSeconds, this.#clock)
    const slot = this.#pending.get(key)
    const pending = slot?.write
    const committed = pending ? undefined : this.#history.latest(key)
    const entry = () => (pending ? pending.after : committed && this.#entry(key, committed))
    const storedBytes = () => (pending ? pending.after?.value.length : committed && this.#stored(key, committed).value.length)
    const current = pending ? pending.after : committed
    if ((current?.modified ?? 0) !== expect || (!current && value === null)) {
      const refuse = async (): Promise<Swap> => ({ ok: false, current: await entry() })
      // A write that is not durable yet may still fail, and then so does this result.
      return pending ? pending.result.then(refuse) : refuse()
    }
    if (value) this.#quota.admit({ bytes: value.length, isNew: !current, replaced: storedBytes, isEnding })
    const stored = value && this.#transformer ? this.#transformer.toStorage({ key, place: key }, value) : value
    const modified = this.#assigned + 1
    const created = current?.created ?? modified
    const version =
      value && deadline !== undefined ? { modified, created, deleted: false, deadline } : { modified, created, deleted: value === null }
    const header = encodeHeader(key, version)
    const body = encodeBody(header, stored ?? new Uint8Array())
    const after = value ? { key, value, created, modified } : undefined
    const { result, resolve, reject } = deferred<Swap>()
    const write: Pending = { key, version, after, header, body, isFreeing, result, resolve, reject }
    this.#assigned = modified
    if (slot) slot.write = write
    else this.#pending.set(key, { write })
    this.#commits.add(write)
    return write.result
  }

  /** Undefined while the fence holds. Who broke it with a write that is not durable yet is waited for: nobody can read that before. */
  #brokenBy({ key, modified }: Fence): Promise<unknown> | undefined {
    const pending = this.#pending.get(key)?.write
    const current = pending ? pending.after : this.#history.latest(key)
    if ((current?.modified ?? 0) === modified) return undefined
    return pending ? pending.result : Promise.resolve()
  }

  /** Watches are notified of a write before it is acknowledged. */
  #committed(writes: readonly Pending[]): void {
    for (const write of writes) {
      const { key, version, after } = write
      this.#quota.settle(after?.value.length ?? 0, true)
      this.#history.append(key, version)
      this.#expiry.written(key, version.modified, version.deadline)
      const slot = this.#pending.get(key)
      if (slot?.write !== write) continue
      slot.write = undefined
      this.#pending.delete(key)
    }
    const events = writes.map(({ key, after, version }) => ({ key, after, revision: version.modified }))
    this.#feed.publish({ revision: this.#history.newest, events })
    for (const { resolve, version } of writes) resolve({ ok: true, revision: version.modified })
  }

  #noSpace(): StoreUnavailable {
    return new StoreUnavailable(`cannot write to the store in ${this.#engine.dir}: ${NO_SPACE}`, { problem: NO_SPACE })
  }

  /** The next swap may try again if nothing of this one was stored; otherwise only a restart shows what was. */
  #commitFailed(writes: readonly Pending[], cause: unknown): void {
    let error = explain(cause, `cannot write to the store in ${this.#engine.dir}`)
    if (cause instanceof StoreUnavailable) this.#failed = error
    else if (!this.#engine.isIntact(this.#history.newest))
      this.#failed = error = new StoreUnavailable(`${error.message}; then restart`, { cause, problem: error.problem })
    this.#pending.clear()
    this.#assigned = this.#history.newest
    for (const { reject, after } of writes) {
      this.#quota.settle(after?.value.length ?? 0, false)
      reject(error)
    }
  }

  async #compact(before: Revision): Promise<void> {
    this.#assertWritable()
    if (!(before <= this.#history.oldest)) {
      // Checked before it is made durable, so that a wrong revision changes nothing.
      this.#history.check(before)
      await this.#maintain({ removes: [], compacted: before })
      this.#history.forget(before)
    }
    for (;;) {
      if (this.#garbage.length < REMOVES_AT_ONCE) {
        const dropped = this.#history.sweep(SWEEP_REVISIONS)
        for (const { key, version } of dropped ?? []) this.#garbage.push(encodeHeader(key, version))
        if (!dropped && this.#garbage.length === 0) return
      }
      // The rest is found again when the store is next opened.
      if (this.#closing) return
      const removes = this.#garbage.slice(0, REMOVES_AT_ONCE)
      if (removes.length > 0) await this.#maintain({ removes })
      this.#garbage.splice(0, removes.length)
    }
  }

  async #maintain(maintenance: { removes: readonly Uint8Array[]; compacted?: Revision }): Promise<void> {
    try {
      await this.#commits.do(maintenance)
      this.#quota.freed()
    } catch (error) {
      throw explain(error, `cannot compact the store in ${this.#engine.dir}`)
    }
  }

  async #close(): Promise<void> {
    await this.#writer.close()
    await this.#reader.close()
    await this.#engine.close()
  }

  #changes(prefix: string, after: Revision): MaybePromise<Batch> {
    const { revision, found } = this.#history.changes(prefix, after, EVENTS_PER_CHUNK)
    const events: (Omit<Event, 'after'> & { readonly after: MaybePromise<Entry> | undefined })[] = []
    let size = 0
    let last = revision
    let isWaiting = false
    for (const { key, version } of found) {
      const stored = version.deleted ? undefined : this.#stored(key, version)
      const after = stored && this.#opened(stored)
      isWaiting ||= after instanceof Promise
      events.push({ key, after, revision: version.modified })
      size += stored?.value.length ?? 0
      if (size <= BYTES_PER_CHUNK) continue
      last = version.modified
      break
    }
    if (!isWaiting) return { revision: last, events: events as Event[] }
    return Promise.all(events.map(async ({ after, ...event }) => ({ ...event, after: await after }))).then(events => ({
      revision: last,
      events,
    }))
  }

  /** An entry with the value as it is stored. */
  #stored(key: string, version: Stored, snapshot?: Snapshot): Entry {
    const header = encodeHeader(key, version)
    return decodeEntry(key, version, { header, body: version.damage ? undefined : this.#engine.body(header, snapshot) })
  }

  #entry(key: string, version: Stored): MaybePromise<Entry> {
    return this.#opened(this.#stored(key, version))
  }

  /** The entry with the value that was written. */
  #opened(entry: Entry): MaybePromise<Entry> {
    if (!this.#transformer || entry.fault !== undefined) return entry
    const { key, value } = entry
    const read = this.#transformer.fromStorage({ key, place: key }, value)
    return read instanceof Promise ? read.then(read => withValue(entry, read)) : withValue(entry, read)
  }

  /** The entries found, as many as have so many bytes; one at least. */
  #entries(found: readonly Versioned<Stored>[], mostBytes: number, snapshot?: Snapshot): MaybePromise<Entry>[] {
    const entries: MaybePromise<Entry>[] = []
    let bytes = 0
    for (const { key, version } of found) {
      if (bytes > mostBytes) break
      const entry = this.#stored(key, version, snapshot)
      bytes += entry.value.length
      entries.push(this.#opened(entry))
    }
    return entries
  }

  /** Yields now and then; the snapshot keeps the records even if a compaction removes them meanwhile. */
  async #entriesYielding(found: readonly Versioned<Stored>[], mostBytes: number): Promise<Entry[]> {
    const snapshot = this.#engine.snapshot()
    try {
      const entries: Entry[] = []
      let bytes = 0
      while (entries.length < found.length && bytes <= mostBytes) {
        const next = found.slice(entries.length, entries.length + ENTRIES_AT_ONCE)
        for (const entry of await allOf(this.#entries(next, mostBytes - bytes, snapshot))) {
          entries.push(entry)
          bytes += entry.value.length
        }
        await new Promise(setImmediate)
        this.#assertOpen()
      }
      return entries
    } finally {
      snapshot[Symbol.dispose]()
    }
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
  }

  #assertWritable(): void {
    this.#assertOpen()
    if (this.#failed) throw this.#failed
  }
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

const usedBytes = ({ bytes, pageBytes, freePages }: DatabaseSize): number => bytes - pageBytes * freePages

function deferred<T>(): { result: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const result = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { result, resolve, reject }
}
