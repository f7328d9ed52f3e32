/** A machine as the processes of a family share it: the file of the store, the lock of its folder, and connections to the primary. */
import { rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { claim, type Engine, prepareFolder } from '../embedded/engine.ts'
import { lockFileOf, ownedBy, runningOwner } from '../embedded/lock.ts'
import { type Lmdb, type LogFile, openLogFile } from '../embedded/log-file.ts'
import type { Family } from './family.ts'
import { nameOf } from './handshake.ts'
import { Turn } from './turn.ts'

/** A connection between two processes. */
export type Wire = Pick<
  Socket,
  'destroyed' | 'writableEnded' | 'writableNeedDrain' | 'write' | 'end' | 'destroy' | 'destroySoon' | 'on' | 'once' | 'ref' | 'unref'
>

/** The machine of one process. */
export interface Machine {
  readonly pid: number
  /** The file, once it is open in this process. */
  readonly file: LogFile | undefined
  /** Makes this process the owner of the folder, unless one of the family is; throws if a process of another family is. */
  found(): Engine | undefined
  /** Opens the file, while its owner makes no commit. */
  open(): void
  /** Connects to the process that listens; rejects if none does. */
  connect(): Promise<Wire>
  /** Has other processes connect to this one, and to no other any more. */
  listen(accept: (wire: Wire) => void): Promise<{ close(): Promise<void> }>
  /** Ends another process. */
  kill(pid: number): void
  close(): Promise<void>
}

/** The machine that this process runs on. */
export class SystemMachine implements Machine {
  readonly pid = process.pid
  readonly #lmdb: Lmdb
  readonly #dir: string
  readonly #family: Family
  readonly #name: string
  readonly #turn: Turn
  #file: LogFile | undefined

  constructor(lmdb: Lmdb, { dir, family }: { readonly dir: string; readonly family: Family }) {
    this.#lmdb = lmdb
    this.#dir = dir
    this.#family = family
    this.#name = nameOf(family.secret)
    this.#turn = new Turn(lmdb, family.socket)
  }

  get file(): LogFile | undefined {
    return this.#file
  }

  found(): Engine | undefined {
    const lockFile = lockFileOf(this.#dir)
    const owner = runningOwner(lockFile)
    if (owner && owner.family !== this.#name) throw ownedBy(owner, this.#dir)
    if (owner) return undefined
    return this.#turn.take(() => {
      if (runningOwner(lockFile)) return undefined
      if (!this.#file) {
        prepareFolder(this.#dir)
        this.#file = openLogFile(this.#lmdb, this.#dir)
      }
      return claim(this.#file, this.#name)
    })
  }

  open(): void {
    this.#file ??= this.#turn.take(() => openLogFile(this.#lmdb, this.#dir))
  }

  connect(): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#family.socket)
      socket.once('error', reject)
      socket.once('connect', () => resolve(socket))
    })
  }

  /** The primary before may have left its socket. */
  async listen(accept: (wire: Wire) => void): Promise<{ close(): Promise<void> }> {
    const server = createServer(accept)
    server.unref()
    rmSync(this.#family.socket, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#family.socket, resolve)
    })
    return { close: () => new Promise(resolve => server.close(() => resolve())) }
  }

  kill(pid: number): void {
    process.kill(pid, 'SIGKILL')
  }

  async close(): Promise<void> {
    await this.#file?.close()
    await this.#turn.close()
  }
}
