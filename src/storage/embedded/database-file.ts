/** Checks files before lmdb opens them: a file that is not writable, not a database or truncated would crash the process in lmdb. */
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { draftOf } from '../../lib/private-files.ts'
import { StoreUnavailable } from '../store.ts'
import { pageProblem, TREE, type Tree } from './page-check.ts'

// The two copies of LMDB's meta page lie at the start of the file, each a 24-byte page header and then this, little-endian.
const META_START = 24
const META_BYTES = 136
const MAGIC = 0xbeefc0de
const AT = { magic: 0, pageSize: 24, free: 24, main: 24 + TREE.bytes, lastPage: 24 + 2 * TREE.bytes, transaction: 24 + 2 * TREE.bytes + 8 }
const MIN_PAGE_BYTES = 512
const MAX_PAGE_BYTES = 0x10000
/** How far a file may end before its last page: LMDB does not write pages that a transaction has taken and freed again. */
const UNWRITTEN = 1 << 30

// Enough for lmdb to lay out an empty database and its table of readers.
const ROOM = 64 << 10

/** Throws unless files can be made in a directory and there is some free space. */
export function checkRoom(dir: string): void {
  const probe = draftOf(join(dir, 'keelson.probe'))
  try {
    writeFileSync(probe, new Uint8Array(ROOM), { flag: 'wx', mode: 0o600 })
  } finally {
    rmSync(probe, { force: true })
  }
}

/**
 * Whether lmdb can open a database without any space on the disk: where its table of readers has its blocks. It is mapped, and to
 * write where there is no block would end the process.
 */
export function needsNoRoom(path: string): boolean {
  const [database, readers] = [path, `${path}-lock`].map(file => statSync(file, { throwIfNoEntry: false }))
  return database !== undefined && database.size > 0 && readers !== undefined && readers.size > 0 && readers.blocks * BLOCK >= readers.size
}
const BLOCK = 512
const MIN_HOLE_BYTES = 4096

/**
 * Gives the table of readers its blocks, before lmdb maps it: where there are none it cannot be written on a full disk. Not after: to
 * close a file gives up the locks that its process has on it.
 */
export function allocateReaders(path: string): void {
  const file = openSync(`${path}-lock`, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const { size, blocks } = fstatSync(file)
    if (size === 0) writeSync(file, new Uint8Array(READERS_BYTES))
    // Files that others may have written stay as they are.
    const byte = new Uint8Array(1)
    for (let at = 0; at < size && blocks * BLOCK < size; at += MIN_HOLE_BYTES) {
      readSync(file, byte, 0, 1, at)
      writeSync(file, byte, 0, 1, at)
    }
  } finally {
    closeSync(file)
  }
}
/** For the 127 readers of lmdb, in whole pages. */
const READERS_BYTES = 3 * MIN_HOLE_BYTES

/** Throws unless a file is absent or can be read and written. */
export function checkAccess(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Throws `StoreUnavailable` unless a file is absent, empty, or looks like a whole database. */
export function checkDatabaseFile(path: string): void {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  try {
    const { size } = fstatSync(file)
    if (size === 0) return
    const first = readMeta(file, 0)
    const pageSize = first?.getUint32(AT.pageSize, true) ?? 0
    const isPageSize = pageSize >= MIN_PAGE_BYTES && pageSize <= MAX_PAGE_BYTES && (pageSize & (pageSize - 1)) === 0
    const second = isPageSize ? readMeta(file, pageSize) : undefined
    if (!first || !second) throw new StoreUnavailable(`${path} is not a database of Keelson; restore it from a snapshot or move it away`)
    const [one, other] = [numberAt(first, AT.transaction), numberAt(second, AT.transaction)]
    // Transactions write them in turn, and a copy begins with one. Were the older one taken for the newer, acknowledged writes would be gone.
    if (Math.abs(one - other) > 1 && Math.min(one, other) !== 0) throw damaged(path, 'its first two pages are not of one database')
    const latest = one >= other ? first : second
    const trees = { free: treeAt(latest, AT.free), main: treeAt(latest, AT.main), lastPage: numberAt(latest, AT.lastPage) }
    if (!(trees.lastPage > 0 && (trees.lastPage + 1) * pageSize <= size + UNWRITTEN))
      throw damaged(path, 'its last page is not in the file')
    const inFile = ({ root }: Tree) => (root + 1) * pageSize <= size
    if (!inFile(trees.free) || !inFile(trees.main))
      throw new StoreUnavailable(`${path} is cut short; restore it from a snapshot or move it away`)
    const problem = pageProblem({ file, size, pageSize, transaction: Math.max(one, other), ...trees })
    if (problem !== undefined) throw damaged(path, problem)
  } finally {
    closeSync(file)
  }
}

function readMeta(file: number, page: number): DataView | undefined {
  const bytes = new Uint8Array(META_BYTES)
  const meta = new DataView(bytes.buffer)
  const whole = readSync(file, bytes, 0, META_BYTES, page + META_START) === META_BYTES
  return whole && meta.getUint32(AT.magic, true) === MAGIC ? meta : undefined
}

const damaged = (path: string, problem: string) =>
  new StoreUnavailable(`${path} is damaged (${problem}); restore it from a snapshot, or move it away to begin with an empty store`)

/** No number here comes near 2^53 unless it is damaged, and then it is out of bounds either way; -1 is no page. */
const numberAt = (meta: DataView, at: number): number => Number(meta.getBigInt64(at, true))

const treeAt = (meta: DataView, at: number): Tree => ({
  depth: meta.getUint16(at + TREE.depth, true),
  root: numberAt(meta, at + TREE.root),
})
