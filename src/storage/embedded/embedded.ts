/** The durable default store: an lmdb database of every write, an index of it in memory, group commits. */

import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Fence } from '../../lib/fence.ts'
import { deadlineOf, Expiry } from '../expiry.ts'
import { Feed } from '../feed.ts'
import type { History, KeyedState } from '../history.ts'
import { checkKey } from '../key-order.ts'
import { type Limits, Quota } from '../quota.ts'
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
  readonly transformer?: RecordTransformer | undefined
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

/** A swap that was decided but is not durable yet; only later swaps know of it. */
type Pending = Write & {
  readonly key: string
  readonly state: Stored
  readonly after: Entry | undefined
  readonly result: Promise<Swap>
  resolve(swap: Swap): void
  reject(error: unknown): void
}

const EVENTS_PER_CHUNK = 256
const BYTES_PER_CHUNK = 4 << 20
const BYTES_PER_PAGE = 8 << 20
const ENTRIES_AT_ONCE = 512
const SWEEP_REVISIONS = 512
const REMOVES_AT_ONCE = 256

/** One process's open store; `openEmbeddedStore` makes it. */
class EmbeddedStore implements Store, AsyncDisposable {
  readonly #engine: Engine
  readonly #reader: LogReader
  readonly #writer: Writer
  #closing: Promise<void> | undefined

  constructor(engine: Engine, options: Omit<EmbeddedOptions, 'dir'>) {
    const loaded = loadHistory(engine.file)
    this.#engine = engine
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
    for (const { key, state } of history.current()) this.#expiry.written(key, state.modified, state.deadline)
  }

  async get(key: string, at?: Revision): Promise<Read> {
    this.#assertOpen()
    const state = at === undefined ? this.#history.latest(key) : this.#history.at(key, at)
    return { revision: at ?? this.#history.newest, entry: state && this.#entry(key, state) }
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    this.#assertOpen()
    const state = this.#history.exact(key, modified)
    return state && !state.deleted ? this.#entry(key, state) : undefined
  }

  isStale(key: string): MaybePromise<boolean> {
    this.#assertOpen()
    return this.#reader.isStale(key)
  }

  async list(prefix: string, page?: PageRequest): Promise<Page> {
    this.#assertOpen()
    return this.#reader.list(prefix, page)
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

  /** Decides against committed and pending writes, at once and in order, so that one commit can hold many swaps. */
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
    const current = pending ? pending.after : committed
    if ((current?.modified ?? 0) !== expect || (!current && value === null)) {
      const refused: Swap = { ok: false, current: entry() }
      // A write that is not durable yet may still fail, and then so does this result.
      return pending ? pending.result.then(() => refused) : Promise.resolve(refused)
    }
    if (value) this.#quota.admit({ bytes: value.length, isNew: !current, replaced: () => entry()?.value.length, isEnding })
    const modified = this.#assigned + 1
    const created = current?.created ?? modified
    const state =
      value && deadline !== undefined ? { modified, created, deleted: false, deadline } : { modified, created, deleted: value === null }
    const header = encodeHeader(key, state)
    const body = encodeBody(header, value ?? new Uint8Array())
    const after = value ? { key, value, created, modified } : undefined
    const { result, resolve, reject } = deferred<Swap>()
    const write: Pending = { key, state, after, header, body, isFreeing, result, resolve, reject }
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
      const { key, state, after } = write
      this.#quota.settle(after?.value.length ?? 0, true)
      this.#history.append(key, state)
      this.#expiry.written(key, state.modified, state.deadline)
      const slot = this.#pending.get(key)
      if (slot?.write !== write) continue
      slot.write = undefined
      this.#pending.delete(key)
    }
    const events = writes.map(({ key, after, state }) => ({ key, after, revision: state.modified }))
    this.#feed.publish({ revision: this.#history.newest, events })
    for (const { resolve, state } of writes) resolve({ ok: true, revision: state.modified })
  }

  #noSpace(): StoreUnavailable {
    return new StoreUnavailable(`cannot write to the store in ${this.#engine.dir}: ${NO_SPACE}`, { problem: NO_SPACE })
  }

  /** The next swap may try again if nothing of this one was stored; otherwise only a restart shows which part was. */
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
        for (const { key, state } of dropped ?? []) this.#garbage.push(encodeHeader(key, state))
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

  #changes(prefix: string, after: Revision): Batch {
    const { revision, found } = this.#history.changes(prefix, after, EVENTS_PER_CHUNK)
    const events: Event[] = []
    let size = 0
    for (const { key, state } of found) {
      const event = {
        key,
        after: state.deleted ? undefined : this.#entry(key, state),
        revision: state.modified,
      }
      events.push(event)
      size += event.after?.value.length ?? 0
      if (size > BYTES_PER_CHUNK) return { revision: event.revision, events }
    }
    return { revision, events }
  }

  #entry(key: string, state: Stored, snapshot?: Snapshot): Entry {
    const header = encodeHeader(key, state)
    return decodeEntry(key, state, { header, body: state.damage ? undefined : this.#engine.body(header, snapshot) })
  }

  /** The entries found, as many as have so many bytes; one at least. */
  #entries(found: readonly KeyedState<Stored>[], mostBytes: number, snapshot?: Snapshot): Entry[] {
    const entries: Entry[] = []
    let bytes = 0
    for (const { key, state } of found) {
      if (bytes > mostBytes) break
      const entry = this.#entry(key, state, snapshot)
      bytes += entry.value.length
      entries.push(entry)
    }
    return entries
  }

  /** Yields now and then; the snapshot keeps the records even if a compaction removes them meanwhile. */
  async #entriesYielding(found: readonly KeyedState<Stored>[], mostBytes: number): Promise<Entry[]> {
    const snapshot = this.#engine.snapshot()
    try {
      const entries: Entry[] = []
      let bytes = 0
      while (entries.length < found.length && bytes <= mostBytes) {
        const next = found.slice(entries.length, entries.length + ENTRIES_AT_ONCE)
        for (const entry of this.#entries(next, mostBytes - bytes, snapshot)) {
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
}
