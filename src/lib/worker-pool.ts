/**
 * Worker threads for jobs whose cost clients decide, so that a hostile job delays only its sender: a worker has a limit of memory and
 * processor time for one job, and is terminated beyond it. Workspaces take turns, and in each of them its users; each user may have a limited
 * number of jobs waiting. The first job starts the first worker, and idle workers end after a while. The worker's side is
 * `worker-thread.ts`.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Cancellation } from './cancellation.ts'
import { type InLineJob, inLine, nextIteration, type WorkerProgram } from './environment.ts'
import type { Asking, FromWorker } from './worker-thread.ts'

export type PoolSettings<J, R> = {
  readonly name: WorkerProgram
  /** The source text of the program that workers run. */
  readonly program: () => string
  /** A job as it is sent to a worker, with the buffers that are transferred instead of copied. */
  readonly send: (job: J) => Sent
  /** Answers a question of a worker about its job (`ask`), where workers may ask. */
  readonly answer?: (job: J, question: any) => Sent
  /** The result of a job that exceeds its limits. */
  readonly tooExpensive: R
  /** The error for a user who has too many jobs waiting. */
  readonly tooMany: () => Error
  readonly limits: {
    readonly workers: number
    /** Processor time of a job; elapsed time where the system does not report it. */
    readonly cpuMs: number
    readonly elapsedMs: number
    readonly heapMB: number
    readonly idleMs: number
    readonly waitingPerUser: number
  }
}

type Sent = { readonly message: unknown; readonly transfer: readonly ArrayBuffer[] }

export type JobOptions = {
  readonly user: string
  /** The one that the user belongs to, where several have the pool in common. */
  readonly workspace?: string
  readonly signal: Cancellation
}

type Pending<J, R> = { readonly job: J; readonly settle: (outcome: { readonly result: R } | Error) => void }

export class WorkerPool<J, R> implements AsyncDisposable {
  readonly #settings: PoolSettings<J, R>
  readonly #most: number
  readonly #threads = new Set<Thread<J, R>>()
  readonly #waiting = new WaitingJobs<Pending<J, R>>()
  #closed = false

  constructor(settings: PoolSettings<J, R>) {
    this.#settings = settings
    this.#most = Math.max(1, Math.min(settings.limits.workers, availableParallelism() - 1))
  }

  /** Rejects when too many jobs of the user wait, and with the signal's reason when that aborts. */
  run(job: J, { user, workspace = '', signal }: JobOptions): Promise<R> {
    const work = inLine(this.#settings.name)
    if (work) return this.#runInLine(work, job, signal)
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closed) {
        reject(signal.reason ?? new Error('the server is closing'))
        return
      }
      if (this.#waiting.of(workspace, user) >= this.#settings.limits.waitingPerUser) {
        reject(this.#settings.tooMany())
        return
      }
      const abort = () => this.#cancel(pending, signal.reason)
      const pending: Pending<J, R> = {
        job,
        settle: outcome => {
          signal.removeEventListener('abort', abort)
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome.result)
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#waiting.add(pending, workspace, user)
      this.#assign()
    })
  }

  /** A simulation has no threads: the job is done in a later iteration, as a result of a thread would come. */
  #runInLine(work: InLineJob, job: J, signal: Cancellation): Promise<R> {
    const { send, answer } = this.#settings
    return new Promise((resolve, reject) => {
      nextIteration(() => {
        if (signal.aborted || this.#closed) return reject(signal.reason ?? new Error('the server is closing'))
        try {
          resolve(work(send(job).message, question => answer?.(job, question).message))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const { settle } of this.#waiting.takeAll()) settle(new Error('the server is closing'))
    await Promise.all([...this.#threads].map(thread => thread.end(new Error('the server is closing'))))
  }

  /** Gives waiting jobs to idle workers, and starts workers while there may be more. */
  #assign(): void {
    while (this.#waiting.size > 0) {
      const thread = [...this.#threads].find(({ isIdle }) => isIdle) ?? this.#start()
      if (!thread) return
      thread.run(this.#waiting.takeNext()!)
    }
  }

  #start(): Thread<J, R> | undefined {
    if (this.#threads.size >= this.#most) return undefined
    const thread: Thread<J, R> = new Thread(this.#settings, {
      idle: () => this.#assign(),
      ended: () => {
        this.#threads.delete(thread)
        this.#assign()
      },
    })
    this.#threads.add(thread)
    return thread
  }

  #cancel(pending: Pending<J, R>, reason: Error): void {
    if (this.#waiting.remove(pending)) {
      pending.settle(reason)
      return
    }
    for (const thread of this.#threads) if (thread.job === pending) void thread.end(reason)
  }
}

/** The jobs that wait, by workspace and user. Whoever has waited longest is next, first among workspaces, then among users of one. */
class WaitingJobs<P> {
  readonly #queues = new Map<string, Map<string, P[]>>()
  size = 0

  /** How many of a user wait. */
  of(workspace: string, user: string): number {
    return this.#queues.get(workspace)?.get(user)?.length ?? 0
  }

  add(job: P, workspace: string, user: string): void {
    const users = this.#queues.get(workspace) ?? new Map<string, P[]>()
    const queue = users.get(user) ?? []
    queue.push(job)
    users.set(user, queue)
    this.#queues.set(workspace, users)
    this.size++
  }

  takeNext(): P | undefined {
    for (const [workspace, users] of this.#queues)
      for (const [user, queue] of users) {
        const next = queue.shift()!
        // The others come before they are next again.
        users.delete(user)
        if (queue.length > 0) users.set(user, queue)
        this.#queues.delete(workspace)
        if (users.size > 0) this.#queues.set(workspace, users)
        this.size--
        return next
      }
    return undefined
  }

  takeAll(): P[] {
    const all = [...this.#queues.values()].flatMap(users => [...users.values()].flat())
    this.#queues.clear()
    this.size = 0
    return all
  }

  remove(job: P): boolean {
    for (const [workspace, users] of this.#queues)
      for (const [user, queue] of users) {
        const index = queue.indexOf(job)
        if (index < 0) continue
        queue.splice(index, 1)
        if (queue.length === 0) users.delete(user)
        if (users.size === 0) this.#queues.delete(workspace)
        this.size--
        return true
      }
    return false
  }
}

/** One worker thread and its job. */
class Thread<J, R> {
  job: Pending<J, R> | undefined
  readonly #settings: PoolSettings<J, R>
  readonly #worker: Worker
  readonly #observer: { readonly idle: () => void; readonly ended: () => void }
  #isReady = false
  #threadId: string | undefined
  #timer: NodeJS.Timeout | undefined
  #startedAt = 0
  #cpuAtStart: number | undefined
  #hasEnded = false
  /** Receives the worker's questions. */
  #port: MessagePort | undefined

  constructor(settings: PoolSettings<J, R>, observer: { readonly idle: () => void; readonly ended: () => void }) {
    this.#settings = settings
    this.#observer = observer
    const resourceLimits = { maxOldGenerationSizeMb: settings.limits.heapMB, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
    const asking = settings.answer && this.#listen()
    const handedOver = asking && { workerData: asking, transferList: [asking.port] }
    this.#worker = new Worker(settings.program(), { eval: true, resourceLimits, execArgv: [], ...handedOver })
    this.#worker.on('message', (message: FromWorker<R>) => this.#receive(message))
    this.#worker.on('error', error => void this.end(error))
    this.#worker.on('exit', () => void this.end(new Error('the worker ended')))
    // A worker alone does not keep the process running.
    this.#worker.unref()
  }

  #listen(): Asking {
    const { port1, port2 } = new MessageChannel()
    const answered = new Int32Array(new SharedArrayBuffer(4))
    port1.on('message', question => {
      if (!this.job) return
      const { message, transfer } = this.#settings.answer!(this.job.job, question)
      port1.postMessage(message, [...transfer])
      Atomics.store(answered, 0, 1)
      Atomics.notify(answered, 0)
    })
    port1.unref()
    this.#port = port1
    return { port: port2, answered }
  }

  get isIdle(): boolean {
    return this.job === undefined && !this.#hasEnded
  }

  run(pending: Pending<J, R>): void {
    this.job = pending
    clearTimeout(this.#timer)
    this.#begin()
    this.#timer = setInterval(() => this.#check(), CHECK_MS)
    const { message, transfer } = this.#settings.send(pending.job)
    this.#worker.postMessage(message, [...transfer])
  }

  #begin(): void {
    this.#startedAt = performance.now()
    this.#cpuAtStart = this.#cpuMs()
  }

  /** Terminates the worker, and its job if it has one. */
  async end(reason: Error): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#timer)
    const { job } = this
    this.job = undefined
    job?.settle(isOutOfMemory(reason) ? { result: this.#settings.tooExpensive } : reason)
    this.#port?.close()
    await this.#worker.terminate()
    this.#observer.ended()
  }

  #receive(message: FromWorker<R>): void {
    if ('thread' in message) {
      this.#isReady = true
      this.#threadId = message.thread
      this.#begin()
      return
    }
    clearTimeout(this.#timer)
    const { job } = this
    this.job = undefined
    job?.settle(message)
    this.#timer = setTimeout(() => void this.end(new Error('the worker was idle')), this.#settings.limits.idleMs).unref()
    this.#observer.idle()
  }

  #check(): void {
    const { limits, tooExpensive } = this.#settings
    const cpu = this.#cpuMs()
    const used = cpu === undefined || this.#cpuAtStart === undefined ? undefined : cpu - this.#cpuAtStart
    const elapsed = performance.now() - this.#startedAt
    // Where the system does not report the processor time of a thread, elapsed time is used; the time to start does not count.
    if ((!this.#isReady || (used ?? elapsed) < limits.cpuMs) && elapsed < limits.elapsedMs) return
    const { job } = this
    this.job = undefined
    job?.settle({ result: tooExpensive })
    void this.end(new Error('the job took too long'))
  }

  /** The processor time that the thread has used, in milliseconds; undefined where it is not known. */
  #cpuMs(): number | undefined {
    if (this.#threadId === undefined) return undefined
    try {
      const [nanoseconds] = readFileSync(`/proc/self/task/${this.#threadId}/schedstat`, 'latin1').split(' ')
      return Number(nanoseconds) / 1e6
    } catch {
      return undefined
    }
  }
}

const CHECK_MS = 25

const isOutOfMemory = (error: Error): boolean => 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

/** The program of a worker that is not bundled: tests run the source files, and a worker has to load the TypeScript loader by itself. */
export const programFromSource = (file: URL): string =>
  `import('tsx/esm/api').then(tsx => { tsx.register(); return import(${JSON.stringify(file.href)}) })`
