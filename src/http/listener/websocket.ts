/** WebSockets: the handshake on an HTTP/1.1 request, connections with one message per event of a watch or log, and sessions. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import {
  type Outlet,
  type Peer,
  type Request,
  type RequestHeaders,
  type Response,
  type ResponseHeaders,
  type Tunnel,
  textResponse,
} from '../message.ts'
import { abandon } from '../streams.ts'
import { Http1Request, sendHttp1 } from './http1.ts'

type Serve = (request: Request) => MaybePromise<Response>
export type Upgrade = {
  readonly message: IncomingMessage
  /** The connection itself, for an ordinary response. */
  readonly socket: Socket
  /** The connection of the other protocol: from Node 26 on, the data after the request's body. */
  readonly stream: Duplex
  readonly head: Buffer
}

/**
 * Serves an upgrade request. Watches, logs and sessions are served over WebSocket; everything else, and every refusal, is an ordinary response after
 * which the connection is closed.
 */
export async function answerUpgrade(upgrade: Upgrade, { peer, serve }: { peer: Peer; serve: Serve }): Promise<void> {
  const { message, socket } = upgrade
  if (!isWebSocket(message.headers)) return answerOther(upgrade, { peer, serve })
  const { protocols, authorization } = protocolsOf(message.headers)
  const headers = authorization === undefined ? message.headers : { authorization, ...message.headers }
  const request = new Http1Request(message, peer, { upgrade: 'websocket', headers })
  socket.once('close', () => request.signal.abort(new Error('the client went away')))
  const answer = problemOf(message, protocols[0]) ?? (await serve(request))
  if (socket.destroyed) return abandon(answer)
  if (answer.tunnel?.messages) return talk(answer, answer.tunnel, { upgrade, protocols })
  if (answer.tunnel) return switchTo(answer, answer.tunnel, upgrade)
  const { body } = answer
  // Another server's refusal is streamed, too.
  if (answer.status !== 200 || body instanceof Uint8Array || body.type !== 'stream')
    return sendHttp1(answer, lastResponse(message, socket), message)
  const { protocols: known } = body
  const protocol = known ? protocols.find(name => Object.hasOwn(known, name)) : protocols[0]
  if (protocol === undefined && protocols.length > 0) {
    abandon(answer)
    return sendHttp1(textResponse(403, ''), lastResponse(message, socket), message)
  }
  const webSocket = await accept(upgrade, protocol, { headers: answer.headers, maxPayload: LIMITS.webSocketMessageBytes })
  if (webSocket === undefined) return abandon(answer)
  const encoding = known ? (known[protocol ?? ''] ?? 'binary') : answer.headers['content-type'] === 'application/json' ? 'text' : 'binary'
  body.start(new WebSocketOutlet(webSocket, socket, encoding))
}

/** Accepts a WebSocket on which both sides send messages, and hands it over. */
async function talk(
  answer: Response,
  tunnel: Tunnel,
  { upgrade, protocols }: { readonly upgrade: Upgrade; readonly protocols: readonly string[] },
): Promise<void> {
  const { message, socket } = upgrade
  const protocol = tunnel.messages!.choose(protocols)
  if (protocol === undefined) {
    abandon(answer)
    return sendHttp1(textResponse(403, ''), lastResponse(message, socket), message)
  }
  const webSocket = await accept(upgrade, protocol || undefined, { headers: answer.headers, maxPayload: LIMITS.sessionMessageBytes })
  if (webSocket === undefined) return abandon(answer)
  if (answer.taken) socket.once('close', answer.taken)
  socket.setTimeout(0)
  tunnel.messages!.start(webSocket, protocol)
}

/** Protocols other than WebSocket: SPDY, and whatever is only forwarded. */
async function answerOther(upgrade: Upgrade, { peer, serve }: { peer: Peer; serve: Serve }): Promise<void> {
  const { message, socket } = upgrade
  const request = new Http1Request(message, peer, { upgrade: 'other', headers: message.headers })
  socket.once('close', () => request.signal.abort(new Error('the client went away')))
  const answer = await serve(request)
  if (socket.destroyed) return abandon(answer)
  if (answer.tunnel) return switchTo(answer, answer.tunnel, upgrade)
  return sendHttp1({ ...answer, close: true }, lastResponse(message, socket), message)
}

/** Sends the 101 response, and hands the connection over. */
function switchTo({ headers, taken }: Response, tunnel: Tunnel, { socket, stream, head }: Upgrade): void {
  if (taken) socket.once('close', taken)
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map(one => `${name}: ${one}`))
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
  socket.setTimeout(0)
  tunnel.start(stream, head)
}

function isWebSocket({ upgrade, connection }: IncomingMessage['headers']): boolean {
  return upgrade?.toLowerCase() === 'websocket' && /(^|,)\s*upgrade\s*(,|$)/i.test(connection ?? '')
}

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.'

/** Browsers cannot send headers with a WebSocket, so a token may be sent as the name of a sub-protocol, next to a real one. */
function protocolsOf(headers: RequestHeaders): { protocols: string[]; authorization: string | undefined } {
  const offered = [headers['sec-websocket-protocol'] ?? []].flat().flatMap(line => line.split(',').map(name => name.trim()))
  const protocols = offered.filter(name => name !== '' && !name.startsWith(TOKEN_PROTOCOL))
  const tokens = offered.filter(name => name.startsWith(TOKEN_PROTOCOL))
  if (tokens.length === 0) return { protocols, authorization: undefined }
  const [first = ''] = tokens
  const token = Buffer.from(first.slice(TOKEN_PROTOCOL.length), 'base64url').toString()
  // Several tokens, or one without a real protocol, are passed on as an invalid token.
  return { protocols, authorization: `Bearer ${tokens.length === 1 && protocols.length > 0 ? token : first}` }
}

const PROTOCOL_NAME = /^[!#$%&'*+\-.^_`|~\w]+$/

/** The response to an invalid handshake; undefined when it is valid. */
function problemOf({ method, headers }: IncomingMessage, protocol: string | undefined): Response | undefined {
  if (method !== 'GET') return textResponse(405, 'a WebSocket is opened with GET\n')
  if (headers['sec-websocket-version'] !== '13')
    return { ...textResponse(426, 'only version 13 of the WebSocket protocol is supported\n'), ...withVersion }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '')) return textResponse(400, 'the Sec-WebSocket-Key is not valid\n')
  if (protocol !== undefined && !PROTOCOL_NAME.test(protocol)) return textResponse(400, 'the Sec-WebSocket-Protocol is not valid\n')
  return undefined
}
const withVersion = { headers: { 'content-type': 'text/plain; charset=utf-8', 'sec-websocket-version': '13' } }

const OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxFragments: LIMITS.webSocketFragments,
  autoPong: false,
  closeTimeout: LIMITS.stallMs,
}

/** Completes the handshake; undefined when the client has disconnected. The library is loaded with the first connection that needs it. */
async function accept(
  upgrade: Upgrade,
  protocol: string | undefined,
  { headers, maxPayload }: { readonly headers: ResponseHeaders; readonly maxPayload: number },
): Promise<WebSocket | undefined> {
  const { message, socket, stream, head } = upgrade
  const { WebSocketServer } = await import('ws')
  if (socket.destroyed) return undefined
  const server = new WebSocketServer({ ...OPTIONS, maxPayload })
  if (headers['audit-id'] !== undefined) server.on('headers', lines => lines.push(`Audit-Id: ${headers['audit-id']}`))
  // Tokens among the offered protocols are secrets and never selected, so only the selected protocol is left.
  if (protocol === undefined) delete message.headers['sec-websocket-protocol']
  else message.headers['sec-websocket-protocol'] = protocol
  return new Promise(resolve => {
    // After the checks above a handshake fails only because the socket is closed.
    socket.once('close', () => resolve(undefined))
    server.handleUpgrade(message, stream, head, resolve)
  })
}

/** An ordinary response on a connection with an undecided protocol: the last one on it. */
function lastResponse(message: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(message)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.end(() => socket.destroy()))
  return response
}

/** A WebSocket as the outlet of a streamed response: each write is one message. Messages of the client are dropped. */
class WebSocketOutlet implements Outlet {
  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #encoding: 'text' | 'binary' | 'base64'
  readonly #onClose: (() => void)[] = []

  constructor(webSocket: WebSocket, socket: Socket, encoding: 'text' | 'binary' | 'base64') {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#encoding = encoding
    webSocket.on('ping', payload => {
      // A client that does not read its pongs gets no more of them.
      if (webSocket.readyState === webSocket.OPEN && socket.writableLength < LIMITS.smallBytes) webSocket.pong(payload)
    })
    // The client violated the protocol: the close frame with the reason has been sent, and the client gets little time to read it.
    webSocket.on('error', () => {
      const timer = setTimeout(() => socket.destroy(), LIMITS.lingerMs).unref()
      socket.once('close', () => clearTimeout(timer))
      this.#closed()
    })
    socket.on('end', () => this.#closed())
    webSocket.on('close', () => this.#closed())
  }

  get writableLength(): number {
    return this.#socket.writableLength
  }
  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain
  }

  write(bytes: Uint8Array, taken?: () => void): boolean {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) {
      this.#closed()
      return false
    }
    const message = this.#encoding === 'base64' ? Buffer.from(bytes).toString('base64') : bytes
    this.#webSocket.send(message, { binary: this.#encoding === 'binary' }, taken)
    return !this.#socket.writableNeedDrain
  }

  end(): void {
    this.#webSocket.close(NORMAL_CLOSURE)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  once(event: 'drain' | 'close' | 'finish', listener: () => void): void {
    if (event === 'close') this.#onClose.push(listener)
    else this.#socket.once(event, listener)
  }

  #closed(): void {
    for (const listener of this.#onClose.splice(0)) listener()
  }
}

const NORMAL_CLOSURE = 1000
