/** Failures of files and the database, with messages that say what to do. */

import { constants } from 'node:os'
import { messageOf } from '../../lib/error-message.ts'
import { StoreUnavailable } from '../store.ts'

const { ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, ENOTDIR, EEXIST, EMFILE, ENFILE, ENOMEM, EIO } = constants.errno
const MDB_INVALID = -30793
const MDB_CORRUPTED = -30796
const MDB_PAGE_NOTFOUND = -30797
const MDB_VERSION_MISMATCH = -30794

/** Turns any failure of the database into a `StoreUnavailable` that starts with what could not be done. */
export function explain(error: unknown, what: string): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  const message = messageOf(error)
  const advice = adviceFor(error)
  return new StoreUnavailable(`${what}: ${advice ?? message}`, { cause: error, ...(advice !== undefined && { problem: advice }) })
}

/** Whether a write has failed for want of space. LMDB reports a partial write as a failure of the disk. */
export function isForWantOfSpace(error: unknown): boolean {
  return [ENOSPC, EDQUOT, EFBIG, EIO].includes(numberOf(error) ?? 0)
}

export const NO_SPACE = 'no space is left on the disk; free some, and writes will work again'

function adviceFor(error: unknown): string | undefined {
  switch (numberOf(error)) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return NO_SPACE
    case EIO:
      // LMDB also reports this for a partial write.
      return 'the disk is full or failing; free some space or replace it'
    case EACCES:
    case EPERM:
      return 'permission is missing; let this user write there or choose another data directory'
    case EROFS:
      return 'the file system is read-only; mount it for writing or choose another data directory'
    case ENOTDIR:
    case EEXIST:
      return 'a file is in the place of a directory; move it or choose another data directory'
    case EMFILE:
    case ENFILE:
      return 'too many files are open; raise the limit (ulimit -n)'
    case ENOMEM:
      return 'memory is short; give the process more address space'
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
      return 'keelson.lmdb there is not a database of Keelson or is damaged; restore it from a snapshot or move it away'
    default:
      return undefined
  }
}

/** The errno of a Node error, or the code lmdb gives its own. */
function numberOf(error: unknown): number | undefined {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  if (typeof errno === 'number') return Math.abs(errno)
  return typeof code === 'number' ? code : undefined
}
