/** The spans of one request that is traced: its own, those of its phases, and those of calls that it makes. */
import { randomId, type TraceContext, traceParent } from './trace-context.ts'

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export type Span = {
  readonly context: TraceContext
  readonly parentId?: string | undefined
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client'
  /** Milliseconds since the epoch. */
  readonly start: number
  readonly end: number
  readonly attributes: SpanAttributes
  /** Why it failed; empty where that is all that is known. */
  readonly error?: string | undefined
  /** The trace of a client that is not trusted to continue it. */
  readonly link?: TraceContext | undefined
}

/** A call to another server, as a span. */
export type TracedCall = {
  /** Headers that continue the trace there. */
  readonly headers: Readonly<Record<string, string>>
  /** Ends the span; attributes that only the answer tells are added. */
  end(error?: string, answered?: SpanAttributes): void
}

/** A request makes no more spans of its own than this. */
const MAX_CALLS = 128

export class RequestTrace {
  /** The span of the request. */
  readonly context: TraceContext
  /** The span of the step that handles it, which calls belong to. */
  readonly handlingId: string = randomId(8)
  readonly baggage: string | undefined
  readonly #now: () => number
  readonly #calls: Span[] = []

  constructor(context: TraceContext, { baggage, now }: { readonly baggage: string | undefined; readonly now: () => number }) {
    this.context = context
    this.baggage = baggage
    this.#now = now
  }

  /** The finished calls. */
  get calls(): readonly Span[] {
    return this.#calls
  }

  /** Begins a call to another server. It is recorded when it ends, if the trace is. */
  call(name: string, attributes: SpanAttributes): TracedCall {
    const context = { ...this.context, spanId: randomId(8) }
    const start = this.#now()
    const { state } = context
    return {
      headers: {
        traceparent: traceParent(context),
        ...(state !== undefined && { tracestate: state }),
        ...(this.baggage !== undefined && { baggage: this.baggage }),
      },
      end: (error, answered) => {
        if (!context.isSampled || this.#calls.length >= MAX_CALLS) return
        const all = answered ? { ...attributes, ...answered } : attributes
        this.#calls.push({ context, parentId: this.handlingId, name, kind: 'client', start, end: this.#now(), attributes: all, error })
      },
    }
  }
}
