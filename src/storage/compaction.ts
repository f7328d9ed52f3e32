/** Compacts history by age or by number of revisions, whichever comes first. */
import { type Clock, systemClock } from '../lib/clock.ts'
import type { Revision, Store } from './store.ts'

export type CompactionPolicy = {
  /** How long a revision can be read and watched from; default 10 minutes. */
  readonly maxAgeMs?: number
  /**
   * How many revisions are kept at most; default 100,000, and as many again for each 10 minutes of age beyond 30. Of 100,000 an embedded
   * store has some 10 MB in memory; a server that writes faster keeps a shorter time rather than growing with its load.
   */
  readonly maxRevisions?: number
  /** How often to check; default a twentieth of the age, at most 5 seconds. Infinity: only in a hurry. */
  readonly everyMs?: number
  /** Whether the store has so little space left that history is given up before its time. */
  readonly isPressed?: () => boolean
  /** The oldest revision that somebody still reads. It is kept unless the store is pressed for space. */
  readonly held?: () => Revision | undefined
  /** Called before the store forgets all revisions before one. */
  readonly onCompact?: (before: Revision) => void
  readonly clock?: Clock
  /** Called when a compaction fails; it is retried at the next check. */
  readonly onError?: (error: unknown) => void
}

type Sample = { readonly time: number; readonly newest: Revision }

const TEN_MINUTES = 600_000

export interface RunningCompaction extends AsyncDisposable {
  /** Looks now whether there is something to compact: a write was refused for want of space. */
  hurry(): void
}

/** Compacts a store from time to time until disposed of. Disposing waits for a running compaction. */
export function startCompaction(store: Store, policy: CompactionPolicy = {}): RunningCompaction {
  return new Compaction(store, policy)
}

class Compaction implements RunningCompaction {
  readonly #store: Store
  readonly #clock: Clock
  readonly #maxAgeMs: number
  readonly #maxRevisions: number
  readonly #everyMs: number
  readonly #isPressed: () => boolean
  readonly #held: () => Revision | undefined
  readonly #onCompact: (before: Revision) => void
  readonly #onError: (error: unknown) => void
  /** The newest revision at past checks, oldest first: the store records no times. */
  readonly #samples: Sample[] = []
  #looking: Promise<void>
  #cancelTimer = () => {}
  #isLooking = false
  #stopped = false

  constructor(store: Store, policy: CompactionPolicy) {
    const {
      maxAgeMs = TEN_MINUTES,
      maxRevisions = Math.round(100_000 * Math.max(1, maxAgeMs / TEN_MINUTES - 2)),
      clock = systemClock,
      isPressed = () => false,
      held = () => undefined,
      onCompact = () => {},
      onError = () => {},
    } = policy
    this.#store = store
    this.#clock = clock
    this.#maxAgeMs = maxAgeMs
    this.#maxRevisions = maxRevisions
    this.#everyMs = policy.everyMs ?? Math.min(maxAgeMs / 20, 5_000)
    this.#isPressed = isPressed
    this.#held = held
    this.#onCompact = onCompact
    this.#onError = onError
    this.#looking = this.#look()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#looking
  }

  hurry(): void {
    if (this.#isLooking || this.#stopped) return
    this.#cancelTimer()
    this.#looking = this.#look()
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    try {
      while (await this.#compactOnce());
    } catch (error) {
      if (!this.#stopped) this.#onError(error)
    }
    this.#isLooking = false
    if (this.#stopped || this.#everyMs === Number.POSITIVE_INFINITY) return
    const look = () => {
      this.#looking = this.#look()
    }
    this.#cancelTimer = this.#clock.after(this.#everyMs, look, { isRoutine: true })
  }

  /** Whether there may be more to compact: under pressure half of the history goes at a time, until there is space. */
  async #compactOnce(): Promise<boolean> {
    const { oldest, newest } = await this.#store.extent()
    const isPressed = this.#isPressed()
    const due = Math.max(this.#reached(newest), newest - this.#maxRevisions)
    const target = isPressed ? Math.max(due, Math.ceil((oldest + newest) / 2)) : Math.min(due, this.#held() ?? due)
    if (target <= oldest || this.#stopped) return false
    this.#onCompact(target)
    await this.#store.compact(target)
    return isPressed
  }

  /** The newest revision that is older than the age, as far as the checks show; 0 if none. */
  #reached(newest: Revision): Revision {
    // A machine whose clock is set ahead does not forget what clients have just seen.
    const now = this.#clock.elapsed?.() ?? this.#clock.now()
    this.#samples.push({ time: now, newest })
    const old = this.#samples.findLastIndex(sample => now - sample.time >= this.#maxAgeMs)
    if (old > 0) this.#samples.splice(0, old)
    return old < 0 ? 0 : this.#samples[0]!.newest
  }
}
