/** One TLS port for HTTP/1.1 and HTTP/2: connections, their limits, and shutdown. */
import { constants as crypto } from 'node:crypto'
import { createServer as createHttp1Server, type Server as Http1Server, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Http2Server, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContext,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls'
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { TlsSettings } from '../../lib/tls-settings.ts'
import { poolOfPem } from '../../lib/x509/pool.ts'
import { PendingStreams } from '../flow-control/pending-streams.ts'
import { UnsentResponses } from '../flow-control/unsent-responses.ts'
import type { Peer, Request, Response } from '../message.ts'
import { failureStack } from '../observability/failure-text.ts'
import type { Log } from '../observability/log.ts'
import { answerDirectly } from './direct.ts'
import { Handshakes } from './handshakes.ts'
import { hostProblem } from './host.ts'
import { answerHttp1 } from './http1.ts'
import { IterationEnd } from './iteration-end.ts'
import { type NamedCertificate, NamedContexts } from './named-certificates.ts'
import { ClientPools, peerOf } from './peer.ts'
import { answerUpgrade } from './websocket.ts'

/** The longest time that a timer of Node takes. */
const NEVER_MS = 2 ** 31 - 1

/** The certificates that a server presents and trusts, in PEM. */
export type TlsMaterial = {
  readonly key: string
  /** The server's certificate, followed by intermediates. */
  readonly cert: string
  /** Client certificate authorities. */
  readonly clientCa: string
  /** Authorities of front proxies, which may name users in headers. */
  readonly proxyCa?: string | undefined
  /** Certificates for certain names of the server. */
  readonly named?: readonly NamedCertificate[]
  /** The oldest version of TLS. */
  readonly minVersion?: TlsSettings['minVersion']
  /** Cipher suites in OpenSSL's notation. */
  readonly ciphers?: string | undefined
}

/** Accepts connections in place of this process, and hands some of them to it. */
export interface ConnectionSource {
  /** Opens the port. Rejects as a server of Node that cannot listen fails. */
  open(address: { readonly host: string; readonly port: number }): Promise<AddressInfo>
  /** Sets where connections go from now on. */
  accept(take: (socket: Socket) => void): void
  /** No more connections are wanted. */
  close(): void
}

export type ListenOptions = {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Accepts the connections, where this process does not. */
  readonly source?: ConnectionSource | undefined
  readonly tls: TlsMaterial
  readonly serve: (request: Request) => MaybePromise<Response>
  readonly log: Log
}

/** The port as the server uses it. */
export type Port = Pick<
  Listener,
  'address' | 'unref' | 'handshakeErrors' | 'presented' | 'readAuthorities' | 'reload' | 'renewCertified' | 'cutAll' | 'sendAway' | 'drain'
>

/** Opens the port; resolves when connections are accepted. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const listener = new Listener(options)
  await listener.open(options)
  return listener
}

export class Listener implements AsyncDisposable {
  readonly #tls: TlsServer
  /** For requests that are not read by the connection itself. */
  #http1: Http1Server | undefined
  #http2: Promise<Http2Server> | undefined
  readonly #serve: ListenOptions['serve']
  readonly #sockets = new Set<TLSSocket>()
  readonly #handshakes = new Handshakes()
  readonly #iterationEnd = new IterationEnd()
  readonly #http1Connections = new Map<object, Http1Connection>()
  readonly #sessions = new Map<ServerHttp2Session, Peer>()
  readonly #log: Log
  #pools: () => ClientPools
  /** The certificates to trust from the first handshake on. */
  #unread: TlsMaterial | undefined
  #presented: readonly string[] = []
  #draining = false
  #isLeaving = false
  #isDown = false
  #source: ConnectionSource | undefined
  #address: AddressInfo | undefined
  /** Called when no connection is left. */
  #emptied: (() => void) | undefined
  #opening: Peer | undefined
  #handshakeErrors = 0
  /** Certificates for certain names, where there are any; as many as at the start. */
  #named: NamedContexts | undefined

  constructor({ tls, serve, log }: ListenOptions) {
    this.#log = log
    this.#pools = poolsOf(tls)
    this.#serve = serve
    this.#named = namedOf(tls)
    this.#tls = createTlsServer({
      ...contextOf(tls),
      ca: [],
      ...(this.#named && { SNICallback: (name: string, done: SniDone) => done(null, this.#named?.ofName(name)) }),
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      // Node counts by the clock, and would cut off clients whose bytes wait to be read.
      handshakeTimeout: NEVER_MS,
    })
    this.#tls.maxConnections = LIMITS.connections
    this.#unread = tls
    this.#presented = presentedIn(tls)
    // Before Node begins the handshake.
    this.#tls.prependListener('connection', socket => {
      this.readAuthorities()
      this.#present(socket)
    })
    this.#tls.on('connection', socket => {
      if (this.#isDown || this.#draining) return void socket.destroy()
      this.#handshakes.begin(socket)
      socket.on('close', () => {
        this.#handshakes.end(socket)
        this.#lookIfEmpty()
      })
    })
    this.#tls.on('secureConnection', socket => {
      const plain = plainOf(socket)
      if (plain) this.#handshakes.end(plain)
      this.#accept(socket)
    })
    this.#tls.on('tlsClientError', (error, socket) => {
      this.#handshakeErrors++
      log.debug({ source: socket.remoteAddress, error: error.message }, 'TLS handshake failed')
      if ((error as NodeJS.ErrnoException).code === 'ERR_SSL_HTTP_REQUEST') refusePlainHttp(socket)
      else socket.destroy()
    })
  }

  async open({ host, port, source }: Pick<ListenOptions, 'host' | 'port' | 'source'>): Promise<void> {
    if (source) {
      this.#source = source
      this.#address = await source.open({ host, port })
      source.accept(socket => void this.#tls.emit('connection', socket))
      return
    }
    await new Promise<void>((resolve, reject) => {
      this.#tls.once('error', reject)
      this.#tls.listen({ host, port }, () => {
        this.#tls.off('error', reject)
        this.#tls.on('error', error => this.#log.error({ error: error.message }, 'listener failed'))
        resolve()
      })
    })
    this.#address = this.#tls.address() as AddressInfo
  }

  /** Neither the port nor its connections keep the process alive any more. */
  unref(): void {
    this.#tls.unref()
    this.#tls.on('connection', socket => socket.unref())
  }

  /** The number of failed handshakes. */
  get handshakeErrors(): number {
    return this.#handshakeErrors
  }

  /** The certificates that new handshakes present, in PEM. */
  get presented(): readonly string[] {
    return this.#presented
  }

  /** The bound address, port included. */
  get address(): AddressInfo {
    return this.#address!
  }

  /**
   * Reads the client certificate authorities. Node loads its own 140 authorities first, which would take a tenth of the start time. So it
   * is done once the server is ready, or for the first connection, if that is earlier.
   */
  readAuthorities(): void {
    if (this.#unread) this.#tls.setSecureContext(contextOf(this.#unread))
    this.#unread = undefined
  }

  /** New handshakes use the new certificates; open connections stay. */
  reload(tls: TlsMaterial): void {
    this.#unread = undefined
    this.#presented = presentedIn(tls)
    this.#pools = poolsOf(tls)
    this.#named = namedOf(tls)
    this.#tls.setSecureContext(contextOf(tls))
  }

  /** Clients that connect to an address send no name: where a certificate is for that address, the next handshake uses it. */
  #present({ localAddress = '' }: Socket): void {
    const material = this.#named?.ofAddress(localAddress)
    if (material) this.#tls.setSecureContext(contextOf(material))
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

  /** Cuts all connections, and new ones as soon as they are made, until the returned function is called. The port stays open. */
  cutAll(): () => void {
    this.#isDown = true
    for (const socket of this.#sockets) socket.destroy()
    return () => {
      this.#isDown = false
    }
  }

  /** Every response asks its client to use another connection for the next request; requests that arrive anyway are served. */
  sendAway(): void {
    this.#isLeaving = true
    for (const session of this.#sessions.keys()) session.close()
  }

  /**
   * Accepts no more connections, lets requests in flight finish, then closes; the rest is cut off after the grace period. Idle clients are
   * not waited for, whether or not they close their end: a connection pool may not notice.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true
    const closed = new Promise<void>(resolve => this.#acceptNoMore(resolve))
    this.#handshakes.cutAll()
    for (const socket of this.#sockets) {
      if (socket.writableFinished) socket.destroy()
      else socket.once('finish', () => socket.destroy())
    }
    for (const { socket, active } of this.#http1Connections.values()) if (active === 0) socket.end()
    for (const session of this.#sessions.keys()) session.close()
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, graceMs)
    this.#lookIfEmpty()
    await closed
    clearTimeout(timer)
    // It never listens itself, so there are only timers to stop.
    this.#http1?.close(() => {})
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0)
  }

  /** Calls `closed` when the last connection has ended. Node counts only the connections that it has accepted in this process. */
  #acceptNoMore(closed: () => void): void {
    if (!this.#source) return void this.#tls.close(closed)
    this.#emptied = closed
    this.#source.close()
  }

  #lookIfEmpty(): void {
    if (this.#emptied && this.#sockets.size === 0 && this.#handshakes.size === 0) this.#emptied()
  }

  #accept(socket: TLSSocket): void {
    socket.setKeepAlive(true, LIMITS.keepAliveMs)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    if (this.#draining || this.#isDown) return void socket.destroy()
    this.#sockets.add(socket)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#lookIfEmpty()
    })
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
      iterationEnd: this.#iterationEnd,
      draining: () => this.#isLeft(connection),
      opened: () => connection.active++,
      closed: () => this.#closed(connection),
      failed: this.#failed,
      leave: () => handOver(socket, (this.#http1 ??= this.#createHttp1(this.#serve))),
    })
  }

  /** Whether the client of a connection is asked to use another one for its next request. */
  #isLeft({ isLeaving, isOver }: Http1Connection): boolean {
    return this.#draining || this.#isLeaving || isLeaving || isOver
  }

  /** A request of a connection has been served. */
  #closed(connection: Http1Connection): void {
    connection.active--
    if (connection.active > 0) return
    connection.last = undefined
    if (this.#isLeft(connection)) connection.socket.end()
  }

  async #acceptHttp2(socket: TLSSocket, peer: Peer): Promise<void> {
    const server = await (this.#http2 ??= this.#createHttp2(this.#serve))
    if (socket.destroyed || this.#draining) return void socket.destroy()
    // The session of this connection is announced before emit returns.
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
      // The Host header is checked here, repeated ones included.
      requireHostHeader: false,
    })
    // Node drops headers beyond this. One more than allowed shows that there were more.
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
      // Another protocol cannot begin before the responses to earlier requests have been sent.
      if (connection === undefined || connection.isOver || connection.active > 0) return void message.socket.destroy()
      const problem = problemOf(message)
      if (problem !== undefined) return refuse(connection, problem)
      connection.active++
      const { socket, peer } = connection
      this.#attempt(message.socket, () => answerUpgrade({ message, socket, stream, head }, { peer, serve }))
    })
    server.on('checkExpectation', ({ socket }) => refuse(this.#http1Connections.get(socket), '417 Expectation Failed'))
    // This server is no proxy. Node would close the connection without a response.
    server.on('connect', ({ socket }) => refuse(this.#http1Connections.get(socket), '405 Method Not Allowed'))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuse(this.#http1Connections.get(socket), CLIENT_ERRORS[error.code ?? ''] ?? '400 Bad Request'),
    )
    // Its timeouts start when it listens. It never does, since connections are handed to it.
    server.emit('listening')
    return server
  }

  /** HTTP/2 is loaded for the first client that uses it, so that it does not delay the start. */
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
        const atEnd = (send: () => MaybePromise<void>) => this.#iterationEnd.add(() => this.#attempt(stream, send))
        pendingStreams.add({
          isGone: () => stream.destroyed || stream.closed,
          begin: passed =>
            this.#attempt(stream, () => answerHttp2(stream, headers, { peer, unsentResponses, headerLines, passed, serve, atEnd })),
        })
      })
    })
    return server
  }

  #failed = (error: unknown): void => this.#log.error({ error: failureStack(error) }, 'an answer could not be sent')

  /** Serving never throws; an error here is between response and socket, which is then destroyed. */
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
 * Hands a connection to node:http, which reads it as a stream. By default its parser takes the bytes where they are decrypted, and that
 * breaks connections on Node 20: the parser is paused while a response larger than the high water mark waits to be written, TLS passes it
 * the next record of a request even so, and node:http takes the error HPE_PAUSED for a malformed request. A listener for data, even one
 * that is removed immediately, makes node:http read the stream, which is paused as a whole.
 */
function handOver(socket: TLSSocket, server: Http1Server): void {
  server.emit('connection', socket)
  socket.on('data', ignore).off('data', ignore)
}

type Http1Connection = {
  readonly socket: TLSSocket
  readonly peer: Peer
  /** Requests without a complete response. */
  active: number
  /** Its client is asked to use another connection for the next request. */
  isLeaving: boolean
  /** Further input is ignored. */
  isOver: boolean
  /** The last request of node:http. */
  last: { readonly message: IncomingMessage; readonly response: ServerResponse } | undefined
}

/** A stream that fails also closes, and only that matters. */
const ignore = () => {}

const UNKNOWN: Peer = { address: '', certificate: undefined }

/**
 * TLS 1.2 or newer. Sessions are not resumed: a resumed session would be trusted because of its first handshake, even if the client's
 * authority has been removed since, and a handshake on these curves costs little.
 */
function contextOf({ key, cert, clientCa, proxyCa = '', minVersion = 'TLSv1.2', ciphers }: TlsMaterial) {
  return {
    key,
    cert,
    ca: clientCa + proxyCa,
    minVersion,
    ...(ciphers !== undefined && { ciphers }),
    secureOptions: crypto.SSL_OP_NO_TICKET | crypto.SSL_OP_NO_RENEGOTIATION,
  }
}

type SniDone = (error: null, context?: SecureContext) => void

function namedOf(tls: TlsMaterial): NamedContexts | undefined {
  return tls.named?.length ? new NamedContexts(tls, material => createSecureContext(contextOf(material))) : undefined
}

/** The client certificate authorities, parsed when the first certificate is verified. */
function poolsOf({ clientCa, proxyCa }: TlsMaterial): () => ClientPools {
  let pools: ClientPools | undefined
  return () => (pools ??= new ClientPools(poolOfPem(clientCa), proxyCa === undefined ? undefined : poolOfPem(proxyCa)))
}

/** Why a request of node:http is not served at all, as status and reason; undefined when it is. */
function problemOf({ rawHeaders, headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): string | undefined {
  // Dropped headers could be ones that restrict the request, such as those of a proxy.
  if (rawHeaders.length > 2 * LIMITS.headerPairs) return TOO_LARGE
  if (httpVersionMajor !== 1) return '505 HTTP Version Not Supported: unsupported protocol version'
  const problem = hostProblem(rawHeaders, httpVersionMinor > 0)
  if (problem !== undefined) return `400 Bad Request: ${problem}`
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return undefined
  // HTTP/1.0 has no chunks: proxies may have parsed the request differently.
  if (httpVersionMinor === 0) return '400 Bad Request: unexpected Transfer-Encoding'
  // Node accepts chunks also with another encoding inside.
  return encoding.toLowerCase() === 'chunked' ? undefined : '501 Not Implemented: Unsupported transfer encoding'
}

const TOO_LARGE = '431 Request Header Fields Too Large'
/** Statuses of malformed requests by Node's error code; 400 for the rest. */
const CLIENT_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: TOO_LARGE,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/**
 * Malformed input is not a request, or not the rest of one: nothing after it is parsed. Its response is the last one of the connection, in
 * the form of Go's servers. Where responses to earlier requests are pending, these are the last: nothing precedes them.
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

/** Responds to a request without TLS in the words of Go's servers, which many clients recognize. */
function refusePlainHttp(secured: TLSSocket): void {
  // Node has destroyed the TLS socket by now; the one below it is still open.
  const plain = plainOf(secured)
  if (plain === undefined) return void secured.destroy()
  plain.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n')
  setTimeout(() => plain.destroy(), LIMITS.lingerMs).unref()
}

/** The socket below a TLS socket, accessible only through this field. */
const plainOf = (secured: TLSSocket) => (secured as TLSSocket & { readonly _parent?: Socket })._parent

/** Pings a silent client. */
function probe(session: ServerHttp2Session): void {
  const timer = setTimeout(() => session.destroy(), LIMITS.pingMs)
  if (session.ping(() => clearTimeout(timer))) return
  clearTimeout(timer)
  session.destroy()
}

const presentedIn = ({ cert, named = [] }: TlsMaterial): readonly string[] => [cert, ...named.map(each => each.cert)]
