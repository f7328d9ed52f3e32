/** Calls of servers that speak HTTP/2 and nothing else, which Go's client does unasked. */

import type { IncomingHttpHeaders } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type OutgoingHttpHeaders } from 'node:http2'
import type { LookupFunction } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Cancellation } from '../lib/cancellation.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Dial } from './egress.ts'
import { connectTrusting, type Trust } from './trusting-agent.ts'

export type Http2Address = {
  /** Identifies connections that may be shared. */
  readonly key: string
  readonly host: string
  readonly port: number
  readonly lookup: LookupFunction | undefined
  readonly dial?: Dial | undefined
  readonly trust: Trust
}

export type Http2Request = {
  readonly headers: OutgoingHttpHeaders
  readonly body: string | Readable
  /** Is given the connection and then the stream, which it may destroy, and the function that takes the reason. */
  readonly ends: (work: ClientHttp2Stream | TLSSocket, reject: (reason: Error) => void) => void
}

/** Has a request end with a signal. */
export function endsBy(signal: Cancellation): Http2Request['ends'] {
  let end: (() => void) | undefined
  signal.addEventListener('abort', () => end?.(), { once: true })
  return (work, reject) => {
    end = () => {
      reject(signal.reason)
      work.destroy(signal.reason)
    }
    if (signal.aborted) end()
  }
}

type Head = { readonly status: number; readonly headers: IncomingHttpHeaders }

/** Whether a handshake failed because the server does not speak HTTP/1.1. */
export const isHttp2Only = (error: unknown): boolean =>
  /no application protocol/i.test(`${(error as { reason?: string }).reason ?? ''} ${(error as Error).message}`)

/** The number of servers that are known to speak HTTP/2 only. */
const MAX_KNOWN = 200
const IDLE_MS = 30_000

/** The servers that speak nothing else, and one connection to each, which is kept or ends with its request. */
export class Http2Only implements Disposable {
  readonly #sessions = new Map<string, ClientHttp2Session | undefined>()
  readonly #keeps: boolean

  constructor({ keeps = true }: { readonly keeps?: boolean } = {}) {
    this.#keeps = keeps
  }

  speaks(key: string): boolean {
    return this.#sessions.size > 0 && this.#sessions.has(key)
  }

  learn(key: string): void {
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size >= MAX_KNOWN) this.#forget(oldest!)
    this.#sessions.set(key, undefined)
  }

  /** Sends a request by HTTP/1.1, and by HTTP/2 if the server is known to speak nothing else or then turns out to. */
  async either<A, B>(key: string, http1: () => Promise<A>, http2: () => Promise<B>): Promise<A | B> {
    if (this.speaks(key)) return http2()
    try {
      return await http1()
    } catch (error) {
      if (!isHttp2Only(error)) throw error
      this.learn(key)
      return http2()
    }
  }

  /** Sends a request and reads the whole response. */
  async request(
    to: Http2Address,
    { maxResponseBytes, ...request }: Http2Request & { readonly maxResponseBytes: number },
  ): Promise<Head & { readonly bytes: Buffer }> {
    const { body, ...head } = await this.open(to, request)
    const parts: Buffer[] = []
    let size = 0
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length
      if (size > maxResponseBytes) throw new Error(`http: response body too large: the limit is ${maxResponseBytes} bytes`)
      parts.push(part)
    }
    return { ...head, bytes: Buffer.concat(parts) }
  }

  /** Sends a request and waits for the head of the response. */
  async open(to: Http2Address, { headers, body, ends }: Http2Request): Promise<Head & { readonly body: Readable }> {
    const session = await this.#session(to, ends)
    return new Promise((resolve, reject) => {
      const stream = session.request(headers, { endStream: body === '' })
      if (!this.#keeps) stream.once('close', () => session.close())
      stream.once('response', ({ ':status': status = 0, ...received }) => resolve({ status, headers: received, body: bodyOf(stream) }))
      stream.on('error', reject)
      stream.on('close', () => reject(new Error('EOF')))
      if (typeof body !== 'string') body.pipe(stream)
      else if (body !== '') stream.end(body)
      ends(stream, reject)
    })
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#sessions.keys()]) this.#forget(key)
  }

  async #session({ key, host, port, lookup, dial, trust }: Http2Address, ends: Http2Request['ends']): Promise<ClientHttp2Session> {
    const known = this.#sessions.get(key)
    if (this.#keeps && known && !known.closed && !known.destroyed) return known
    const socket = connectTrusting({ host, port, ALPNProtocols: ['h2'], ...(lookup && { lookup }), dial }, trust)
    await new Promise<void>((resolve, reject) => {
      ends(socket, reject)
      socket.on('error', reject)
      socket.once('close', () => reject(new Error('EOF')))
      socket.setTimeout(LIMITS.connectMs, () => socket.destroy(new Error('connecting took too long')))
      // Node aborts the process if it is given a socket that is destroyed while the handshake ends, as that of an untrusted server is.
      socket.once('secureConnect', () => setImmediate(() => (socket.destroyed ? reject(new Error('EOF')) : resolve())))
    })
    socket.setTimeout(0)
    const session = connect(`https://${trust.servername || 'server'}:${port}`, { createConnection: () => socket })
    // Each stream reports the error, too.
    session.on('error', () => {})
    session.setTimeout(IDLE_MS, () => session.close())
    session.unref()
    this.#sessions.set(key, session)
    return session
  }

  #forget(key: string): void {
    this.#sessions.get(key)?.destroy()
    this.#sessions.delete(key)
  }
}

/** The body of a response. Node ends a stream that was cut short as well; this one has an error then. */
function bodyOf(stream: ClientHttp2Stream): Readable {
  const body = new PassThrough()
  const cut = (error?: Error) => body.destroy(error ?? new Error('unexpected EOF'))
  stream.once('end', () => (stream.rstCode === constants.NGHTTP2_NO_ERROR ? body.end() : cut()))
  stream.once('error', cut)
  body.on('error', () => {})
  stream.once('close', () => body.writableEnded || cut())
  body.once('close', () => stream.destroyed || stream.close(constants.NGHTTP2_CANCEL))
  return stream.pipe(body, { end: false })
}
