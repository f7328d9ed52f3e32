/** Requests and responses: light types over Node's streams, the same for HTTP/1.1, HTTP/2 and calls without a socket. */
import type { Duplex, Readable } from 'node:stream'
import type { ClientCertificate } from '../authn/authenticator.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { UnsentResponses } from './flow-control/unsent-responses.ts'

/** Header fields by lower-case name. */
export type RequestHeaders = { readonly [name: string]: string | readonly string[] | undefined }
export type ResponseHeaders = { readonly [name: string]: string | readonly string[] }

/** Who is at the other end of the connection. */
export interface Peer {
  readonly address: string
  /** The client certificate and whether the client authority vouches for it; undefined when the client sent none. */
  readonly certificate: ClientCertificate | undefined
}

export interface Request {
  readonly method: string
  /** Path and query as sent, percent-encoding and all. */
  readonly target: string
  readonly headers: RequestHeaders
  /** Names and values in turn, as they were sent: repeated headers are not joined here. */
  readonly headerLines?: readonly string[] | undefined
  readonly protocol: 'HTTP/1.1' | 'HTTP/2.0'
  readonly peer: Peer
  /** What its connection may hold of answers, where many travel side by side. */
  readonly unsentResponses?: UnsentResponses
  /** Called when the request no longer waits in a queue. */
  readonly passed?: () => void
  /** The protocol to which the client wants to switch: WebSocket, or another that is only passed on. */
  readonly upgrade?: 'websocket' | 'other' | undefined
  /** Aborts when the client disconnects before it is answered, or the request is cancelled. */
  readonly signal: Cancellation
  /** Whether that has happened. */
  readonly isGone: boolean
  cancel(reason: Error): void
  /** The body as it comes, for whom it is passed on to; undefined when there is none. */
  readonly stream?: Readable | undefined
  /** The whole body, as often as it is asked for; undefined once more than `limit` bytes have come, and then the rest is not read. */
  readBody(limit: number): MaybePromise<Uint8Array | undefined>
}

/** The destination of a streamed response; what Node's HTTP/1.1 responses and HTTP/2 streams have in common. */
export interface Outlet {
  write(bytes: Uint8Array, taken?: () => void): boolean
  end(): void
  destroy(): void
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  once(event: 'drain' | 'close' | 'finish', listener: () => void): unknown
}

/** Told of each event of a watch. */
export interface EventObserver {
  sent(bytes: number): void
}

export type ResponseBody =
  | Uint8Array
  /** Made while it is sent, at the pace of the client. A piece holds until the next is asked for. */
  | { readonly type: 'pieces'; readonly length: number | undefined; readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> }
  /** Open until one side ends it. */
  | {
      readonly type: 'stream'
      readonly start: (outlet: Outlet, observer?: EventObserver) => void
      /** Over WebSocket: how messages are encoded by the protocol that was agreed on. Any protocol when it makes no difference. */
      readonly protocols?: Readonly<Record<string, 'binary' | 'base64'>>
    }

export interface Response {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: ResponseBody
  /** The connection should not be used again: its state is unknown, or its client is. */
  readonly close?: boolean
  /** There is no answer: the connection just ends. */
  readonly cut?: true
  /** Called once the client has all of it, or is gone. */
  readonly taken?: () => void
  /** What happens on a connection after it was upgraded (101). */
  readonly tunnel?: Tunnel
}

export type Tunnel = {
  /** Takes the connection over, with what the client has sent on it already. */
  readonly start: (socket: Duplex, head: Buffer) => void
  /** The client is gone, or its connection cannot be upgraded. */
  readonly abandon: () => void
}

/** The one value of a header; of a repeated one, the first. */
export function header(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value[0]
}

const NOTHING = new Uint8Array(0)

export const textResponse = (status: number, text: string): Response => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: Buffer.from(text),
})

export const bytesResponse = (status: number, mediaType: string, body: Uint8Array): Response => ({
  status,
  headers: { 'content-type': mediaType },
  body,
})

/** The same answer without its content, for HEAD. */
export const withoutBody = (response: Response): Response => ({
  ...response,
  headers:
    response.body instanceof Uint8Array ? { ...response.headers, 'content-length': String(response.body.byteLength) } : response.headers,
  body: NOTHING,
})
