/**
 * Reads the store in a directory that no server uses, without changing it: no lock, no fence, nothing expires. Whoever opens a file of LMDB
 * writes to its lock file, even for reading, and could undo a commit that another process makes just then.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb'
import { type Extent, type Page, type PageRequest, type Read, type Revision, type Store, StoreUnavailable } from '../store.ts'
import { checkDatabaseFile } from './database-file.ts'
import { explain } from './failure.ts'
import { loadHistory } from './load.ts'
import { ownerOf } from './lock.ts'
import { type DatabaseSize, FILE, LogFile } from './log-file.ts'
import { LogReader } from './log-reader.ts'
import { decodeEntry, decodeHeader } from './record.ts'

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
  const lmdb = await import('lmdb')
  let root: RootDatabase | undefined
  try {
    checkDatabaseFile(path)
    const options: RootDatabaseOptionsWithPath = { path, readOnly: true, keyEncoding: 'binary', encoding: 'binary', maxDbs: 4 }
    root = lmdb.open(options)
    return new EmbeddedReader(new LogFile(lmdb, root, dir), dir)
  } catch (error) {
    await root?.close().catch(() => {})
    throw explain(error, `cannot read the store in ${dir}`)
  }
}

export class EmbeddedReader implements Pick<Store, 'get' | 'list' | 'fresh' | 'extent'>, AsyncDisposable {
  readonly #file: LogFile
  readonly #reader: LogReader
  readonly size: DatabaseSize
  /** The size of the file. */
  readonly fileBytes: number

  constructor(file: LogFile, dir: string) {
    this.#file = file
    this.#reader = new LogReader(this.#file, loadHistory(this.#file), { isFollowing: false })
    this.size = this.#file.size()
    this.fileBytes = statSync(join(dir, FILE)).size
  }

  async get(key: string, at?: Revision): Promise<Read> {
    return this.#reader.get(key, at)
  }

  list(prefix: string, page?: PageRequest): Promise<Page> {
    return this.#reader.list(prefix, page)
  }

  fresh(): Revision {
    return this.#reader.history.newest
  }

  async extent(): Promise<Extent> {
    const { oldest, newest } = this.#reader.history
    return { oldest, newest }
  }

  /** When a key expires, in milliseconds since the epoch. */
  deadline(key: string): number | undefined {
    return this.#reader.history.latest(key)?.deadline
  }

  /** Other processes that read the file now, and how many transactions ago they began. */
  get readers(): readonly { readonly pid: number; readonly transactionsBehind: number }[] {
    const { root } = this.#file
    const { lastTxnId } = root.getStats() as { lastTxnId: number }
    // One line for each: process, thread, transaction, which is a dash where none is open.
    return [...root.readerList().matchAll(/^\s*(\d+) [0-9a-f]+ (\d+)$/gm)]
      .map(([, pid, transaction]) => ({ pid: Number(pid), transactionsBehind: lastTxnId - Number(transaction) }))
      .filter(({ pid }) => pid !== process.pid)
  }

  /** Every record, past ones included, in the order of revisions; each is compared with its checksum. */
  *records(): Generator<LogRecord> {
    const file = this.#file
    for (const header of file.headers()) {
      const { key, state } = decodeHeader(header)
      const body = file.body(header)
      const { fault } = decodeEntry(key, state, { header, body })
      const { modified, created, deleted, deadline } = state
      yield {
        key,
        modified,
        created,
        deleted,
        bytes: body?.length ?? 0,
        isCurrent: this.#reader.history.latest(key)?.modified === modified,
        ...(deadline !== undefined && { deadline }),
        ...(fault !== undefined && { fault }),
      }
    }
  }

  /** The number of records, past ones included. */
  get count(): number {
    return (this.#file.log.getStats() as { entryCount: number }).entryCount
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.close()
    await this.#file.close()
  }
}
