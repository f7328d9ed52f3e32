/** Where audit events go. */
import type { AuditEvent } from './event.ts'

export interface AuditSink {
  /**
   * Takes events in the order in which they happened. False when they could not be kept; the sink has reported that itself. An event comes
   * with another one (`receivedWith`) only where `isGrouped`.
   */
  write(events: readonly AuditEvent[]): boolean | Promise<boolean>
  /** How requests wait until their events are kept; undefined where they do not. */
  readonly keeping?: Keeping | undefined
  /** Whether events that are written within one iteration of the event loop are kept together, and those of requests need not wait. */
  readonly isGrouped?: boolean
  /** Delivers everything that it still holds, then takes no more. */
  close(): Promise<void>
}

/** Waits until all events that `write` has taken without waiting are kept; undefined where they are. */
export type Keeping = {
  settled(): Promise<void> | undefined
  /** The same, but does not wait for further events that could be kept together with them. */
  flush(): Promise<void> | undefined
}

/** Told of events that a sink could not keep. */
export type LostEvents = (plugin: string, why: string, events: readonly AuditEvent[]) => void

/** Several sinks as one: each gets every event. */
export function everySink(sinks: readonly AuditSink[]): AuditSink {
  if (sinks.length === 1) return sinks[0]!
  return {
    write(events) {
      const written = sinks.map(sink => sink.write(events))
      const isKept = (results: readonly boolean[]) => results.every(Boolean)
      return written.some(result => result instanceof Promise) ? Promise.all(written).then(isKept) : isKept(written as boolean[])
    },
    isGrouped: sinks.every(sink => sink.isGrouped === true),
    keeping: everyKeeping(sinks.flatMap(sink => sink.keeping ?? [])),
    async close() {
      await Promise.all(sinks.map(sink => sink.close()))
    },
  }
}

function everyKeeping(all: readonly Keeping[]): Keeping | undefined {
  if (all.length === 0) return undefined
  return {
    settled: () => whenAll(all.flatMap(keeping => keeping.settled() ?? [])),
    flush: () => whenAll(all.flatMap(keeping => keeping.flush() ?? [])),
  }
}

const whenAll = (waits: readonly Promise<void>[]): Promise<void> | undefined =>
  waits.length > 1 ? Promise.all(waits).then(() => {}) : waits[0]

/** A sink whose failures no request notices: those are counted and logged, and the request goes on. */
export function lenient(sink: AuditSink): AuditSink {
  return {
    write(events) {
      const written = sink.write(events)
      return written instanceof Promise ? written.then(() => true) : true
    },
    isGrouped: sink.isGrouped === true,
    keeping: sink.keeping,
    close: () => sink.close(),
  }
}
