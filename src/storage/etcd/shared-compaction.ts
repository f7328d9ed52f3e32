/**
 * Compaction by whoever comes first among several servers, kube-apiservers included, in the way of the latter.
 *
 * The key `compact_rev_key` is outside of every prefix. Its version, which counts how often it was written, is the time by
 * which they agree: at each round a server writes there the revision that was current at its last round, if nobody has written
 * since then, and compacts at that revision. Others see that the version has moved on, and wait for their next round:
 *
 *     version                 1         2         3
 *     server A    round ──────✎─────────✎─────────✎        compacts at the revision of its last round
 *     server B       round ──────✗─────────✗─────────✗     learns the version; takes over if A does not come again
 *
 * So history is kept for one interval at least, and two at most.
 */
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { EtcdStore, Round } from './etcd.ts'

export type SharedCompactionOptions = {
  readonly everyMs: number
  readonly clock?: Clock
  /** Called when a round fails; the next one comes all the same. */
  readonly onError?: (error: unknown) => void
}

/** Takes part in rounds until disposed of. Disposing waits for a running one. */
export function startSharedCompaction(store: EtcdStore, options: SharedCompactionOptions): AsyncDisposable {
  return new SharedCompaction(store, options)
}

class SharedCompaction implements AsyncDisposable {
  readonly #store: EtcdStore
  readonly #options: SharedCompactionOptions
  readonly #clock: Clock
  #last: Round = { version: 0, revision: 0 }
  #round: Promise<void> = Promise.resolve()
  #cancelTimer = () => {}
  #stopped = false

  constructor(store: EtcdStore, options: SharedCompactionOptions) {
    this.#store = store
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#wait()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#round
  }

  #wait(): void {
    const look = () => {
      this.#round = this.#take()
    }
    this.#cancelTimer = this.#clock.after(this.#options.everyMs, look, { isRoutine: true })
  }

  async #take(): Promise<void> {
    try {
      this.#last = await this.#store.compactTogether(this.#last)
    } catch (error) {
      if (!this.#stopped) this.#options.onError?.(error)
    }
    if (!this.#stopped) this.#wait()
  }
}
