/** The writing half of an embedded store, for the process that owns it: swaps in group commits, expiry, compaction, quota. */

import { type Clock, systemClock } from '../../lib/clock.ts'
import { monotonicMs, nextIteration, startTimer, stopTimer, type Timer } from '../../lib/environment.ts'
import type { Fence } from '../../lib/fence.ts'
import { deadlineOf, Expiry } from '../expiry.ts'
import type { History } from '../history.ts'
import { checkKey } from '../key-order.ts'
import { type Limits, Quota } from '../quota.ts'
import type { RecordTransformer } from '../record-transformer.ts'
import { bytesOf, type Change, type Entry, FencedOff, type Revision, type StoreSize, StoreUnavailable, type Swap } from '../store.ts'
import type { Engine, Work } from './engine.ts'
import { explain, NO_SPACE } from './failure.ts'
import { GroupCommit, type Write } from './group-commit.ts'
import type { DatabaseSize } from './log-file.ts'
import type { LogReader } from './log-reader.ts'
import { decodeHeader, encodeBody, encodeHeader, type Stored } from './record.ts'
import { RESERVE_AFTER_MS } from './room.ts'

export type WriterOptions = Limits & {
  readonly clock?: Clock
  readonly transformer?: RecordTransformer
  /** Called for every commit that was synced to disk, with the time that it took. */
  readonly onCommit?: (ms: number) => void
  /** Headers of records that can no longer be read; left out where they have to be looked for. */
  readonly garbage?: readonly Uint8Array[]
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

const SWEEP_REVISIONS = 512
const MAX_BATCH_REMOVES = 256
const MAX_BATCH_HEADERS = 1_024

export class Writer {
  readonly #engine: Engine
  readonly #reader: LogReader
  readonly #clock: Clock
  readonly #transformer: RecordTransformer | undefined
  readonly #commits: GroupCommit<Pending>
  readonly #expiry: Expiry
  readonly #quota: Quota
  /** The last pending write of each key; entries are emptied when committed, as a Map keeps former entries in memory. */
  readonly #pending = new Map<string, { write: Pending | undefined }>()
  /** Headers of records that can no longer be read. */
  #garbage: Uint8Array[]
  /** Records up to here were looked at for such headers. */
  #searched: Revision
  #assigned: Revision
  /** A commit of which the index has everything; see `commitUnless`. */
  #known = 0
  #compaction: Promise<void> = Promise.resolve()
  #failed: StoreUnavailable | undefined
  #isClosing = false
  /** Has the reserve of disk space taken, also where nobody writes. */
  readonly #first: Timer
  /** Called after each commit, before its swaps are answered. */
  onCommitted: () => void = () => {}

  constructor(
    engine: Engine,
    reader: LogReader,
    { clock = systemClock, transformer, onCommit = () => {}, garbage, ...limits }: WriterOptions,
  ) {
    this.#engine = engine
    this.#reader = reader
    this.#clock = clock
    this.#transformer = transformer
    this.#garbage = [...(garbage ?? [])]
    this.#searched = garbage ? Number.POSITIVE_INFINITY : 0
    const { history, file } = reader
    this.#assigned = history.newest
    this.#quota = new Quota(limits, { bytes: () => usedBytes(file.size()), keys: () => history.keys })
    const commit = async (work: Work) => {
      const began = monotonicMs()
      await engine.commit(work)
      onCommit(monotonicMs() - began)
    }
    this.#commits = new GroupCommit(commit, {
      committed: writes => this.#committed(writes),
      failed: (writes, error) => this.#commitFailed(writes, error),
    })
    this.#expiry = new Expiry(clock, (key, modified) => this.swap(key, { expect: modified, value: null }))
    this.#first = startTimer(() => void this.probe().catch(() => {}), RESERVE_AFTER_MS).unref()
    if (reader.damaged.length > 0) engine.expectDisorder()
    for (const { key, state } of history.current()) this.#expiry.written(key, state.modified, state.deadline)
  }

  get #history(): History<Stored> {
    return this.#reader.history
  }

  swap(key: string, change: Change): Promise<Swap> {
    try {
      return this.#decide(key, change)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Undefined where the index has all that any process can read from the file; otherwise resolves when it has: a commit becomes visible
   * in the file a little before it is known here.
   */
  settled(): Promise<void> | undefined {
    const committing = this.#commits.committing
    if (!committing) return undefined
    const { file } = this.#reader
    file.refresh()
    const commit = file.commitUnless(this.#known)
    if (commit === undefined) return undefined
    if (file.newest() > this.#history.newest) return committing
    this.#known = commit
    return undefined
  }

  /** Resolves when no commit is running, and none begins until the result is called. */
  pause(): Promise<() => void> {
    return this.#commits.pause()
  }

  /** Whether the store takes deletions only. */
  get isFull(): boolean {
    return this.#quota.isFull
  }

  /** Reads before the revision fail as soon as that is durable; the promise resolves when the space has been freed. */
  async compact(before: Revision): Promise<void> {
    this.#assertWritable()
    // One that was asked for before the store closes is made: `close` waits for it.
    const done = this.#compaction.then(() => this.#compact(before))
    this.#compaction = done.catch(() => {})
    return done
  }

  async probe(): Promise<void> {
    this.#assertWritable()
    try {
      await this.#commits.do({ removes: [], probe: true })
    } catch (error) {
      throw explain(error, `cannot write to the store in ${this.#engine.file.dir}`)
    }
  }

  /** Figures of the database file. Free pages are not in use, and are reused before the file grows; it never shrinks. */
  size(): StoreSize & { readonly freePages: number } {
    const size = this.#engine.file.size()
    const { bytes, freePages } = size
    return { bytes, usedBytes: usedBytes(size), freePages, quotaBytes: this.#quota.limit, isFull: this.#quota.isFull }
  }

  /** Waits for pending writes; the engine stays open. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#expiry.stop()
    stopTimer(this.#first)
    await this.#compaction
    await this.#commits.drained()
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
    const entry = () => (pending ? pending.after : committed && this.#reader.entry(key, committed))
    const storedBytes = () => (pending ? pending.after?.value.length : committed && this.#reader.stored(key, committed).value.length)
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
    const state =
      value && deadline !== undefined ? { modified, created, deleted: false, deadline } : { modified, created, deleted: value === null }
    const header = encodeHeader(key, state)
    const body = encodeBody(header, stored ?? new Uint8Array())
    const after = value ? { key, value, created, modified } : undefined
    const { result, resolve, reject } = deferred<Swap>()
    const write: Pending = { key, state, after, header, body, isFreeing, result, resolve, reject }
    this.#assigned = modified
    if (slot) slot.write = write
    else this.#pending.set(key, { write })
    this.#commits.add(write)
    return write.result
  }

  /** Undefined while the fence holds. If the write that broke it is not durable yet, resolves when it is: nobody can read it before. */
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
    this.#reader.feed.publish({ revision: this.#history.newest, events })
    this.onCommitted()
    for (const { resolve, state } of writes) resolve({ ok: true, revision: state.modified })
  }

  #noSpace(): StoreUnavailable {
    return new StoreUnavailable(`cannot write to the store in ${this.#engine.file.dir}: ${NO_SPACE}`, { problem: NO_SPACE })
  }

  /** The next swap may try again if nothing of this one was stored; otherwise only a restart shows the outcome. */
  #commitFailed(writes: readonly Pending[], cause: unknown): void {
    let error = explain(cause, `cannot write to the store in ${this.#engine.file.dir}`)
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
    if (this.#failed) throw this.#failed
    // Another process may have read the revision from a commit that is not known here yet.
    await this.settled()
    if (!(before <= this.#history.oldest)) {
      // Checked before it is made durable, so that a wrong revision changes nothing.
      this.#history.check(before)
      await this.#maintain({ removes: [], compacted: before })
      this.#history.forget(before)
    }
    await this.#findGarbage()
    for (;;) {
      if (this.#garbage.length < MAX_BATCH_REMOVES) {
        const dropped = this.#history.sweep(SWEEP_REVISIONS)
        for (const { key, state } of dropped ?? []) this.#garbage.push(encodeHeader(key, state))
        if (!dropped && this.#garbage.length === 0) return
      }
      // The rest is found again when the store is next opened.
      if (this.#isClosing) return
      const removes = this.#garbage.slice(0, MAX_BATCH_REMOVES)
      if (removes.length > 0) await this.#maintain({ removes })
      this.#garbage.splice(0, removes.length)
    }
  }

  /** Looks once for records that are not in the index: the owner before was killed before it had removed all of them. */
  async #findGarbage(): Promise<void> {
    while (this.#searched < this.#history.oldest && !this.#isClosing) {
      const after = this.#searched
      let looked = 0
      for (const header of this.#reader.file.headers(after)) {
        const { key, state } = decodeHeader(header)
        if (state.modified > this.#history.oldest || looked++ === MAX_BATCH_HEADERS) break
        this.#searched = Math.max(this.#searched, state.modified)
        if (!state.damage && !this.#history.exact(key, state.modified)) this.#garbage.push(encodeHeader(key, state))
      }
      if (this.#searched === after) break
      await new Promise<void>(nextIteration)
    }
    this.#searched = Number.POSITIVE_INFINITY
  }

  async #maintain(maintenance: { removes: readonly Uint8Array[]; compacted?: Revision }): Promise<void> {
    try {
      await this.#commits.do(maintenance)
      this.#quota.freed()
    } catch (error) {
      throw explain(error, `cannot compact the store in ${this.#engine.file.dir}`)
    }
  }

  #assertWritable(): void {
    if (this.#isClosing) throw new StoreUnavailable('the store is closed')
    if (this.#failed) throw this.#failed
  }
}

export const usedBytes = ({ bytes, pageBytes, freePages }: DatabaseSize): number => bytes - pageBytes * freePages

function deferred<T>(): { result: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const result = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { result, resolve, reject }
}
