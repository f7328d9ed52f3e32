/**
 * Worker threads for jobs whose cost clients decide, so that a hostile job delays only its sender: a worker has a limit of memory and
 * processor time for one job, and is terminated beyond it. Users take turns, and each may have a limited number of jobs waiting. The first
 * job starts the first worker, and idle workers end after a while. The worker's side is `worker-thread.ts`.
 */
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Cancellation } from './cancellation.ts'
import type { Asking, FromWorker } from './worker-thread.ts'

export type PoolSettings<J, R> = {
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

export type JobOptions = { readonly user: string; readonly signal: Cancellation }

type Pending<J, R> = { readonly job: J; readonly user: string; readonly settle: (outcome: { readonly result: R } | Error) => void }

export class WorkerPool<J, R> implements AsyncDisposable {
  readonly #settings: PoolSettings<J, R>
  readonly #most: number
  readonly #threads = new Set<Thread<J, R>>()
  /** Users in the order in which they are served next, with their waiting jobs. */
  readonly #waiting = new Map<string, Pending<J, R>[]>()
  #closed = false

  constructor(settings: PoolSettings<J, R>) {
    this.#settings = settings
    this.#most = Math.max(1, Math.min(settings.limits.workers, availableParallelism() - 1))
  }

  /** Rejects when too many jobs of the user wait, and with the signal's reason when that aborts. */
  run(job: J, { user, signal }: JobOptions): Promise<R> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closed) {
        reject(signal.reason ?? new Error('the server is closing'))
        return
      }
      const queue = this.#waiting.get(user) ?? []
      if (queue.length >= this.#settings.limits.waitingPerUser) {
        reject(this.#settings.tooMany())
        return
      }
      const abort = () => this.#cancel(pending, signal.reason)
      const pending: Pending<J, R> = {
        job,
        user,
        settle: outcome => {
          signal.removeEventListener('abort', abort)
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome.result)
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      queue.push(pending)
      this.#waiting.set(user, queue)
      this.#assign()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const queue of this.#waiting.values()) for (const { settle } of queue) settle(new Error('the server is closing'))
    this.#waiting.clear()
    await Promise.all([...this.#threads].map(thread => thread.end(new Error('the server is closing'))))
  }

  /** Gives waiting jobs to idle workers, and starts workers while there may be more. */
  #assign(): void {
    while (this.#waiting.size > 0) {
      const thread = [...this.#threads].find(({ isIdle }) => isIdle) ?? this.#start()
      if (!thread) return
      thread.run(this.#takeNext())
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

  /** The next job of the user who has waited longest; then the other users follow. */
  #takeNext(): Pending<J, R> {
    const [[user, queue]] = this.#waiting as unknown as [[string, Pending<J, R>[]]]
    const next = queue.shift()!
    this.#waiting.delete(user)
    if (queue.length > 0) this.#waiting.set(user, queue)
    return next
  }

  #cancel(pending: Pending<J, R>, reason: Error): void {
    const queue = this.#waiting.get(pending.user)
    const index = queue?.indexOf(pending) ?? -1
    if (index >= 0) {
      queue!.splice(index, 1)
      if (queue!.length === 0) this.#waiting.delete(pending.user)
      pending.settle(reason)
      return
    }
    for (const thread of this.#threads) if (thread.job === pending) void thread.end(reason)
  }
}

/** One worker thread and its job. */
class Thread<J, R> {
  job: Pending<J, R> | undefined
  readonly #settings: PoolSettings<J, R>
  readonly #worker: Worker
  readonly #told: { readonly idle: () => void; readonly ended: () => void }
  #isReady = false
  #threadId: string | undefined
  #timer: NodeJS.Timeout | undefined
  #startedAt = 0
  #cpuAtStart: number | undefined
  #hasEnded = false
  /** Receives the worker's questions. */
  #port: MessagePort | undefined

  constructor(settings: PoolSettings<J, R>, told: { readonly idle: () => void; readonly ended: () => void }) {
    this.#settings = settings
    this.#told = told
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
    this.#told.ended()
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
    this.#told.idle()
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
