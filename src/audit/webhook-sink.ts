/** Sends events to a webhook. A call that fails is repeated a few times, whatever the failure: it may pass. */
import type { Clock } from '../lib/clock.ts'
import { repeat } from '../transport/repeat.ts'
import type { WebhookEndpoint } from '../transport/review-call.ts'
import { failureOf, WebhookCallError, type WebhookTransport } from '../transport/webhook-transport.ts'
import { type AuditEvent, eventListJson } from './event.ts'
import type { AuditSink, LostEvents } from './sink.ts'

export type WebhookSinkParts = {
  readonly endpoint: WebhookEndpoint
  readonly transport: WebhookTransport
  /** The pause after the first failure; each later one is longer. */
  readonly initialBackoffMs: number
  readonly clock: Clock
  readonly random: () => number
  readonly lost: LostEvents
}

const PLUGIN = 'webhook'
const TIMEOUT_MS = 30_000
const MAX_RESPONSE_BYTES = 1024 * 1024

export class WebhookSink implements AuditSink {
  readonly #parts: WebhookSinkParts
  /** Ends the pauses between attempts when the server ends: events that cannot be sent then are lost. */
  readonly #endPauses = new Set<() => void>()
  #isClosed = false

  constructor(parts: WebhookSinkParts) {
    this.#parts = parts
  }

  async write(events: readonly AuditEvent[]): Promise<boolean> {
    const { initialBackoffMs, random, lost } = this.#parts
    const body = eventListJson(events)
    const failure = await repeat(() => this.#send(body), {
      isFinal: outcome => outcome === undefined || this.#isClosed,
      firstPauseMs: initialBackoffMs,
      pause: ms => this.#pause(ms),
      random,
    })
    if (failure !== undefined) lost(PLUGIN, failure, events)
    return failure === undefined
  }

  /** Sends a body: undefined, or the failure. */
  async #send(body: string): Promise<string | undefined> {
    const { transport, endpoint } = this.#parts
    try {
      return failureOf(await transport.call({ ...endpoint, body, maxResponseBytes: MAX_RESPONSE_BYTES, timeoutMs: TIMEOUT_MS }))
    } catch (error) {
      if (!(error instanceof WebhookCallError)) throw error
      return error.message
    }
  }

  /** False when the sink was closed meanwhile. */
  #pause(ms: number): Promise<boolean> {
    return new Promise(resolve => {
      const end = () => {
        cancel()
        this.#endPauses.delete(end)
        resolve(!this.#isClosed)
      }
      const cancel = this.#parts.clock.after(ms, end)
      this.#endPauses.add(end)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of [...this.#endPauses]) end()
  }
}
