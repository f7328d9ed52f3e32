/**
 * Revisions that somebody still reads: compaction leaves them while there is space. Processes that share a store tell each other the oldest
 * that they hold, and again from time to time, so that the holds of a process that is gone are forgotten.
 */
import type { Clock } from '../lib/clock.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Revision } from './store.ts'

export type HoldsOptions = {
  readonly clock: Clock
  /** Tells the other processes the oldest revision that is held here; resolves when they know. */
  readonly tell: (oldest: Revision | undefined) => Promise<unknown>
}

/** How often the others are told, and how long that counts. */
const TELL_EVERY_MS = 10_000
const TOLD_FOR_MS = 60_000

export class Holds {
  readonly #held = new Map<symbol, Revision>()
  readonly #others = new Map<number, { readonly revision: Revision; readonly until: number }>()
  readonly #sharing: HoldsOptions | undefined
  #cancelTelling: (() => void) | undefined

  constructor(sharing?: HoldsOptions) {
    this.#sharing = sharing
  }

  /** Holds a revision until disposed of, at the latest when the promise resolves. */
  hold(revision: Revision): MaybePromise<Disposable> {
    const id = Symbol()
    this.#held.set(id, revision)
    const held = {
      [Symbol.dispose]: () => {
        this.#held.delete(id)
        void this.#tell()
      },
    }
    return this.#tell()?.then(() => held) ?? held
  }

  /** Another process holds a revision, or none any more. */
  heldBy(process: number, revision: Revision | undefined): void {
    if (revision === undefined) this.#others.delete(process)
    else this.#others.set(process, { revision, until: this.#sharing!.clock.now() + TOLD_FOR_MS })
  }

  /** The oldest of them. */
  get oldest(): Revision | undefined {
    const now = this.#sharing?.clock.now() ?? 0
    const others = [...this.#others.values()].filter(({ until }) => until > now)
    return oldestOf([...this.#held.values(), ...others.map(({ revision }) => revision)])
  }

  /** The number of those that are held here. */
  get count(): number {
    return this.#held.size
  }

  #tell(): Promise<unknown> | undefined {
    if (!this.#sharing) return undefined
    this.#cancelTelling?.()
    this.#cancelTelling = this.#held.size === 0 ? undefined : this.#sharing.clock.after(TELL_EVERY_MS, () => void this.#tell())
    return this.#sharing.tell(oldestOf([...this.#held.values()]))
  }
}

const oldestOf = (revisions: readonly Revision[]): Revision | undefined => (revisions.length === 0 ? undefined : Math.min(...revisions))
