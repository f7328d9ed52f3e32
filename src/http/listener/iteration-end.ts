/**
 * Sends small responses at the end of the iteration of the event loop in which they were made, one after the other.
 *
 * Where many clients ask at once, all requests that have arrived are read and handled before the first response wakes a client. Reading,
 * handling and sending are then done many times in a row, which costs the processor less than to alternate between them, and the next
 * iteration finds more requests at once.
 *
 * To wait for the end of an iteration costs something, too. Where responses have come alone for a while, most are sent at once, and now and
 * then one waits to find out whether others come with it.
 */
import { nextIteration } from '../../lib/environment.ts'
import type { Response } from '../message.ts'

/** Larger responses would only take up memory: sending them costs more than handling them. */
const MAX_BYTES = 16 * 1024
/** So many responses do not wait for further requests to be handled. */
const MAX_WAITING = 32
/** After so many iterations with one response each, so many are sent at once until one waits again. */
const ALONE = 8
const MAX_AT_ONCE = 15

export class IterationEnd {
  readonly #jobs: (() => void)[] = []
  #isScheduled = false
  #isRunning = false
  /** The last iterations in a row that had one job. */
  #alone = 0
  #atOnce = 0

  /**
   * Does a job, which must not throw, at the end of this iteration; in the next one if it comes from such a job. Where jobs come alone,
   * most are done at once.
   */
  add(job: () => void): void {
    if (this.#alone >= ALONE && this.#jobs.length === 0 && this.#atOnce < MAX_AT_ONCE) {
      this.#atOnce++
      return void job()
    }
    this.#atOnce = 0
    this.#jobs.push(job)
    if (this.#jobs.length >= MAX_WAITING && !this.#isRunning) this.#run()
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
    if (count > 0) this.#alone = count === 1 ? this.#alone + 1 : 0
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
