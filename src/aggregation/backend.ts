/** The server behind an APIService: its address, connections to it, and requests that this server makes itself. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { startTimer, stopTimer } from '../lib/environment.ts'
import type { User } from '../schema/user.ts'
import type { Destination } from '../transport/destination.ts'
import { trustingAgent } from '../transport/trusting-agent.ts'
import { goMessage } from '../transport/webhook-transport.ts'
import type { ServiceDestination, ServiceReference } from './endpoint.ts'
import { remoteUserHeaders } from './remote-user.ts'

export type BackendParts = {
  readonly destination: ServiceDestination
  /** The client certificate by which aggregated servers trust this one; PEM. */
  readonly certificate: () => { readonly cert: string; readonly key: string }
  /** Names this server in `Via`, so that a request that comes back is recognized. */
  readonly serverName: string
  readonly sendsUid: boolean
}

export type BackendSpec = ServiceReference & { readonly ca: string; readonly skipsVerification: boolean }

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

/** Advice for a Service whose pods are simulated. */
const INSTEAD =
  'run the API server where this server reaches it, and give the Service its address: by the annotation sim.keelson.dev/address, in an EndpointSlice of your own, or as type ExternalName'
const IDLE_MS = 30_000
const MAX_SOCKETS = 64

export class Backend implements Disposable {
  readonly spec: BackendSpec
  readonly #parts: BackendParts
  #agents: { readonly cert: string; readonly kept: Agent; readonly single: Agent } | undefined

  constructor(spec: BackendSpec, parts: BackendParts) {
    this.spec = spec
    this.#parts = parts
  }

  get host(): string {
    const { name, namespace, port } = this.spec
    return `${name}.${namespace}.svc:${port}`
  }

  /** One of its addresses; throws UnreachableService. */
  destination(): Destination {
    return this.#parts.destination(this.spec, INSTEAD)
  }

  /** Reused connections, or a new one for a request that cannot be repeated. */
  agent(use: 'kept' | 'single'): Agent {
    const client = this.#parts.certificate()
    if (this.#agents?.cert !== client.cert) {
      this[Symbol.dispose]()
      const { name, namespace, ca, skipsVerification } = this.spec
      const trust = { host: '', ca, servername: `${name}.${namespace}.svc`, client, skipsVerification }
      this.#agents = {
        cert: client.cert,
        kept: trustingAgent(trust, {
          keepAlive: true,
          timeout: IDLE_MS,
          maxSockets: Number.POSITIVE_INFINITY,
          maxFreeSockets: MAX_SOCKETS,
        }),
        single: trustingAgent(trust, { keepAlive: false }),
      }
    }
    return this.#agents[use]
  }

  /** The headers that this server adds to those of the client. */
  headersFor(user: User, via: string | undefined): Record<string, string | string[]> {
    const { serverName, sendsUid } = this.#parts
    const { uid: _uid, ...anonymous } = user
    const own = `1.1 ${serverName}`
    return { host: this.host, via: via === undefined ? own : `${via}, ${own}`, ...remoteUserHeaders(sendsUid ? user : anonymous) }
  }

  /** Sends a request of this server to one of its addresses and reads the whole answer. Throws BackendError or UnreachableService. */
  async send(
    { method = 'GET', path, user, headers, body, timeoutMs, maxBytes, signal }: BackendRequest,
    { host, port, lookup, dial }: Destination = this.destination(),
  ): Promise<BackendAnswer> {
    for (;;) {
      const answer = await new Promise<BackendAnswer | 'closed'>((resolve, reject) => {
        const fail = (error: Error) => reject(new BackendError(error.message))
        const sent = request({
          host,
          port,
          path,
          method,
          ...(lookup && { lookup }),
          ...(dial && { dial }),
          agent: this.agent(method === 'GET' ? 'kept' : 'single'),
          headers: {
            accept: 'application/json',
            ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
            ...headers,
            ...this.headersFor(user, undefined),
          },
          ...(signal && { signal }),
        })
        const timer = startTimer(() => {
          const late = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
          sent.destroy(Object.assign(new Error(late), { code: 'LATE' }))
        }, timeoutMs)
        sent.once('close', () => stopTimer(timer))
        sent.once('response', message => collect(message, maxBytes).then(resolve, fail))
        sent.on('error', (error: Error & { readonly code?: string }) => {
          if (sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) resolve('closed')
          else fail(new Error(goMessage(error, { host, port })))
        })
        sent.end(body)
      })
      if (answer !== 'closed') return answer
    }
  }

  [Symbol.dispose](): void {
    this.#agents?.kept.destroy()
    this.#agents?.single.destroy()
    this.#agents = undefined
  }
}

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
