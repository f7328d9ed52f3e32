/** Bodies that are expensive to read are read in worker threads. */
import { LIMITS } from '../lib/limits.ts'
import { type JobOptions, programFromSource, WorkerPool } from '../lib/worker-pool.ts'
import { tooManyRequests } from '../schema/status-error.ts'
import type { Transcoded, TranscodeJob } from './transcode.ts'

/** Turns bodies into JSON for callers that may wait for it. */
export interface Transcoder {
  /** Rejects with a StatusError when too many bodies of the user wait, and with the signal's reason when that aborts. */
  transcode(job: TranscodeJob, options: JobOptions): Promise<Transcoded>
}

/** The text of the worker, put in when the package is built. */
declare const KEELSON_TRANSCODE_WORKER: string | undefined

export class WorkerTranscoder implements Transcoder, AsyncDisposable {
  readonly #pool = new WorkerPool<TranscodeJob, Transcoded>({
    name: 'transcoding',
    program: () =>
      typeof KEELSON_TRANSCODE_WORKER === 'string'
        ? KEELSON_TRANSCODE_WORKER
        : programFromSource(new URL('./transcode-worker.ts', import.meta.url)),
    send(job) {
      const bytes = Uint8Array.from(job.bytes)
      return { message: { ...job, bytes }, transfer: [bytes.buffer] }
    },
    tooExpensive: TOO_EXPENSIVE,
    tooMany: () => tooManyRequests('too many large bodies of this user are waiting to be read', 1),
    limits: LIMITS.transcoding,
  })

  transcode(job: TranscodeJob, options: JobOptions): Promise<Transcoded> {
    return this.#pool.run(job, options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pool[Symbol.asyncDispose]()
  }
}

const TOO_EXPENSIVE: Transcoded = {
  outcome: 'too-large',
  message: 'Request entity too large: reading it takes more time or memory than one request may use; send it as JSON, or in parts',
}
