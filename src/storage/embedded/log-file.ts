/** The lmdb file of an embedded store as every process that has it open reads it: records in revision order, and a little metadata. */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Database, RootDatabase, RootDatabaseOptionsWithPath, Transaction } from 'lmdb'
import { type Revision, StoreUnavailable } from '../store.ts'
import { allocateReaders } from './database-file.ts'
import { FORMAT, revisionIn, startOfRevision } from './record.ts'

/** A frozen view of the database; must be disposed of. */
export type Snapshot = Disposable & { readonly transaction: Transaction }

export type Bytes = Omit<Database<Uint8Array, Uint8Array>, 'getBinaryFast'> & {
  // As in lmdb itself, whose types leave these out.
  getBinaryFast(id: Uint8Array, options?: { transaction: Transaction }): Buffer | undefined
  getBinaryFast(id: Uint8Array, options: { ifNotTxnId: number }): Buffer | undefined | object
  readonly lastSize: number
}

export type Lmdb = typeof import('lmdb')
/** The commit that has written the page which was read last, modulo 2 ** 32. lmdb's types leave it out. */
type LastCommit = { getLastTxnId(): number }

export const FILE = 'keelson.lmdb'
const SETTINGS = Buffer.from('settings')

/**
 * Opens or makes the file in a directory. Nobody may commit meanwhile: lmdb reads which commit is the newest, and a moment later tells
 * all processes so.
 */
export function openLogFile(lmdb: Lmdb, dir: string): LogFile {
  const path = join(dir, FILE)
  const options: RootDatabaseOptionsWithPath & { permissionsMode: number } = {
    path,
    permissionsMode: 0o600,
    // The plain order of LMDB: pages are synced before the commit that needs them becomes visible.
    overlappingSync: false,
    // With it lmdb opens a batch of its own around ours, whose failure could not be handled.
    eventTurnBatching: false,
    keyEncoding: 'binary',
    encoding: 'binary',
    maxDbs: 4,
  }
  const isNew = !existsSync(path)
  if (process.platform !== 'win32') allocateReaders(path)
  const root = lmdb.open(options)
  try {
    if (isNew) syncDirectories(dir)
    return new LogFile(lmdb, root, dir)
  } catch (error) {
    root.close().catch(() => {})
    throw error
  }
}

/** A new file is there after a power cut only if the directory that names it was synced. */
function syncDirectories(dir: string): void {
  for (const directory of [dir, dirname(resolve(dir))]) {
    try {
      sync(directory, 'r')
    } catch (error) {
      // Some file systems cannot sync a directory and have no need to; one that may not be read is not ours.
      if (!['EINVAL', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags)
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

export type DatabaseSize = { readonly bytes: number; readonly pageBytes: number; readonly freePages: number }

type PageCounts = { readonly treeBranchPageCount: number; readonly treeLeafPageCount: number; readonly overflowPages: number }
type Statistics = { readonly root: PageCounts; readonly free: PageCounts; readonly lastPageNumber: number; readonly pageSize: number }
/** Pages that say where the trees begin. */
const META_PAGES = 2

/** An open file. Reads see one state of it until `refresh`, or until the next iteration of the event loop. */
export class LogFile {
  readonly dir: string
  readonly root: RootDatabase
  readonly meta: Bytes
  readonly log: Bytes
  readonly #lmdb: LastCommit
  readonly #root: Bytes
  /** The name of a tree among the names of all. */
  readonly #tree: Uint8Array
  readonly #unlessAt = { ifNotTxnId: 0 }
  #closed: Promise<void> | undefined
  /** The settings as they were last read. */
  #settings: { readonly bytes: Uint8Array; readonly compacted: Revision } | undefined

  constructor(lmdb: Lmdb, root: RootDatabase, dir: string) {
    this.#lmdb = lmdb as unknown as LastCommit
    this.dir = dir
    this.root = root
    this.meta = root.openDB('meta', { keyEncoding: 'binary', encoding: 'binary', useVersions: true }) as Bytes
    this.log = root.openDB('log', { keyEncoding: 'binary', encoding: 'binary' }) as Bytes
    this.#root = root as unknown as Bytes
    const [tree = Buffer.from('log')] = this.#root.getKeys()
    this.#tree = Uint8Array.from(tree)
  }

  /** Has the next read see all that is committed. Until that, nothing keeps pages from being reused. */
  refresh(): void {
    this.log.resetReadTxn()
  }

  /**
   * A number that changes with every commit, or undefined if it is still the one given. It takes a fraction of the time of other reads:
   * lmdb looks which commit has written the page that names the trees, as every commit does. 0 where that cannot be told.
   */
  commitUnless(commit: number): number | undefined {
    this.#unlessAt.ifNotTxnId = commit
    const found = this.#root.getBinaryFast(this.#tree, this.#unlessAt)
    if (found === undefined) return 0
    return found instanceof Uint8Array ? this.#lmdb.getLastTxnId() : undefined
  }

  /** The headers of all records after a revision, in their order. */
  headers(after: Revision = 0): Iterable<Uint8Array> {
    return after === 0 ? this.log.getKeys() : this.log.getKeys({ start: startOfRevision(after + 1) })
  }

  /** The revision of the last record, damaged or not. */
  newest(): Revision {
    for (const header of this.log.getKeys(LAST)) return revisionIn(header)
    return 0
  }

  /** The body of a record, in memory that the next read overwrites. */
  body(header: Uint8Array, snapshot?: Snapshot): Uint8Array | undefined {
    // The buffer that comes back claims the right length, but its memory goes on behind that.
    return this.log.getBinaryFast(header, snapshot)?.subarray(0, this.log.lastSize)
  }

  /** Freezes what has been committed so far. */
  snapshot(): Snapshot {
    const transaction = this.log.useReadTransaction()
    return { transaction, [Symbol.dispose]: () => transaction.done() }
  }

  /** The revision before which history is forgotten; undefined in a new file. */
  compacted(): Revision | undefined {
    const found = this.meta.getBinaryFast(SETTINGS)?.subarray(0, this.meta.lastSize)
    if (!found) return undefined
    if (!this.#settings || Buffer.compare(found, this.#settings.bytes) !== 0)
      this.#settings = { bytes: Uint8Array.from(found), compacted: decodeSettings(found, this.dir) }
    return this.#settings.compacted
  }

  /** To be called in a transaction, which is either asynchronous or not. */
  setCompacted(revision: Revision): void {
    this.meta.put(SETTINGS, encodeSettings(revision), 0)
  }

  setCompactedSync(revision: Revision): void {
    this.meta.putSync(SETTINGS, encodeSettings(revision), 0)
  }

  size(): DatabaseSize {
    const all = this.root.getStats() as Statistics
    const trees = [all.root, all.free, this.log.getStats() as PageCounts, this.meta.getStats() as PageCounts]
    const used = trees.reduce((sum, tree) => sum + tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages, META_PAGES)
    const pages = all.lastPageNumber + 1
    return { bytes: pages * all.pageSize, pageBytes: all.pageSize, freePages: Math.max(0, pages - used) }
  }

  /** Writes a copy of the committed data, without unused pages, to a file that must not exist yet; writes go on meanwhile. */
  async copyTo(file: string): Promise<void> {
    // The copy is written to a private file, and renamed only when it is complete.
    const folder = mkdtempSync(`${file}.`)
    try {
      const draft = join(folder, 'copy')
      await this.root.backup(draft, true)
      chmodSync(draft, 0o600)
      sync(draft, 'r+')
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      throw new StoreUnavailable(`cannot save the store to ${file}: it already exists`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  /** Frees the places of processes that were killed among the readers: until then lmdb keeps the pages that they may be reading. */
  forgetDeadReaders(): void {
    this.root.readerCheck()
  }

  /** No operation may be running. */
  close(): Promise<void> {
    return (this.#closed ??= this.root.close())
  }
}

const LAST = { reverse: true, limit: 1 }

function encodeSettings(compacted: Revision): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, compacted }))
}

function decodeSettings(bytes: Uint8Array, dir: string): Revision {
  const { format, compacted } = parseSettings(bytes)
  if (Number.isSafeInteger(format) && format > FORMAT) {
    throw new StoreUnavailable(
      `the store in ${dir} has format ${format}, this release reads up to ${FORMAT}; start the release that wrote it or choose another data directory`,
    )
  }
  if (!(format >= 1 && Number.isSafeInteger(compacted) && compacted >= 1)) {
    throw new StoreUnavailable(`the settings of the store in ${dir} are damaged; restore it from a snapshot`)
  }
  return compacted
}

function parseSettings(bytes: Uint8Array): { format: number; compacted: number } {
  try {
    const { format, compacted } = JSON.parse(Buffer.from(bytes).toString())
    return { format, compacted }
  } catch {
    return { format: Number.NaN, compacted: Number.NaN }
  }
}
