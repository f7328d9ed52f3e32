/** Keeps events and batches below a size: events that are too large lose their bodies, batches are split. */
import { aggregate } from '../lib/go-text.ts'
import { type AuditEvent, eventJson, eventsOf } from './event.ts'
import type { AuditSink, Keeping, LostEvents } from './sink.ts'

export type Truncation = { readonly maxEventBytes: number; readonly maxBatchBytes: number }

const PLUGIN = 'truncate'
const TRUNCATED = 'audit.k8s.io/truncated'

export class TruncatingSink implements AuditSink {
  readonly #next: AuditSink
  readonly #limits: Truncation
  readonly #lost: LostEvents

  constructor(next: AuditSink, { limits, lost }: { readonly limits: Truncation; readonly lost: LostEvents }) {
    this.#next = next
    this.#limits = limits
    this.#lost = lost
  }

  write(events: readonly AuditEvent[]): boolean | Promise<boolean> {
    const batches = this.#batchesOf(events)
    if (batches.length === 1) return this.#next.write(batches[0]!)
    return Promise.all(batches.map(batch => this.#next.write(batch))).then(results => results.every(Boolean))
  }

  #batchesOf(events: readonly AuditEvent[]): AuditEvent[][] {
    const { maxEventBytes, maxBatchBytes } = this.#limits
    const batches: AuditEvent[][] = []
    const tooLarge: AuditEvent[] = []
    let bytes = 0
    for (const whole of events.flatMap(eventsOf)) {
      let event = whole
      let size = sizeOf(event)
      if (size > maxEventBytes && (event.request.level === 'Request' || event.request.level === 'RequestResponse')) {
        event = withoutBodies(event)
        size = sizeOf(event)
      }
      if (size > maxEventBytes) {
        tooLarge.push(event)
        continue
      }
      if (batches.length === 0 || bytes + size > maxBatchBytes) {
        batches.push([])
        bytes = 0
      }
      batches.at(-1)!.push(event)
      bytes += size
    }
    if (tooLarge.length > 0) this.#lost(PLUGIN, aggregate(tooLarge.map(() => 'event is too large even after truncating')), tooLarge)
    return batches
  }

  get isGrouped(): boolean {
    return this.#next.isGrouped === true
  }

  get keeping(): Keeping | undefined {
    return this.#next.keeping
  }

  close(): Promise<void> {
    return this.#next.close()
  }
}

/** The size of an event as a line of JSON. */
const sizeOf = (event: AuditEvent) => Buffer.byteLength(eventJson(event)) + 1

function withoutBodies(event: AuditEvent): AuditEvent {
  return { ...event, requestObject: undefined, responseObject: undefined, annotations: event.annotations.with(TRUNCATED, 'true') }
}
