/** Checks files before lmdb opens them: a file that is not writable, not a database or truncated would crash the process in lmdb. */
import { accessSync, closeSync, constants, fstatSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreUnavailable } from '../store.ts'

// The two copies of LMDB's meta page lie at the start of the file, each a 24-byte page header and then this, little-endian.
const META_START = 24
const META_BYTES = 136
const MAGIC = 0xbeefc0de
const AT = { magic: 0, pageSize: 24, freeRoot: 24 + 40, mainRoot: 24 + 48 + 40, transaction: 24 + 96 + 8 }
const NO_PAGE = 2n ** 64n - 1n
const LARGEST_PAGE = 0x10000

// Enough for lmdb to lay out an empty database and its table of readers.
const ROOM = 64 << 10

/** Throws unless files can be made in a directory and there is some free space. */
export function checkRoom(dir: string): void {
  const probe = join(dir, `keelson.probe-${process.pid}`)
  try {
    writeFileSync(probe, new Uint8Array(ROOM))
  } finally {
    rmSync(probe, { force: true })
  }
}

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
    const second = pageSize > 0 && pageSize <= LARGEST_PAGE ? readMeta(file, pageSize) : undefined
    if (!first || !second) throw new StoreUnavailable(`${path} is not a database of Keelson; restore it from a snapshot or move it away`)
    const latest = transactionOf(first) >= transactionOf(second) ? first : second
    const inFile = (root: bigint) => root === NO_PAGE || (root + 1n) * BigInt(pageSize) <= BigInt(size)
    if (inFile(latest.getBigUint64(AT.freeRoot, true)) && inFile(latest.getBigUint64(AT.mainRoot, true))) return
    throw new StoreUnavailable(`${path} is cut short; restore it from a snapshot or move it away`)
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

function transactionOf(meta: DataView): bigint {
  return meta.getBigUint64(AT.transaction, true)
}
