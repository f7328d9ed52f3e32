/**
 * The loop of a controller: things that may need something are named by a key, looked at one after the other or some at once,
 * and always as they are then. However often a key is woken before its turn, it is looked at once; woken during its turn, it
 * is looked at again.
 *
 *     wake(a) wake(b) wake(a) ─→ settle(a) settle(b)          a fails ─→ settle(a) again a little later, then later still
 */
import { StatusError } from '../schema/status-error.ts'

export type LoopParts<K> = {
  /** Brings one thing up to date. May say in how many milliseconds it wants to be called again. */
  readonly settle: (key: K) => Promise<number | undefined | void>
  /** Told of what went wrong; the key is tried again. */
  readonly onError: (error: unknown, key: K) => void
  /** Ends the loop: what is under way is not interrupted, nothing more is begun. */
  readonly signal: AbortSignal
  /** How many keys are looked at at once; one unless told. */
  readonly atOnce?: number
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 30_000
/** How often in a row somebody else may have written first before that is no chance any more. */
const CONFLICTS_AT_ONCE = 5

export class Loop<K> {
  readonly #parts: LoopParts<K>
  readonly #waiting = new Set<K>()
  readonly #busy = new Set<K>()
  readonly #failures = new Map<K, number>()
  readonly #timers = new Map<K, NodeJS.Timeout>()
  readonly #onIdle: (() => void)[] = []
  #isRunning = false

  constructor(parts: LoopParts<K>) {
    this.#parts = parts
    parts.signal.addEventListener('abort', () => this.#stop(), { once: true })
  }

  /** Has these looked at, after the current turn. Resolves when nothing waits any more but for a time to pass. */
  wake(...keys: readonly K[]): Promise<void> {
    return this.wakeAll(keys)
  }

  /** The same for any number. */
  wakeAll(keys: Iterable<K>): Promise<void> {
    if (this.#parts.signal.aborted) return Promise.resolve()
    for (const key of keys) this.#waiting.add(key)
    if (!this.#isRunning && this.#waiting.size > 0) {
      this.#isRunning = true
      // Whoever tells of a change is not kept waiting, and may have more to tell.
      queueMicrotask(() => this.#begin())
    }
    return this.settled()
  }

  /** Resolves when nothing waits any more but for a time to pass. */
  settled(): Promise<void> {
    return this.#isRunning ? new Promise(resolve => this.#onIdle.push(resolve)) : Promise.resolve()
  }

  #begin(): void {
    const { atOnce = 1, signal } = this.#parts
    for (const key of this.#waiting) {
      if (this.#busy.size >= atOnce || signal.aborted) break
      if (this.#busy.has(key)) continue
      this.#waiting.delete(key)
      this.#busy.add(key)
      void this.#settle(key)
    }
    if (this.#busy.size > 0 || (this.#waiting.size > 0 && !signal.aborted)) return
    this.#isRunning = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  async #settle(key: K): Promise<void> {
    clearTimeout(this.#timers.get(key))
    this.#timers.delete(key)
    try {
      const again = await this.#parts.settle(key)
      this.#failures.delete(key)
      if (typeof again === 'number') this.#later(key, again)
    } catch (error) {
      this.#failed(key, error)
    }
    this.#busy.delete(key)
    this.#begin()
  }

  #failed(key: K, error: unknown): void {
    const { onError, signal } = this.#parts
    if (signal.aborted) return
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    // Somebody else wrote first: the state has changed, so look again at once. Anything else takes a moment.
    const isConflict = error instanceof StatusError && error.code === 409
    if (isConflict && failures < CONFLICTS_AT_ONCE) {
      this.#waiting.add(key)
      return
    }
    onError(error, key)
    this.#later(key, Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 20), LAST_RETRY_MS))
  }

  #later(key: K, ms: number): void {
    if (this.#parts.signal.aborted) return
    const timer = setTimeout(() => void this.wake(key), ms)
    timer.unref()
    this.#timers.set(key, timer)
  }

  #stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    this.#waiting.clear()
  }
}
