/** Sends events to a webhook. A call that fails is repeated a few times, whatever the failure: it may pass. */
import type { Clock } from '../lib/clock.ts'
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
const ATTEMPTS = 5
const BACKOFF_FACTOR = 1.5
const BACKOFF_JITTER = 0.2
const TIMEOUT_MS = 30_000
const MAX_RESPONSE_BYTES = 1024 * 1024

export class WebhookSink implements AuditSink {
  readonly #parts: WebhookSinkParts
  /** Ends pauses when the server ends: what cannot be sent then is lost. */
  readonly #closing = new Set<() => void>()
  #isClosed = false

  constructor(parts: WebhookSinkParts) {
    this.#parts = parts
  }

  async write(events: readonly AuditEvent[]): Promise<boolean> {
    const body = eventListJson(events)
    let pause = this.#parts.initialBackoffMs
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#send(body)
      if (failure === undefined) return true
      if (attempt === ATTEMPTS || this.#isClosed) {
        this.#parts.lost(PLUGIN, failure, events)
        return false
      }
      await this.#pause(pause * (1 + this.#parts.random() * BACKOFF_JITTER))
      pause *= BACKOFF_FACTOR
    }
  }

  /** Sends a body; why that failed, if it did. */
  async #send(body: string): Promise<string | undefined> {
    const { transport, endpoint } = this.#parts
    try {
      return failureOf(await transport.call({ ...endpoint, body, maxResponseBytes: MAX_RESPONSE_BYTES, timeoutMs: TIMEOUT_MS }))
    } catch (error) {
      if (!(error instanceof WebhookCallError)) throw error
      return error.message
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        cancel()
        this.#closing.delete(end)
        resolve()
      }
      const cancel = this.#parts.clock.after(ms, end)
      this.#closing.add(end)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of [...this.#closing]) end()
  }
}
