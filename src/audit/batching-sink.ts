/**
 * Collects events and passes them on in batches, so that requests do not wait for a slow sink. Its buffer has a size: events for which
 * there is no room are lost, and counted.
 */
import type { Clock } from '../lib/clock.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import type { AuditEvent } from './event.ts'
import type { AuditSink, LostEvents } from './sink.ts'

export type Batching = {
  /** Events that may wait. */
  readonly bufferSize: number
  /** Events of a batch; one that is full is sent at once. */
  readonly maxSize: number
  /** How long a batch that is not full waits for more. */
  readonly maxWaitMs: number
  /** How many batches are sent in a second, if that is limited, and how many at once after a pause. */
  readonly throttle: { readonly perSecond: number; readonly burst: number } | undefined
  /** Whether a batch is sent while another is on its way. */
  readonly isConcurrent: boolean
}

const PLUGIN = 'buffered'

export class BatchingSink implements AuditSink {
  readonly #next: AuditSink
  readonly #batching: Batching
  readonly #clock: Clock
  readonly #lost: LostEvents
  readonly #tokens: TokenBucket | undefined
  readonly #sending = new Set<Promise<unknown>>()
  #buffer: AuditEvent[] = []
  #cancelTimer: (() => void) | undefined
  #isClosed = false

  constructor(
    next: AuditSink,
    { batching, clock, lost }: { readonly batching: Batching; readonly clock: Clock; readonly lost: LostEvents },
  ) {
    this.#next = next
    this.#batching = batching
    this.#clock = clock
    this.#lost = lost
    const { throttle } = batching
    this.#tokens = throttle && new TokenBucket(throttle.perSecond, throttle.burst)
  }

  write(events: readonly AuditEvent[]): boolean {
    const room = this.#isClosed ? 0 : Math.max(0, this.#batching.bufferSize - this.#buffer.length)
    if (room > 0) this.#buffer.push(...events.slice(0, room))
    if (events.length > room)
      this.#lost(PLUGIN, this.#isClosed ? 'audit backend shut down' : 'audit buffer queue blocked', events.slice(room))
    this.#sendFull()
    return true
  }

  #sendFull(): void {
    const { maxSize, maxWaitMs } = this.#batching
    while (this.#buffer.length >= maxSize && this.#maySend()) this.#send()
    if (this.#buffer.length === 0) this.#stopTimer()
    else if (!this.#cancelTimer && !this.#isClosed) this.#startTimer(this.#buffer.length >= maxSize ? RETRY_MS : maxWaitMs)
  }

  #maySend(): boolean {
    if (!this.#batching.isConcurrent && this.#sending.size > 0) return false
    return this.#tokens?.take(this.#clock.now()) ?? true
  }

  #startTimer(ms: number): void {
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#cancelTimer = undefined
      if (this.#buffer.length > 0 && this.#maySend()) this.#send()
      this.#sendFull()
    })
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #send(): void {
    const batch = this.#buffer.splice(0, this.#batching.maxSize)
    const written = this.#next.write(batch)
    if (!(written instanceof Promise)) return
    const sending = written.then(() => {
      this.#sending.delete(sending)
      this.#sendFull()
    })
    this.#sending.add(sending)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopTimer()
    while (this.#buffer.length > 0 || this.#sending.size > 0) {
      if (this.#buffer.length > 0) this.#send()
      if (!this.#batching.isConcurrent || this.#buffer.length === 0) await Promise.all(this.#sending)
    }
    await this.#next.close()
  }
}

/** How long a full batch waits where the throttle or the batch before holds it back. */
const RETRY_MS = 100
