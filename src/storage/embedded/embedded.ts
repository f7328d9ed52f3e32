/** The durable default store: an lmdb database of every write, an index of it in memory, group commits. */

import type { Clock } from '../../lib/clock.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Limits } from '../quota.ts'
import type { RecordTransformer } from '../record-transformer.ts'
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
  readonly #reader: LogReader
  readonly #writer: Writer
  #closing: Promise<void> | undefined

  constructor(engine: Engine, options: Omit<EmbeddedOptions, 'dir'>) {
    const loaded = loadHistory(engine.file)
    this.#engine = engine
    this.#reader = new LogReader(engine.file, loaded, { isFollowing: false, transformer: options.transformer })
    this.#writer = new Writer(engine, this.#reader, { ...options, garbage: loaded.garbage })
  }

  async get(key: string, at?: Revision): Promise<Read> {
    this.#assertOpen()
    return this.#reader.get(key, at)
  }

  readBack(key: string, modified: Revision): Entry | undefined {
    this.#assertOpen()
    return this.#reader.readBack(key, modified)
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

  async #close(): Promise<void> {
    await this.#writer.close()
    await this.#reader.close()
    await this.#engine.close()
  }

  #assertOpen(): void {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
  }
}
