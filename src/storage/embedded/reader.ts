/**
 * Reads the store in a directory that no server uses, without changing it: no lock, no fence, nothing expires. Whoever opens a file of LMDB
 * writes to its lock file, even for reading, and could undo a commit that another process makes just then.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb'
import type { History } from '../history.ts'
import { type Entry, type Extent, type Page, type PageRequest, type Read, type Revision, type Store, StoreUnavailable } from '../store.ts'
import { checkDatabaseFile } from './database-file.ts'
import { explain } from './failure.ts'
import { loadHistory } from './load.ts'
import { ownerOf } from './lock.ts'
import { type Bytes, type DatabaseSize, FILE, readSettings, type Snapshot, sizeOf } from './log-file.ts'
import { decodeEntry, decodeHeader, encodeHeader, type Stored } from './record.ts'

/** One record of the log: a state of a key, current or past, or its deletion. */
export type LogRecord = {
  readonly key: string
  readonly modified: Revision
  readonly created: Revision
  readonly deleted: boolean
  /** When it expires, in milliseconds since the epoch. */
  readonly deadline?: number
  readonly bytes: number
  /** Whether it is the state that its key has now. */
  readonly isCurrent: boolean
  /** Why it cannot be trusted. */
  readonly fault?: string
}

/** Opens the store in a directory for reading. Throws `StoreUnavailable`, whose message says what to do. */
export async function openEmbeddedReader(dir: string): Promise<EmbeddedReader> {
  const path = join(dir, FILE)
  if (!existsSync(path)) throw new StoreUnavailable(`there is no store in ${dir}`)
  const owner = ownerOf(dir)
  if (owner !== undefined)
    throw new StoreUnavailable(
      `process ${owner} has the store in ${dir} open: ask its server for a snapshot and read that (keelson snapshot save FILE), or stop it first`,
    )
  const { open } = await import('lmdb')
  let root: RootDatabase | undefined
  try {
    checkDatabaseFile(path)
    const options: RootDatabaseOptionsWithPath = { path, readOnly: true, keyEncoding: 'binary', encoding: 'binary', maxDbs: 4 }
    root = open(options)
    return new EmbeddedReader(root, dir)
  } catch (error) {
    await root?.close().catch(() => {})
    throw explain(error, `cannot read the store in ${dir}`)
  }
}

export class EmbeddedReader implements Pick<Store, 'get' | 'list' | 'fresh' | 'extent'>, AsyncDisposable {
  readonly #root: RootDatabase
  readonly #log: Bytes
  readonly #history: History<Stored>
  readonly #snapshot: Snapshot
  readonly #size: DatabaseSize
  /** The size of the file. */
  readonly fileBytes: number

  constructor(root: RootDatabase, dir: string) {
    this.#root = root
    const meta = root.openDB('meta', { keyEncoding: 'binary', encoding: 'binary', useVersions: true }) as unknown as Bytes
    this.#log = root.openDB('log', { keyEncoding: 'binary', encoding: 'binary' }) as unknown as Bytes
    const compacted = readSettings(meta, dir)
    const transaction = this.#log.useReadTransaction()
    this.#snapshot = { transaction, [Symbol.dispose]: () => transaction.done() }
    const headers = () => this.#log.getKeys({ transaction })
    this.#history = loadHistory({ compacted: () => compacted, headers }).history
    this.#size = sizeOf({ root, log: this.#log, meta })
    this.fileBytes = statSync(join(dir, FILE)).size
  }

  async get(key: string, at?: Revision): Promise<Read> {
    const state = at === undefined ? this.#history.latest(key) : this.#history.at(key, at)
    return { revision: at ?? this.#history.newest, entry: state && this.#entry(key, state) }
  }

  async list(prefix: string, page: PageRequest = {}): Promise<Page> {
    const { found, remaining } = this.#history.page(prefix, page)
    const entries: Entry[] = []
    let bytes = 0
    for (const { key, state } of found) {
      if (page.limit !== undefined && bytes > BYTES_PER_PAGE) break
      const entry = this.#entry(key, state)
      bytes += entry.value.length
      entries.push(entry)
    }
    return { revision: page.at ?? this.#history.newest, entries, remaining: remaining + found.length - entries.length }
  }

  fresh(): Revision {
    return this.#history.newest
  }

  async extent(): Promise<Extent> {
    return { oldest: this.#history.oldest, newest: this.#history.newest }
  }

  get size(): DatabaseSize {
    return this.#size
  }

  /** When a key expires, in milliseconds since the epoch. */
  deadline(key: string): number | undefined {
    return this.#history.latest(key)?.deadline
  }

  /** Other processes that read the file now, and how many transactions ago they began. */
  get readers(): readonly { readonly pid: number; readonly transactionsBehind: number }[] {
    const { lastTxnId } = this.#root.getStats() as { lastTxnId: number }
    // One line for each: process, thread, transaction, which is a dash where none is open.
    return [...this.#root.readerList().matchAll(/^\s*(\d+) [0-9a-f]+ (\d+)$/gm)]
      .map(([, pid, transaction]) => ({ pid: Number(pid), transactionsBehind: lastTxnId - Number(transaction) }))
      .filter(({ pid }) => pid !== process.pid)
  }

  /** Every record, past ones included, in the order of revisions; each is compared with its checksum. */
  *records(): Generator<LogRecord> {
    for (const header of this.#log.getKeys({ transaction: this.#snapshot.transaction })) {
      const { key, state } = decodeHeader(header)
      const body = this.#body(header)
      const { fault } = decodeEntry(key, state, { header, body })
      const { modified, created, deleted, deadline } = state
      yield {
        key,
        modified,
        created,
        deleted,
        bytes: body?.length ?? 0,
        isCurrent: this.#history.latest(key)?.modified === modified,
        ...(deadline !== undefined && { deadline }),
        ...(fault !== undefined && { fault }),
      }
    }
  }

  /** The number of records, past ones included. */
  get count(): number {
    return (this.#log.getStats() as { entryCount: number }).entryCount
  }

  async close(): Promise<void> {
    this.#snapshot[Symbol.dispose]()
    await this.#root.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #entry(key: string, state: Stored): Entry {
    const header = encodeHeader(key, state)
    return decodeEntry(key, state, { header, body: state.damage ? undefined : this.#body(header) })
  }

  #body(header: Uint8Array): Uint8Array | undefined {
    return this.#log.getBinaryFast(header, this.#snapshot)?.subarray(0, this.#log.lastSize)
  }
}

const BYTES_PER_PAGE = 8 << 20
