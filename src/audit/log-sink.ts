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

export type LogSinkOptions = {
  readonly format: LogFormat
  readonly lost: LostEvents
  /**
   * Whether the line of a request that has only been received may wait for the next line, or for the end of the iteration of the event loop:
   * most are answered within it, and then one write is enough. All other lines are written before the response.
   */
  readonly isGrouped: boolean
}

export class LogSink implements AuditSink {
  readonly #writer: LineWriter
  readonly #format: (event: AuditEvent) => string
  readonly #options: LogSinkOptions
  #events: AuditEvent[] = []
  #lines = ''
  #flushing: NodeJS.Immediate | undefined

  constructor(writer: LineWriter, options: LogSinkOptions) {
    this.#writer = writer
    this.#format = options.format === 'legacy' ? eventLine : eventJson
    this.#options = options
  }

  write(events: readonly AuditEvent[]): boolean {
    for (const event of events) {
      this.#events.push(event)
      this.#lines += `${this.#format(event)}\n`
    }
    const mayWait = this.#options.isGrouped && this.#lines.length < MAX_WAITING && events.at(-1)?.stage === 'RequestReceived'
    if (!mayWait) return this.#flush()
    this.#flushing ??= setImmediate(() => this.#flush())
    return true
  }

  async close(): Promise<void> {
    this.#flush()
    await this.#writer.close()
  }

  #flush(): boolean {
    this.#flushing = undefined
    if (this.#events.length === 0) return true
    const [events, lines] = [this.#events, this.#lines]
    this.#events = []
    this.#lines = ''
    try {
      this.#writer.append(lines)
      return true
    } catch (error) {
      this.#options.lost(PLUGIN, (error as Error).message, events)
      return false
    }
  }
}

/** Characters that wait at most. */
const MAX_WAITING = 1 << 20
