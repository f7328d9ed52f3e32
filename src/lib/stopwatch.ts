/** Measures the phases of a request: each lap adds the time since the last one to a phase. */
import { monotonicMs } from './environment.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { RequestTrace } from './request-trace.ts'

export class Stopwatch {
  readonly #now: () => number
  /** The moment of the monotonic clock at which it was started. */
  readonly began: number
  /** The ends of phases, each followed by its time: they are summed only for the few requests that are reported. */
  readonly #laps: (string | number)[] = []
  #elsewhere = 0
  /** The total, once it is stopped. */
  #stoppedAt: number | undefined
  /** The trace of the request, where requests are traced. */
  trace: RequestTrace | undefined = undefined
  /** Whether somebody looks at the request: then phases that have not waited are measured as well. */
  isWatched = false

  constructor(now: () => number = monotonicMs) {
    this.#now = now
    this.began = now()
  }

  lap(phase: string): void {
    this.#laps.push(phase, this.#now())
  }

  /** Ends a phase that may have waited. If it has not, its short time counts as part of the next one, unless somebody looks. */
  lapAfter(result: MaybePromise<unknown>, phase: string): void {
    if (result instanceof Promise || this.trace !== undefined || this.isWatched) this.lap(phase)
  }

  /** The ends of all phases so far, in milliseconds since the beginning. */
  *laps(): Iterable<{ readonly phase: string; readonly at: number }> {
    for (let i = 0; i < this.#laps.length; i += 2) yield { phase: this.#laps[i] as string, at: (this.#laps[i + 1] as number) - this.began }
  }

  /** Adds milliseconds in which the request waited for others: in a queue, or for a webhook. */
  waitedFor(ms: number): void {
    this.#elsewhere += ms
  }

  /** The milliseconds of all such waits. */
  get elsewhere(): number {
    return this.#elsewhere
  }

  /** Milliseconds since the beginning, until it was stopped. */
  get total(): number {
    return this.#stoppedAt ?? this.#now() - this.began
  }

  /** Stops at a total that has just been read: whoever asks for it next needs no clock. */
  stop(total: number): void {
    this.#stoppedAt = total
  }

  /** The whole milliseconds of each phase that took at least one. */
  get phases(): Readonly<Record<string, number>> {
    const sums = new Map<string, number>()
    let last = this.began
    for (let i = 0; i < this.#laps.length; i += 2) {
      const [phase, time] = this.#laps.slice(i, i + 2) as [string, number]
      sums.set(phase, (sums.get(phase) ?? 0) + time - last)
      last = time
    }
    const whole = Array.from(sums, ([phase, ms]) => [phase, Math.round(ms)] as const)
    return Object.fromEntries(whole.filter(([, ms]) => ms > 0))
  }
}
