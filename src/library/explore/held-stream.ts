/** A watch whose events are held back from one of them on: until another one, when all of them are lost, or until they are released. */
import type { WatchEvent, WatchSink, WatchStream } from '../../cache/watch-stream.ts'
import { expired, type StatusError } from '../../schema/status-error.ts'

export type HeldStreamParts = {
  /** Events to send before all others. */
  readonly first?: readonly WatchEvent[]
  /** Whether the events after these are held back. */
  readonly isHeldAtOnce?: boolean
  /** Whether the event of a revision is the first to hold back. */
  readonly begins?: (revision: number) => boolean
  /** Whether the event of a revision is the last to be dropped: then the watch ends with 410, and the client lists again. */
  readonly ends?: (revision: number) => boolean
  readonly onSkipped?: () => void
  readonly onEvent: () => void
}

export class HeldStream implements WatchStream {
  readonly #inner: WatchStream
  readonly #parts: HeldStreamParts
  #sink: WatchSink | undefined
  #isHolding: boolean
  #isOver = false
  /** Events that have arrived and are not decided on yet, and delayed events. */
  #coming: WatchEvent[] = []
  readonly #kept: WatchEvent[] = []
  #end: { readonly error: StatusError | undefined } | undefined

  constructor(inner: WatchStream, parts: HeldStreamParts) {
    this.#inner = inner
    this.#parts = parts
    this.#isHolding = parts.isHeldAtOnce ?? false
  }

  get isHolding(): boolean {
    return this.#isHolding && !this.#isOver
  }

  /** Sends everything that was held back, and all that comes. */
  release(): void {
    this.#isHolding = false
    for (const event of this.#kept.splice(0)) this.#send(event)
    this.#endIfDone()
  }

  close(): void {
    this.#isOver = true
    this.#inner.close()
  }

  open(sink: WatchSink): void {
    this.#sink = sink
    for (const event of this.#parts.first ?? []) this.#send(event)
    this.#inner.open({
      event: event => {
        // The change of an event may become known after it.
        if (this.#coming.push(event) === 1) setImmediate(() => this.#judge())
      },
      end: error => {
        this.#end = { error }
        this.#endIfDone()
      },
      get backlog() {
        return sink.backlog
      },
      onDrain: resume => sink.onDrain(resume),
    })
  }

  #judge(): void {
    const coming = this.#coming
    this.#coming = []
    for (const event of coming) {
      if (this.#isOver) return
      const revision = event.type === 'BOOKMARK' ? 0 : revisionOf(event)
      if (!this.#isHolding && revision > 0 && this.#parts.begins?.(revision)) this.#isHolding = true
      if (!this.#isHolding) this.#send(event)
      else if (revision > 0 && this.#parts.ends?.(revision)) this.#skip()
      else this.#kept.push(event)
    }
    this.#endIfDone()
  }

  #skip(): void {
    this.#parts.onSkipped?.()
    this.#isOver = true
    this.#inner.close()
    this.#sink?.end(expired('The resourceVersion for the provided watch is too old.'))
  }

  #send(event: WatchEvent): void {
    if (this.#isOver) return
    if (event.type !== 'BOOKMARK') this.#parts.onEvent()
    this.#sink?.event(event)
  }

  #endIfDone(): void {
    if (!this.#end || this.#isOver || this.#isHolding || this.#coming.length > 0) return
    this.#isOver = true
    this.#sink?.end(this.#end.error)
  }
}

/** The resourceVersion of an event's object; that of a deletion is its own. */
function revisionOf({ json }: WatchEvent): number {
  return Number(/"resourceVersion":"(\d+)"/.exec(Buffer.from(json).toString('latin1'))?.[1] ?? 0)
}
