/** One server process, as its supervisor sees it. */
import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { ToProcess, ToSupervisor } from '../../server/processes/messages.ts'

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export type ProcessParts = {
  /** From 1. */
  readonly number: number
  /** The arguments of `serve`. */
  readonly args: readonly string[]
  readonly take: (message: ToSupervisor, from: ServerProcess) => void
  readonly ended: (how: Ended, which: ServerProcess) => void
}

/** The command that a server process runs, as `src/cli.ts` names it. */
const COMMAND = 'serve-process'

export class ServerProcess {
  readonly number: number
  readonly #child: ChildProcess
  readonly startedAt = performance.now()
  /** Connections that it has. */
  connections = 0
  isReady = false
  isPrimary = false
  isDrained = false
  /** Why it could not start. */
  failure: { readonly text: string; readonly code: number } | undefined

  constructor({ number, args, take, ended }: ProcessParts) {
    this.number = number
    this.#child = fork(process.argv[1]!, [COMMAND, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child.on('message', message => take(message as ToSupervisor, this))
    // A message to a process that has ended meanwhile; its end is reported by itself.
    this.#child.on('error', () => {})
    this.#child.once('exit', (code, signal) => ended({ code, signal }, this))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: ToProcess): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** Hands over a connection, which is closed here; false if the process cannot take any. */
  hand(socket: Socket): boolean {
    if (!this.#child.connected) return false
    this.connections++
    this.#child.send({ type: 'connection' } satisfies ToProcess, socket, { keepOpen: false }, () => {})
    return true
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
