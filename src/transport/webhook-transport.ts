/**
 * Calls webhooks: JSON is posted to an https address and the response read, within limits of time and size. Connections are kept alive and
 * reused. Redirects, `Retry-After`, compression and HTTP/2 are treated as by Go's client, whose messages the errors have: people search
 * for them.
 */
import { type ClientRequest, type IncomingHttpHeaders, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type Agent, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { posix } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Cancellation } from '../lib/cancellation.ts'
import { isObject } from '../lib/json-value.ts'
import type { ReportedDestination } from './destination.ts'
import type { Dial } from './egress.ts'
import { Http2Only } from './http2-only.ts'
import { mayRedirect, type Redirect, RedirectError, redirectOf } from './redirect.ts'
import { type Trust, trustingAgent } from './trusting-agent.ts'

export type WebhookCall = {
  readonly host: string
  readonly port: number
  /** Resolves the host when connecting; the default is the system's resolver. */
  readonly lookup?: LookupFunction | undefined
  /** Opens the connection, where it is not direct. */
  readonly dial?: Dial | undefined
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
  /** Where a redirect to another host may lead; without it such redirects are not followed. */
  readonly elsewhere?: ReportedDestination | undefined
  readonly maxResponseBytes: number
  readonly timeoutMs: number
  /** Whether a busy webhook is not asked again, though it says when. */
  readonly isTriedOnce?: boolean
  /** Cancels the call. */
  readonly signal?: Cancellation | undefined
}

export type WebhookAnswer = { readonly status: number; readonly contentType: string; readonly body: string }

/** A request on the wire: the call, or the one that a redirect leads to. The key identifies its connections. */
type Hop = { readonly call: WebhookCall; readonly method: 'POST' | 'GET'; readonly key: string }
type Received = WebhookAnswer & { readonly headers: IncomingHttpHeaders }

/** A call that failed before there was a response. */
export class WebhookCallError extends Error {
  /** Whether it timed out. */
  readonly isTimeout: boolean
  constructor(message: string, cause?: Error) {
    super(message, { cause })
    this.isTimeout = cause?.name === 'TimeoutError'
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

/** The headers of a response; Go's client reads ten times as much. */
const MAX_HEADER_BYTES = 1 << 20
const MAX_RETRIES = 10
const MAX_REQUESTS = 10

export class WebhookTransport implements Disposable {
  readonly #agents = new Map<string, Agent | PlainAgent>()
  readonly #http2 = new Http2Only()
  /** Opens connections to hosts that are no Services, where they are not direct. */
  readonly #dial: Dial | undefined

  constructor({ dial }: { readonly dial?: Dial | undefined } = {}) {
    this.#dial = dial
  }

  /** The response, whatever its status. Rejects with WebhookCallError. */
  async call(wanted: WebhookCall): Promise<WebhookAnswer> {
    const isService = wanted.shownHost !== undefined || wanted.servername !== undefined
    const call = this.#dial && !isService ? { ...wanted, dial: this.#dial } : wanted
    const ending = new Ending(call)
    try {
      for (let retries = 0; ; retries++) {
        const answer = await this.#follow(call, ending)
        const wait = retryAfter(answer)
        if (wait === undefined || call.isTriedOnce || retries === MAX_RETRIES) return answer
        await ending.wait(1000 * wait).catch(error => fail(error as NodeError, hopTo(call, 'POST')))
      }
    } finally {
      ending.done()
    }
  }

  /** Sends the request, and follows redirects. */
  async #follow(call: WebhookCall, ending: Ending): Promise<Received> {
    let hop = hopTo(call, 'POST')
    for (let requests = 1; ; requests++) {
      const answer: Received = await this.#receive(hop, ending).catch(error => fail(error as NodeError, hop))
      const next: Redirect | undefined = redirected(answer, hop)
      if (!next) return answer
      if (requests === MAX_REQUESTS) throw new WebhookCallError(`${verb(next)} "${next.location}": stopped after ${MAX_REQUESTS} redirects`)
      hop = hopTo(next.call, next.method)
    }
  }

  async #receive(hop: Hop, ending: Ending): Promise<Received> {
    // Each attempt uses up one kept connection that turns out to be closed, so the loop ends.
    const http1 = () => this.#send(hop, ending)
    for (;;) {
      const answer = await (hop.call.isPlain ? http1() : this.#http2.either(hop.key, http1, () => this.#sendHttp2(hop, ending)))
      if (answer !== 'connection was closed') return answer
    }
  }

  async #sendHttp2({ call, method, key }: Hop, ending: Ending): Promise<Received> {
    const { host, port, lookup, path, body, maxResponseBytes } = call
    const headers = { ':method': method, ':path': path, ':authority': call.shownHost ?? hostHeader(call), ...http2Headers(call, method) }
    const to = { key, host, port, lookup, dial: call.dial, trust: trustOf(call) }
    const { bytes, ...answer } = await this.#http2.request(to, {
      headers,
      body: method === 'GET' ? '' : body,
      maxResponseBytes,
      ends: (request, reject) => ending.ends(request, reject),
    })
    return received(bytes, { ...answer, maxResponseBytes })
  }

  /** One attempt. If the peer has closed a kept connection in the meantime, that says nothing about the webhook. */
  #send({ call, method, key }: Hop, ending: Ending): Promise<Received | 'connection was closed'> {
    const { host, port, lookup, path, shownHost, maxResponseBytes } = call
    const body = method === 'GET' ? '' : call.body
    return new Promise((resolve, reject) => {
      let isAnswered = false
      // A flat list of names and values is sent as it is; Node would copy an object first.
      const headers = ['Host', shownHost ?? hostHeader(call), ...FIXED_HEADERS]
      if (method === 'POST') headers.push('Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)))
      for (const name in call.headers) headers.push(name, call.headers[name]!)
      const send = call.isPlain ? plainRequest : request
      const to = {
        host,
        port,
        ...(lookup && { lookup }),
        ...(call.dial && { dial: call.dial }),
        path,
        method,
        agent: this.#agentFor(call, key),
        headers,
        ...LENIENT,
      }
      const sent = send(to, answer => {
        isAnswered = true
        const parts: Buffer[] = []
        let size = 0
        answer.on('data', (part: Buffer) => {
          size += part.length
          if (size > maxResponseBytes) sent.destroy(tooLarge(maxResponseBytes))
          else parts.push(part)
        })
        answer.on('error', (error: NodeError) => reject(error.code === 'ECONNRESET' ? new CutShort() : error))
        answer.on('end', () => {
          const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
          received(bytes, { status: answer.statusCode ?? 0, headers: answer.headers, maxResponseBytes }).then(resolve, reject)
        })
      })
      sent.on('upgrade', (answer, socket) => {
        socket.destroy()
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, contentType: contentTypeOf(answer.headers), body: '' })
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
    this.#http2[Symbol.dispose]()
  }

  #agentFor(call: WebhookCall, key: string): Agent | PlainAgent {
    let agent = this.#agents.get(key)
    if (!agent) {
      if (this.#agents.size >= MAX_AGENTS) {
        const [oldest] = this.#agents.keys()
        this.#agents.get(oldest!)!.destroy()
        this.#agents.delete(oldest!)
      }
      const kept = { keepAlive: true, timeout: IDLE_MS, maxSockets: MAX_SOCKETS }
      if (call.isPlain) {
        const { dial, host, port, lookup } = call
        agent = new PlainAgent(kept)
        if (dial) agent.createConnection = () => dial({ host, port, lookup })
      }
      agent ??= trustingAgent(trustOf(call), kept)
      // An agent calls one address with one configuration. Its default names, computed several times for each call, would contain all
      // certificates.
      const address = `${call.host}:${call.port}`
      agent.getName = () => address
      this.#agents.set(key, agent)
    }
    return agent
  }
}

/** Identifies connections that may be shared. Connections made without a check are not reused where there is one. */
function keyOf({
  host,
  port,
  lookup,
  dial,
  ca = '',
  servername = '',
  client,
  skipsVerification = false,
  isPlain = false,
}: WebhookCall): string {
  return `${host}:${port} ${lookup !== undefined} ${dial !== undefined} ${servername} ${isPlain} ${skipsVerification} ${ca} ${client?.cert ?? ''}`
}

const hopTo = (call: WebhookCall, method: Hop['method']): Hop => ({ call, method, key: keyOf(call) })

const trustOf = ({ host, ca = '', servername = '', client, skipsVerification = false }: WebhookCall): Trust => ({
  host,
  ca,
  servername,
  client,
  skipsVerification,
})

/** The whole response, decompressed. */
async function received(
  bytes: Buffer,
  {
    status,
    headers,
    maxResponseBytes,
  }: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly maxResponseBytes: number },
): Promise<Received> {
  const isCompressed = headers['content-encoding']?.toLowerCase() === 'gzip'
  const plain = isCompressed ? await decompressed(bytes, maxResponseBytes) : bytes
  return { status, headers, contentType: contentTypeOf(headers), body: plain.toString('utf8') }
}

async function decompressed(bytes: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength })
  } catch (error) {
    throw (error as NodeError).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxOutputLength) : new CutShort('gzip: invalid header')
  }
}

const tooLarge = (limit: number) => new Error(`http: response body too large: the limit is ${limit} bytes`)

/** A response that ended too early. */
class CutShort extends Error {
  constructor(why = 'unexpected EOF') {
    super(`unexpected error when reading response body. Please retry. Original error: ${why}`)
  }
}

const contentTypeOf = (headers: IncomingHttpHeaders): string => headers['content-type'] ?? 'application/json'

/** Where a response leads; undefined where it is the answer. */
function redirected(answer: Received, hop: Hop): Redirect | undefined {
  if (!mayRedirect(answer.status)) return undefined
  try {
    return redirectOf({ status: answer.status, location: answer.headers.location }, { ...hop, url: webhookUrl(hop.call) })
  } catch (error) {
    if (!(error instanceof RedirectError)) throw error
    throw new WebhookCallError(`${verb(hop)} ${JSON.stringify(error.url ?? webhookUrl(hop.call))}: ${error.message}`, error)
  }
}

/** The seconds after which a webhook that is busy wants to be asked again. */
function retryAfter({ status, headers }: Received): number | undefined {
  const given = headers['retry-after'] ?? ''
  return (status === 429 || status >= 500) && /^\d{1,6}$/.test(given) ? Number(given) : undefined
}

const verb = ({ method }: Pick<Hop, 'method'>): string => (method === 'GET' ? 'Get' : 'Post')

function fail(error: NodeError, hop: Hop): never {
  if (error instanceof CutShort) throw new WebhookCallError(error.message, error)
  throw new WebhookCallError(`${verb(hop)} ${JSON.stringify(webhookUrl(hop.call))}: ${goMessage(error, hop.call)}`, error)
}

/** Go reads responses that are not strictly HTTP/1.1: lines without carriage returns, repeated lengths. */
const LENIENT = { insecureHTTPParser: true, maxHeaderSize: MAX_HEADER_BYTES }

const FIXED_HEADERS = ['Accept', 'application/json, */*', 'Accept-Encoding', 'gzip']

function http2Headers({ headers }: WebhookCall, method: Hop['method']): Record<string, string> {
  const sent: Record<string, string> = { accept: 'application/json, */*', 'accept-encoding': 'gzip' }
  if (method === 'POST') sent['content-type'] = 'application/json'
  for (const name in headers) sent[name.toLowerCase()] = headers[name]!
  return sent
}

/** The host, with the port unless it is the default. */
function hostHeader({ host, port, isPlain }: WebhookCall): string {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === (isPlain ? 80 : 443) ? name : `${name}:${port}`
}

/** Work that ends when it is destroyed. */
type Ended = Pick<ClientRequest, 'destroy'> | { destroy(reason?: Error): unknown }

/** Ends a call early, by timeout or by signal. One for all attempts, and cheaper than a signal for each call. */
class Ending {
  readonly #signal: Cancellation | undefined
  readonly #timer: NodeJS.Timeout
  #reason: Error | undefined
  #request: Ended | undefined
  #reject: ((reason: Error) => void) | undefined

  constructor({ timeoutMs, signal }: Pick<WebhookCall, 'timeoutMs' | 'signal'>) {
    this.#signal = signal
    this.#timer = setTimeout(() => this.#end(new DOMException('the webhook took too long', 'TimeoutError')), timeoutMs)
    if (signal?.aborted) this.#end(signal.reason)
    else signal?.addEventListener('abort', this.#aborted)
  }

  /** Sets the request to end, and the function that receives the reason. */
  ends(request: Ended, reject: (reason: Error) => void): void {
    this.#request = request
    this.#reject = reject
    if (this.#reason) this.#end(this.#reason)
  }

  /** Waits between requests. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      this.ends({ destroy: () => clearTimeout(timer) }, reject)
    })
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
    case 'HPE_HEADER_OVERFLOW':
      return `net/http: server response headers exceeded ${MAX_HEADER_BYTES} bytes; aborted`
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
export function failureOf({ status, body, contentType }: WebhookAnswer): string | undefined {
  if (/^\s*;/.test(contentType)) return 'Internal error occurred: mime: no media type'
  if (status >= 200 && status <= 206) return undefined
  const explained = status >= 400 ? explanationIn(body) : undefined
  if (explained !== undefined) return explained
  const shown = body.slice(0, 2048).trim() || 'unknown'
  const known = FAILURES[status]
  if (known !== undefined) return known === '' ? shown : known
  if (status >= 500) return `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`
  return `the server responded with the status code ${status} but did not return more information`
}

/** The message of a Status object. */
function explanationIn(body: string): string | undefined {
  if (!body.startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(body)
    if (!isObject(value) || value['kind'] !== 'Status' || value['apiVersion'] !== 'v1' || value['status'] === 'Success') return undefined
    return typeof value['message'] === 'string' ? value['message'] : undefined
  } catch {
    return undefined
  }
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
