/** The store on an etcd cluster, which other processes may use as well. Revisions are those of etcd. */

import { systemClock } from '../../lib/clock.ts'
import { startDeadline, stopTimer } from '../../lib/environment.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { whenDone } from '../../lib/maybe-promise.ts'
import type { RequestTrace } from '../../lib/request-trace.ts'
import { deadlineOf } from '../expiry.ts'
import { checkKey } from '../key-order.ts'
import {
  type Batch,
  bytesOf,
  type Change,
  Compacted,
  type Entry,
  type Event,
  type Extent,
  FencedOff,
  FutureRevision,
  OutcomeUnknown,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  type Store,
  StoreUnavailable,
  type Swap,
  undecodable,
  ValueTooLarge,
} from '../store.ts'
import { Cluster, type ClusterOptions, type ReadOptions } from './cluster.ts'
import { Leases } from './leases.ts'
import { type Header, Lineage, type Mark } from './lineage.ts'
import {
  compact,
  EVERYTHING,
  type KeyValue,
  prefixEnd,
  type RangeRequest,
  type RangeResponse,
  range,
  readWatch,
  type SwapRequest,
  type SwapResponse,
  status,
  swap,
  WATCH_PATH,
  type WatchEvent,
  writeWatchCreate,
} from './messages.ts'
import { type OwnWrite, OwnWrites } from './own-writes.ts'
import { explain, isCompacted, isFuture, isLeaseLost, isNotDone, isPermissionDenied, isTooLarge } from './problem.ts'
import type { Decoded, RecordFormat, StoredRecord } from './record-format.ts'
import { EtcdWatch, type Scope } from './watch.ts'

export type EtcdOptions = ClusterOptions & {
  /** The prefix of the keys of all records, `/registry`. */
  readonly prefix: string
  readonly format: RecordFormat
}

/** The last round of compaction that a server took part in: how often that had been done, and the revision then. */
export type Round = { readonly version: number; readonly revision: Revision }

/** Where kube-apiservers agree on compaction, too. */
const COMPACTION_KEY = Buffer.from('compact_rev_key')

/** Records read at once: as many as their size allows, judged by those before. */
const FIRST_PAGE = 1_000
const MAX_PAGE = 5_000
const PAGE_BYTES = 8 << 20
/** How long a start waits for etcd; and a check of its health, which others give up on soon. */
const START_MS = 10_000
const PROBE_MS = 2_000
const EXTENT_MS = 5_000
/** The value of a record of this size is made after the record has been sent. */
const SHORT_RECORD = 16 << 10

/** Connects to etcd. Rejects with `StoreUnavailable`, with one line that names the cause. */
export async function openEtcdStore(options: EtcdOptions): Promise<EtcdStore> {
  const cluster = new Cluster(options)
  try {
    const { version } = await cluster.read(status, {}, { withinMs: START_MS })
    if (!isAtLeast(version, [3, 4, 0]))
      throw new StoreUnavailable(`etcd at ${cluster.where} is of version ${version}; 3.4 is the oldest that can be used`)
    const scope = await chooseScope(cluster, options.prefix, version)
    return new EtcdStore(cluster, scope, { ...options, version })
  } catch (error) {
    cluster.close()
    throw explain(error, cluster.where)
  }
}

/**
 * All keys of etcd are watched, not only those below the prefix: each revision then has an event, so that a watch knows how
 * far it has got, and that it has missed nothing. Progress that etcd reports on request is less certain: before 3.4.31 and
 * 3.5.13 it could come before the events that it covers (etcd's issues 15220 and 17507). It is used where the permissions
 * that etcd gives this server end at its prefix.
 */
async function chooseScope(cluster: Cluster, prefix: string, version: string): Promise<Scope> {
  const key = Buffer.from(`${prefix}/`)
  // Fails without permission, and without a leader.
  await cluster.read(range, { key, countOnly: true }, { withinMs: START_MS })
  try {
    await cluster.read(range, { key: EVERYTHING, end: EVERYTHING, limit: 1, countOnly: true }, { withinMs: START_MS })
    return { key: EVERYTHING, end: EVERYTHING, isEverything: true }
  } catch (error) {
    if (!isPermissionDenied(error)) throw error
  }
  if (!(isAtLeast(version, [3, 5, 13]) || (isAtLeast(version, [3, 4, 31]) && !isAtLeast(version, [3, 5, 0]))))
    throw new StoreUnavailable(
      `etcd ${version} at ${cluster.where} does not say reliably how far a watch of some of its keys has got: allow the user of --etcd-certfile to read all keys, or use etcd 3.5.13 or later`,
    )
  return { key, end: prefixEnd(key), isEverything: false }
}

/** One process's use of an etcd cluster; `openEtcdStore` makes it. */
export class EtcdStore implements Store, AsyncDisposable {
  readonly isShared = true
  /** The version of the member that was asked first. */
  readonly version: string
  readonly #cluster: Cluster
  readonly #scope: Scope
  readonly #prefix: string
  readonly #format: RecordFormat
  readonly #leases: Leases
  readonly #lineage = new Lineage()
  readonly #onChange: (message: string) => void
  readonly #own = new OwnWrites()
  readonly #watches = new Set<EtcdWatch>()
  readonly #writes = new Set<Promise<unknown>>()
  /** The oldest revision as far as is known. */
  #oldest: Revision = 1
  /** The question that is under way, and the one that later callers wait for. */
  #asked: Promise<Revision> | undefined
  #askedNext: Promise<Revision> | undefined
  #closing: Promise<void> | undefined

  constructor(
    cluster: Cluster,
    scope: Scope,
    { prefix, format, version, onChange = () => {} }: EtcdOptions & { readonly version: string },
  ) {
    this.version = version
    this.#cluster = cluster
    this.#scope = scope
    this.#prefix = prefix
    this.#format = format
    this.#leases = new Leases(cluster)
    this.#onChange = onChange
  }

  get generation(): number {
    return this.#lineage.generation
  }

  async get(key: string, at?: Revision, trace?: RequestTrace): Promise<Read> {
    this.#assertOpen()
    const { revision, records } = await this.#range({ key: this.#etcdKey(key) }, at, trace)
    return { revision: at ?? revision, entry: await this.#entry(key, records[0]) }
  }

  isStale(key: string, trace?: RequestTrace): MaybePromise<boolean> {
    if (!this.#format.mayBeStale?.(key)) return false
    return this.#isStale(key, trace)
  }

  async #isStale(key: string, trace: RequestTrace | undefined): Promise<boolean> {
    this.#assertOpen()
    const { records } = await this.#range({ key: this.#etcdKey(key) }, undefined, trace)
    return records[0] !== undefined && (await this.#format.isStale!({ key, stored: records[0].value }))
  }

  async list(prefix: string, page: PageRequest = {}): Promise<Page> {
    for (;;) {
      this.#assertOpen()
      try {
        return await this.#list(prefix, page)
      } catch (error) {
        // A list of now that was overtaken by a compaction between its parts is begun again.
        if (!(error instanceof Compacted) || page.at !== undefined) throw error
      }
    }
  }

  swap(key: string, change: Change): Promise<Swap> {
    const writing = this.#swap(key, change)
    this.#writes.add(writing)
    const forget = () => this.#writes.delete(writing)
    writing.then(forget, forget)
    return writing
  }

  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch> {
    this.#assertOpen()
    const watch: EtcdWatch = new EtcdWatch(prefix, {
      cluster: this.#cluster,
      scope: this.#scope,
      check: revision => this.#check(revision),
      confirm: async () => void (await this.fresh()),
      saw: revision => this.#lineage.saw(revision),
      decode: events => this.#events(events),
      onEnd: () => this.#watches.delete(watch),
      after,
      signal,
    })
    this.#watches.add(watch)
    return watch
  }

  /** A quorum read of the revision. Whoever asks while one is under way shares the next. */
  fresh(): Promise<Revision> {
    if (!this.#asked) return (this.#asked = this.#ask())
    this.#askedNext ??= this.#asked.then(
      () => this.#askAgain(),
      () => this.#askAgain(),
    )
    return this.#askedNext
  }

  async extent(): Promise<Extent> {
    this.#assertOpen()
    const newest = await this.fresh()
    await this.#check(this.#oldest).catch(async error => {
      if (!(error instanceof Compacted)) throw error
      this.#oldest = await this.#findOldest()
    })
    return { oldest: this.#oldest, newest: Math.max(newest, this.#oldest) }
  }

  async compact(before: Revision): Promise<void> {
    this.#assertOpen()
    if (!(before >= 1)) return
    try {
      await this.#cluster.read(compact, { revision: before })
    } catch (error) {
      if (isFuture(error)) throw new FutureRevision(before, await this.fresh())
      // Revisions that are compacted already need no further compaction.
      if (!isCompacted(error)) throw explain(error, this.#cluster.where)
    }
  }

  /**
   * Compacts at the revision of the last round, unless another server has had one since; see `shared-compaction.ts`. Returns
   * the round to begin from next time.
   */
  async compactTogether({ version, revision }: Round): Promise<Round> {
    this.#assertOpen()
    try {
      const value = Buffer.from(`${revision}`)
      const answer = await this.#write({ key: COMPACTION_KEY, expect: { version }, value })
      if (!answer.ok) return { version: answer.record?.version ?? 0, revision: answer.revision }
      // At the first round of all there is nothing that is known to be old.
      if (revision > 0) await this.compact(revision)
      return { version: version + 1, revision: answer.revision }
    } catch (error) {
      throw explain(error, this.#cluster.where)
    }
  }

  /** Reads with a quorum. Writing would grow the history of a cluster that is watched by many. */
  async probe(): Promise<void> {
    this.#assertOpen()
    try {
      await this.#read({ key: this.#etcdPath('/health'), countOnly: true }, { withinMs: PROBE_MS })
    } catch (error) {
      throw explain(error, this.#cluster.where)
    }
  }

  abandon(): void {
    this.#cluster.close()
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #list(prefix: string, { limit = Number.POSITIVE_INFINITY, after, at, trace }: PageRequest): Promise<Page> {
    const below = this.#etcdPath(this.#format.placesBelow(prefix))
    const end = prefixEnd(below)
    const entries: Entry[] = []
    let start = below
    if (after !== undefined && after !== '') {
      const last = this.#etcdKey(after)
      if (Buffer.compare(last, start) >= 0) start = Buffer.concat([last, EVERYTHING])
    }
    if (limit === 0) {
      const { revision, count } = await this.#range({ key: start, end, countOnly: true }, at, trace)
      return { revision: at ?? revision, entries, remaining: count }
    }
    let revision = at
    let coming = this.#range({ key: start, end, limit: Math.min(FIRST_PAGE, limit) }, at, trace)
    for (;;) {
      const { records, more, count, ...page } = await coming
      revision ??= page.revision
      const next = (missing: number) => {
        const key = Buffer.concat([records.at(-1)!.key, EVERYTHING])
        return this.#range({ key, end, limit: Math.min(nextSize(records), missing) }, revision, trace)
      }
      // The next records are read while these are decoded, if these cannot be enough.
      const missing = limit - entries.length - records.length
      const isComing = more && missing > 0
      if (isComing) coming = next(missing)
      coming.catch(() => {})
      for (const entry of await this.#entries(records)) if (entry.key.startsWith(prefix)) entries.push(entry)
      if (!more || entries.length >= limit) return { revision, entries, remaining: more ? count - records.length : 0 }
      // Some of them are unknown here.
      if (!isComing) coming = next(limit - entries.length)
    }
  }

  async #swap(key: string, { expect, value, object, ttlSeconds, unique = false, fences = [], trace }: Change): Promise<Swap> {
    this.#assertOpen()
    checkKey(key)
    // Checked as every store does; etcd counts the time.
    deadlineOf(ttlSeconds, systemClock)
    if (expect === 0 && value === null) return { ok: false, current: (await this.get(key, undefined, trace)).entry }
    // Present data is not waited for: with one writer, every wait is latency.
    const encoded = value && this.#format.encode(key, value, object)
    const stored = encoded instanceof Promise ? await encoded : encoded
    const lease = value && ttlSeconds !== undefined ? await this.#lease(ttlSeconds, trace) : 0
    const etcdKey = this.#etcdKey(key)
    // Whoever makes it may refuse it, but nothing that is as short as this.
    if (value && stored!.length > SHORT_RECORD) bytesOf(value)
    let own: OwnWrite | undefined
    let revision: Revision | undefined
    try {
      const fencedBy = fences.map(({ key, modified }) => ({ key: this.#etcdKey(key), modified }))
      const request = { key: etcdKey, expect: { modified: expect }, value: stored, lease, fences: fencedBy }
      const answering = this.#write(request, trace)
      // The value is made while etcd is at work; it is what watches will report.
      if (value && stored) own = this.#own.begin({ key, value: bytesOf(value), etcdKey, stored })
      const answer = await answering
      const broken = answer.ok ? undefined : fences.find(({ modified }, i) => (answer.fences[i]?.modified ?? 0) !== modified)
      if (broken) throw new FencedOff(broken)
      if (!answer.ok) return { ok: false, current: await this.#entry(key, answer.record) }
      revision = answer.revision
      return { ok: true, revision }
    } catch (error) {
      if (error instanceof FencedOff || error instanceof OutcomeUnknown) throw error
      if (isLeaseLost(error)) this.#leases.forget()
      if (isTooLarge(error)) throw new ValueTooLarge('etcdserver: request is too large', { cause: error })
      if (isNotDone(error) || error instanceof StoreUnavailable) throw explain(error, this.#cluster.where)
      const found = await this.#findOutcome(key, { expect, stored, unique, trace }, error)
      if (found.ok) revision = found.revision
      return found
    } finally {
      if (own) this.#own.end(own, this.#isReported(revision) ? undefined : revision)
    }
  }

  /**
   * The outcome of a swap whose response was lost. It is known to have lost if another write took its place, and to have been
   * made if a value that nobody else writes is there; otherwise it may have been made, or may yet be.
   */
  async #findOutcome(key: string, { expect, stored, unique, trace }: Sent, cause: unknown): Promise<Swap> {
    const etcdKey = this.#etcdKey(key)
    const unknown = () =>
      new OutcomeUnknown(
        `etcd did not answer a write (${explain(cause, this.#cluster.where).problem}); it may have been made all the same: read the object before trying again`,
        { cause },
      )
    let current: KeyValue | undefined
    let base: KeyValue | undefined
    try {
      ;[current] = (await this.#read({ key: etcdKey }, { trace })).records
      if (expect > 0) [base] = (await this.#read({ key: etcdKey, revision: expect }, { trace })).records
    } catch {
      throw unknown()
    }
    const isOurs = current !== undefined && stored !== null && current.value.equals(stored)
    if (isOurs && unique && current!.modified > expect) return { ok: true, revision: current!.modified }
    // The first write after the expected one decides: a swap from there cannot succeed any more.
    const isNext = current !== undefined && base !== undefined && current.created === base.created && current.version === base.version + 1
    if (!isNext || isOurs) throw unknown()
    return { ok: false, current: await this.#entry(key, current) }
  }

  /** Whether every watch has already seen a revision, so that it will not come back. */
  #isReported(revision: Revision | undefined): boolean {
    if (revision === undefined) return true
    for (const watch of this.#watches) if (watch.position < revision) return false
    return true
  }

  async #lease(ttlSeconds: number, trace: RequestTrace | undefined): Promise<number> {
    try {
      return await this.#leases.for(ttlSeconds, trace)
    } catch (error) {
      throw explain(error, this.#cluster.where)
    }
  }

  /** Reads records, now or at a revision. Throws `Compacted` or `FutureRevision`. */
  async #range(request: RangeRequest, at: Revision | undefined, trace?: RequestTrace): Promise<RangeResponse> {
    if (at !== undefined && !(at >= 1)) throw new Compacted(at, this.#oldest)
    try {
      return await this.#read(at === undefined ? request : { ...request, revision: at }, { trace })
    } catch (error) {
      if (isCompacted(error)) throw new Compacted(at!, (this.#oldest = await this.#findOldest()))
      if (isFuture(error)) throw new FutureRevision(at!, await this.fresh())
      throw explain(error, this.#cluster.where)
    }
  }

  /** A linearizable read. Rejects when the answer is of another history than this server knows. */
  async #read(request: RangeRequest, options?: ReadOptions): Promise<RangeResponse> {
    const mark = this.#lineage.mark()
    const answer = await this.#cluster.read(range, request, options)
    this.#compare(mark, answer)
    if (this.#lineage.isPast(mark)) throw new StoreUnavailable(WENT_BACK, { problem: WENT_BACK })
    return answer
  }

  /** A linearizable write. One that was made after etcd went back was decided by data that is lost; nobody can undo it. */
  async #write(request: SwapRequest, trace?: RequestTrace): Promise<SwapResponse> {
    const mark = this.#lineage.mark()
    const answer = await this.#cluster.write(swap, request, trace)
    this.#compare(mark, answer)
    if (!this.#lineage.isPast(mark)) return answer
    throw answer.ok ? new OutcomeUnknown(`${WENT_BACK}; the write was made`) : new StoreUnavailable(WENT_BACK, { problem: WENT_BACK })
  }

  /** Ends all watches if an answer shows that etcd has gone back. */
  #compare(mark: Mark, header: Header): void {
    const why = this.#lineage.answered(mark, header)
    if (why === undefined) return
    this.#oldest = 1
    this.#own.reported(Number.POSITIVE_INFINITY)
    this.#leases.forget()
    this.#onChange(
      `etcd at ${this.#cluster.where} has gone back to an earlier state (${why}): everything is read again, and watches end. Restart the server if etcd was emptied, so that it makes its own objects again`,
    )
    for (const watch of [...this.#watches]) watch.fail(new StoreUnavailable(WENT_BACK, { problem: WENT_BACK }))
  }

  /** Throws unless it can be read at a revision. */
  async #check(revision: Revision): Promise<void> {
    await this.#range({ key: this.#etcdPath('/'), countOnly: true }, revision)
  }

  /** The oldest revision that was not compacted: only a watch that is refused tells it. */
  async #findOldest(): Promise<Revision> {
    let stop = () => {}
    try {
      return await new Promise<Revision>((resolve, reject) => {
        const timer = startDeadline(() => reject(new StoreUnavailable('etcd does not say which revision is its oldest')), EXTENT_MS)
        timer.unref()
        const opening = this.#cluster.stream(WATCH_PATH, {
          message: message => {
            const { compacted } = readWatch(message)
            if (compacted > 0) resolve(compacted)
          },
          ended: reject,
        })
        opening.then(stream => {
          stop = () => {
            stopTimer(timer)
            stream.close()
          }
          const key = this.#etcdPath('/')
          stream.send(writeWatchCreate({ key, end: NO_END, from: 1 }))
        }, reject)
      })
    } catch (error) {
      throw explain(error, this.#cluster.where)
    } finally {
      stop()
    }
  }

  async #ask(): Promise<Revision> {
    try {
      this.#assertOpen()
      const { revision } = await this.#range({ key: this.#etcdPath('/'), countOnly: true }, undefined)
      for (const watch of this.#watches) watch.want(revision)
      return revision
    } finally {
      this.#asked = undefined
    }
  }

  #askAgain(): Promise<Revision> {
    this.#askedNext = undefined
    return (this.#asked = this.#ask())
  }

  /** The record of a requested key; it need not be one that would be listed. */
  async #entry(key: string, record: KeyValue | undefined): Promise<Entry | undefined> {
    if (!record) return undefined
    const [decoded] = await this.#format.decode([{ key, stored: record.value }])
    return entryOf(key, record, decoded!)
  }

  /** The entries of records whose keys are known. */
  async #entries(records: readonly KeyValue[]): Promise<Entry[]> {
    const known = records.flatMap(record => {
      const key = this.#keyOf(record)
      return key === undefined ? [] : [{ key, record }]
    })
    if (known.length === 0) return []
    const decoded = await this.#format.decode(known.map(({ key, record }) => ({ key, stored: record.value })))
    return known.map(({ key, record }, i) => entryOf(key, record, decoded[i]!))
  }

  /** Events of known keys; what this process wrote itself is not decoded again. */
  #events(events: readonly WatchEvent[]): MaybePromise<readonly Event[]> {
    const known: Known[] = []
    const toDecode: StoredRecord[] = []
    for (const { deleted, record } of events) {
      const revision = record.modified
      const own = deleted ? undefined : this.#own.find(record)
      const key = own ? own.key : this.#keyOf(record)
      if (key === undefined) continue
      if (deleted) known.push({ key, revision, after: undefined })
      else if (own) known.push({ key, revision, after: { record, own: own.value } })
      else known.push({ key, revision, after: { record, at: toDecode.push({ key, stored: record.value }) - 1 } })
    }
    const last = events.at(-1)!.record.modified
    return whenDone(toDecode.length === 0 ? [] : this.#format.decode(toDecode), decoded => {
      const entry = (key: string, { record, own, at }: Later) => entryOf(key, record, own ? { value: own } : decoded[at!]!)
      const result = known.map(({ key, revision, after }) => ({
        key,
        after: after && entry(key, after),
        revision,
      }))
      this.#reported(last)
      return result
    })
  }

  /** A watch has got so far; what all have reported is forgotten. */
  #reported(revision: Revision): void {
    let least = revision
    for (const watch of this.#watches) least = Math.min(least, watch.position)
    this.#own.reported(least)
  }

  #keyOf({ key }: KeyValue): string | undefined {
    const text = key.toString()
    if (!text.startsWith(this.#prefix)) return undefined
    return this.#format.keyAt(text.slice(this.#prefix.length))
  }

  #etcdKey(key: string): Buffer {
    return this.#etcdPath(this.#format.placeOf(key))
  }

  #etcdPath(place: string): Buffer {
    return Buffer.from(this.#prefix + place)
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#writes)
    for (const watch of [...this.#watches]) watch.end()
    this.#cluster.close()
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
  }
}

type Sent = {
  readonly expect: Revision
  readonly stored: Uint8Array | null
  readonly unique: boolean
  readonly trace: RequestTrace | undefined
}
type Later = { readonly record: KeyValue; readonly own?: Uint8Array; readonly at?: number }
type Known = { readonly key: string; readonly revision: Revision; readonly after: Later | undefined }

const NO_END = Buffer.alloc(0)
const WENT_BACK = 'etcd has gone back to an earlier state, and everything is being read again'
const NO_VALUE = new Uint8Array()

const entryOf = (key: string, { created, modified }: KeyValue, decoded: Decoded): Entry =>
  decoded.fault === undefined
    ? { key, value: decoded.value, created, modified, ...(decoded.object !== undefined && { object: decoded.object }) }
    : {
        key,
        value: NO_VALUE,
        created,
        modified,
        fault: decoded.isUntransformable ? decoded.fault : undecodable(modified, decoded.fault),
      }

/** How many records the next page should have, if they are about as large as these. */
function nextSize(records: readonly KeyValue[]): number {
  const bytes = records.reduce((sum, { value }) => sum + value.length, 0)
  return Math.max(1, Math.min(MAX_PAGE, Math.floor((PAGE_BYTES * records.length) / Math.max(bytes, 1))))
}

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number)
  for (const [i, wanted] of least.entries()) {
    const part = parts[i] ?? 0
    if (part !== wanted) return part > wanted
  }
  return true
}
