/** One request on its way through the registry: the call, its context and body, and the pace at which it is handled. */
import { Pace } from '../lib/pace.ts'
import type { MaybeStep } from '../lib/step.ts'
import { StatusError, timedOut } from '../schema/status-error.ts'
import type { Body, Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'

/** Handles a request: the result where nothing has to be waited for, else the work that leads to it. */
export type Handler = (request: Request) => MaybeStep<Result>

export class Request {
  readonly deps: Deps
  readonly call: Call
  readonly ctx: CallContext
  readonly body: Body | undefined
  #pace: Pace | undefined

  constructor(deps: Deps, call: Call, ctx: CallContext, body?: Body) {
    this.deps = deps
    this.call = call
    this.ctx = ctx
    this.body = body
  }

  /** Made when it is first asked for: most reads end before. */
  get pace(): Pace {
    this.#pace ??= new Pace({
      bytes: this.body?.object?.size ?? this.body?.bytes.byteLength ?? 0,
      work: this.ctx.budget,
      cancelled: () => cancellationOf(this.ctx),
    })
    return this.#pace
  }

  /** The same request with a prepared body. */
  withBody(body: Body): Request {
    return new Request(this.deps, this.call, this.ctx, body)
  }

  /** A call that is a part of this request: it has the same pace. */
  part(call: Call, ctx: CallContext = this.ctx): Request {
    const part = new Request(this.deps, call, ctx, ctx === this.ctx ? this.body : undefined)
    part.#pace = this.pace
    return part
  }
}

/** The error to stop with when the client has gone or the deadline has passed. */
function cancellationOf({ signal }: CallContext): StatusError | undefined {
  if (!signal.aborted) return undefined
  return signal.reason instanceof StatusError ? signal.reason : timedOut('the request was cancelled')
}
