/** Requests and responses: light types over Node's streams, the same for HTTP/1.1, HTTP/2 and calls without a socket. */
import type { Duplex, Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import type { ClientCertificate } from '../authn/authenticator.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { UnsentResponses } from './flow-control/unsent-responses.ts'

/** Header fields by lower-case name. */
export type RequestHeaders = { readonly [name: string]: string | readonly string[] | undefined }
export type ResponseHeaders = { readonly [name: string]: string | readonly string[] }

/** The client at the other end of the connection. */
export interface Peer {
  readonly address: string
  /** The client certificate and whether it is trusted; undefined when the client sent none. */
  readonly certificate: ClientCertificate | undefined
}

export interface Request {
  readonly method: string
  /** Path and query as sent, percent-encoded. */
  readonly target: string
  readonly headers: RequestHeaders
  /** Names and values, alternating, as they were sent: repeated headers are not joined here. */
  readonly headerLines?: readonly string[] | undefined
  readonly protocol: 'HTTP/1.1' | 'HTTP/2.0'
  readonly peer: Peer
  /** The limit of unsent responses on its connection, for HTTP/2. */
  readonly unsentResponses?: UnsentResponses
  /** Called when the request no longer waits in a queue. */
  readonly passed?: () => void
  /**
   * Has something done when the response is about to be sent, for all responses that are sent at that moment; the response is sent once the
   * promise, if there is one, has resolved. Absent where a response is sent as soon as there is one.
   */
  beforeSending?(settle: Settle): void
  /** The protocol that the client wants to upgrade to: WebSocket, or another that is only forwarded. */
  readonly upgrade?: 'websocket' | 'other' | undefined
  /** Aborts when the client disconnects before the response, or the request is cancelled. */
  readonly signal: Cancellation
  /** Whether that has happened. */
  readonly isGone: boolean
  cancel(reason: Error): void
  /** The body as a stream, for forwarding; undefined when there is none. */
  readonly stream?: Readable | undefined
  /** The whole body, also when called repeatedly; undefined once more than `limit` bytes have arrived, and then the rest is not read. */
  readBody(limit: number): MaybePromise<Uint8Array | undefined>
}

export type Settle = () => Promise<void> | undefined

/** The destination of a streamed response; the common part of Node's HTTP/1.1 responses and HTTP/2 streams. */
export interface Outlet {
  write(bytes: Uint8Array, taken?: () => void): boolean
  end(): void
  destroy(): void
  readonly writableLength: number
  readonly writableNeedDrain: boolean
  once(event: 'drain' | 'close' | 'finish', listener: () => void): unknown
}

/** Called for each event of a watch. */
export interface EventObserver {
  sent(bytes: number): void
}

export type ResponseBody =
  | Uint8Array
  /** Produced while it is sent, as fast as the client reads. A chunk is valid until the next is requested. */
  | { readonly type: 'pieces'; readonly length: number | undefined; readonly pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array> }
  /** Open until one side ends it. */
  | {
      readonly type: 'stream'
      readonly start: (outlet: Outlet, observer?: EventObserver) => void
      /** The same, compressed by gzip, where that is possible. */
      readonly startCompressed?: (outlet: Outlet, observer?: EventObserver) => void
      /** The encoding of WebSocket messages by the negotiated protocol. Any protocol when it makes no difference. */
      readonly protocols?: Readonly<Record<string, 'binary' | 'base64'>>
    }

export interface Response {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: ResponseBody
  /** The connection should not be reused: its state or its client is unknown. */
  readonly close?: boolean
  /** There is no response: the connection just ends. */
  readonly cut?: true
  /** Called once the client has received all of it, or has disconnected. */
  readonly taken?: () => void
  /** The resource that metrics count it for, where the path does not tell. */
  readonly counted?: CountedResource
  /** Takes over an upgraded connection (101). */
  readonly tunnel?: Tunnel
}

export type CountedResource = {
  readonly resource: string
  readonly group?: string
  readonly version?: string
  readonly isDeprecated?: boolean
}

export type Tunnel = {
  /** Takes over the connection, with the bytes that the client has already sent on it. */
  readonly start: (socket: Duplex, head: Buffer) => void
  /** The client has disconnected, or its connection cannot be upgraded. */
  readonly abandon: () => void
  /** Set for messages over WebSocket, in place of the bytes of the connection. */
  readonly messages?: MessageTunnel
}

export type MessageTunnel = {
  /** The protocol to speak, of those that the client names; undefined refuses the connection. */
  readonly choose: (offered: readonly string[]) => string | undefined
  readonly start: (webSocket: WebSocket, protocol: string) => void
}

/** The value of a header; the first of a repeated one. */
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

/** The response without its content, for HEAD. */
export const withoutBody = (response: Response): Response => ({
  ...response,
  headers:
    response.body instanceof Uint8Array ? { ...response.headers, 'content-length': String(response.body.byteLength) } : response.headers,
  body: NOTHING,
})
