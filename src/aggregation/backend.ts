/** Another API server: its address, connections to it, and requests that this server makes itself. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { Cancellable } from '../lib/cancellation.ts'
import { startTimer, stopTimer } from '../lib/environment.ts'
import type { User } from '../schema/user.ts'
import type { Destination } from '../transport/destination.ts'
import { endsBy, Http2Only } from '../transport/http2-only.ts'
import { type Trust, trustingAgent } from '../transport/trusting-agent.ts'
import { goMessage } from '../transport/webhook-transport.ts'
import { remoteUserHeaders } from './remote-user.ts'

export type BackendSpec = {
  /** Name and port, as requests name it. */
  readonly host: string
  /** The name that its certificate has to be valid for. */
  readonly servername: string
  /** Authorities of its certificate; PEM. */
  readonly ca: string
  readonly skipsVerification: boolean
  /** One of its addresses; throws UnreachableService. */
  readonly destination: () => Destination
  /** The client certificate by which it trusts this server; PEM. */
  readonly certificate: () => { readonly cert: string; readonly key: string }
  /** Names this server in `Via`, so that a request that comes back is recognized; without it, the header is left as it is. */
  readonly via?: string
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether users are named with their uid. */
  readonly sendsUid: boolean
}

export type BackendRequest = {
  readonly method?: 'GET' | 'PUT' | 'DELETE'
  /** The path with the query. */
  readonly path: string
  readonly user: User
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly signal?: AbortSignal
}
export type BackendAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer }

/** The server was not reached, or did not answer. */
class BackendError extends Error {}

const IDLE_MS = 30_000
const MAX_SOCKETS = 64

export class Backend implements Disposable {
  readonly #spec: BackendSpec
  #connections: (Trusted & { readonly kept: Agent; readonly single: Agent }) | undefined

  constructor(spec: BackendSpec) {
    this.#spec = spec
  }

  /** One of its addresses; throws UnreachableService. */
  destination(): Destination {
    return this.#spec.destination()
  }

  /** Whether this server has passed on a request before. */
  isReturned(via: string | undefined): boolean {
    return via?.split(',').some(each => each.trim() === this.#spec.via) ?? false
  }

  /** Reused connections, or a new one for a request that cannot be repeated. */
  connections(use: 'kept' | 'single'): Trusted & { readonly agent: Agent } {
    const { servername, ca, skipsVerification, certificate } = this.#spec
    const client = certificate()
    if (this.#connections?.trust.client?.cert !== client.cert) {
      this[Symbol.dispose]()
      const trust = { host: '', ca, servername, client, skipsVerification }
      const kept = { keepAlive: true, timeout: IDLE_MS, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: MAX_SOCKETS }
      this.#connections = {
        trust,
        kept: trustingAgent(trust, kept),
        single: trustingAgent(trust, { keepAlive: false }),
        http2: new Http2Only(),
      }
    }
    const { trust, http2, [use]: agent } = this.#connections!
    return { trust, http2, agent }
  }

  /** The headers that this server adds to those of the client. */
  headersFor(user: User, via: string | undefined): Record<string, string | string[]> {
    const { host, via: own, headers, sendsUid } = this.#spec
    const { uid: _uid, ...anonymous } = user
    const through = own === undefined ? {} : { via: via === undefined ? own : `${via}, ${own}` }
    return { host, ...through, ...headers, ...remoteUserHeaders(sendsUid ? user : anonymous) }
  }

  /** Sends a request of this server to one of its addresses and reads the whole answer. Throws BackendError or UnreachableService. */
  async send(wanted: BackendRequest, to: Destination = this.destination()): Promise<BackendAnswer> {
    const connections = this.connections((wanted.method ?? 'GET') === 'GET' ? 'kept' : 'single')
    const sent = { wanted, to, headers: this.#headersOf(wanted), ...connections }
    const key = `${to.host}:${to.port}`
    try {
      for (;;) {
        const answer = await connections.http2.either(
          key,
          () => sendHttp1(sent),
          () => sendHttp2(sent, key),
        )
        if (answer !== 'closed') return answer
      }
    } catch (error) {
      throw new BackendError(goMessage(error as Error, to))
    }
  }

  #headersOf({ user, headers, body }: BackendRequest): Record<string, string | string[] | number> {
    return {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...headers,
      ...this.headersFor(user, undefined),
    }
  }

  [Symbol.dispose](): void {
    this.#connections?.kept.destroy()
    this.#connections?.single.destroy()
    this.#connections?.http2[Symbol.dispose]()
    this.#connections = undefined
  }
}

type Trusted = { readonly trust: Trust; readonly http2: Http2Only }
type Sent = ReturnType<Backend['connections']> & {
  readonly wanted: BackendRequest
  readonly to: Destination
  readonly headers: Readonly<Record<string, string | string[] | number>>
}

/** One attempt. If the peer has closed a kept connection in the meantime, that says nothing about the peer. */
const sendHttp1 = ({ wanted, to: { host, port, lookup, dial }, headers, agent }: Sent): Promise<BackendAnswer | 'closed'> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', path, body, timeoutMs, maxBytes, signal } = wanted
    const sent = request({
      host,
      port,
      path,
      method,
      ...(lookup && { lookup }),
      ...(dial && { dial }),
      agent,
      headers,
      ...(signal && { signal }),
    })
    const timer = startTimer(() => sent.destroy(late()), timeoutMs)
    sent.once('close', () => stopTimer(timer))
    sent.once('response', message => collect(message, maxBytes).then(resolve, reject))
    sent.on('error', (error: Error & { readonly code?: string }) => {
      if (sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) resolve('closed')
      else reject(error)
    })
    sent.end(body)
  })

async function sendHttp2({ wanted, to, headers: { host, ...more }, trust, http2 }: Sent, key: string): Promise<BackendAnswer> {
  const { method = 'GET', path, body = '', timeoutMs, maxBytes, signal } = wanted
  const ending = new Cancellable()
  const timer = startTimer(() => ending.abort(late()), timeoutMs)
  const aborted = () => ending.abort(signal!.reason)
  if (signal?.aborted) aborted()
  signal?.addEventListener('abort', aborted)
  try {
    const headers = { ':method': method, ':path': path, ':authority': String(host), ...more }
    const answer = await http2.request({ key, ...to, trust }, { headers, body, maxResponseBytes: maxBytes, ends: endsBy(ending) })
    return { status: answer.status, headers: answer.headers, body: answer.bytes }
  } finally {
    stopTimer(timer)
    signal?.removeEventListener('abort', aborted)
  }
}

const late = () => Object.assign(new Error('context deadline exceeded (Client.Timeout exceeded while awaiting headers)'), { code: 'LATE' })

async function collect(message: IncomingMessage, maxBytes: number): Promise<BackendAnswer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) {
      message.destroy()
      throw new Error(`http: response body too large: the limit is ${maxBytes} bytes`)
    }
    parts.push(part)
  }
  return { status: message.statusCode ?? 0, headers: message.headers, body: Buffer.concat(parts) }
}
