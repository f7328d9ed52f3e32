/** Sends spans to a collector in batches. Memory is bounded: spans that find no place, or that cannot be sent in time, are dropped and counted. */
import { abortedWith } from '../../lib/cancellation.ts'
import type { Clock } from '../../lib/clock.ts'
import { startTimer, stopTimer, timeoutSignal } from '../../lib/environment.ts'
import type { Family } from '../../lib/exposition.ts'
import type { Span } from '../../lib/request-trace.ts'
import type { Log } from '../observability/log.ts'
import { exportRequest, type OtlpSource } from './otlp.ts'

/** Sends a request to the collector. Rejects with a SendError. */
export type SpanSender = {
  send(request: Buffer, signal: AbortSignal): Promise<void>
  close(): void
}

export class SendError extends Error {
  /** Whether it may help to send the same again. */
  readonly mayPass: boolean
  constructor(message: string, mayPass: boolean) {
    super(message)
    this.mayPass = mayPass
  }
}

/** As OpenTelemetry's batch processor and exporter have them by default. */
const MAX_WAITING = 2048
const BATCH = 512
const WAIT_MS = 5_000
const SEND_MS = 10_000
const FIRST_PAUSE_MS = 5_000
const LAST_PAUSE_MS = 30_000
const GIVE_UP_MS = 60_000
/** Time for the last spans of a server that ends. */
const CLOSING_MS = 2_000

export type ExporterParts = {
  readonly sender: SpanSender
  readonly source: OtlpSource
  readonly clock: Clock
  readonly log: Log
}

export class Exporter {
  readonly #parts: ExporterParts
  #waiting: Span[] = []
  #sending: Promise<void> | undefined
  #stopTimer: (() => void) | undefined
  readonly #closing = new AbortController()
  #wake = () => {}
  #sent = 0
  #dropped = 0
  #isFailing = false
  #isClosing = false

  constructor(parts: ExporterParts) {
    this.#parts = parts
  }

  add(spans: readonly Span[]): void {
    const room = Math.max(0, MAX_WAITING - this.#waiting.length)
    for (const span of room < spans.length ? spans.slice(0, room) : spans) this.#waiting.push(span)
    this.#dropped += Math.max(0, spans.length - room)
    if (this.#sending) return
    if (this.#waiting.length >= BATCH) this.#begin()
    else this.#stopTimer ??= this.#parts.clock.after(WAIT_MS, () => this.#begin(), { isRoutine: true })
  }

  *families(): Iterable<Family> {
    const counted = (name: string, help: string, value: number): Family => ({ name, help, type: 'counter', samples: [[{}, value]] })
    yield counted('keelson_trace_spans_sent_total', 'Spans that the collector has received.', this.#sent)
    yield counted(
      'keelson_trace_spans_dropped_total',
      'Spans that were dropped: too many, or the collector was out of reach.',
      this.#dropped,
    )
  }

  /** Sends what waits, if the collector takes it soon. */
  async close(): Promise<void> {
    this.#isClosing = true
    const timer = startTimer(() => this.#closing.abort(), CLOSING_MS)
    this.#wake()
    // Spans that came while the last batch was sent are in a further one.
    for (let i = 0; i < 2; i++) {
      this.#begin()
      await this.#sending
    }
    stopTimer(timer)
    this.#stopTimer?.()
    this.#parts.sender.close()
  }

  #begin(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    if (this.#sending || this.#waiting.length === 0) return
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#closing.signal.aborted) {
      const batch = this.#waiting.splice(0, BATCH)
      if (await this.#send(exportRequest(batch, this.#parts.source))) this.#sent += batch.length
      else this.#dropped += batch.length
    }
  }

  async #send(request: Buffer): Promise<boolean> {
    const { sender, log, clock } = this.#parts
    const began = clock.now()
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LAST_PAUSE_MS, 1.5 * pause)) {
      const given = abortedWith(this.#closing.signal, timeoutSignal(SEND_MS))
      try {
        await sender.send(request, given.signal).finally(() => given.abort())
        if (this.#isFailing) log.info({}, 'spans reach the collector again')
        this.#isFailing = false
        return true
      } catch (error) {
        const { message, mayPass } = error instanceof SendError ? error : new SendError((error as Error).message, true)
        if (!this.#isFailing) log.warn({ error: message }, 'spans could not be sent to the collector')
        this.#isFailing = true
        if (!mayPass || this.#isClosing || clock.now() + pause - began > GIVE_UP_MS) return false
        await this.#pause(pause)
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const stop = this.#parts.clock.after(ms, resolve, { isRoutine: true })
      this.#wake = () => {
        stop()
        resolve()
      }
    })
  }
}
