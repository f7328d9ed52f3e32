/** One TLS port for HTTP/1.1 and HTTP/2: connections, their limits, and shutdown. */
import { constants as crypto } from 'node:crypto'
import { createServer as createHttp1Server, type Server as Http1Server, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { poolOfPem } from '../../lib/x509/pool.ts'
import { PendingStreams } from '../flow-control/pending-streams.ts'
import { UnsentResponses } from '../flow-control/unsent-responses.ts'
import type { Peer, Request, Response } from '../message.ts'
import { failureStack } from '../observability/failure-text.ts'
import type { Log } from '../observability/log.ts'
import { answerDirectly } from './direct.ts'
import { hostProblem } from './host.ts'
import { answerHttp1 } from './http1.ts'
import { ClientPools, peerOf } from './peer.ts'
import { answerUpgrade } from './websocket.ts'

/** What a server shows and what it trusts; PEM. */
export type TlsMaterial = {
  readonly key: string
  /** The server's certificate, followed by intermediates. */
  readonly cert: string
  /** Authorities whose client certificates are believed. */
  readonly clientCa: string
  /** Authorities of proxies that may name users in headers. */
  readonly proxyCa?: string | undefined
}

export type ListenOptions = {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly tls: TlsMaterial
  readonly serve: (request: Request) => MaybePromise<Response>
  readonly log: Log
}

/** Opens the port; resolves when connections are accepted. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const listener = new Listener(options)
  await listener.open(options.host, options.port)
  return listener
}

export class Listener implements AsyncDisposable {
  readonly #tls: TlsServer
  readonly #http1: Http1Server
  #http2: Promise<Http2Server> | undefined
  readonly #serve: ListenOptions['serve']
  readonly #sockets = new Set<TLSSocket>()
  /** Connections whose handshake is not over. */
  readonly #handshaking = new Set<Socket>()
  readonly #http1Connections = new Map<object, Http1Connection>()
  readonly #sessions = new Map<ServerHttp2Session, Peer>()
  readonly #log: Log
  #pools: () => ClientPools
  /** What is to be trusted from the first handshake on. */
  #unread: TlsMaterial | undefined
  #draining = false
  #isLeaving = false
  #isDown = false
  #opening: Peer | undefined
  #handshakeErrors = 0

  constructor({ tls, serve, log }: ListenOptions) {
    this.#log = log
    this.#pools = poolsOf(tls)
    this.#http1 = this.#createHttp1(serve)
    this.#serve = serve
    this.#tls = createTlsServer({
      ...contextOf(tls),
      ca: [],
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: LIMITS.handshakeMs,
    })
    this.#tls.maxConnections = LIMITS.connections
    this.#unread = tls
    // Before Node begins the handshake.
    this.#tls.prependListener('connection', () => this.readAuthorities())
    this.#tls.on('connection', socket => {
      if (this.#isDown || this.#draining) return void socket.destroy()
      this.#handshaking.add(socket)
      socket.on('close', () => this.#handshaking.delete(socket))
    })
    this.#tls.on('secureConnection', socket => {
      const plain = plainOf(socket)
      if (plain) this.#handshaking.delete(plain)
      this.#accept(socket)
    })
    this.#tls.on('tlsClientError', (error, socket) => {
      this.#handshakeErrors++
      log.debug({ source: socket.remoteAddress, error: error.message }, 'TLS handshake failed')
      if ((error as NodeJS.ErrnoException).code === 'ERR_SSL_HTTP_REQUEST') refusePlainHttp(socket)
      else socket.destroy()
    })
  }

  open(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#tls.once('error', reject)
      this.#tls.listen({ host, port }, () => {
        this.#tls.off('error', reject)
        this.#tls.on('error', error => this.#log.error({ error: error.message }, 'listener failed'))
        resolve()
      })
    })
  }

  /** How many handshakes have failed. */
  get handshakeErrors(): number {
    return this.#handshakeErrors
  }

  /** The address that was bound, the port included. */
  get address(): AddressInfo {
    return this.#tls.address() as AddressInfo
  }

  /**
   * Reads the authorities of clients. Before Node takes any, it reads the 140 of its own, which would be a tenth of a start. So it is
   * done once the server is ready, or for the first connection, if that is earlier.
   */
  readAuthorities(): void {
    if (this.#unread) this.#tls.setSecureContext(contextOf(this.#unread))
    this.#unread = undefined
  }

  /** New handshakes see the new certificates; open connections stay. */
  reload(tls: TlsMaterial): void {
    this.#unread = undefined
    this.#pools = poolsOf(tls)
    this.#tls.setSecureContext(contextOf(tls))
  }

  /** Makes clients with a certificate reconnect, so that no connection outlives a removed authority. Running requests finish. */
  renewCertified(): void {
    for (const connection of this.#http1Connections.values()) {
      if (connection.peer.certificate === undefined) continue
      connection.isLeaving = true
      if (connection.active === 0) connection.socket.end()
    }
    for (const [session, { certificate }] of this.#sessions) if (certificate !== undefined) session.close()
  }

  /** Cuts all connections, and new ones as soon as they are made, until the result is called. The port stays. */
  cutAll(): () => void {
    this.#isDown = true
    for (const socket of this.#sockets) socket.destroy()
    return () => {
      this.#isDown = false
    }
  }

  /** Every answer asks its client to go elsewhere with the next request; whoever comes all the same is served. */
  sendAway(): void {
    this.#isLeaving = true
    for (const session of this.#sessions.keys()) session.close()
  }

  /**
   * Accepts no more connections, lets requests in flight finish, then closes; what is left after the grace is cut off. No client is waited
   * for that has nothing in flight, whether or not it closes its end: it may keep the connection for later and not look at it.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true
    const closed = new Promise<void>(resolve => void this.#tls.close(() => resolve()))
    for (const socket of this.#handshaking) socket.destroy()
    for (const socket of this.#sockets) {
      if (socket.writableFinished) socket.destroy()
      else socket.once('finish', () => socket.destroy())
    }
    for (const { socket, active } of this.#http1Connections.values()) if (active === 0) socket.end()
    for (const session of this.#sessions.keys()) session.close()
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, graceMs)
    await closed
    clearTimeout(timer)
    // Never listening itself, it has only its timers to stop.
    this.#http1.close(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0)
  }

  #accept(socket: TLSSocket): void {
    socket.setKeepAlive(true, LIMITS.keepAliveMs)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    if (this.#draining || this.#isDown) return void socket.destroy()
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    const peer = peerOf(socket, () => this.#pools())
    if (socket.alpnProtocol === 'h2') this.#attempt(socket, () => this.#acceptHttp2(socket, peer))
    else {
      const connection: Http1Connection = { socket, peer, active: 0, isLeaving: false, isOver: false, last: undefined }
      this.#http1Connections.set(socket, connection)
      socket.on('close', () => this.#http1Connections.delete(socket))
      this.#acceptHttp1(connection)
    }
  }

  #acceptHttp1(connection: Http1Connection): void {
    const { socket, peer } = connection
    answerDirectly(socket, {
      peer,
      serve: this.#serve,
      draining: () => this.#isLeft(connection),
      opened: () => connection.active++,
      closed: () => this.#closed(connection),
      failed: this.#failed,
      leave: () => handOver(socket, this.#http1),
    })
  }

  /** Whether the client of a connection is to go elsewhere with its next request. */
  #isLeft({ isLeaving, isOver }: Http1Connection): boolean {
    return this.#draining || this.#isLeaving || isLeaving || isOver
  }

  /** A request of a connection has been answered. */
  #closed(connection: Http1Connection): void {
    connection.active--
    if (connection.active > 0) return
    connection.last = undefined
    if (this.#isLeft(connection)) connection.socket.end()
  }

  async #acceptHttp2(socket: TLSSocket, peer: Peer): Promise<void> {
    const server = await (this.#http2 ??= this.#createHttp2(this.#serve))
    if (socket.destroyed || this.#draining) return void socket.destroy()
    // The session that comes of this connection is announced before emit returns.
    this.#opening = peer
    server.emit('connection', socket)
  }

  #createHttp1(serve: ListenOptions['serve']): Http1Server {
    const server = createHttp1Server({
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: LIMITS.headersMs,
      requestTimeout: LIMITS.requestMs,
      keepAliveTimeout: LIMITS.idleMs,
      connectionsCheckingInterval: LIMITS.headersMs / 3,
      noDelay: true,
      // Which host is named is looked at here, repeated ones included.
      requireHostHeader: false,
    })
    // Node leaves out what is beyond this. One more than may be sent shows that there was more.
    server.maxHeadersCount = LIMITS.headerPairs + 1
    server.on('request', (message, response) => {
      const connection = this.#http1Connections.get(message.socket)
      if (connection === undefined) return void message.socket.destroy()
      if (connection.isOver) return
      const problem = problemOf(message)
      if (problem !== undefined) return refuse(connection, problem)
      connection.active++
      connection.last = { message, response }
      const draining = () => this.#isLeft(connection)
      const closed = () => this.#closed(connection)
      this.#attempt(message.socket, () => answerHttp1(message, response, { peer: connection.peer, serve, draining, closed }))
    })
    server.on('upgrade', (message, stream, head) => {
      const connection = this.#http1Connections.get(message.socket)
      // Another protocol cannot begin before the answers to earlier requests are out.
      if (connection === undefined || connection.isOver || connection.active > 0) return void message.socket.destroy()
      const problem = problemOf(message)
      if (problem !== undefined) return refuse(connection, problem)
      connection.active++
      const { socket, peer } = connection
      this.#attempt(message.socket, () => answerUpgrade({ message, socket, stream, head }, { peer, serve }))
    })
    server.on('checkExpectation', ({ socket }) => refuse(this.#http1Connections.get(socket), '417 Expectation Failed'))
    // This server is no proxy. Node would close the connection without a word.
    server.on('connect', ({ socket }) => refuse(this.#http1Connections.get(socket), '405 Method Not Allowed'))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuse(this.#http1Connections.get(socket), CLIENT_ERRORS[error.code ?? ''] ?? '400 Bad Request'),
    )
    // Its timeouts start when it listens. It never does, since connections are handed to it.
    server.emit('listening')
    return server
  }

  /** HTTP/2 is loaded for the first client that speaks it, so that a start need not wait for that. */
  async #createHttp2(serve: ListenOptions['serve']): Promise<Http2Server> {
    const [{ createServer }, { answerHttp2 }] = await Promise.all([import('node:http2'), import('./http2.ts')])
    const server = createServer({
      maxSessionMemory: LIMITS.sessionMemoryMB,
      maxSessionRejectedStreams: LIMITS.refusedStreams,
      maxHeaderListPairs: LIMITS.headerPairs,
      settings: {
        maxConcurrentStreams: LIMITS.streamsPerConnection,
        initialWindowSize: LIMITS.streamWindowBytes,
        maxHeaderListSize: LIMITS.headerBytes,
        enablePush: false,
      },
    })
    server.on('session', session => {
      const peer = this.#opening ?? UNKNOWN
      this.#opening = undefined
      this.#sessions.set(session, peer)
      session.setLocalWindowSize(LIMITS.connectionWindowBytes)
      session.on('error', () => session.destroy())
      const unsentResponses = new UnsentResponses(LIMITS.unreadBytes, LIMITS.smallBytes)
      session.on('close', () => this.#sessions.delete(session))
      const pendingStreams = new PendingStreams({ atOnce: LIMITS.waitingPerConnection, most: 2 * LIMITS.streamsPerConnection })
      let open = 0
      session.setTimeout(LIMITS.idleMs)
      session.on('timeout', () => (open === 0 ? session.close() : probe(session)))
      session.on('stream', (stream, headers, _flags, headerLines: readonly string[] = []) => {
        open++
        stream.once('close', () => open--)
        stream.on('error', ignore)
        pendingStreams.add({
          isGone: () => stream.destroyed || stream.closed,
          begin: passed => this.#attempt(stream, () => answerHttp2(stream, headers, { peer, unsentResponses, headerLines, passed, serve })),
        })
      })
    })
    return server
  }

  #failed = (error: unknown): void => this.#log.error({ error: failureStack(error) }, 'an answer could not be sent')

  /** Serving never throws; a failure here is between response and socket, which is destroyed then. */
  #attempt(outlet: { destroy(): unknown }, answer: () => MaybePromise<void>): void {
    const failed = (error: unknown) => {
      this.#failed(error)
      outlet.destroy()
    }
    try {
      const answered = answer()
      if (answered instanceof Promise) answered.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/**
 * Leaves a connection to node:http, which reads it as a stream. By itself it lets its parser take the bytes where they are decrypted, and that
 * breaks connections on Node 20: the parser is paused while a response of more than the high water mark waits to be written, TLS hands it
 * the next record of a request all the same, and node:http takes the error HPE_PAUSED for a malformed request. A listener for data, even one
 * that is removed at once, is how node:http is told to read the stream, which is paused as a whole.
 */
function handOver(socket: TLSSocket, server: Http1Server): void {
  server.emit('connection', socket)
  socket.on('data', ignore).off('data', ignore)
}

type Http1Connection = {
  readonly socket: TLSSocket
  readonly peer: Peer
  /** Requests without a whole answer. */
  active: number
  /** Its client is to go elsewhere with the next request. */
  isLeaving: boolean
  /** What came on it is not answered any more. */
  isOver: boolean
  /** The request of node:http that came last. */
  last: { readonly message: IncomingMessage; readonly response: ServerResponse } | undefined
}

/** A stream that fails closes as well, which is what matters. */
const ignore = () => {}

const UNKNOWN: Peer = { address: '', certificate: undefined }

/**
 * TLS 1.2 or newer. Sessions are not resumed: a resumed one would be trusted for what its first handshake proved, whatever
 * has happened to the client's authority since, and a handshake on these curves costs little.
 */
function contextOf({ key, cert, clientCa, proxyCa = '' }: TlsMaterial) {
  return {
    key,
    cert,
    ca: clientCa + proxyCa,
    minVersion: 'TLSv1.2' as const,
    secureOptions: crypto.SSL_OP_NO_TICKET | crypto.SSL_OP_NO_RENEGOTIATION,
  }
}

/** The authorities of clients, read when the first certificate is verified. */
function poolsOf({ clientCa, proxyCa }: TlsMaterial): () => ClientPools {
  let pools: ClientPools | undefined
  return () => (pools ??= new ClientPools(poolOfPem(clientCa), proxyCa === undefined ? undefined : poolOfPem(proxyCa)))
}

/** Why a request of node:http is not answered at all, as status and reason; undefined when it is. */
function problemOf({ rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): string | undefined {
  // Headers that are left out could be those that take rights away, such as a proxy adds.
  if (rawHeaders.length > 2 * LIMITS.headerPairs) return TOO_LARGE
  if (httpVersionMajor !== 1) return '505 HTTP Version Not Supported: unsupported protocol version'
  const problem = hostProblem(rawHeaders, httpVersionMinor > 0)
  if (problem !== undefined) return `400 Bad Request: ${problem}`
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  // HTTP/1.0 knows no chunks: proxies may have read the request in another way.
  if (httpVersionMinor === 0) return '400 Bad Request: unexpected Transfer-Encoding'
  // Node reads chunks also where something else was encoded in them.
  return encoding.toLowerCase() === 'chunked' ? undefined : '501 Not Implemented: Unsupported transfer encoding'
}

const TOO_LARGE = '431 Request Header Fields Too Large'
/** Statuses of what is no request, by what Node calls it; 400 for the rest. */
const CLIENT_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: TOO_LARGE,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/**
 * Something came that is no request, or not the rest of one: nothing after it is read as a request. The answer to it is the last one of the
 * connection, in the form of Go's servers. Where answers to earlier requests are still to come, these are the last: nothing precedes them.
 */
function refuse(connection: Http1Connection | undefined, problem: string): void {
  if (connection === undefined || connection.isOver) return
  connection.isOver = true
  const { socket, active, last } = connection
  const isWithin = last !== undefined && !last.message.complete
  if (active === 0 || (active === 1 && isWithin && !last.response.headersSent)) answerLast(socket, problem)
  else if (isWithin || last === undefined || last.response.headersSent) socket.destroy()
}

function answerLast(socket: TLSSocket, problem: string): void {
  if (!socket.writable) return void socket.destroy()
  const [status] = problem.split(':', 1)
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${problem}`)
  setTimeout(() => socket.destroy(), LIMITS.lingerMs).unref()
}

/** Answers a client that has sent a request without TLS in the words of Go's servers: many clients know them. */
function refusePlainHttp(secured: TLSSocket): void {
  // Node has destroyed the secured socket by now; the one below it is still open.
  const plain = plainOf(secured)
  if (plain === undefined) return void secured.destroy()
  plain.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
  setTimeout(() => plain.destroy(), LIMITS.lingerMs).unref()
}

/** The socket below a secured one, to which only this field leads. */
const plainOf = (secured: TLSSocket) => (secured as TLSSocket & { readonly _parent?: Socket })._parent

/** Asks a silent client whether it is still there. */
function probe(session: ServerHttp2Session): void {
  const timer = setTimeout(() => session.destroy(), LIMITS.pingMs)
  if (session.ping(() => clearTimeout(timer))) return
  clearTimeout(timer)
  session.destroy()
}
