/** One server process, as its supervisor sees it. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { ownCommand } from '../../lib/executable.ts'
import type { ToProcess, ToSupervisor } from '../../server/processes/messages.ts'
import type { Member } from './process-group.ts'

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export type ProcessParts = {
  /** From 1. */
  readonly number: number
  readonly child: ChildProcess
  readonly take: (message: ToSupervisor, from: ServerProcess) => void
  readonly ended: (how: Ended, which: ServerProcess) => void
}

/** The command that a server process runs, as `src/cli.ts` names it. */
const COMMAND = 'serve-process'

/** Starts one with the arguments of `serve`, as `bin/begin.js` does. */
export function forkProcess(args: readonly string[]): ChildProcess {
  const [program, ...before] = ownCommand()
  return spawn(program, [...before, COMMAND, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

export class ServerProcess implements Member {
  readonly number: number
  readonly #child: ChildProcess
  readonly startedAt = performance.now()
  /** Connections that it has. */
  connections = 0
  /** Connections that it may not have got yet. Node would lose those in its queue when the process ends, and their clients would wait for ever. */
  readonly #handed: Socket[] = []
  isReady = false
  isPrimary = false
  isDrained = false
  unanswered = 0
  /** Why it could not start. */
  failure: { readonly text: string; readonly code: number } | undefined

  constructor({ number, child, take, ended }: ProcessParts) {
    this.number = number
    this.#child = child
    this.#child.on('message', message => take(message as ToSupervisor, this))
    // A message to a process that has ended meanwhile; its end is reported by itself.
    this.#child.on('error', () => {})
    const { exitCode, signalCode } = child
    // One that was started early may have ended before this.
    if (exitCode !== null || signalCode !== null) process.nextTick(() => ended({ code: exitCode, signal: signalCode }, this))
    else child.once('exit', (code, signal) => ended({ code, signal }, this))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(message: ToProcess): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  /** Hands over a connection; false if the process cannot take any. */
  hand(socket: Socket): boolean {
    if (!this.#child.connected) return false
    this.connections++
    this.#handed.push(socket)
    this.#child.send({ type: 'connection' } satisfies ToProcess, socket, { keepOpen: true }, () => {})
    return true
  }

  /** It has the connection that it was handed first: from here on it alone has it. */
  took(): void {
    this.#handed.shift()?.destroy()
  }

  /** The connections that it was handed and, as it ended, has not got. */
  takeBack(): Socket[] {
    return this.#handed.splice(0)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
