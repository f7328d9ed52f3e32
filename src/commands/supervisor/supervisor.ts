/**
 * The supervisor of a server with several processes: it starts them, restarts those that end, and accepts their connections. It loads
 * nothing of the server itself, so that it starts at once, needs little memory, and has little that could fail.
 *
 * The server is ready with its first process. The others start after it, so that they take no processor time from it, and find the work of
 * the start done.
 *
 *     supervisor ── the port, locks, questions between processes
 *      ├─ process 1 ── a whole server; one of them owns an embedded store, and one runs the duties of all
 *      ├─ process 2
 *      └─ …
 *
 * A process that has lost its supervisor ends.
 */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { ServeOptions } from '../../flags/flag.ts'
import { createLog, type Log } from '../../http/observability/log.ts'
import type { Config } from '../../server/config.ts'
import type { ToSupervisor } from '../../server/processes/messages.ts'
import { makeFamily, socketFolderIn } from '../../storage/processes/family.ts'
import { announceReady } from '../announce.ts'
import { notifyServiceManager } from '../service-manager.ts'
import { ENDING, parentGone } from '../signals.ts'
import { Port } from './port.ts'
import { PING_MS, ProcessGroup } from './process-group.ts'
import { type Ended, forkProcess, ServerProcess } from './server-process.ts'

/** A process that ends sooner than this has failed to start, and waits twice as long each time before it is started again. */
const SHORT_LIFE_MS = 10_000
const FIRST_WAIT_MS = 100
const MAX_WAIT_MS = 10_000
/** Starts of one process that may fail in a row while no other serves. */
const MAX_FAILED_STARTS = 6

export type SuperviseParts = ServeOptions & {
  readonly config: Config
  readonly args: readonly string[]
  /** The first process, if it was started before this was loaded: as `serve-process` with the same arguments. */
  readonly early: ChildProcess | undefined
}

/** Serves with several processes until a signal ends them; resolves with the exit code. */
export async function supervise(parts: SuperviseParts): Promise<number> {
  const { store, dataDir } = parts.config
  using family = makeFamily(store === 'embedded' ? await socketFolderIn(dataDir) : undefined)
  const supervisor = new Supervisor(parts, family)
  process.on('SIGHUP', () => supervisor.readFiles('SIGHUP'))
  let isAsked = false
  for (const signal of ENDING)
    process.on(signal, () => {
      if (isAsked) supervisor.killAll()
      isAsked = true
      supervisor.stop(signal)
    })
  if (parts.exitWithParent) parentGone().then(reason => supervisor.stop(reason))
  return await supervisor.ended
}

class Supervisor {
  readonly #parts: SuperviseParts
  #madeLog: Log | undefined
  readonly #port = new Port()
  readonly #group: ProcessGroup<ServerProcess>
  readonly #restarting = new Set<NodeJS.Timeout>()
  /** How often the process of a number has ended soon after its start. */
  readonly #failures = new Map<number, number>()
  #isKilled = false
  /** The exit code, once nothing is started again. */
  #code = 0
  readonly #pinging = setInterval(() => this.#group.ping(), PING_MS).unref()
  #end: (code: number) => void = () => {}
  readonly ended = new Promise<number>(resolve => (this.#end = resolve))

  constructor(parts: SuperviseParts, store: ReturnType<typeof makeFamily>) {
    this.#parts = parts
    const end = (process: ServerProcess, why: string) => {
      this.#log.error({ process: process.number, pid: process.pid }, why)
      process.kill()
    }
    this.#group = new ProcessGroup({ count: parts.processes, id: `${hostname()}_${randomUUID()}`, store, end })
    this.#start(1, parts.early)
  }

  /** Loading the logger would take time from the processes that are starting. */
  get #log(): Log {
    const { logLevel, loggingFormat } = this.#parts.config
    this.#madeLog ??= createLog(logLevel, loggingFormat ?? (process.stderr.isTTY ? 'text' : 'json'))
    return this.#madeLog
  }

  readFiles(reason: string): void {
    for (const each of this.#group.members) each.send({ type: 'read files', reason })
  }

  /** Lets all processes finish their requests and exit. */
  stop(reason: string): void {
    if (this.#group.isStopping) return
    if (this.#group.isStarted) notifyServiceManager('stopping')
    for (const timer of this.#restarting) clearTimeout(timer)
    this.#group.stop(reason)
    this.#lookIfOver()
  }

  killAll(): void {
    this.#isKilled = true
    for (const each of this.#group.members) each.kill()
  }

  #start(number: number, early?: ChildProcess): void {
    const started = new ServerProcess({
      number,
      child: early ?? forkProcess(this.#parts.args),
      take: (message, from) => this.#take(message, from),
      ended: (how, which) => this.#ended(how, which),
    })
    this.#group.add(started)
  }

  #take(message: ToSupervisor, from: ServerProcess): void {
    // A message may still be on its way when its process has ended.
    if (!this.#group.has(from)) return
    switch (message.type) {
      case 'listen':
        void this.#listen(from)
        return
      case 'ready':
        this.#ready(from, message)
        return
      case 'failed':
        from.failure = message
        return
      case 'took':
        from.took()
        return
      case 'ended':
        from.connections -= message.connections
        return
      case 'draining':
        this.#port.remove(from)
        if (this.#group.isStopping) this.#port.close()
        return
      default:
        this.#group.take(message, from)
    }
  }

  async #listen(process: ServerProcess): Promise<void> {
    const { host, port } = this.#parts.config
    try {
      process.send({ type: 'listening', address: await this.#port.open({ host, port }) })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      process.send({ type: 'not listening', code, message })
    }
  }

  #ready(process: ServerProcess, message: Extract<ToSupervisor, { type: 'ready' }>): void {
    const wasStarted = this.#group.isStarted
    this.#group.take(message, process)
    this.#port.add(process)
    if (wasStarted) return
    const { url, ca } = message
    announceReady({ ...this.#parts, url, ca })
    if (this.#group.isStopping) return
    notifyServiceManager('ready')
    for (let number = 2; number <= this.#parts.processes; number++) this.#start(number)
  }

  #ended(how: Ended, which: ServerProcess): void {
    this.#port.replace(which)
    this.#group.remove(which)
    if (this.#group.isStopping) return void this.#lookIfOver()
    if (this.#mayGoOn(which)) return void this.#restart(how, which)
    // As a single process that could not start.
    const { text, code } = which.failure ?? { text: `a server process ended ${howText(how)} before it was ready`, code: 1 }
    this.#code = code
    this.stop('a server process could not start')
    // Others that are still starting wait for one another, or would take a while to notice.
    for (const each of this.#group.members) if (!each.isReady) each.kill()
    process.stderr.write(`keelson: ${text}\n`)
  }

  /** Whether the end of a process leaves a server that can be mended: a start that fails again and again while nobody serves is the end. */
  #mayGoOn({ number, isReady }: ServerProcess): boolean {
    if (!this.#group.isStarted) return false
    return isReady || this.#group.serving.length > 0 || (this.#failures.get(number) ?? 0) < MAX_FAILED_STARTS
  }

  #restart(how: Ended, { number, startedAt, failure }: ServerProcess): void {
    const isShort = performance.now() - startedAt < SHORT_LIFE_MS
    const failures = isShort ? (this.#failures.get(number) ?? 0) + 1 : 0
    this.#failures.set(number, failures)
    const waitMs = failures === 0 ? 0 : Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1))
    const why = failure ? { error: failure.text } : how.signal ? { signal: how.signal } : { code: how.code ?? 0 }
    this.#log.error({ process: number, ...why, startedAgainInMs: waitMs }, 'a server process has ended; it is started again')
    const timer = setTimeout(() => {
      this.#restarting.delete(timer)
      this.#start(number)
    }, waitMs)
    this.#restarting.add(timer)
  }

  #lookIfOver(): void {
    if (this.#group.members.length > 0) return
    clearInterval(this.#pinging)
    this.#port.close()
    this.#end(this.#isKilled ? 1 : this.#code)
  }
}

const howText = ({ code, signal }: Ended): string => (signal ? `by ${signal}` : `with code ${code}`)
