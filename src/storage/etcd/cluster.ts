/** The members of an etcd cluster: calls go to one of them, and to another when it fails. */
import { chance, monotonicMs, startTimer, stopTimer } from '../../lib/environment.ts'
import type { RequestTrace } from '../../lib/request-trace.ts'
import type { Dial } from '../../transport/egress.ts'
import {
  type Connection,
  ConnectionLost,
  type Method,
  openConnection,
  type Peer,
  type Stream,
  type StreamHandler,
} from '../../transport/grpc/connection.ts'
import { DeadlineExceeded, type Tls } from '../../transport/grpc/http2-session.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { StoreUnavailable } from '../store.ts'
import { call } from './call.ts'
import { explain, isLasting, isNotDone, isPassing } from './problem.ts'

export type ClusterOptions = {
  /** `http://HOST:PORT` or `https://HOST:PORT` of members, any of which will do. */
  readonly endpoints: readonly string[]
  readonly tls?: Tls
  /** Opens connections, where they are not direct. */
  readonly dial?: Dial | undefined
  /** Told when the members cannot be reached, and when they can again. */
  readonly onChange?: (message: string) => void
}

/** A call is made again until this has passed, and given up on a member after that. */
const CALL_MS = 15_000
const ATTEMPT_MS = 5_000
/** etcd itself gives up a write after 7 seconds, and then says more than a deadline of ours would. */
const WRITE_MS = 10_000
const MIN_WAIT_MS = 50
const MAX_WAIT_MS = 1_000
/** Calls under way on a member that has not answered others may still be answered within this time. */
const RETIRED_MS = 5_000

/** A member that has lost its leader answers so instead of letting calls wait, and ends watches. */
const ETCD: Peer = { name: 'etcd', metadata: [['hasleader', 'true']], isPinged: true }

/** The time that a read may take, and the trace of the request that it is made for. */
export type ReadOptions = { readonly withinMs?: number | undefined; readonly trace?: RequestTrace | undefined }

export class Cluster {
  readonly #endpoints: readonly string[]
  readonly #tls: Tls
  readonly #proxy: Dial | undefined
  readonly #onChange: (message: string) => void
  readonly #retired = new Set<Connection>()
  /** Ends all waiting, when the cluster is closed. */
  readonly #endings = new Set<() => void>()
  #current: Connection | undefined
  #dialing: Promise<Connection> | undefined
  /** The member to try next. Replicas begin with different ones, to share their load. */
  #next: number
  #isReachable = true
  #isClosed = false

  constructor({ endpoints, tls = {}, dial, onChange = () => {} }: ClusterOptions) {
    this.#proxy = dial
    this.#endpoints = endpoints
    this.#tls = tls
    this.#onChange = onChange
    this.#next = Math.floor(chance() * endpoints.length)
  }

  /** The members, for people. */
  get where(): string {
    return this.#endpoints.join(', ')
  }

  /** Reads, from any member and as often as necessary. Rejects with `RpcError` if that is the answer, otherwise `StoreUnavailable`. */
  async read<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    { withinMs = CALL_MS, trace }: ReadOptions = {},
  ): Promise<Response> {
    const until = monotonicMs() + withinMs
    let answered: unknown
    for (let attempt = 0; ; attempt++) {
      let connection: Connection | undefined
      try {
        connection = this.#usable ?? (await this.#connection(until))
        const left = until - monotonicMs()
        const deadlineMs = Math.min(ATTEMPT_MS, Math.max(left, MIN_WAIT_MS))
        return await call(connection, { method, request, deadlineMs, trace })
      } catch (error) {
        if (this.#isClosed) throw closed()
        if (!isPassing(error)) throw error
        // The error of a member tells more than that the next one did not answer in the time that was left.
        if (!(answered && error instanceof DeadlineExceeded)) answered = error
        if (connection) this.#avoid(connection, error)
      }
      const wait = waitAfter(attempt)
      if (monotonicMs() + wait >= until) throw explain(answered, this.where)
      await this.#sleep(wait)
    }
  }

  /**
   * Makes a call that must not be made twice: again only if it has certainly not been made. Rejects with what happened, which
   * `isNotDone` can tell about, or with `StoreUnavailable` if it was never sent.
   */
  async write<Request, Response>(method: Method<Request, Response>, request: Request, trace?: RequestTrace): Promise<Response> {
    const until = monotonicMs() + CALL_MS
    for (let attempt = 0; ; attempt++) {
      const connection = this.#usable ?? (await this.#connection(until))
      try {
        return await call(connection, { method, request, deadlineMs: WRITE_MS, trace })
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#avoid(connection, error)
        if (!isNotDone(error)) throw error
        const wait = waitAfter(attempt)
        if (this.#isClosed || monotonicMs() + wait >= until) throw explain(error, this.where)
        await this.#sleep(wait)
      }
    }
  }

  /** Opens a stream to a member. Rejects with `StoreUnavailable` when none can be reached. */
  async stream(path: string, handler: StreamHandler): Promise<Stream> {
    const connection = await this.#connection(monotonicMs() + CALL_MS)
    return connection.stream(path, {
      message: message => handler.message(message),
      ended: error => {
        this.#avoid(connection, error)
        handler.ended(error)
      },
    })
  }

  /** One call of each member, by endpoint: what it answers, or why it does not. */
  async each<Request, Response>(method: Method<Request, Response>, request: Request): Promise<PromiseSettledResult<Response>[]> {
    const calls = this.#endpoints.map(async endpoint => {
      const connection = await this.#openConnection(endpoint)
      try {
        return await connection.call(method, request, { deadlineMs: ATTEMPT_MS })
      } finally {
        connection.destroy()
      }
    })
    return Promise.allSettled(calls)
  }

  /** Ends all connections; whatever waits for an answer or a member fails. */
  close(): void {
    this.#isClosed = true
    for (const end of [...this.#endings]) end()
    for (const connection of [...this.#retired, ...(this.#current ? [this.#current] : [])]) connection.destroy()
  }

  get #usable(): Connection | undefined {
    return !this.#isClosed && this.#current?.isUsable ? this.#current : undefined
  }

  /** A connection that can be used, within a time. */
  async #connection(until: number): Promise<Connection> {
    for (let attempt = 0; ; attempt++) {
      if (this.#isClosed) throw closed()
      if (this.#usable) return this.#usable
      try {
        this.#dialing ??= this.#dial().finally(() => (this.#dialing = undefined))
        return await this.#dialing
      } catch (error) {
        const wait = waitAfter(attempt)
        if (this.#isClosed) throw closed()
        if (isLasting(error) || monotonicMs() + wait >= until) throw explain(error, this.where)
        await this.#sleep(wait)
      }
    }
  }

  /** Tries every member once. */
  async #dial(): Promise<Connection> {
    let failure: unknown
    for (let i = 0; i < this.#endpoints.length && !this.#isClosed; i++) {
      const endpoint = this.#endpoints[this.#next]!
      try {
        const connection = await this.#openConnection(endpoint)
        if (!this.#isReachable) this.#onChange(`connected to etcd at ${endpoint}`)
        this.#isReachable = true
        return (this.#current = connection)
      } catch (error) {
        this.#next = (this.#next + 1) % this.#endpoints.length
        // A certificate that is refused by one member is worth more than another that is down.
        if (failure === undefined || isLasting(error)) failure = error
      }
    }
    if (this.#isReachable && !this.#isClosed) this.#onChange(explain(failure, this.where).message)
    this.#isReachable = false
    throw failure
  }

  async #openConnection(endpoint: string): Promise<Connection> {
    const giveUp = new AbortController()
    const end = () => giveUp.abort(closed())
    this.#endings.add(end)
    try {
      return await openConnection(endpoint, { peer: ETCD, tls: this.#tls, dial: this.#proxy, signal: giveUp.signal })
    } finally {
      this.#endings.delete(end)
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = () => {
        stopTimer(timer)
        this.#endings.delete(end)
        resolve()
      }
      const timer = startTimer(end, ms)
      this.#endings.add(end)
    })
  }

  /** Uses another member from now on, if this one is to blame. */
  #avoid(connection: Connection, error: unknown): void {
    if (this.#current !== connection || this.#isClosed) return
    // The member has told of an election that is over.
    if (error instanceof RpcError && (error.message.includes('leader changed') || !isPassing(error))) return
    if (error instanceof ConnectionLost && error.neverSent && connection.isUsable) return
    this.#current = undefined
    this.#next = (this.#next + 1) % this.#endpoints.length
    connection.retire()
    this.#retired.add(connection)
    startTimer(() => {
      this.#retired.delete(connection)
      connection.destroy(new ConnectionLost('the member was given up'))
    }, RETIRED_MS).unref()
  }
}

const closed = () => new StoreUnavailable('the store is closed')

/** The first wait is short; later ones grow, and differ between replicas. */
const waitAfter = (attempt: number) => Math.min(MIN_WAIT_MS * 2 ** attempt, MAX_WAIT_MS) * (0.5 + chance() / 2)
