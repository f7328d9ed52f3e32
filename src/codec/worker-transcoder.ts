/**
 * Bodies that are expensive to read are read in worker threads, so that a hostile one delays only its sender: a worker may
 * use so much memory and so much processor time for one body, and is ended past that. Users take turns, and each may have so many
 * bodies waiting. There is no worker before the first such body, and none for long after the last.
 */

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Cancellation } from '../lib/cancellation.ts'
import { goQuote } from '../lib/go-text.ts'
import { LIMITS } from '../lib/limits.ts'
import { tooManyRequests } from '../schema/status-error.ts'
import type { Transcoded, TranscodeJob } from './transcode.ts'
import type { FromWorker } from './transcode-worker.ts'

/** Turns bodies into JSON for those who may wait for it. */
export interface Transcoder {
  /** Rejects with a StatusError when too many bodies of the user wait, and with the signal's reason when that aborts. */
  transcode(job: TranscodeJob, options: { readonly user: string; readonly signal: Cancellation }): Promise<Transcoded>
}

/** The text of the worker, put in when the package is built. */
declare const KEELSON_TRANSCODE_WORKER: string | undefined

type Pending = {
  readonly job: TranscodeJob
  readonly user: string
  readonly settle: (outcome: Transcoded | Error) => void
}

export class WorkerTranscoder implements Transcoder, AsyncDisposable {
  readonly #most = Math.max(1, Math.min(LIMITS.transcodeWorkers, availableParallelism() - 1))
  readonly #threads = new Set<Thread>()
  /** Users in the order in which they are served next, with what each has waiting. */
  readonly #waiting = new Map<string, Pending[]>()
  #closed = false

  transcode(job: TranscodeJob, { user, signal }: { user: string; signal: Cancellation }): Promise<Transcoded> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closed) {
        reject(signal.reason ?? new Error('the server is closing'))
        return
      }
      const queue = this.#waiting.get(user) ?? []
      if (queue.length >= LIMITS.transcodesPerUser) {
        reject(tooManyRequests('too many large bodies of this user are waiting to be read', 1))
        return
      }
      const abort = () => this.#cancel(pending, signal.reason)
      const pending: Pending = {
        job,
        user,
        settle: outcome => {
          signal.removeEventListener('abort', abort)
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome)
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

  #start(): Thread | undefined {
    if (this.#threads.size >= this.#most) return undefined
    const thread: Thread = new Thread({
      idle: () => this.#assign(),
      ended: () => {
        this.#threads.delete(thread)
        this.#assign()
      },
    })
    this.#threads.add(thread)
    return thread
  }

  /** The next job of the user who has waited longest for one; then it is the others' turn. */
  #takeNext(): Pending {
    const [[user, queue]] = this.#waiting as unknown as [[string, Pending[]]]
    const next = queue.shift()!
    this.#waiting.delete(user)
    if (queue.length > 0) this.#waiting.set(user, queue)
    return next
  }

  #cancel(pending: Pending, reason: Error): void {
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

/** One worker thread and the job that it has. */
class Thread {
  job: Pending | undefined
  readonly #worker: Worker
  readonly #told: { readonly idle: () => void; readonly ended: () => void }
  #isReady = false
  #threadId: string | undefined
  #timer: NodeJS.Timeout | undefined
  #startedAt = 0
  #cpuAtStart: number | undefined
  #hasEnded = false

  constructor(told: { readonly idle: () => void; readonly ended: () => void }) {
    this.#told = told
    this.#worker = startWorker()
    this.#worker.on('message', (message: FromWorker) => this.#receive(message))
    this.#worker.on('error', error => void this.end(error))
    this.#worker.on('exit', () => void this.end(new Error('the worker ended')))
    // A worker alone keeps no process from ending.
    this.#worker.unref()
  }

  get isIdle(): boolean {
    return this.job === undefined && !this.#hasEnded
  }

  run(pending: Pending): void {
    this.job = pending
    clearTimeout(this.#timer)
    this.#begin()
    this.#timer = setInterval(() => this.#check(), CHECK_MS)
    const bytes = Uint8Array.from(pending.job.bytes)
    this.#worker.postMessage({ ...pending.job, bytes }, [bytes.buffer])
  }

  #begin(): void {
    this.#startedAt = performance.now()
    this.#cpuAtStart = this.#cpuMs()
  }

  /** Ends the worker; the job it has, if any, ends with it. */
  async end(reason: Error): Promise<void> {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#timer)
    const { job } = this
    this.job = undefined
    job?.settle(isOutOfMemory(reason) ? TOO_EXPENSIVE : reason)
    await this.#worker.terminate()
    this.#told.ended()
  }

  #receive(message: FromWorker): void {
    if ('thread' in message) {
      this.#isReady = true
      this.#threadId = message.thread
      this.#begin()
      return
    }
    clearTimeout(this.#timer)
    const { job } = this
    this.job = undefined
    job?.settle(message.transcoded)
    this.#timer = setTimeout(() => void this.end(new Error('the worker was idle')), LIMITS.transcodeIdleMs).unref()
    this.#told.idle()
  }

  #check(): void {
    const cpu = this.#cpuMs()
    const used = cpu === undefined || this.#cpuAtStart === undefined ? undefined : cpu - this.#cpuAtStart
    const elapsed = performance.now() - this.#startedAt
    // Where the system does not report the CPU time of a thread, elapsed time is used, without the start of the thread.
    if ((!this.#isReady || (used ?? elapsed) < LIMITS.transcodeCpuMs) && elapsed < LIMITS.transcodeMs) return
    const { job } = this
    this.job = undefined
    job?.settle(TOO_EXPENSIVE)
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
const TOO_EXPENSIVE: Transcoded = {
  outcome: 'too-large',
  message: 'Request entity too large: reading it takes more time or memory than one request may use; send it as JSON, or in parts',
}

const isOutOfMemory = (error: Error): boolean => 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'

function startWorker(): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: LIMITS.transcodeHeapMB, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 }
  return new Worker(typeof KEELSON_TRANSCODE_WORKER === 'string' ? KEELSON_TRANSCODE_WORKER : fromSource(), {
    eval: true,
    resourceLimits,
    execArgv: [],
  })
}

/** Not built: tests run the sources, and a worker has to load what makes that possible by itself. */
function fromSource(): string {
  const { href } = new URL('./transcode-worker.ts', import.meta.url)
  return `import('tsx/esm/api').then(tsx => { tsx.register(); return import(${goQuote(href)}) })`
}
