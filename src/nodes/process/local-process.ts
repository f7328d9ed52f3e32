/** One run of a container as a process of this machine, from its start to its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Writable } from 'node:stream'
import { messageOf } from '../../lib/error-message.ts'
import { ProcessLog } from './process-log.ts'

export type ProcessEnd = {
  readonly exitCode: number
  readonly at: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** Words, environment and directory of a program. */
export type Program = {
  readonly words: readonly string[]
  readonly variables: ReadonlyMap<string, string>
  readonly directory: string
}

/** The groups of processes that end with the server. */
export type Groups = { add(group: number): void; delete(group: number): void }

export type ProcessParts = {
  /** Prepares files and environment. */
  readonly prepare: () => Promise<Program>
  /** Reads the termination message. */
  readonly lastWords: () => Promise<string>
  /** Runs after the start; the process is stopped when it rejects. */
  readonly postStart?: (() => Promise<void>) | undefined
  /** Runs before the signal to stop. */
  readonly preStop?: ((leftMs: number) => Promise<void>) | undefined
  readonly stopSignal: NodeJS.Signals
  readonly hasInput: boolean
  readonly groups: Groups
  readonly now: () => number
  /** Called after each change of the state. */
  readonly onChange: () => void
  /** Called when a hook fails. */
  readonly onHookFailure: (hook: 'PostStart' | 'PreStop', message: string) => void
}

/** The exit code and reason of container runtimes for a program that cannot be started. */
const CANNOT_START = 128
const START_ERROR = 'StartError'
/** A kubelet gives a process this time after its hook, even if its grace period is over. */
const MIN_STOP_MS = 2000

export class LocalProcess {
  readonly log = new ProcessLog()
  readonly #parts: ProcessParts
  #program: Program | undefined
  #child: ChildProcess | undefined
  #end: ProcessEnd | undefined
  #isStopping = false
  #killAt = Number.POSITIVE_INFINITY
  #killTimer: NodeJS.Timeout | undefined
  readonly #ended: Promise<void>
  readonly #started: Promise<void>
  #resolveEnded!: () => void

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.#ended = new Promise(resolve => (this.#resolveEnded = resolve))
    this.#started = this.#start()
  }

  /** Undefined while it runs. */
  get end(): ProcessEnd | undefined {
    return this.#end
  }

  /** The program once it has been started. */
  get program(): Program | undefined {
    return this.#program
  }

  get input(): Writable | undefined {
    return this.#child?.stdin ?? undefined
  }

  /** Resolves when the program runs, or could not be started. */
  get started(): Promise<void> {
    return this.#started
  }

  /** Resolves when it has ended. */
  get ended(): Promise<void> {
    return this.#ended
  }

  /** Asks the process to end, and kills it at a time. A later call can only shorten that. */
  stop(killAt: number): void {
    if (this.#end) return
    if (killAt < this.#killAt) {
      this.#killAt = killAt
      clearTimeout(this.#killTimer)
      this.#killTimer = setTimeout(() => this.kill(), Math.min(Math.max(killAt - this.#parts.now(), 0), MAX_TIMER_MS))
    }
    if (this.#isStopping) return
    this.#isStopping = true
    void this.#stop()
  }

  kill(): void {
    this.#isStopping = true
    this.#signal('SIGKILL')
  }

  async #start(): Promise<void> {
    try {
      const program = await this.#parts.prepare()
      if (this.#isStopping) return this.#ends({ exitCode: 137, at: this.#parts.now() })
      this.#program = program
      this.#child = this.#spawn(program)
    } catch (error) {
      this.#ends({ exitCode: CANNOT_START, at: this.#parts.now(), reason: START_ERROR, message: messageOf(error) })
      return
    }
    if (this.#parts.postStart) void this.#afterStart(this.#parts.postStart)
    this.#parts.onChange()
  }

  #spawn({ words: [program = '', ...args], variables, directory }: Program): ChildProcess {
    const { hasInput, groups, now } = this.#parts
    const child = spawn(program, args, {
      cwd: directory,
      env: Object.fromEntries(variables),
      stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      // A process group of its own: its child processes end with it.
      detached: true,
      shell: false,
    })
    if (child.pid !== undefined) groups.add(child.pid)
    child.stdin?.on('error', () => {})
    child.stdout!.on('data', (bytes: Buffer) => this.log.add('stdout', bytes, now()))
    child.stderr!.on('data', (bytes: Buffer) => this.log.add('stderr', bytes, now()))
    child.once('error', error => this.#ends({ exitCode: CANNOT_START, at: now(), reason: START_ERROR, message: messageOf(error) }))
    child.once('exit', (code, signal) => void this.#exited(code, signal))
    return child
  }

  async #exited(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    const { now, lastWords, groups } = this.#parts
    const at = now()
    const { pid } = this.#child!
    // Programs that it has left behind end with it, as in a container.
    this.#signal('SIGKILL')
    await streamsClosed(this.#child!)
    if (pid !== undefined) groups.delete(pid)
    const message = await lastWords()
    this.#ends({ exitCode: code ?? 128 + (signal ? (constants.signals[signal] ?? 0) : 0), at, message: message || undefined })
  }

  #ends(end: ProcessEnd): void {
    if (this.#end) return
    clearTimeout(this.#killTimer)
    this.log.close(end.at)
    this.#end = end
    this.#resolveEnded()
    this.#parts.onChange()
  }

  async #afterStart(hook: () => Promise<void>): Promise<void> {
    try {
      await hook()
    } catch (error) {
      this.#parts.onHookFailure('PostStart', messageOf(error))
      this.stop(this.#parts.now() + MIN_STOP_MS)
    }
  }

  async #stop(): Promise<void> {
    const { preStop, now, stopSignal, onHookFailure } = this.#parts
    if (preStop) {
      try {
        await preStop(Math.max(this.#killAt - now(), 0))
      } catch (error) {
        onHookFailure('PreStop', messageOf(error))
      }
    }
    this.#signal(stopSignal)
  }

  #signal(signal: NodeJS.Signals): void {
    signalGroup(this.#child?.pid, signal)
  }
}

const MAX_TIMER_MS = 0x7fffffff

/** Sends a signal to a process and all that it has started. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It is gone.
  }
}

/** Resolves when the output is complete: after the end of a process some of it may still be unread. */
function streamsClosed(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, MAX_DRAIN_MS)
    child.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
/** A program that left the group may hold the output open. */
const MAX_DRAIN_MS = 1000
