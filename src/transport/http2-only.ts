/** Calls of servers that speak HTTP/2 and nothing else, which Go's client does unasked. */

import type { IncomingHttpHeaders } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from 'node:http2'
import type { LookupFunction } from 'node:net'
import type { TLSSocket } from 'node:tls'
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
  readonly body: string
  readonly maxResponseBytes: number
  /** Is given the connection and then the stream, which it may destroy, and the function that takes the reason. */
  readonly ends: (work: ClientHttp2Stream | TLSSocket, reject: (reason: Error) => void) => void
}

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }

/** Whether a handshake failed because the server does not speak HTTP/1.1. */
export const isHttp2Only = (error: unknown): boolean =>
  /no application protocol/i.test(`${(error as { reason?: string }).reason ?? ''} ${(error as Error).message}`)

/** The number of servers that are known to speak HTTP/2 only. */
const MAX_KNOWN = 200
const IDLE_MS = 30_000

/** The servers that speak nothing else, and one connection to each. */
export class Http2Only implements Disposable {
  readonly #sessions = new Map<string, ClientHttp2Session | undefined>()

  speaks(key: string): boolean {
    return this.#sessions.size > 0 && this.#sessions.has(key)
  }

  learn(key: string): void {
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size >= MAX_KNOWN) this.#forget(oldest!)
    this.#sessions.set(key, undefined)
  }

  async request(to: Http2Address, { headers, body, maxResponseBytes, ends }: Http2Request): Promise<Answer> {
    const session = await this.#session(to, ends)
    return new Promise((resolve, reject) => {
      const stream = session.request(headers)
      const parts: Buffer[] = []
      let [size, status] = [0, 0]
      let answered: IncomingHttpHeaders = {}
      stream.on('response', received => {
        status = received[':status'] ?? 0
        answered = received
      })
      stream.on('data', (part: Buffer) => {
        size += part.length
        if (size > maxResponseBytes) stream.destroy(new Error(`http: response body too large: the limit is ${maxResponseBytes} bytes`))
        else parts.push(part)
      })
      stream.on('error', reject)
      stream.on('end', () => resolve({ status, headers: answered, bytes: Buffer.concat(parts) }))
      stream.on('close', () => reject(new Error('EOF')))
      stream.end(body)
      ends(stream, reject)
    })
  }

  [Symbol.dispose](): void {
    for (const key of [...this.#sessions.keys()]) this.#forget(key)
  }

  async #session({ key, host, port, lookup, dial, trust }: Http2Address, ends: Http2Request['ends']): Promise<ClientHttp2Session> {
    const known = this.#sessions.get(key)
    if (known && !known.closed && !known.destroyed) return known
    const socket = connectTrusting({ host, port, ALPNProtocols: ['h2'], ...(lookup && { lookup }), dial }, trust)
    await new Promise<void>((resolve, reject) => {
      ends(socket, reject)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('EOF')))
      // Node aborts the process if it is given a socket that is destroyed while the handshake ends, as that of an untrusted server is.
      socket.once('secureConnect', () => setImmediate(() => (socket.destroyed ? reject(new Error('EOF')) : resolve())))
    })
    const session = connect(`https://${trust.servername || 'webhook'}:${port}`, { createConnection: () => socket })
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
