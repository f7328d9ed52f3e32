/**
 * The pace of one request, or of one piece of work in the background: whether it has run for so long that others come first. It knows
 * the size of the request, the work it has done so far, its time slice, and whether anybody still waits for it. Nothing but the time at
 * which work runs depends on it.
 */
import { monotonicMs } from './environment.ts'
import type { Pacing } from './step.ts'
import { yieldToOthers } from './yield.ts'

/** The largest request that takes no noticeable time, whatever it holds: bytes, or units of counted work. */
const SMALL = 16 * 1024
/** How long work may run before others do, in milliseconds. */
const SLICE_MS = 8

export type PaceOptions = {
  /** Bytes that the work is about. */
  readonly bytes: number
  /** Counts work that bytes do not tell of, such as that of expressions; a unit is some tens of nanoseconds. */
  readonly work?: { readonly used: number } | undefined
  /** The error to stop with when nobody waits for the result any more. */
  readonly cancelled?: (() => Error | undefined) | undefined
}

export class Pace implements Pacing {
  #bytes: number
  readonly #work: PaceOptions['work']
  #cancelled: PaceOptions['cancelled']
  #resumedAt: number | undefined

  /** Work in the background has no size: it is asked for the time from its beginning on. */
  constructor({ bytes, work, cancelled }: PaceOptions = { bytes: Number.POSITIVE_INFINITY }) {
    this.#bytes = bytes
    this.#work = work
    this.#cancelled = cancelled
    if (!Number.isFinite(bytes)) this.#resumedAt = monotonicMs()
  }

  /** Whether the work may take noticeable time by its size alone. */
  get isLarge(): boolean {
    return this.#bytes > SMALL
  }

  /** Whether the work, with what it has done so far, may take noticeable time: until then a pause is never due. */
  get isNoticeable(): boolean {
    return this.isLarge || (this.#work !== undefined && this.#work.used > SMALL)
  }

  /** Says that the work is about so many bytes at least. */
  atLeast(bytes: number): void {
    if (bytes > this.#bytes) this.#bytes = bytes
  }

  /** From here on the work goes to its end, as it has taken effect, even if nobody waits for it. */
  commit(): void {
    this.#cancelled = undefined
  }

  /** Lets others run if it is time. Rejects if nobody waits for the work afterwards. */
  pause(): Promise<void> | undefined {
    // Reading the clock would take longer than the work of a small request between two stops.
    if (!this.isNoticeable) return undefined
    const now = monotonicMs()
    // Many requests may begin in one iteration of the event loop: the large ones let others run where they first can.
    this.#resumedAt ??= this.isLarge ? Number.NEGATIVE_INFINITY : now
    return now - this.#resumedAt < SLICE_MS ? undefined : this.#letOthersRun()
  }

  async #letOthersRun(): Promise<void> {
    await yieldToOthers()
    this.#resumedAt = monotonicMs()
    const error = this.#cancelled?.()
    if (error) throw error
  }
}
