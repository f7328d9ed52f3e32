/**
 * Mutual exclusion among the processes of a family, for the opening of the database and for taking it over. lmdb notes, when a process
 * opens a file, which commit is the newest, and tells all others so a moment later: a commit that another process has made in between
 * would be lost. So a primary makes no commit while another process opens the file, and a primary comes into being only in a turn.
 *
 * The mutex is that of the write transactions of a second, empty database. The kernel releases it when a process dies.
 */
import { dirname, join } from 'node:path'
import type { Lmdb } from '../embedded/log-file.ts'

export class Turn {
  readonly #root: ReturnType<Lmdb['open']>

  /** In the folder of the family's socket. */
  constructor({ open }: Lmdb, socket: string) {
    const path = join(dirname(socket), 'turn.lmdb')
    this.#root = open({ path, overlappingSync: false, eventTurnBatching: false, maxDbs: 1 })
  }

  /** Waits, with the whole process, until no other process has its turn. */
  take<R>(work: () => R): R {
    return this.#root.transactionSync(work)
  }

  close(): Promise<void> {
    return this.#root.close()
  }
}
