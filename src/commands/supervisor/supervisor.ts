/**
 * The supervisor of a server with several processes: it starts them, restarts those that end, and accepts their connections. It loads
 * nothing of the server itself, so that it starts at once, needs little memory, and has little that could fail.
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
import { Locks } from './locks.ts'
import { Port } from './port.ts'
import { Questions } from './questions.ts'
import { type Ended, forkProcess, ServerProcess } from './server-process.ts'

/** A process that ends sooner than this has failed to start, and waits twice as long each time before it is started again. */
const SHORT_LIFE_MS = 10_000
const FIRST_WAIT_MS = 100
const MAX_WAIT_MS = 10_000
/**
 * A process that has not answered so many pings is stopped, or busy for good. It holds up its clients, and all of them if it owns the store
 * or runs the duties, so it is ended: nothing that it was about to do can happen any more, and another one takes its place. Pings are
 * counted rather than time, which also passes while the supervisor itself is stopped, as by Ctrl-Z.
 */
const MAX_UNANSWERED = 15
const PING_MS = 1_000
/** Starts of one process that may fail in a row while no other serves. */
const MAX_FAILED_STARTS = 6

export type SuperviseParts = ServeOptions & {
  readonly config: Config
  readonly args: readonly string[]
  /** Processes that were started before this was loaded, as `serve-process` with the same arguments. */
  readonly early: readonly ChildProcess[]
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
  readonly #store: ReturnType<typeof makeFamily>
  #madeLog: Log | undefined
  readonly #id = `${hostname()}_${randomUUID()}`
  readonly #port = new Port()
  readonly #locks = new Locks()
  readonly #questions = new Questions()
  readonly #processes = new Set<ServerProcess>()
  readonly #restarting = new Set<NodeJS.Timeout>()
  /** How often the process of a number has ended soon after its start. */
  readonly #failures = new Map<number, number>()
  /** The process that runs the duties of all. */
  #leader: ServerProcess | undefined
  #isStarted = false
  #isStopping = false
  #isKilled = false
  /** The exit code, once nothing is started again. */
  #code = 0
  readonly #pinging = setInterval(() => this.#ping(), PING_MS).unref()
  #end: (code: number) => void = () => {}
  readonly ended = new Promise<number>(resolve => (this.#end = resolve))

  constructor(parts: SuperviseParts, store: ReturnType<typeof makeFamily>) {
    this.#parts = parts
    this.#store = store
    for (let number = 1; number <= parts.processes; number++) this.#start(number, parts.early[number - 1])
    for (const needless of parts.early.slice(parts.processes)) needless.kill('SIGKILL')
  }

  /** Loading the logger would take time from the processes that are starting. */
  get #log(): Log {
    const { logLevel, loggingFormat } = this.#parts.config
    this.#madeLog ??= createLog(logLevel, loggingFormat ?? (process.stderr.isTTY ? 'text' : 'json'))
    return this.#madeLog
  }

  readFiles(reason: string): void {
    for (const each of this.#processes) each.send({ type: 'read files', reason })
  }

  /** Lets all processes finish their requests and exit. */
  stop(reason: string): void {
    if (this.#isStopping) return
    this.#isStopping = true
    if (this.#isStarted) notifyServiceManager('stopping')
    for (const timer of this.#restarting) clearTimeout(timer)
    for (const each of this.#processes) each.send({ type: 'stop', reason })
    this.#lookIfOver()
  }

  killAll(): void {
    this.#isKilled = true
    for (const each of this.#processes) each.kill()
  }

  #start(number: number, early?: ChildProcess): void {
    const { args, processes } = this.#parts
    const started = new ServerProcess({
      number,
      child: early ?? forkProcess(args),
      take: (message, from) => this.#take(message, from),
      ended: (how, which) => this.#ended(how, which),
    })
    this.#processes.add(started)
    // Not the first at the start: that is the first to open an embedded store, and commits for all.
    const isAppointed = this.#leader === undefined && (this.#isStarted || number === processes)
    if (isAppointed) this.#leader = started
    const { socket, secret } = this.#store
    const isFirstStart = !this.#isStarted
    started.send({ type: 'welcome', number, of: processes, id: this.#id, store: { socket, secret }, isFirstStart, isAppointed })
  }

  #take(message: ToSupervisor, from: ServerProcess): void {
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
      case 'question':
        this.#questions.ask(
          message,
          from,
          this.#serving.filter(each => each !== from),
        )
        return
      case 'answer':
        this.#questions.answer(message, from)
        return
      case 'lock':
        this.#locks.take(message.name, from)
        return
      case 'unlock':
        this.#locks.release(message.name, from, message.kept)
        return
      case 'pong':
        from.unanswered = 0
        return
      case 'primary':
        from.isPrimary = true
        return
      case 'stuck':
        this.#killStuck(message.pid)
        return
      case 'draining':
        this.#port.remove(from)
        if (this.#isStopping) this.#port.close()
        return
      case 'drained':
        from.isDrained = true
        this.#closeDrained()
    }
  }

  get #serving(): ServerProcess[] {
    return [...this.#processes].filter(({ isReady }) => isReady)
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

  #ready(process: ServerProcess, { url, ca }: Extract<ToSupervisor, { type: 'ready' }>): void {
    process.isReady = true
    this.#share()
    if (this.#isStarted) return void this.#port.add(process)
    const serving = this.#serving
    if (serving.length < this.#parts.processes) return
    this.#isStarted = true
    for (const each of serving) this.#port.add(each)
    announceReady({ ...this.#parts, url, ca })
    if (!this.#isStopping) notifyServiceManager('ready')
  }

  /** Each process gets its part of the limits that hold for all together. */
  #share(): void {
    const serving = this.#serving
    for (const [place, each] of serving.entries()) each.send({ type: 'share', place, of: serving.length })
  }

  #ping(): void {
    if (this.#isStopping) return
    for (const each of this.#serving) {
      if (each.unanswered === MAX_UNANSWERED) {
        this.#log.error({ process: each.number, pid: each.pid }, 'a server process does not answer; it is ended')
        each.kill()
      }
      each.unanswered++
      each.send({ type: 'ping' })
    }
  }

  #killStuck(pid: number): void {
    for (const each of this.#processes)
      if (each.pid === pid) {
        this.#log.error({ process: each.number, pid }, 'a server process does not take what it is sent; it is ended')
        each.kill()
      }
  }

  #ended(how: Ended, which: ServerProcess): void {
    this.#processes.delete(which)
    this.#port.replace(which)
    this.#locks.gone(which)
    this.#questions.gone(which)
    if (this.#leader === which) this.#appoint()
    this.#share()
    if (this.#isStopping) {
      this.#closeDrained()
      return void this.#lookIfOver()
    }
    if (this.#mayGoOn(which)) return void this.#restart(how, which)
    // As a single process that could not start.
    const { text, code } = which.failure ?? { text: `a server process ended ${howText(how)} before it was ready`, code: 1 }
    this.#code = code
    this.stop('a server process could not start')
    // Those that are still starting wait for others, or would take a while to notice.
    for (const each of this.#processes) if (!each.isReady) each.kill()
    process.stderr.write(`keelson: ${text}\n`)
  }

  /** Whether the end of a process leaves a server that can be mended: a start that fails again and again while nobody serves is the end. */
  #mayGoOn({ number, isReady }: ServerProcess): boolean {
    if (!this.#isStarted) return false
    return isReady || this.#serving.length > 0 || (this.#failures.get(number) ?? 0) < MAX_FAILED_STARTS
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

  /** Appoints another process to run the duties. From the first write of the next one on, the store refuses writes of the last one. */
  #appoint(): void {
    const candidates = this.#serving.reverse()
    this.#leader = candidates.find(({ isPrimary }) => !isPrimary) ?? candidates[0] ?? [...this.#processes][0]
    this.#leader?.send({ type: 'appointed' })
  }

  /** The owner of an embedded store closes it when the others have ended. */
  #closeDrained(): void {
    const all = [...this.#processes]
    if (!this.#isStopping) {
      for (const each of all) if (each.isDrained) each.send({ type: 'close' })
      return
    }
    if (!all.every(({ isDrained }) => isDrained)) return
    const others = all.filter(({ isPrimary }) => !isPrimary)
    for (const each of others.length > 0 ? others : all) each.send({ type: 'close' })
  }

  #lookIfOver(): void {
    if (this.#processes.size > 0) return
    clearInterval(this.#pinging)
    this.#port.close()
    this.#end(this.#isKilled ? 1 : this.#code)
  }
}

const howText = ({ code, signal }: Ended): string => (signal ? `by ${signal}` : `with code ${code}`)
