/** The lmdb database under the embedded store: records in revision order, a little metadata, durable commits. */
import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Database, RootDatabase, RootDatabaseOptionsWithPath, Transaction } from 'lmdb'
import { makeFolders } from '../../lib/folders.ts'
import { type Revision, StoreUnavailable } from '../store.ts'
import { allocateReaders, checkAccess, checkDatabaseFile, checkRoom, needsNoRoom } from './database-file.ts'
import { explain, isForWantOfSpace } from './failure.ts'
import { giveUpOwnership, lockFileOf, type Owner, refuseIfOwned, takeOwnership } from './lock.ts'
import { decodeHeader, FORMAT } from './record.ts'
import { type Pages, Room } from './room.ts'

/** The changes of one durable commit. */
export type Work = {
  /** Those that delete, or lead to it, may take the last space on the disk. */
  readonly puts: readonly { readonly header: Uint8Array; readonly body: Uint8Array; readonly isFreeing: boolean }[]
  readonly removes: readonly Uint8Array[]
  readonly compacted?: Revision
  /** Writes something though nothing has changed. */
  readonly probe?: true
}

/** A frozen view of the database; must be disposed of. */
export type Snapshot = Disposable & { readonly transaction: Transaction }

export type Bytes = Omit<Database<Uint8Array, Uint8Array>, 'getBinaryFast'> & {
  // As in lmdb itself, whose types leave these out.
  getBinaryFast(id: Uint8Array, options?: { transaction: Transaction }): Buffer | undefined
  readonly lastSize: number
}

export const FILE = 'keelson.lmdb'
const FENCE = Buffer.from('fence')
const SETTINGS = Buffer.from('settings')
const PROBE = Buffer.from('probe')

/** Opens the database in a directory for this process alone, making it if there is none. */
export async function openEngine(dir: string): Promise<Engine> {
  const { open } = await import('lmdb')
  // From here on nothing awaits until the lock is taken, so two opens within one process cannot interleave.
  const lockFile = lockFileOf(dir)
  const path = join(dir, FILE)
  let root: RootDatabase | undefined
  try {
    makeFolders(dir, 0o700)
    refuseIfOwned(lockFile, dir)
    checkRoomFor(path, dir)
    for (const file of [path, `${path}-lock`]) checkAccess(file)
    checkWhileUnowned(path, { lockFile, dir })
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
    root = open(options)
    if (isNew) syncDirectories(dir)
    return claim({ root, dir, lockFile })
  } catch (error) {
    await root?.close().catch(() => {})
    throw explain(error, `cannot open the store in ${dir}`)
  }
}

/** A database that has room within its file is opened on a full disk, too, so that it can be read and its objects deleted. */
function checkRoomFor(path: string, dir: string): void {
  try {
    checkRoom(dir)
  } catch (error) {
    if (!isForWantOfSpace(error) || !needsNoRoom(path)) throw error
  }
}

/** A file that looks damaged may be one that another process has just begun to write to. */
function checkWhileUnowned(path: string, { lockFile, dir }: { lockFile: string; dir: string }): void {
  try {
    checkDatabaseFile(path)
  } catch {
    refuseIfOwned(lockFile, dir)
    checkDatabaseFile(path)
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

type Opened = { readonly root: RootDatabase; readonly dir: string; readonly lockFile: string }

/**
 * The write transaction excludes every other process, so checking and taking the lock in it is free of races. It also raises
 * the fence: should a process be considered dead by mistake, its later commits fail instead of mixing with ours.
 */
function claim({ root, dir, lockFile }: Opened): Engine {
  const meta = root.openDB('meta', { keyEncoding: 'binary', encoding: 'binary', useVersions: true }) as Bytes
  const log = root.openDB('log', { keyEncoding: 'binary', encoding: 'binary' }) as Bytes
  let owner: Owner | undefined
  try {
    const { fence, compacted } = root.transactionSync(() => {
      refuseIfOwned(lockFile, dir)
      const settings = readSettings(meta, dir)
      const fence = (meta.getEntry(FENCE)?.version ?? 0) + 1
      owner = takeOwnership(lockFile)
      meta.putSync(FENCE, Buffer.from(`${owner.pid}`), fence)
      if (!settings) meta.putSync(SETTINGS, encodeSettings(1), 0)
      return { fence, compacted: settings?.compacted ?? 1 }
    })
    return new Engine({ root, dir, lockFile, meta, log, fence, compacted, owner: owner! })
  } catch (error) {
    if (owner) giveUpOwnership(lockFile, owner)
    throw error
  }
}

type EngineParts = Opened & { meta: Bytes; log: Bytes; fence: number; compacted: Revision; owner: Owner }

export type DatabaseSize = { readonly bytes: number; readonly pageBytes: number; readonly freePages: number }

type PageCounts = { readonly treeBranchPageCount: number; readonly treeLeafPageCount: number; readonly overflowPages: number }
type Statistics = { readonly root: PageCounts; readonly free: PageCounts; readonly lastPageNumber: number; readonly pageSize: number }
/** Pages that say where the trees begin. */
const META_PAGES = 2

/** The figures of an open database. */
export function sizeOf({ root, log, meta }: Pick<EngineParts, 'root' | 'log' | 'meta'>): DatabaseSize {
  const all = root.getStats() as Statistics
  const trees = [all.root, all.free, log.getStats() as PageCounts, meta.getStats() as PageCounts]
  const used = trees.reduce((sum, tree) => sum + tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages, META_PAGES)
  const pages = all.lastPageNumber + 1
  return { bytes: pages * all.pageSize, pageBytes: all.pageSize, freePages: Math.max(0, pages - used) }
}

/** One process's hold on a database. */
export class Engine {
  readonly dir: string
  /** The revision up to which history had been forgotten when the database was opened. */
  readonly compacted: Revision
  readonly #parts: EngineParts
  readonly #room: Room | undefined
  #ordered = true

  constructor(parts: EngineParts) {
    this.dir = parts.dir
    this.compacted = parts.compacted
    this.#parts = parts
    // On Windows LMDB lengthens the file by other means.
    if (process.platform !== 'win32') this.#room = new Room(join(parts.dir, FILE), () => this.#pages())
  }

  /** The headers of all records, by revision. */
  headers(): Iterable<Uint8Array> {
    return this.#parts.log.getKeys()
  }

  /** Called when a damaged header may sort after the next one, which then cannot simply be appended. */
  expectDisorder(): void {
    this.#ordered = false
  }

  /** The body of a record, in memory that the next read overwrites. */
  body(header: Uint8Array, snapshot?: Snapshot): Uint8Array | undefined {
    const { log } = this.#parts
    // The buffer that comes back claims the right length, but its memory goes on behind that.
    return log.getBinaryFast(header, snapshot)?.subarray(0, log.lastSize)
  }

  /** Freezes what has been committed so far. */
  snapshot(): Snapshot {
    const transaction = this.#parts.log.useReadTransaction()
    return { transaction, [Symbol.dispose]: () => transaction.done() }
  }

  /** Resolves once all of the work is on disk. After it rejects, `isIntact` tells whether the store can continue. */
  async commit({ puts, removes, compacted, probe }: Work): Promise<void> {
    this.#room?.take({ puts, removes })
    const { meta, log, fence } = this.#parts
    const appended: Promise<boolean>[] = []
    const whole = meta.ifVersion(FENCE, fence, () => {
      if (compacted !== undefined) meta.put(SETTINGS, encodeSettings(compacted), 0)
      if (probe) meta.put(PROBE, Buffer.alloc(0), 0)
      for (const header of removes) log.remove(header)
      for (const { header, body } of puts) appended.push(append(log, { header, body, last: this.#ordered }))
    })
    const [outcome, stored] = await Promise.allSettled([whole, Promise.all(appended)])
    // Reads in this iteration of the event loop must not use a snapshot from before the commit.
    log.resetReadTxn()
    if (outcome.status === 'rejected') throw await causeOf(outcome.reason)
    if (!outcome.value) throw new StoreUnavailable(`another process has taken over the store in ${this.dir}; restart this one`)
    if (stored.status === 'rejected' || stored.value.includes(false)) throw new Error('the log of the store is out of order')
  }

  size(): DatabaseSize {
    return sizeOf(this.#parts)
  }

  /** Whether a write that is no delete may be tried: not while the disk is known to be full. */
  get admitsWrites(): boolean {
    return this.#room?.admitsWrites ?? true
  }

  #pages(): Pages {
    const { bytes, pageBytes, freePages } = this.size()
    return { last: bytes / pageBytes - 1, free: freePages, bytes: pageBytes }
  }

  /** Whether a failed commit has left the database as it was at a revision and ready for writes. */
  isIntact(newest: Revision): boolean {
    const { root, log } = this.#parts
    try {
      // LMDB refuses transactions once it could not write the page that makes a commit count.
      root.transactionSync(() => {})
      const [last] = log.getKeys({ reverse: true, limit: 1 })
      return !last || !this.#ordered || decodeHeader(last).version.modified <= newest
    } catch {
      return false
    }
  }

  /** Writes a copy of what is committed, without unused pages, to a file that must not exist yet; writes go on meanwhile. */
  async copyTo(file: string): Promise<void> {
    // The copy is written to a private file, and renamed only when it is complete.
    const folder = mkdtempSync(`${file}.`)
    try {
      const draft = join(folder, 'copy')
      await this.#parts.root.backup(draft, true)
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

  /** Closes the database and lets other processes in. No operation may be running. */
  async close(): Promise<void> {
    const { root, lockFile, owner } = this.#parts
    await root.close()
    this.#room?.close()
    giveUpOwnership(lockFile, owner)
  }
}

/** Revisions only grow, and appending fills pages where inserting would leave them half empty. */
function append(log: Bytes, { header, body, last }: Record<'header' | 'body', Uint8Array> & { last: boolean }): Promise<boolean> {
  return (log.put as Append).call(log, header, body, { append: last })
}

// The types of lmdb know this option for putSync alone.
type Append = (key: Uint8Array, value: Uint8Array, options: any) => Promise<boolean>

/** lmdb rejects with a stand-in that holds a promise of the true error, which would go unhandled unless taken up. */
async function causeOf(error: unknown): Promise<unknown> {
  const cause = (error as { commitError?: Promise<never> }).commitError
  if (!cause) return error
  const giveUp = new Promise(resolve => setTimeout(resolve, 1_000, error))
  return Promise.race([cause.catch(reason => reason), giveUp])
}

function encodeSettings(compacted: Revision): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, compacted }))
}

export function readSettings(meta: Bytes, dir: string): { compacted: Revision } | undefined {
  const bytes = meta.get(SETTINGS)
  if (!bytes) return undefined
  const { format, compacted } = parseSettings(bytes)
  if (Number.isSafeInteger(format) && format > FORMAT) {
    throw new StoreUnavailable(
      `the store in ${dir} has format ${format}, this release reads up to ${FORMAT}; start the release that wrote it or choose another data directory`,
    )
  }
  if (!(format >= 1 && Number.isSafeInteger(compacted) && compacted >= 1)) {
    throw new StoreUnavailable(`the settings of the store in ${dir} are damaged; restore it from a snapshot`)
  }
  return { compacted }
}

function parseSettings(bytes: Uint8Array): { format: number; compacted: number } {
  try {
    const { format, compacted } = JSON.parse(Buffer.from(bytes).toString())
    return { format, compacted }
  } catch {
    return { format: Number.NaN, compacted: Number.NaN }
  }
}
