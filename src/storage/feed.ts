/** Watches of a local store: catch up by reading history in chunks, then live batches pushed by commits. */
import { nextIteration } from '../lib/environment.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { type Batch, type Event, type Revision, StoreUnavailable } from './store.ts'

/** The history that watches catch up from. */
export type Source = {
  newest(): Revision
  /** A bounded batch of the events after a revision; its `revision` is the last that it covers. Throws `Compacted` or `FutureRevision`. */
  read(prefix: string, after: Revision): MaybePromise<Batch>
}

/** A queue past either limit is dropped, and the watch reads from history again. */
const QUEUED_EVENTS = 2_048
const QUEUED_BYTES = 8 << 20

/** The watches of one store. */
export class Feed {
  readonly #source: Source
  readonly #watches = new Set<Watch>()
  #closed = false

  constructor(source: Source) {
    this.#source = source
  }

  /** A watch; it starts when the first batch is requested. */
  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    return new Watch(this.#source, { prefix, after, signal, watches: this.#watches })
  }

  /** Hands a committed batch to every watch, before it returns where one is waiting. Batches come in order and without gaps. */
  publish(batch: Batch): void {
    for (const watch of this.#watches) watch.push(batch)
  }

  get isWatched(): boolean {
    return this.#watches.size > 0
  }

  /** Has every watch read from history what it was not handed. */
  fallBehind(): void {
    for (const watch of this.#watches) watch.fallBehind()
  }

  /** Ends every watch once it has delivered the queued events. */
  close(): void {
    this.#closed = true
    for (const watch of this.#watches) watch.end()
  }
}

type WatchOptions = { prefix: string; after: Revision; signal: AbortSignal; watches: Set<Watch> }
type Result = IteratorResult<Batch, undefined>
type Waiter = { resolve(result: Result): void; reject(error: unknown): void }

const DONE: Result = { done: true, value: undefined }

/**
 * Written by hand rather than as an async generator, whose extra microtasks would let a write be answered
 * before a watch that was waiting for it has seen it.
 */
class Watch implements AsyncIterableIterator<Batch> {
  readonly #source: Source
  readonly #prefix: string
  readonly #signal: AbortSignal
  readonly #watches: Set<Watch>
  readonly #waiters: Waiter[] = []
  #queue: Batch[] = []
  #queuedEvents = 0
  #queuedBytes = 0
  /** Everything up to here has been handed out. */
  #position: Revision
  #state: 'new' | 'behind' | 'live' | 'ended' = 'new'
  #reading = false

  constructor(source: Source, { prefix, after, signal, watches }: WatchOptions) {
    this.#source = source
    this.#prefix = prefix
    this.#position = after
    this.#signal = signal
    this.#watches = watches
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    if (this.#state === 'new') this.#begin()
    const queued = this.#queue.shift()
    if (queued) return Promise.resolve({ done: false, value: this.#takeQueued(queued) })
    if (this.#state === 'ended') return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject })
      if (this.#state === 'behind' && !this.#reading) this.#catchUp()
    })
  }

  return(): Promise<Result> {
    this.#queue = []
    this.end()
    return Promise.resolve(DONE)
  }

  push(batch: Batch): void {
    if (this.#state !== 'live') return
    const events = batch.events.filter(event => event.key.startsWith(this.#prefix))
    const own = events.length === batch.events.length ? batch : { revision: batch.revision, events }
    const waiter = this.#waiters.shift()
    if (waiter) {
      this.#position = own.revision
      waiter.resolve({ done: false, value: own })
    } else {
      this.#enqueue(own)
    }
  }

  fallBehind(): void {
    if (this.#state !== 'live') return
    this.#state = 'behind'
    this.#queue = []
    this.#queuedEvents = this.#queuedBytes = 0
    if (this.#waiters.length === 0) return
    this.#reading = true
    nextIteration(() => this.#catchUp())
  }

  end(): void {
    this.#state = 'ended'
    this.#signal.removeEventListener('abort', this.#abort)
    this.#watches.delete(this)
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE)
  }

  readonly #abort = () => {
    this.#queue = []
    this.end()
  }

  #begin(): void {
    if (this.#signal.aborted) {
      this.#state = 'ended'
      return
    }
    this.#state = 'behind'
    this.#watches.add(this)
    this.#signal.addEventListener('abort', this.#abort, { once: true })
  }

  #enqueue(batch: Batch): void {
    const last = this.#queue.at(-1)
    // A run of batches without events here is one report of progress.
    if (last && last.events.length === 0) this.#queue.pop()
    this.#queue.push(batch)
    this.#queuedEvents += batch.events.length
    this.#queuedBytes += bytesOf(batch.events)
    // A consumer that does not keep up must not hold the values in memory: they are in the history anyway.
    if (this.#queuedEvents > QUEUED_EVENTS || this.#queuedBytes > QUEUED_BYTES) this.fallBehind()
  }

  #takeQueued(batch: Batch): Batch {
    this.#position = batch.revision
    this.#queuedEvents -= batch.events.length
    this.#queuedBytes -= bytesOf(batch.events)
    return batch
  }

  /** Reads one chunk for the first waiter; more waiters and later chunks wait for the next iteration of the event loop. */
  #catchUp(): void {
    this.#reading = false
    if (this.#state !== 'behind' || this.#waiters.length === 0) return
    try {
      const batch = this.#source.read(this.#prefix, this.#position)
      if (!(batch instanceof Promise)) {
        this.#caughtUp(batch)
        return
      }
      this.#reading = true
      batch.then(
        read => {
          this.#reading = false
          if (this.#state === 'behind') this.#caughtUp(read)
        },
        error => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #caughtUp(batch: Batch): void {
    const from = this.#position
    this.#position = batch.revision
    if (batch.revision === this.#source.newest()) this.#state = 'live'
    if (batch.revision > from) this.#waiters.shift()!.resolve({ done: false, value: batch })
    if (this.#state !== 'behind') return
    this.#reading = true
    nextIteration(() => this.#catchUp())
  }

  #fail(error: unknown): void {
    const waiter = this.#waiters.shift()
    this.end()
    waiter?.reject(error)
  }
}

function bytesOf(events: readonly Event[]): number {
  return events.reduce((sum, { after }) => sum + (after?.value.length ?? 0), 0)
}
