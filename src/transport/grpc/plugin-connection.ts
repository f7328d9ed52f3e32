/** The connection to a plugin of the server: gRPC on a Unix socket. */
import { setTimeout as sleep } from 'node:timers/promises'
import { dialFailure } from '../dial-failure.ts'
import { type Connection, ConnectionLost, type Method, openConnection } from './connection.ts'
import { DeadlineExceeded } from './http2-session.ts'
import { codeName, RpcError } from './status.ts'

/** A call of a plugin that failed; the message is that of Go's gRPC. */
export class PluginError extends Error {
  readonly code: number

  constructor(cause: RpcError) {
    super(`rpc error: code = ${codeName(cause.code)} desc = ${cause.message}`, { cause })
    this.code = cause.code
  }
}

export type PluginConnectionOptions = {
  /** The plugin in messages. */
  readonly name: string
  /** `unix:///PATH` */
  readonly endpoint: string
  readonly timeoutMs: number
  /** Called after each call, with the time at which it began and its failure. */
  readonly called?: (path: string, began: number, failure?: PluginError) => void
}

const DEADLINE_EXCEEDED = 4
const UNAVAILABLE = 14
/** How long a plugin that does not listen is waited for before it is tried again. */
const DIAL_AGAIN_MS = 100

/** The plugin need not run yet: each call waits for it until its time is over. */
export class PluginConnection {
  readonly #options: PluginConnectionOptions
  readonly #closing = new AbortController()
  #connection: Connection | undefined
  #dialing: Promise<Connection> | undefined

  constructor(options: PluginConnectionOptions) {
    this.#options = options
  }

  close(): void {
    this.#closing.abort(new Error(`the connection to ${this.#options.name} is closed`))
    this.#connection?.destroy()
  }

  /** Throws PluginError. */
  async call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    const { timeoutMs, called } = this.#options
    const began = performance.now()
    try {
      const answer = await this.#attempts(method, request, began + timeoutMs)
      called?.(method.path, began)
      return answer
    } catch (error) {
      const failure = new PluginError(error instanceof RpcError ? error : new RpcError(UNAVAILABLE, (error as Error).message))
      called?.(method.path, began, failure)
      throw failure
    }
  }

  async #attempts<Request, Response>(method: Method<Request, Response>, request: Request, until: number): Promise<Response> {
    let dialError: string | undefined
    for (;;) {
      const left = until - performance.now()
      if (left <= 0 || this.#closing.signal.aborted)
        throw new RpcError(DEADLINE_EXCEEDED, dialError === undefined ? TOO_LATE : `latest balancer error: ${dialError}`)
      let connection: Connection
      try {
        connection = await within(this.#connected(), left)
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) dialError = this.#explained(error)
        await sleep(Math.max(0, Math.min(DIAL_AGAIN_MS, until - performance.now())))
        continue
      }
      try {
        return await connection.call(method, request, { deadlineMs: Math.max(1, until - performance.now()) })
      } catch (error) {
        if (error instanceof DeadlineExceeded) throw new RpcError(DEADLINE_EXCEEDED, TOO_LATE)
        if (!(error instanceof ConnectionLost)) throw error
        if (!error.neverSent) throw new RpcError(UNAVAILABLE, 'error reading from server: EOF')
      }
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isUsable) return this.#connection
    this.#dialing ??= openConnection(this.#options.endpoint, {
      peer: { name: this.#options.name, authority: 'localhost' },
      signal: this.#closing.signal,
    })
      .then(connection => {
        if (this.#closing.signal.aborted) connection.destroy()
        return (this.#connection = connection)
      })
      .finally(() => (this.#dialing = undefined))
    return this.#dialing
  }

  #explained(error: unknown): string {
    const why = dialFailure('unix', new URL(this.#options.endpoint).pathname, error)
    return `connection error: desc = "transport: Error while dialing: ${why}"`
  }
}
const TOO_LATE = 'context deadline exceeded'

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineExceeded(TOO_LATE)), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
