/** HTTP/1.1: adapts Node's requests and responses. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellable } from '../../lib/cancellation.ts'
import { LIMITS } from '../../lib/limits.ts'
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import type { Outlet, Peer, Request, RequestHeaders, Response } from '../message.ts'
import { abandon, collect, hasBody, pump } from '../streams.ts'

type Serve = (request: Request) => MaybePromise<Response>

export class Http1Request implements Request {
  readonly protocol = 'HTTP/1.1'
  readonly peer: Peer
  readonly upgrade: Request['upgrade']
  readonly signal = new Cancellable()
  readonly #message: IncomingMessage
  readonly #headers: RequestHeaders
  #body: Promise<Uint8Array | undefined> | undefined

  constructor(message: IncomingMessage, peer: Peer, more?: { upgrade: 'websocket' | 'other'; headers: RequestHeaders }) {
    this.#message = message
    this.peer = peer
    this.upgrade = more?.upgrade
    this.#headers = more?.headers ?? message.headers
  }

  get method(): string {
    return this.#message.method ?? 'GET'
  }

  get target(): string {
    return originForm(this.#message.url ?? '/')
  }

  get headers(): RequestHeaders {
    return this.#headers
  }

  get headerLines(): readonly string[] {
    return this.#message.rawHeaders
  }

  get isGone(): boolean {
    return this.signal.aborted
  }

  cancel(reason: Error): void {
    this.signal.abort(reason)
  }

  get stream(): IncomingMessage | undefined {
    return hasBody(this.#message.headers) ? this.#message : undefined
  }

  readBody(limit: number): Promise<Uint8Array | undefined> {
    return hasBody(this.#message.headers) ? (this.#body ??= collect(this.#message, limit)) : EMPTY
  }
}

/** A target without the scheme and host that a client may put before it. Only the rest determines the resource. */
const originForm = (target: string): string => {
  const found = target.startsWith('/') ? null : /^https?:\/\/[^/?]*(.*)$/is.exec(target)
  return found === null ? target : found[1]!.startsWith('/') ? found[1]! : `/${found[1]!}`
}

const EMPTY = Promise.resolve(new Uint8Array(0))

/** Serves one request. `draining` asks clients to use another connection for their next one. */
export function answerHttp1(
  message: IncomingMessage,
  response: ServerResponse,
  { peer, serve, draining, closed }: Answering,
): MaybePromise<void> {
  const request = new Http1Request(message, peer)
  response.on('close', () => {
    if (!response.writableFinished) request.signal.abort(new Error('the client went away'))
    closed?.()
  })
  // When a client disconnects within its body, reading the body fails.
  if (hasBody(message.headers)) message.on('error', ignore)
  response.on('error', ignore)
  return whenDone(serve(request), answer => {
    if (response.destroyed) return abandon(answer)
    if (answer.close || draining()) response.shouldKeepAlive = false
    return sendHttp1(answer, response, message)
  })
}

type Answering = { readonly peer: Peer; readonly serve: Serve; readonly draining: () => boolean; readonly closed?: () => void }

const ignore = () => {}

/** Writes a response. */
export function sendHttp1(answer: Response, response: ServerResponse, message: IncomingMessage): MaybePromise<void> {
  const { status, headers, body } = answer
  if (answer.cut) return void response.destroy()
  if (answer.taken) response.once('close', answer.taken)
  const fields: string[] = []
  for (const name in headers) {
    const value = headers[name]!
    if (typeof value === 'string') fields.push(name, value)
    else for (const one of value) fields.push(name, one)
  }
  if (body instanceof Uint8Array) {
    if (!('content-length' in headers) && status !== 204 && status !== 304) fields.push('content-length', String(body.byteLength))
    if (body.byteLength > LIMITS.smallBytes) guardAgainstStall(response)
    response.writeHead(status, fields)
    if (!response.shouldKeepAlive && !message.complete) return linger(response, body, message)
    response.end(body)
  } else if (body.type === 'pieces') {
    if (body.length !== undefined) fields.push('content-length', String(body.length))
    guardAgainstStall(response)
    response.writeHead(status, fields)
    return pump(body.pieces, response)
  } else {
    response.writeHead(status, fields)
    response.flushHeaders()
    body.start(response as unknown as Outlet)
  }
}

/**
 * Closing a connection while the client is still sending would lose the response. The whole response is sent, and further input is
 * discarded for a moment before the connection is closed.
 */
async function linger(response: ServerResponse, body: Uint8Array, message: IncomingMessage): Promise<void> {
  response.write(body)
  message.resume()
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, LIMITS.lingerMs)
    message.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  response.end()
}

function guardAgainstStall(response: ServerResponse): void {
  const { socket } = response
  if (socket === null) return
  const drop = () => socket.destroy()
  socket.setTimeout(LIMITS.stallMs, drop)
  response.once('close', () => {
    socket.off('timeout', drop)
    // From here on node:http waits for the next request, as long as a connection may be idle.
    if (socket.timeout === LIMITS.stallMs) socket.setTimeout(0)
  })
}
