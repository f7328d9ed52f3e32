/**
 * Sends small responses at the end of the iteration of the event loop in which they were made, one after the other.
 *
 * Where many clients ask at once, all requests that have arrived are read and handled before the first response wakes a client. Reading,
 * handling and sending are then done many times in a row, which costs the processor less than to alternate between them, and the next
 * iteration finds more requests at once. A single request waits for nothing: the end of its iteration comes next.
 */
import { nextIteration } from '../../lib/environment.ts'
import type { Response } from '../message.ts'

/** Larger responses would only take up memory: sending them costs more than handling them. */
const MAX_BYTES = 16 * 1024
/** So many responses do not wait for further requests to be handled. */
const MOST = 32

export class IterationEnd {
  readonly #jobs: (() => void)[] = []
  #isScheduled = false
  #isRunning = false

  /** Does a job, which must not throw, at the end of this iteration; in the next one if it comes from such a job. */
  add(job: () => void): void {
    this.#jobs.push(job)
    if (this.#jobs.length >= MOST && !this.#isRunning) this.#run()
    else this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isRunning) return
    this.#isScheduled = true
    nextIteration(this.#atEnd)
  }

  readonly #atEnd = (): void => {
    this.#isScheduled = false
    this.#run()
  }

  #run(): void {
    const jobs = this.#jobs
    const count = jobs.length
    this.#isRunning = true
    for (let i = 0; i < count; i++) jobs[i]!()
    this.#isRunning = false
    // The array is emptied, not replaced: see CONTRIBUTING.md on garbage.
    jobs.copyWithin(0, count)
    jobs.length -= count
    if (jobs.length > 0) this.#schedule()
  }
}

export const isSmall = ({ body }: Response): boolean => body instanceof Uint8Array && body.byteLength <= MAX_BYTES
