/** The place of the caches in the history of the store, and those that wait until the caches have come further. */
import type { Cancellation } from '../lib/cancellation.ts'
import { startDeadline, stopTimer } from '../lib/environment.ts'
import { tooLargeRevision } from '../schema/status-error.ts'
import type { Revision, Store } from '../storage/store.ts'
import { RevisionWaiters } from './revision-waiters.ts'

/** How long a read waits for the cache to get to where the store is; as in kube-apiserver. */
const BEHIND_MS = 3_000

/** The signal is aborted when the caches are closed. */
export type PositionOptions = { readonly revision: Revision; readonly signal: AbortSignal }

export class Position {
  readonly #store: Pick<Store, 'generation'>
  readonly #signal: AbortSignal
  readonly #waiters = new RevisionWaiters()
  #revision: Revision
  /** The generation of the store whose objects are cached. */
  #generation: number
  /** Revisions up to here that are not here are of a state that the store has gone back from. */
  #lostUpTo: Revision = 0
  #restarts = 0

  constructor(store: Pick<Store, 'generation'>, { revision, signal }: PositionOptions) {
    this.#store = store
    this.#signal = signal
    this.#revision = revision
    this.#generation = generationOf(store)
  }

  /** The newest revision that all caches have. */
  get revision(): Revision {
    return this.#revision
  }

  /** Counts how often everything had to be read again. */
  get restarts(): number {
    return this.#restarts
  }

  /** Whether the store has gone back to an earlier state, and all that is cached has to be read again. */
  get isReloading(): boolean {
    return this.#generation !== generationOf(this.#store)
  }

  /** Whether a revision is one that the store had before it went back. Those below the newest cannot be told from the ones that took their place. */
  isLost(revision: Revision): boolean {
    return revision > this.#revision && revision <= this.#lostUpTo
  }

  /** The caches have all events up to a revision. Nobody is woken: more may follow at once. */
  advance(revision: Revision): void {
    this.#revision = revision
  }

  /** Everything has been read again as of a revision, from this generation of the store. */
  restart(revision: Revision, generation: number): void {
    this.#restarts++
    if (this.isReloading) this.#lostUpTo = Math.max(this.#lostUpTo, this.#revision)
    this.#generation = generation
    this.#revision = revision
  }

  /** Wakes those whose revision can be read now. */
  wake(): void {
    this.#waiters.wake(this.#revision)
  }

  /** Wakes all that wait: their revision may never come. */
  wakeAll(): void {
    this.#waiters.wake(Number.POSITIVE_INFINITY)
  }

  /** Resolves once everything up to a revision can be read, or the signal is aborted. */
  reached(revision: Revision, signal?: Cancellation): Promise<void> {
    if (this.#revision >= revision || this.#signal.aborted) return Promise.resolve()
    return this.#waiters.wait(revision, signal)
  }

  /** Resolves once everything up to a revision can be read; undefined if it can be now. Throws a StatusError if that takes too long. */
  reachSoon(revision: Revision): Promise<void> | undefined {
    if (this.#revision >= revision) return undefined
    const patience = new AbortController()
    const timer = startDeadline(() => patience.abort(), BEHIND_MS)
    return this.reached(revision, patience.signal).then(() => {
      stopTimer(timer)
      if (this.#revision < revision) throw tooLargeRevision(revision, this.#revision)
    })
  }
}

/** The generation of a store; 0 of one that cannot go back. */
export const generationOf = ({ generation = 0 }: Pick<Store, 'generation'>): number => generation
