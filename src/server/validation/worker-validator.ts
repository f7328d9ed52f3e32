/** Validates objects whose rules take long in a worker thread. */

import { inflateRawSync } from 'node:zlib'
import { LIMITS } from '../../lib/limits.ts'
import { type JobOptions, programFromSource, WorkerPool } from '../../lib/worker-pool.ts'
import type { Validated, ValidationJob, Validator } from '../../registry/validation-job.ts'
import type { Releases } from '../../schema/lifecycle.ts'
import { tooManyRequests } from '../../schema/status-error.ts'

/** The settings that rules depend on: the same for all jobs of a server. */
export type RuleSettings = { readonly groupDomain: string; readonly featureGates: string; readonly releases: Releases }
export type ValidatorMessage = { readonly job: ValidationJob; readonly settings: RuleSettings }

/** The source of the worker, compressed, inserted by the build. */
declare const KEELSON_VALIDATION_WORKER: string | undefined

export class WorkerValidator implements Validator, AsyncDisposable {
  readonly #pool: WorkerPool<ValidationJob, Validated>

  constructor(settings: RuleSettings) {
    this.#pool = new WorkerPool({
      name: 'validation',
      program: () =>
        typeof KEELSON_VALIDATION_WORKER === 'string'
          ? inflateRawSync(Buffer.from(KEELSON_VALIDATION_WORKER, 'base64')).toString()
          : programFromSource(new URL('./validation-worker.ts', import.meta.url)),
      send: job => ({ message: { job, settings } satisfies ValidatorMessage, transfer: [] }),
      tooExpensive: TOO_EXPENSIVE,
      tooMany: () => tooManyRequests('too many large objects of this user are waiting to be validated', 1),
      limits: LIMITS.validation,
    })
  }

  validate(job: ValidationJob, options: JobOptions): Promise<Validated> {
    return this.#pool.run(job, options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pool[Symbol.asyncDispose]()
  }
}

const TOO_EXPENSIVE: Validated = {
  outcome: 'refused',
  code: 413,
  reason: 'RequestEntityTooLarge',
  message: 'Request entity too large: validating it takes more time or memory than one request may use',
}
