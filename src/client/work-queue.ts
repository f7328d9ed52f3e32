/**
 * The work of a controller: keys of objects that may need something. However often a key is added before a worker takes it, it is
 * reconciled once; added while it is being reconciled, it is reconciled again afterwards, never twice at once.
 *
 *     add(a) add(b) add(a) ─→ reconcile(a) reconcile(b)          a fails ─→ reconcile(a) after 5 ms, 10 ms, 20 ms …
 */
import { type Clock, systemClock, type TimerOptions } from '../lib/clock.ts'
import { monotonicMs } from '../lib/environment.ts'
import { StatusError } from '../schema/status-error.ts'
import { QueueMetrics } from './queue-metrics.ts'

/** When a key is reconciled again: in so many milliseconds, with the options of that timer, or not at all, whatever was planned before. */
export type Again = number | ({ readonly ms: number } & TimerOptions) | 'never'

export type WorkQueueOptions<K> = {
  readonly name: string
  /** Brings one object up to date. May say when it wants to be called again. */
  readonly reconcile: (key: K) => Promise<Again | undefined | void>
  /** Told of every failure that is no conflict; the key is tried again. */
  readonly onError: (error: unknown, key: K) => void
  /** Whether a failure is a conflict with another write; by default a StatusError that says so. */
  readonly isConflict?: (error: unknown) => boolean
  /** Ends the queue: no further reconcile begins, and none is interrupted. */
  readonly signal: AbortSignal
  /** How many keys are reconciled at the same time; one unless told. */
  readonly workers?: number
  readonly backOff?: BackOff
  readonly metrics?: QueueMetrics
  readonly clock?: Clock
  /** Keys that wait for a time wait for a routine. */
  readonly isRoutine?: boolean
}

/** How long a key waits after failures in a row, and how many retries the queue begins altogether. */
export type BackOff = {
  readonly firstMs: number
  readonly lastMs: number
  readonly perSecond: number
  readonly burst: number
}
export const DEFAULT_BACK_OFF: BackOff = { firstMs: 5, lastMs: 1_000_000, perSecond: 10, burst: 100 }

/** How often in a row a conflict is retried at once: another write came first, so there is new state to look at. */
const MAX_IMMEDIATE_RETRIES = 5

type Delayed = { readonly at: number; readonly cancel: () => void }

export class WorkQueue<K> {
  readonly #options: WorkQueueOptions<K>
  readonly #backOff: BackOff
  readonly #metrics: QueueMetrics
  /** In the order in which they came, with the time since when they wait. */
  readonly #waiting = new Map<K, number>()
  readonly #busy = new Map<K, number>()
  readonly #failures = new Map<K, number>()
  readonly #delayed = new Map<K, Delayed>()
  readonly #retries: TokenBucket
  readonly #clock: Clock
  #onIdle: (() => void)[] = []
  #isScheduled = false

  constructor(options: WorkQueueOptions<K>) {
    this.#options = options
    this.#backOff = options.backOff ?? DEFAULT_BACK_OFF
    this.#metrics = options.metrics ?? new QueueMetrics(options.name)
    this.#clock = options.clock ?? systemClock
    this.#retries = new TokenBucket(this.#backOff.perSecond, this.#backOff.burst)
    this.#metrics.observe(() => ({ depth: this.#waiting.size, begun: [...this.#busy.values()] }))
    options.signal.addEventListener('abort', () => this.#stop(), { once: true })
  }

  add(key: K): void {
    if (this.#options.signal.aborted) return
    if (!this.#waiting.has(key)) {
      this.#waiting.set(key, monotonicMs())
      this.#metrics.adds++
    }
    this.#schedule()
  }

  addAll(keys: Iterable<K>): void {
    for (const key of keys) this.add(key)
  }

  /** Adds a key after a while, or earlier if it was to be added earlier already. */
  addAfter(key: K, again: Exclude<Again, 'never'>): void {
    if (this.#options.signal.aborted) return
    const { ms, ...options } = typeof again === 'number' ? { ms: again } : again
    const at = this.#clock.now() + ms
    const planned = this.#delayed.get(key)
    if (planned && planned.at <= at) return
    planned?.cancel()
    const due = () => {
      this.#delayed.delete(key)
      this.add(key)
    }
    const cancel = this.#clock.after(ms, due, { isRoutine: this.#options.isRoutine ?? false, ...options })
    this.#delayed.set(key, { at, cancel })
  }

  #forget(key: K): void {
    this.#delayed.get(key)?.cancel()
    this.#delayed.delete(key)
  }

  /** Resolves when nothing waits but for a time to pass, and nothing is under way. After the end of the queue: when the last one is done. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve()
    return new Promise(resolve => this.#onIdle.push(resolve))
  }

  get #isIdle(): boolean {
    return this.#busy.size === 0 && this.#waiting.size === 0
  }

  /** Whoever adds a key is not kept waiting, and may have more to add. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#begin()
    })
  }

  #begin(): void {
    const { workers = 1, signal } = this.#options
    for (const [key, since] of this.#waiting) {
      if (this.#busy.size >= workers || signal.aborted) break
      if (this.#busy.has(key)) continue
      this.#waiting.delete(key)
      const now = monotonicMs()
      this.#metrics.waited.observe((now - since) / 1000)
      this.#busy.set(key, now)
      void this.#work(key)
    }
    if (!this.#isIdle) return
    const resolves = this.#onIdle
    this.#onIdle = []
    for (const resolve of resolves) resolve()
  }

  async #work(key: K): Promise<void> {
    try {
      const again = await this.#options.reconcile(key)
      this.#failures.delete(key)
      if (again === 'never') this.#forget(key)
      else if (typeof again === 'number' || typeof again === 'object') this.addAfter(key, again)
    } catch (error) {
      this.#failed(key, error)
    }
    this.#metrics.worked.observe((monotonicMs() - this.#busy.get(key)!) / 1000)
    this.#busy.delete(key)
    this.#begin()
  }

  #failed(key: K, error: unknown): void {
    const { onError, signal, isConflict = isStatusConflict } = this.#options
    if (signal.aborted) return
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.#metrics.retries++
    if (isConflict(error) && failures < MAX_IMMEDIATE_RETRIES) {
      this.add(key)
      return
    }
    onError(error, key)
    const { firstMs, lastMs } = this.#backOff
    this.addAfter(key, Math.max(Math.min(firstMs * 2 ** Math.min(failures, 30), lastMs), this.#retries.take()))
  }

  #stop(): void {
    for (const { cancel } of this.#delayed.values()) cancel()
    this.#delayed.clear()
    this.#waiting.clear()
    this.#schedule()
  }
}

const isStatusConflict = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Conflict'

/** Hands out tokens at a rate, some at once; says how long to wait for the next. */
class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #at = monotonicMs()

  constructor(perSecond: number, burst: number) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#tokens = burst
  }

  /** Takes a token, be it one of the future; in how many milliseconds it is there. */
  take(): number {
    const now = monotonicMs()
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs) - 1
    this.#at = now
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs
  }
}
