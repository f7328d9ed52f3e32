/** The lock of a data directory: a small file that names the process, so that a second process gets a clear error. */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../lib/private-files.ts'
import { StoreUnavailable } from '../store.ts'
import { isForWantOfSpace } from './failure.ts'

/** A process that has the directory open; `started` distinguishes it from a later process with the same id. */
export type Owner = {
  readonly pid: number
  readonly started: string
  readonly id: string
  /** The family whose processes may join this one. */
  readonly family?: string
}

const UNKNOWN = 'unknown'

const LOCK_FILE = 'keelson.lock'

/** The lock of a directory. */
export const lockFileOf = (dir: string): string => join(dir, LOCK_FILE)

/** The id of the running process that has a directory open. */
export function ownerOf(dir: string): number | undefined {
  return runningOwner(lockFileOf(dir))?.pid
}

/** Throws if a running process has the directory open. */
export function refuseIfOwned(lockFile: string, dir: string): void {
  const owner = runningOwner(lockFile)
  if (owner) throw ownedBy(owner, dir)
}

/** The process that has the directory open, if one has. */
export function runningOwner(lockFile: string): Owner | undefined {
  const owner = readOwner(lockFile)
  return owner && isRunning(owner) ? owner : undefined
}

export function ownedBy(owner: Owner, dir: string): StoreUnavailable {
  const who = owner.pid === process.pid ? `this process (pid ${owner.pid}) already has it open` : `process ${owner.pid} has it open`
  return new StoreUnavailable(`cannot open the store in ${dir}: ${who}; stop that one first or choose another data directory`)
}

/** Records this process as the owner. The caller must hold a lock between the check and this. */
export function takeOwnership(lockFile: string, family?: string): Owner {
  const owner = { pid: process.pid, started: startOf(process.pid) ?? UNKNOWN, id: randomUUID(), ...(family !== undefined && { family }) }
  try {
    replaceFile(lockFile, `${JSON.stringify(owner)}\n`)
  } catch (error) {
    if (!isForWantOfSpace(error)) throw error
    writeOver(lockFile, JSON.stringify(owner))
  }
  return owner
}

/**
 * Names the owner in the file that the last one left, whose space it has. Without one there is no name: a second process is let in then,
 * and the fence ends the first.
 */
function writeOver(lockFile: string, text: string): void {
  if (!existsSync(lockFile)) return
  const file = openSync(lockFile, 'r+')
  try {
    writeSync(file, `${text.padEnd(fstatSync(file).size - 1)}\n`, 0)
  } finally {
    closeSync(file)
  }
}

/** Removes the file if it still names this owner; never throws, as a file left over names a process that has ended. */
export function giveUpOwnership(lockFile: string, owner: Owner): void {
  try {
    if (readOwner(lockFile)?.id === owner.id) rmSync(lockFile, { force: true })
  } catch {}
}

function readOwner(lockFile: string): Owner | undefined {
  try {
    const { pid, started, id, family } = JSON.parse(readFileSync(lockFile, 'utf8'))
    if (!(Number.isSafeInteger(pid) && pid > 0 && typeof started === 'string')) return undefined
    return { pid, started, id: String(id), ...(typeof family === 'string' && { family }) }
  } catch {
    return undefined
  }
}

function isRunning({ pid, started }: Owner): boolean {
  const start = startOf(pid)
  return start !== undefined && (start === started || start === UNKNOWN || started === UNKNOWN)
}

/** When a process started, in terms that no other process on this machine shares; undefined if it does not run. */
function startOf(pid: number): string | undefined {
  if (!exists(pid)) return undefined
  try {
    return process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)
  } catch {
    return UNKNOWN
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function startOnLinux(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command name in parentheses may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`
}

function startByPs(pid: number): string | undefined {
  // The date must not depend on the locale of the process.
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
  const answer = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { encoding: 'utf8', env })
  const [state, ...started] = answer.trim().split(/\s+/)
  return state?.startsWith('Z') ? undefined : started.join(' ')
}
