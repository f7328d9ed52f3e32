/** Writes each event as a line of a log. */
import { startTimer, stopTimer } from '../lib/environment.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { type AuditEvent, eventLine, eventsOf } from './event.ts'
import { EventLines } from './event-lines.ts'
import type { AuditSink, Keeping, LostEvents } from './sink.ts'

export const LOG_FORMATS = ['legacy', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** Where lines go: a file, or standard output. */
export type LineWriter = {
  /**
   * Throws, at once or later, when the lines could not be written. Where it takes its time, the next lines may be given already. The bytes
   * hold until the call returns.
   */
  append(lines: Uint8Array): void | Promise<void>
  close(): Promise<void>
}

const PLUGIN = 'log'

export type LogSinkOptions = {
  readonly format: LogFormat
  readonly lost: LostEvents
  readonly grouping: Grouping
}

/**
 * Which lines are written with one call, as it costs as much for many as for one: those of a single call of `write`; those of one iteration
 * of the event loop, for which whoever needs to know that they are written waits with `keeping`; or those of a few milliseconds, for which
 * nobody waits.
 */
export type Grouping = 'none' | 'iteration' | 'delay'

const DELAY_MS = 20
/** Characters of bodies, and events, that wait at most. */
const MAX_WAITING = 1 << 20
const MAX_WAITING_EVENTS = 100

export class LogSink implements AuditSink {
  readonly #writer: LineWriter
  readonly #options: LogSinkOptions
  /** Events that wait: their lines are made one after the other when they are written, which is cheaper than between requests. */
  #events: AuditEvent[] = []
  #waiting = 0
  readonly #lines = new EventLines()
  /** Ends the wait of the events; undefined where none wait. */
  #cancelFlush: (() => void) | undefined
  /** Resolves with the write at the end of this iteration. */
  #settled: Promise<void> | undefined
  #settle: (() => void) | undefined
  /** Resolves when a writer that takes its time has written all that it was given. */
  #writing: Promise<void> | undefined

  constructor(writer: LineWriter, options: LogSinkOptions) {
    this.#writer = writer
    this.#options = options
  }

  write(events: readonly AuditEvent[]): MaybePromise<boolean> {
    for (const event of events) {
      this.#events.push(event)
      this.#waiting += (event.requestObject?.length ?? 0) + (event.responseObject?.length ?? 0)
    }
    const isFull = this.#waiting > MAX_WAITING || this.#events.length > MAX_WAITING_EVENTS
    if (isFull || this.#options.grouping === 'none') return this.#write()
    this.#cancelFlush ??= this.#flushLater()
    return true
  }

  #flushLater(): () => void {
    if (this.#options.grouping === 'delay') {
      // Not by the clock of requests, which tests stop.
      const timer = startTimer(() => this.#write(), DELAY_MS).unref()
      return () => stopTimer(timer)
    }
    const immediate = setImmediate(() => this.#write())
    return () => clearImmediate(immediate)
  }

  get isGrouped(): boolean {
    return this.#options.grouping !== 'none'
  }

  get keeping(): Keeping | undefined {
    return this.#options.grouping === 'delay' ? undefined : this.#keeping
  }

  readonly #keeping: Keeping = {
    settled: () => {
      if (!this.#cancelFlush) return this.#writing
      return (this.#settled ??= new Promise(resolve => {
        this.#settle = resolve
      }))
    },
    flush: () => {
      if (this.#cancelFlush) void this.#write()
      return this.#writing
    },
  }

  async close(): Promise<void> {
    await this.#write()
    await this.#writer.close()
  }

  /** Writes the lines that wait. */
  #write(): MaybePromise<boolean> {
    this.#cancelFlush?.()
    const events = this.#events
    const settle = this.#settle
    this.#cancelFlush = this.#settled = this.#settle = undefined
    this.#events = []
    this.#waiting = 0
    const done = (isKept: boolean): boolean => {
      settle?.()
      return isKept
    }
    const failed = (error: unknown): boolean => {
      this.#options.lost(PLUGIN, (error as Error).message, events.flatMap(eventsOf))
      return done(false)
    }
    try {
      const written = events.length > 0 ? this.#appendLines(events) : undefined
      if (!written) return done(true)
      const finished = written.then(() => done(true), failed)
      const writing = finished.then(() => {
        if (this.#writing === writing) this.#writing = undefined
      })
      this.#writing = writing
      return finished
    } catch (error) {
      return failed(error)
    }
  }

  #appendLines(events: readonly AuditEvent[]): void | Promise<void> {
    const { format } = this.#options
    try {
      for (const event of events) {
        if (format === 'json') this.#lines.addJson(event)
        else for (const each of eventsOf(event)) this.#lines.add(eventLine(each))
      }
      return this.#writer.append(this.#lines.bytes)
    } finally {
      this.#lines.clear()
    }
  }
}
