/**
 * Calls webhooks: JSON is posted to an https address and the response read, within limits of time and size. Connections are kept alive and
 * reused. Errors have the messages of Go's client, which people search for.
 */
import { type ClientRequest, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type Agent, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { posix } from 'node:path'
import type { Cancellation } from '../lib/cancellation.ts'
import { trustingAgent } from './trusting-agent.ts'

export type WebhookCall = {
  readonly host: string
  readonly port: number
  /** Resolves the host when connecting; the default is the system's resolver. */
  readonly lookup?: LookupFunction | undefined
  /** Includes the query. */
  readonly path: string
  /** The host in messages and in the Host header, where it is not host and port: that of a service. */
  readonly shownHost?: string
  /** The name that the certificate has to be valid for, where it is not the host. */
  readonly servername?: string
  /** Trusted certificates in PEM, which may be the serving certificate itself; the default is those of the system. */
  readonly ca?: string
  /** The client certificate, in PEM. */
  readonly client?: { readonly cert: string; readonly key: string }
  /** Whether the webhook's certificate is not verified. */
  readonly skipsVerification?: boolean
  /** Whether the address is plain HTTP. */
  readonly isPlain?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  readonly maxResponseBytes: number
  readonly timeoutMs: number
  /** Cancels the call. */
  readonly signal?: Cancellation | undefined
}

export type WebhookAnswer = { readonly status: number; readonly contentType: string; readonly body: string }

/** A call that failed before there was a response. */
export class WebhookCallError extends Error {
  /** Whether it timed out. */
  readonly isTimeout: boolean
  constructor(message: string, cause: Error) {
    super(message, { cause })
    this.isTimeout = cause.name === 'TimeoutError'
  }
}

/** The number of addresses with kept connections, and how long an idle connection is kept. */
const MAX_AGENTS = 200
const IDLE_MS = 30_000
const MAX_SOCKETS = 64

/**
 * The path of a webhook, cleaned as client-go does: no double slashes, none at the end. Test harnesses write `https://HOST:PORT/` before a
 * path that begins with a slash, and Go servers redirect such a path.
 */
export const webhookPath = (path: string): string => posix.join('/', path).replace(/(?<=.)\/$/, '')

/** The URL as messages show it. */
export const webhookUrl = (call: Pick<WebhookCall, 'host' | 'port' | 'path' | 'shownHost' | 'isPlain'>): string => {
  const { host, port, path, shownHost, isPlain } = call
  return `${isPlain ? 'http' : 'https'}://${shownHost ?? `${isIP(host) === 6 ? `[${host}]` : host}:${port}`}${path}`
}

export class WebhookTransport implements Disposable {
  readonly #agents = new Map<string, Agent | PlainAgent>()

  /** The response, whatever its status. Redirects are not followed. Rejects with WebhookCallError. */
  async call(call: WebhookCall): Promise<WebhookAnswer> {
    const ending = new Ending(call)
    try {
      // Each attempt uses up one kept connection that turns out to be closed, so the loop ends.
      for (;;) {
        const answer = await this.#send(call, ending)
        if (answer !== 'connection was closed') return answer
      }
    } catch (error) {
      throw new WebhookCallError(`Post ${JSON.stringify(webhookUrl(call))}: ${goMessage(error as NodeError, call)}`, error as Error)
    } finally {
      ending.done()
    }
  }

  /** One attempt. If the peer has closed a kept connection in the meantime, that says nothing about the webhook. */
  #send(call: WebhookCall, ending: Ending): Promise<WebhookAnswer | 'connection was closed'> {
    const { host, port, lookup, path, shownHost, body, maxResponseBytes } = call
    return new Promise((resolve, reject) => {
      let isAnswered = false
      // A flat list of names and values is sent as it is; Node would copy an object first.
      const headers = ['Host', shownHost ?? hostHeader(call), ...FIXED_HEADERS, 'Content-Length', String(Buffer.byteLength(body))]
      for (const name in call.headers) headers.push(name, call.headers[name]!)
      const send = call.isPlain ? plainRequest : request
      const to = { host, port, ...(lookup && { lookup }), path, method: 'POST', agent: this.#agentFor(call), headers }
      const sent = send(to, answer => {
        isAnswered = true
        const parts: Buffer[] = []
        let size = 0
        answer.on('data', (part: Buffer) => {
          size += part.length
          if (size > maxResponseBytes) sent.destroy(new Error(`http: response body too large: the limit is ${maxResponseBytes} bytes`))
          else parts.push(part)
        })
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            contentType: answer.headers['content-type'] ?? '',
            body: (parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString('utf8'),
          }),
        )
      })
      sent.on('error', (error: NodeError) => {
        if (sent.reusedSocket && !isAnswered && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) resolve('connection was closed')
        else reject(error)
      })
      sent.end(body)
      ending.ends(sent, reject)
    })
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #agentFor({
    host,
    port,
    lookup,
    ca = '',
    servername = '',
    client,
    skipsVerification = false,
    isPlain = false,
  }: WebhookCall): Agent | PlainAgent {
    const address = `${host}:${port}`
    // Connections made without a check are not reused where there is one.
    const key = `${address} ${lookup !== undefined} ${servername} ${isPlain} ${skipsVerification} ${ca} ${client?.cert ?? ''}`
    let agent = this.#agents.get(key)
    if (!agent) {
      if (this.#agents.size >= MAX_AGENTS) {
        const [oldest] = this.#agents.keys()
        this.#agents.get(oldest!)!.destroy()
        this.#agents.delete(oldest!)
      }
      const kept = { keepAlive: true, timeout: IDLE_MS, maxSockets: MAX_SOCKETS }
      if (isPlain) agent = new PlainAgent(kept)
      agent ??= trustingAgent({ host, ca, servername, client, skipsVerification }, kept)
      // An agent calls one address with one configuration. Its default names, computed several times for each call, would contain all
      // certificates.
      agent.getName = () => address
      this.#agents.set(key, agent)
    }
    return agent
  }
}

const FIXED_HEADERS = ['Content-Type', 'application/json', 'Accept', 'application/json, */*']

/** The host, with the port unless it is the default. */
function hostHeader({ host, port, isPlain }: WebhookCall): string {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === (isPlain ? 80 : 443) ? name : `${name}:${port}`
}

/** Ends a call early, by timeout or by signal. One for all attempts, and cheaper than a signal for each call. */
class Ending {
  readonly #signal: Cancellation | undefined
  readonly #timer: NodeJS.Timeout
  #reason: Error | undefined
  #request: ClientRequest | undefined
  #reject: ((reason: Error) => void) | undefined

  constructor({ timeoutMs, signal }: Pick<WebhookCall, 'timeoutMs' | 'signal'>) {
    this.#signal = signal
    this.#timer = setTimeout(() => this.#end(new DOMException('the webhook took too long', 'TimeoutError')), timeoutMs)
    if (signal?.aborted) this.#end(signal.reason)
    else signal?.addEventListener('abort', this.#aborted)
  }

  /** Sets the request to end, and the function that receives the reason. */
  ends(request: ClientRequest, reject: (reason: Error) => void): void {
    this.#request = request
    this.#reject = reject
    if (this.#reason) this.#end(this.#reason)
  }

  done(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#aborted)
  }

  #aborted = (): void => this.#end(this.#signal!.reason)

  #end(reason: Error): void {
    this.#reason = reason
    // A request that still waits for a connection would not report the error before it has one.
    this.#reject?.(reason)
    this.#request?.destroy(reason)
  }
}

type NodeError = Error & {
  readonly code?: string
  readonly address?: string
  readonly port?: number
  readonly errors?: readonly Error[]
}

/** The error of a connection, in the words of Go's clients. */
export function goMessage(error: NodeError, { host, port }: Pick<WebhookCall, 'host' | 'port'>): string {
  if (error.name === 'TimeoutError') return 'context deadline exceeded'
  if (error.name === 'AbortError') return 'context canceled'
  const to = isIP(host) === 6 ? `[${host}]:${port}` : `${error.address ?? host}:${error.port ?? port}`
  switch (error.code) {
    case 'ECONNREFUSED':
      return `dial tcp ${to}: connect: connection refused`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${host}: no such host`
    case 'ENETUNREACH':
      return `dial tcp ${to}: connect: network is unreachable`
    case 'EHOSTUNREACH':
      return `dial tcp ${to}: connect: no route to host`
    case 'ETIMEDOUT':
      return `dial tcp ${to}: i/o timeout`
    case 'ECONNRESET':
      return error.message.includes('socket hang up') ? 'EOF' : 'read: connection reset by peer'
    case 'EPROTO':
      return error.message.includes('wrong version number') || error.message.includes('packet length')
        ? 'http: server gave HTTP response to HTTPS client'
        : `remote error: tls: ${error.message}`
  }
  // One of several addresses: the first error is enough.
  const [first] = error.errors ?? []
  return first ? goMessage(first, { host, port }) : error.message
}

/** Why a response with this status is a failure, in the words of Kubernetes' clients; undefined for a success. */
export function failureOf({ status, body }: WebhookAnswer): string | undefined {
  if (status >= 200 && status <= 206) return undefined
  const told = body.slice(0, 2048).trim() || 'unknown'
  const known = FAILURES[status]
  if (known !== undefined) return known === '' ? told : known
  if (status >= 500) return `an error on the server (${JSON.stringify(told)}) has prevented the request from succeeding`
  return `the server responded with the status code ${status} but did not return more information`
}

/** Messages by status; an empty one stands for the server's own message. */
const FAILURES: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  403: '',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: '',
  409: 'the server reported a conflict',
  415: '',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}
