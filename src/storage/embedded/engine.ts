/** One process's hold on the database of an embedded store: the lock of its folder, and durable commits. */
import { join } from 'node:path'
import { makeFolders } from '../../lib/folders.ts'
import { type Revision, StoreUnavailable } from '../store.ts'
import { checkAccess, checkDatabaseFile, checkRoom, needsNoRoom } from './database-file.ts'
import { explain, isForWantOfSpace } from './failure.ts'
import { giveUpOwnership, lockFileOf, type Owner, refuseIfOwned, takeOwnership } from './lock.ts'
import { type Bytes, FILE, type LogFile, openLogFile } from './log-file.ts'
import { decodeHeader } from './record.ts'
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

const FENCE = Buffer.from('fence')
const PROBE = Buffer.from('probe')

/** Opens the database in a directory for this process alone, making it if there is none. */
export async function openEngine(dir: string): Promise<Engine> {
  const lmdb = await import('lmdb')
  // From here on nothing awaits until the lock is taken, so two opens within one process cannot interleave.
  let file: LogFile | undefined
  try {
    prepareFolder(dir)
    file = openLogFile(lmdb, dir)
    return claim(file)
  } catch (error) {
    await file?.close().catch(() => {})
    throw explain(error, `cannot open the store in ${dir}`)
  }
}

/** Makes the folder, and throws unless it can be opened and nobody has it open. */
export function prepareFolder(dir: string): void {
  const lockFile = lockFileOf(dir)
  const path = join(dir, FILE)
  makeFolders(dir, 0o700)
  refuseIfOwned(lockFile, dir)
  checkRoomFor(path, dir)
  for (const file of [path, `${path}-lock`]) checkAccess(file)
  checkWhileUnowned(path, { lockFile, dir })
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

/**
 * Makes this process the owner of a folder whose file it has open. The write transaction excludes every other process, so checking and
 * taking the lock in it is free of races. It also raises the fence: should a process be considered dead by mistake, its later commits
 * fail instead of mixing with ours.
 */
export function claim(file: LogFile, family?: string): Engine {
  const { root, meta, dir } = file
  const lockFile = lockFileOf(dir)
  let owner: Owner | undefined
  try {
    const fence = root.transactionSync(() => {
      refuseIfOwned(lockFile, dir)
      const isNew = file.compacted() === undefined
      const fence = (meta.getEntry(FENCE)?.version ?? 0) + 1
      owner = takeOwnership(lockFile, family)
      meta.putSync(FENCE, Buffer.from(`${owner.pid}`), fence)
      if (isNew) file.setCompactedSync(1)
      return fence
    })
    return new Engine(file, { fence, owner: owner! })
  } catch (error) {
    if (owner) giveUpOwnership(lockFile, owner)
    throw error
  }
}

/** One process's hold on a database. */
export class Engine {
  readonly file: LogFile
  readonly #owner: Owner
  readonly #fence: number
  readonly #room: Room | undefined
  #ordered = true

  constructor(file: LogFile, { fence, owner }: { readonly fence: number; readonly owner: Owner }) {
    this.file = file
    this.#fence = fence
    this.#owner = owner
    // On Windows LMDB lengthens the file by other means.
    if (process.platform !== 'win32') this.#room = new Room(join(file.dir, FILE), () => this.#pages())
  }

  /** Called when a damaged header may sort after the next one, which then cannot simply be appended. */
  expectDisorder(): void {
    this.#ordered = false
  }

  /** Resolves once all of the work is on disk. After it rejects, `isIntact` tells whether the store can continue. */
  async commit({ puts, removes, compacted, probe }: Work): Promise<void> {
    this.#room?.take({ puts, removes })
    const { file } = this
    const { meta, log } = file
    const appended: Promise<boolean>[] = []
    const whole = meta.ifVersion(FENCE, this.#fence, () => {
      if (compacted !== undefined) file.setCompacted(compacted)
      if (probe) meta.put(PROBE, Buffer.alloc(0), 0)
      for (const header of removes) log.remove(header)
      for (const { header, body } of puts) appended.push(append(log, { header, body, last: this.#ordered }))
    })
    const [outcome, stored] = await Promise.allSettled([whole, Promise.all(appended)])
    // Reads in this iteration of the event loop must not use a snapshot from before the commit.
    file.refresh()
    if (outcome.status === 'rejected') throw await causeOf(outcome.reason)
    if (!outcome.value) throw new StoreUnavailable(`another process has taken over the store in ${file.dir}; restart this one`)
    if (stored.status === 'rejected' || stored.value.includes(false)) throw new Error('the log of the store is out of order')
  }

  /** Whether a write that is no delete may be tried: not while the disk is known to be full. */
  get admitsWrites(): boolean {
    return this.#room?.admitsWrites ?? true
  }

  #pages(): Pages {
    const { bytes, pageBytes, freePages } = this.file.size()
    return { last: bytes / pageBytes - 1, free: freePages, bytes: pageBytes }
  }

  /** Whether a failed commit has left the database as it was at a revision and ready for writes. */
  isIntact(newest: Revision): boolean {
    const { root, log } = this.file
    try {
      // LMDB refuses transactions once it could not write the page that makes a commit count.
      root.transactionSync(() => {})
      const [last] = log.getKeys({ reverse: true, limit: 1 })
      return !last || !this.#ordered || decodeHeader(last).state.modified <= newest
    } catch {
      return false
    }
  }

  /** Closes the database and lets other processes in. No operation may be running. */
  async close(): Promise<void> {
    await this.file.close()
    this.#room?.close()
    giveUpOwnership(lockFileOf(this.file.dir), this.#owner)
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
