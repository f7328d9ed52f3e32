/** Writes each event as a line of a log. */
import { type AuditEvent, eventJson, eventLine } from './event.ts'
import type { AuditSink, LostEvents } from './sink.ts'

export const LOG_FORMATS = ['legacy', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Where lines go: a file, or standard output. */
export type LineWriter = {
  /** Throws when the line could not be written. */
  append(line: string): void
  close(): Promise<void>
}

const PLUGIN = 'log'

export class LogSink implements AuditSink {
  readonly #writer: LineWriter
  readonly #format: (event: AuditEvent) => string
  readonly #lost: LostEvents

  constructor(writer: LineWriter, { format, lost }: { readonly format: LogFormat; readonly lost: LostEvents }) {
    this.#writer = writer
    this.#format = format === 'legacy' ? eventLine : eventJson
    this.#lost = lost
  }

  write(events: readonly AuditEvent[]): boolean {
    let isKept = true
    for (const event of events) {
      try {
        this.#writer.append(`${this.#format(event)}\n`)
      } catch (error) {
        isKept = false
        this.#lost(PLUGIN, (error as Error).message, [event])
      }
    }
    return isKept
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}
