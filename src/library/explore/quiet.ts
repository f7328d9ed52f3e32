/** Notices when nothing happens any more. It counts its own ticks, not the time: on a busy machine both take longer. */
import { setTimeout as sleep } from 'node:timers/promises'

const TICK_MS = 5

export class Quiet {
  readonly #activity: () => unknown
  #last: unknown
  #ticks = 0

  /** `activity` returns another value whenever something has happened. */
  constructor(activity: () => unknown) {
    this.#activity = activity
  }

  /** Resolves after a tick; returns for how long nothing has happened, in milliseconds of ticks. */
  async tick(): Promise<number> {
    await sleep(TICK_MS)
    await new Promise(setImmediate)
    const now = this.#activity()
    this.#ticks = now === this.#last ? this.#ticks + 1 : 0
    this.#last = now
    return this.#ticks * TICK_MS
  }

  begin(): void {
    this.#ticks = 0
  }

  /** Resolves when nothing has happened for a time, or when there is no more patience; returns whether it is quiet. */
  async lasting(ms: number, longestMs: number): Promise<boolean> {
    this.begin()
    for (let waited = 0; waited < longestMs; waited += TICK_MS) if ((await this.tick()) >= ms) return true
    return false
  }
}
