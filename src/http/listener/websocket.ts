/** Watches over WebSocket: the handshake on an HTTP/1.1 request, and a connection that carries one message an event. */
import { createHash } from 'node:crypto'
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { type Outlet, type Peer, type Request, type RequestHeaders, type Response, type ResponseHeaders, textResponse } from '../message.ts'
import { answerHttp1, Http1Request, sendHttp1 } from './http1.ts'
import { abandon } from './streams.ts'
import { closeFrame, FrameReader, frameOf, NORMAL, PONG } from './websocket-frames.ts'

type Serve = (request: Request) => MaybePromise<Response>
export type Upgrade = { readonly message: IncomingMessage; readonly socket: Socket; readonly head: Buffer }

/**
 * Answers a request to speak another protocol. Watches are answered over WebSocket; everything else, and every refusal, is an
 * ordinary answer after which the connection ends.
 */
export async function answerUpgrade({ message, socket, head }: Upgrade, { peer, serve }: { peer: Peer; serve: Serve }): Promise<void> {
  if (!isWebSocket(message.headers)) return answerHttp1(message, lastResponse(message, socket), { peer, serve, draining: () => true })
  const { protocols, authorization } = protocolsOf(message.headers)
  const headers = authorization === undefined ? message.headers : { authorization, ...message.headers }
  // A browser shows the user's certificate for any page; a page of somebody else must not read with it, whatever token it brings.
  const isOthers = peer.certificate !== undefined && isForeign(message.headers)
  const believed = isOthers ? { ...peer, certificate: undefined } : peer
  const request = new Http1Request(message, believed, { upgrade: 'websocket', headers })
  socket.once('close', () => request.lifeline.cut(new Error('the client went away')))
  const problem = problemOf(message, { needsToken: isOthers && headers['authorization'] === undefined })
  const answer = problem ?? (await serve(request))
  if (socket.destroyed) return abandon(answer)
  const { body } = answer
  if (body instanceof Uint8Array || body.form !== 'stream') return sendHttp1(answer, lastResponse(message, socket), message)
  socket.write(acceptance(message.headers['sec-websocket-key']!, protocols[0], answer.headers))
  const connection = new WebSocketConnection(socket)
  body.start(connection)
  connection.read(head)
}

function isWebSocket({ upgrade, connection }: IncomingMessage['headers']): boolean {
  return upgrade?.toLowerCase() === 'websocket' && /(^|,)\s*upgrade\s*(,|$)/i.test(connection ?? '')
}

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.'

/** Browsers cannot send headers with a WebSocket, so a token may come as the name of a protocol, beside one that is meant. */
function protocolsOf(headers: RequestHeaders): { protocols: string[]; authorization: string | undefined } {
  const offered = [headers['sec-websocket-protocol'] ?? []].flat().flatMap(line => line.split(',').map(name => name.trim()))
  const protocols = offered.filter(name => name !== '' && !name.startsWith(TOKEN_PROTOCOL))
  const tokens = offered.filter(name => name.startsWith(TOKEN_PROTOCOL))
  if (tokens.length === 0) return { protocols, authorization: undefined }
  const [first = ''] = tokens
  const token = Buffer.from(first.slice(TOKEN_PROTOCOL.length), 'base64url').toString()
  // What is not in order is a token that nobody has.
  return { protocols, authorization: `Bearer ${tokens.length === 1 && protocols.length > 0 ? token : first}` }
}

/** What is wrong with a handshake, as the answer to it. */
function problemOf({ method, headers }: IncomingMessage, { needsToken }: { needsToken: boolean }): Response | undefined {
  if (method !== 'GET') return textResponse(405, 'a WebSocket is opened with GET\n')
  if (headers['sec-websocket-version'] !== '13')
    return { ...textResponse(426, 'only version 13 of the WebSocket protocol is spoken here\n'), ...withVersion }
  if (!/^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '')) return textResponse(400, 'the Sec-WebSocket-Key is not valid\n')
  return needsToken ? textResponse(403, 'the origin of the page is not this server\n') : undefined
}
const withVersion = { headers: { 'content-type': 'text/plain; charset=utf-8', 'sec-websocket-version': '13' } }

function isForeign({ origin, host }: IncomingMessage['headers']): boolean {
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== host
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

function acceptance(key: string, protocol: string | undefined, headers: ResponseHeaders): string {
  const accept = createHash('sha1')
    .update(key + GUID)
    .digest('base64')
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`]
  if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
  if (headers['audit-id'] !== undefined) lines.push(`Audit-Id: ${headers['audit-id']}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** An ordinary answer on a connection whose protocol is undecided: the last one on it. */
function lastResponse(message: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(message)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => socket.end(() => socket.destroy()))
  return response
}

/** The server's side of a connection. Frames are written by whoever streams; pings and the end are answered here. */
class WebSocketConnection implements Outlet {
  readonly #socket: Socket
  readonly #reader: FrameReader
  readonly #onClose: (() => void)[] = []
  #open = true

  constructor(socket: Socket) {
    this.#socket = socket
    this.#reader = new FrameReader(
      {
        // A client that does not read its pongs gets no more of them.
        ping: payload => this.#open && socket.writableLength < LIMITS.smallBytes && socket.write(frameOf(PONG, payload)),
        close: code => this.#leave(code, LIMITS.lingerMs),
      },
      LIMITS.webSocketMessageBytes,
    )
    socket.on('data', chunk => this.read(chunk as Buffer))
    socket.on('end', () => this.#leave(NORMAL, LIMITS.lingerMs))
    socket.on('close', () => this.#closed())
    socket.resume()
  }

  read(chunk: Buffer): void {
    this.#reader.take(chunk)
  }

  get writableLength(): number {
    return this.#socket.writableLength
  }
  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain
  }

  write(bytes: Uint8Array, taken?: () => void): boolean {
    return this.#open && this.#socket.write(bytes, taken)
  }

  end(): void {
    this.#leave(NORMAL, LIMITS.stallMs)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  once(event: 'drain' | 'close' | 'finish', listener: () => void): void {
    if (event === 'close') this.#onClose.push(listener)
    else this.#socket.once(event, listener)
  }

  /** Says goodbye once. The client has some time to take it and to close its side. */
  #leave(code: number, patienceMs: number): void {
    if (!this.#open) return
    this.#open = false
    this.#socket.end(closeFrame(code))
    const timer = setTimeout(() => this.#socket.destroy(), patienceMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
    this.#closed()
  }

  #closed(): void {
    this.#open = false
    for (const listener of this.#onClose.splice(0)) listener()
  }
}
