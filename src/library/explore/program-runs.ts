/** The program under test while a run lasts: started, killed, and started again as a policy says. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ExploreOptions } from '../../public.d.ts'

export type RestartPolicy = NonNullable<ExploreOptions['restart']>

/** One life of the program. */
export type RunningProgram = {
  /** Ends it at once, without a last word. Resolves when it is gone. */
  kill(): Promise<void>
  /** Lets it end. Resolves when it has. */
  stop(): Promise<void>
  /** Resolves when it has ended by itself, with the reason if it failed. */
  readonly ended: Promise<string | undefined>
}

/** Failures after which it is not started any more. */
const MAX_FAILURES = 20
const MAX_WAIT_MS = 1000

export class ProgramRuns {
  /** The reason of the last failure. */
  lastFailure: string | undefined
  failures = 0
  /** Whether it has ended by itself without a failure. */
  hasSucceeded = false
  /** Resolves when it has ended and is not started again. */
  readonly done: Promise<void>
  readonly #begin: () => RunningProgram
  readonly #policy: RestartPolicy
  #finish = () => {}
  #current: RunningProgram | undefined
  #isOver = false

  constructor(begin: () => RunningProgram, policy: RestartPolicy) {
    this.#begin = begin
    this.#policy = policy
    this.done = new Promise(resolve => {
      this.#finish = resolve
    })
  }

  start(): void {
    const current = this.#begin()
    this.#current = current
    void current.ended.then(async failure => {
      // A killed program has a successor already.
      if (this.#current !== current || this.#isOver) return
      if (failure !== undefined) {
        this.lastFailure = failure
        this.failures++
      } else this.hasSucceeded = true
      const isWanted = this.#policy === 'always' || (this.#policy === 'on-failure' && failure !== undefined)
      if (!isWanted || this.failures >= MAX_FAILURES) return this.#finish()
      await sleep(Math.min(MAX_WAIT_MS, 10 * 2 ** this.failures), undefined, { ref: false })
      if (this.#current === current && !this.#isOver) this.start()
    })
  }

  /** Kills it and starts it again. */
  async restart(): Promise<void> {
    const killed = this.#current
    this.#current = undefined
    await killed?.kill()
    if (!this.#isOver) this.start()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#current?.stop()
  }
}
