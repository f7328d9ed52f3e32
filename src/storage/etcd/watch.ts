/** A watch of etcd that outlives connections and members: it goes on after the last revision that it has got. */
import { startTimer, stopTimer, type Timer } from '../../lib/environment.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Stream } from '../../transport/grpc/connection.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { type Batch, Compacted, type Event, type Revision, StoreUnavailable } from '../store.ts'
import type { Cluster } from './cluster.ts'
import { readWatch, WATCH_PATH, type WatchEvent, type WatchResponse, writeWatchCreate, writeWatchProgress } from './messages.ts'
import { CODES, explain, isPermissionDenied } from './problem.ts'

/** Which keys of etcd are watched. */
export type Scope = {
  readonly key: Uint8Array
  readonly end: Uint8Array
  /**
   * Whether that is every key there is: every revision then has an event, so that a watch knows by its events how far it has
   * got, and notices if one is missing. Otherwise it has to ask etcd for its progress.
   */
  readonly isEverything: boolean
}

export type WatchParts = {
  readonly cluster: Cluster
  readonly scope: Scope
  /** Throws `Compacted` or `FutureRevision` unless it can be watched from a revision. */
  readonly check: (after: Revision) => Promise<void>
  /** Asks a quorum where it is, and fails this watch if that is another history. */
  readonly confirm: () => Promise<void>
  /** Told of every revision that has arrived. */
  readonly saw: (revision: Revision) => void
  /** Events of the keys that are known. */
  readonly decode: (events: readonly WatchEvent[]) => MaybePromise<readonly Event[]>
  readonly onEnd: (watch: EtcdWatch) => void
}

/** How much may be queued before etcd is held back. */
const QUEUED_BYTES = 8 << 20
const MIN_WAIT_MS = 20
const MAX_WAIT_MS = 1_000
/** etcd does not answer while watches of a stream are behind. */
const PROGRESS_MS = 100

type Result = IteratorResult<Batch, undefined>
type Waiter = { resolve(result: Result): void; reject(error: unknown): void }

const DONE: Result = { done: true, value: undefined }

export class EtcdWatch implements AsyncIterableIterator<Batch> {
  readonly #parts: WatchParts
  readonly #prefix: string
  readonly #signal: AbortSignal
  readonly #waiters: Waiter[] = []
  readonly #queue: Batch[] = []
  #queuedBytes = 0
  #isPaused = false
  /** Everything up to here has arrived. */
  #position: Revision
  /** The revision that somebody waits for, where etcd has to be asked. */
  #wanted: Revision = 0
  #asking: Timer | undefined
  #stream: Stream | undefined
  #decoding: Promise<void> | undefined
  #state: 'new' | 'running' | 'ended' = 'new'
  #failure: { readonly error: unknown } | undefined

  constructor(prefix: string, { after, signal, ...parts }: WatchParts & { readonly after: Revision; readonly signal: AbortSignal }) {
    this.#parts = parts
    this.#prefix = prefix
    this.#position = after
    this.#signal = signal
  }

  /** Everything up to here has arrived; endless while nothing is expected to arrive. */
  get position(): Revision {
    return this.#state === 'running' ? this.#position : Number.POSITIVE_INFINITY
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#state === 'new') this.#begin()
    const queued = this.#queue.shift()
    if (queued) return Promise.resolve({ done: false, value: this.#taken(queued) })
    if (this.#failure) {
      const { error } = this.#failure
      this.#failure = undefined
      return Promise.reject(error)
    }
    if (this.#state === 'ended') return Promise.resolve(DONE)
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  return(): Promise<Result> {
    this.#abort()
    return Promise.resolve(DONE)
  }

  /** Ends the watch once it has delivered the queued events. */
  end(): void {
    this.#state = 'ended'
    this.#stream?.close()
    stopTimer(this.#asking)
    this.#signal.removeEventListener('abort', this.#abort)
    this.#parts.onEnd(this)
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE)
  }

  /** Sees to it that the watch reaches a revision even if none of its keys is written any more. */
  want(revision: Revision): void {
    if (this.#parts.scope.isEverything || revision <= Math.max(this.#position, this.#wanted)) return
    this.#wanted = revision
    if (this.#asking === undefined) this.#ask()
  }

  readonly #abort = () => {
    this.#queue.length = 0
    this.end()
  }

  #begin(): void {
    if (this.#signal.aborted) {
      this.end()
      return
    }
    this.#state = 'running'
    this.#signal.addEventListener('abort', this.#abort, { once: true })
    this.#run().catch(error => this.#fail(error))
  }

  async #run(): Promise<void> {
    await this.#checkBeginning()
    for (let attempt = 0, isFirst = true; this.#state === 'running'; attempt++, isFirst = false) {
      const from = this.#position
      // etcd that went back while nobody asked would send nothing until it gets to where this watch is, and then another history.
      if (!isFirst && !(await this.#isConfirmed())) {
        await this.#pause(waitAfter(attempt))
        continue
      }
      if (this.#state !== 'running') return
      const error = await this.#follow()
      // Events that have arrived are delivered before anything else is reported.
      await this.#decoding
      if (error instanceof Compacted) throw error
      if (isPermissionDenied(error)) throw explain(error, this.#parts.cluster.where)
      if (this.#position > from) attempt = 0
      await this.#pause(waitAfter(attempt))
    }
  }

  async #isConfirmed(): Promise<boolean> {
    try {
      await this.#parts.confirm()
      return true
    } catch {
      return false
    }
  }

  /** Throws when events cannot be had from where the watch begins. While etcd does not answer it waits, as a watch that has begun does. */
  async #checkBeginning(): Promise<void> {
    for (let attempt = 0; this.#state === 'running'; attempt++) {
      try {
        return await this.#parts.check(this.#position)
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || isPermissionDenied(error.cause)) throw error
      }
      await this.#pause(waitAfter(attempt))
    }
  }

  /** Follows one stream to its end, and says why it ended. */
  #follow(): Promise<unknown> {
    return new Promise(resolve => {
      const fragments: WatchEvent[] = []
      const end = (error: unknown) => {
        stream?.close()
        resolve(error)
      }
      let stream: Stream | undefined
      const opening = this.#parts.cluster.stream(WATCH_PATH, {
        message: message => {
          try {
            const response = readWatch(message)
            if (response.canceled) return end(this.#whyCanceled(response))
            for (const event of response.events) fragments.push(event)
            if (!response.fragment) this.#arrived(fragments.splice(0), response)
          } catch (error) {
            end(error)
          }
        },
        ended: end,
      })
      opening.then(opened => {
        this.#stream = stream = opened
        if (this.#state !== 'running') return end(undefined)
        if (this.#isPaused) opened.pause()
        const { key, end: rangeEnd } = this.#parts.scope
        opened.send(writeWatchCreate({ key, end: rangeEnd, from: this.#position + 1 }))
      }, resolve)
    })
  }

  #arrived(events: readonly WatchEvent[], { created, revision }: WatchResponse): void {
    if (this.#state !== 'running') return
    if (events.length === 0) {
      // The store watches so only where progress is reported after the events that it covers.
      if (!created && !this.#parts.scope.isEverything && revision > this.#position) this.#deliver([], revision)
      return
    }
    const news = events.filter(({ record }) => record.modified > this.#position)
    if (news.length === 0) return
    if (this.#parts.scope.isEverything) this.#assertComplete(news)
    this.#deliver(news, news.at(-1)!.record.modified)
  }

  /** Compaction can remove a deletion at the very revision that a watch goes on from, without saying so (etcd's issue 18089). */
  #assertComplete(news: readonly WatchEvent[]): void {
    let last = this.#position
    for (const { record } of news) {
      if (record.modified > last + 1) throw new Compacted(this.#position, record.modified)
      last = record.modified
    }
  }

  #deliver(news: readonly WatchEvent[], revision: Revision): void {
    this.#position = revision
    this.#parts.saw(revision)
    const decoded = news.length === 0 ? [] : this.#parts.decode(news)
    if (!this.#decoding && !(decoded instanceof Promise)) {
      this.#push({ revision, events: decoded })
      return
    }
    const done = (async () => {
      const earlier = this.#decoding
      const events = await decoded
      await earlier
      this.#push({ revision, events })
    })()
    const settled = done
      .catch(error => this.#fail(error))
      .then(() => {
        if (this.#decoding === settled) this.#decoding = undefined
      })
    this.#decoding = settled
  }

  #push({ revision, events }: Batch): void {
    if (this.#state === 'ended' && this.#signal.aborted) return
    const own = { revision, events: events.filter(({ key }) => key.startsWith(this.#prefix)) }
    const waiter = this.#waiters.shift()
    if (waiter) {
      waiter.resolve({ done: false, value: own })
      return
    }
    // A run of batches without events here is one report of progress.
    if (this.#queue.at(-1)?.events.length === 0) this.#queue.pop()
    this.#queue.push(own)
    this.#queuedBytes += bytesOf(own)
    if (this.#queuedBytes <= QUEUED_BYTES || this.#isPaused) return
    this.#isPaused = true
    this.#stream?.pause()
  }

  #taken(batch: Batch): Batch {
    this.#queuedBytes -= bytesOf(batch)
    if (this.#isPaused && this.#queuedBytes < QUEUED_BYTES / 2) {
      this.#isPaused = false
      this.#stream?.resume()
    }
    return batch
  }

  /** Ends the watch with an error; queued events are of no use any more. */
  fail(error: unknown): void {
    this.#queue.length = 0
    this.#fail(error)
  }

  #fail(error: unknown): void {
    if (this.#state === 'ended') return
    const waiter = this.#waiters.shift()
    if (waiter) waiter.reject(error)
    else this.#failure = { error }
    this.end()
  }

  #whyCanceled({ compacted, reason }: WatchResponse): Error {
    if (compacted > 0) return new Compacted(this.#position, compacted)
    return new RpcError(reason.includes('permission denied') ? CODES.permissionDenied : CODES.unavailable, reason)
  }

  /** Asks for the progress of the watch until it has reached the requested revision. */
  #ask(): void {
    this.#asking = undefined
    if (this.#state !== 'running' || this.#position >= this.#wanted) return
    this.#stream?.send(writeWatchProgress())
    this.#asking = startTimer(() => this.#ask(), PROGRESS_MS)
  }

  async #pause(ms: number): Promise<void> {
    if (this.#state === 'running') await new Promise<void>(resolve => startTimer(resolve, ms))
  }
}

const bytesOf = ({ events }: Batch): number => events.reduce((sum, { after }) => sum + (after?.value.length ?? 0), 0)

/** How long a watch waits before it tries again, the longer the more often it has. */
const waitAfter = (attempt: number): number => Math.min(MIN_WAIT_MS * 2 ** attempt, MAX_WAIT_MS)
