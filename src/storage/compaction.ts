/** When history is forgotten: past an age, or past a number of revisions, whichever comes first. */
import { type Clock, systemClock } from './clock.ts'
import type { Revision, Store } from './store.ts'

export type CompactionPolicy = {
  /** How long a revision can be read and watched from; 10 minutes unless told. */
  readonly maxAgeMs?: number
  /**
   * How many revisions are kept at most; 100,000 unless told. That is what 10 minutes of 160 writes a second come to, and costs an
   * embedded store some 10 MB of memory; a server that writes faster keeps a shorter time rather than growing with its load.
   */
  readonly maxRevisions?: number
  /** How often to look; a twentieth of the age unless told, at most 5 seconds. */
  readonly everyMs?: number
  readonly clock?: Clock
  /** Told of a compaction that failed; it is tried again at the next look. */
  readonly onError?: (error: unknown) => void
}

type Sample = { readonly time: number; readonly newest: Revision }

const TEN_MINUTES = 600_000

/** Compacts a store from time to time until disposed of. Disposing waits for a compaction under way. */
export function startCompaction(store: Store, policy: CompactionPolicy = {}): AsyncDisposable {
  return new Compaction(store, policy)
}

class Compaction implements AsyncDisposable {
  readonly #store: Store
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #maxRevisions: number
  readonly #everyMs: number
  readonly #onError: (error: unknown) => void
  /** What the newest revision was at past looks, oldest first: the store knows no times. */
  readonly #samples: Sample[] = []
  #looking: Promise<void>
  #cancelTimer = () => {}
  #stopped = false

  constructor(store: Store, policy: CompactionPolicy) {
    const { maxAgeMs = TEN_MINUTES, maxRevisions = 100_000, clock = systemClock, onError = () => {} } = policy
    this.#store = store
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#maxRevisions = maxRevisions
    this.#everyMs = policy.everyMs ?? Math.min(maxAgeMs / 20, 5_000)
    this.#onError = onError
    this.#looking = this.#look()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#looking
  }

  async #look(): Promise<void> {
    try {
      const { oldest, newest } = await this.#store.extent()
      const target = Math.max(this.#reached(newest), newest - this.#maxRevisions)
      if (target > oldest && !this.#stopped) await this.#store.compact(target)
    } catch (error) {
      if (!this.#stopped) this.#onError(error)
    }
    if (this.#stopped) return
    this.#cancelTimer = this.#clock.after(this.#everyMs, () => {
      this.#looking = this.#look()
    })
  }

  /** The newest revision that is older than the age, as far as looks can tell; 0 if none. */
  #reached(newest: Revision): Revision {
    const now = this.#clock.now()
    this.#samples.push({ time: now, newest })
    const old = this.#samples.findLastIndex(sample => now - sample.time >= this.#maxAgeMs)
    if (old > 0) this.#samples.splice(0, old)
    return old < 0 ? 0 : this.#samples[0]!.newest
  }
}
