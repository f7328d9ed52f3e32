/**
 * Tells whether other users of the machine could have changed the file at a path, or can: by owner, mode and links of it and of all its
 * parents.
 */
import { lstatSync, mkdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, parse, resolve, sep } from 'node:path'

/** A user of the machine, by the numbers that files have. */
export type LocalUser = { readonly uid: number; readonly gid: number }

/** A reason not to trust a path, because of its owner or mode: `anyone` or the named `others` could have created or changed it. */
export type Doubt = { readonly by: 'anyone' | 'others'; readonly about: 'owner' | 'mode'; readonly path: string; readonly problem: string }

export type Place = {
  /** The path without links. Using it instead of the examined one follows no link that appears later. */
  readonly path: string
  /** The file or folder, if it exists. */
  readonly found: Stats | undefined
  readonly doubts: readonly Doubt[]
}

const ROOT = 0
const STICKY = 0o1000
const GROUP_WRITES = 0o020
const ANYONE_WRITES = 0o002
const NOT_FOR_OTHERS = 0o077
/** The limit of Linux. */
const MAX_LINKS = 40

/** The user who runs this process; undefined on Windows, where owners and modes mean nothing. */
export function localUser(): LocalUser | undefined {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()]
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

/**
 * Examines a path from its root on. A path is trusted when it and every parent belong to root or to the user, nobody else may write to it,
 * and nobody else may rename its parents: a parent that others may write to must be sticky. Links are followed here, each as trustworthy as
 * its owner and its folder, and their targets are examined in the same way.
 */
export function examinePlace(path: string, user: LocalUser | undefined = localUser()): Place {
  const absolute = resolve(path)
  if (user === undefined) return { path: absolute, found: lstatSync(absolute, { throwIfNoEntry: false }), doubts: [] }
  const { root } = parse(absolute)
  const doubts: Doubt[] = []
  let at = root
  let found: Stats = lstatSync(root)
  let ahead = namesIn(absolute.slice(root.length))
  let links = 0
  while (ahead.length > 0) {
    const isShared = (found.mode & ANYONE_WRITES) !== 0
    const [name = '', ...rest] = ahead
    const next = name === '..' ? dirname(at) : join(at, name)
    const entry = lstatSync(next, { throwIfNoEntry: false })
    if (!entry) return { path: join(next, ...rest), found: undefined, doubts }
    if (entry.uid !== ROOT && entry.uid !== user.uid) {
      const problem = `it belongs to another user (uid ${entry.uid})`
      doubts.push({ by: isShared ? 'anyone' : 'others', about: 'owner', path: next, problem })
    }
    if (entry.isSymbolicLink()) {
      if (++links > MAX_LINKS) throw Object.assign(new Error(`${path}: too many links`), { code: 'ELOOP' })
      const target = readlinkSync(next)
      if (resolve(at, target) === target) [at, found] = [root, lstatSync(root)]
      ahead = [...namesIn(target), ...rest]
      continue
    }
    const doubt = writersOf(entry, { user, isLast: rest.length === 0 })
    if (doubt) doubts.push({ ...doubt, about: 'mode', path: next })
    ;[at, found, ahead] = [next, entry, rest]
  }
  return { path: at, found, doubts }
}

/** Whether only root and the user can have changed a file or folder, which must exist. */
export function isBeyondDoubt(path: string): boolean {
  try {
    const { found, doubts } = examinePlace(path)
    return found !== undefined && doubts.length === 0
  } catch {
    return false
  }
}

/**
 * A folder that only this user can use, created with its parents if absent: its path without links, or undefined if that is impossible. All
 * its content comes from this user or from root.
 */
export function privateFolder(path: string): string | undefined {
  return madeFolder(path, 0o700, ({ uid, mode }, user) => user === undefined || (uid === user.uid && (mode & NOT_FOR_OTHERS) === 0))
}

/** A folder that others may read, and only this user or root can write to: created like a private one. */
export function sharedFolder(path: string): string | undefined {
  return madeFolder(path, 0o755, () => true)
}

function madeFolder(path: string, mode: number, isRight: (found: Stats, user: LocalUser | undefined) => boolean): string | undefined {
  const user = localUser()
  try {
    const before = examinePlace(path, user)
    if (before.doubts.length > 0) return undefined
    if (!before.found) mkdirSync(before.path, { recursive: true, mode })
    const { path: folder, found, doubts } = examinePlace(before.path, user)
    return found?.isDirectory() && isRight(found, user) && folder === before.path && doubts.length === 0 ? folder : undefined
  } catch {
    return undefined
  }
}

const namesIn = (path: string) => path.split(sep).filter(name => name !== '' && name !== '.')

/** The other users who may write to a file or folder, or rename the entries of a folder. */
function writersOf(
  { mode, gid }: Stats,
  { user, isLast }: { user: LocalUser; isLast: boolean },
): Pick<Doubt, 'by' | 'problem'> | undefined {
  // In a sticky folder only the owner of an entry can rename or remove it, so an entry is as good as its owner.
  if (!isLast && (mode & STICKY) !== 0) return undefined
  // Only the last element can have been changed without showing another owner.
  if ((mode & ANYONE_WRITES) !== 0) return { by: isLast ? 'anyone' : 'others', problem: 'every user may write to it' }
  if ((mode & GROUP_WRITES) !== 0 && !isOwnGroup(gid, user)) return { by: 'others', problem: `its group (gid ${gid}) may write to it` }
  return undefined
}

/** A group with one member: many systems give each user one with the same number. */
const isOwnGroup = (gid: number, user: LocalUser) => gid === ROOT || (gid === user.gid && gid === user.uid)
