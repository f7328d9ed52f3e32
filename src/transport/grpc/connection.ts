/** One HTTP/2 connection to a gRPC server, and the calls on it. */
import { messageOf } from '../../lib/error-message.ts'
import type { Dial } from '../egress.ts'
import { encodeHeaders, type Headers } from './hpack.ts'
import { DeadlineExceeded, type Http2Session, type Http2Stream, openSession, type Tls } from './http2-session.ts'
import { RpcError } from './status.ts'
import type { Writer } from './wire.ts'

/** A call that is answered by one message. */
export type Method<Request, Response> = {
  readonly path: string
  write(request: Request): Writer
  read(message: Buffer): Response
}

/** The connection failed, so that the call had no answer. */
export class ConnectionLost extends Error {
  /** Whether the server cannot have received the call, or said that it has not processed it. */
  readonly neverSent: boolean

  constructor(message: string, { neverSent = false, ...options }: ErrorOptions & { readonly neverSent?: boolean } = {}) {
    super(message, options)
    this.neverSent = neverSent
  }
}

/** The messages that the server sends on a stream; `close` ends it. */
export type Stream = {
  send(message: Writer): void
  /** Stops and restarts reading; the server is held back meanwhile. */
  pause(): void
  resume(): void
  close(): void
}
export type StreamHandler = {
  message(message: Buffer): void
  /** Nothing follows. There is always an error, as a watch has no end of its own. */
  ended(error: RpcError | ConnectionLost): void
}

const CONNECT_MS = 2_000
/** Large answers and bursts of events must not wait for window updates. */
const STREAM_WINDOW = 4 << 20
const SESSION_WINDOW = 16 << 20
/** A larger message is not believed. */
const MAX_MESSAGE_BYTES = 1 << 30
/** How often a connection is looked at. */
const LOOK_MS = 1_000
/** Silence after which a connection is pinged while a call waits, and while only watches are open. */
const SILENCE_MS = 1_000
const IDLE_MS = 5_000
/** Servers end connections that ping more often than they allow; etcd allows a ping every 5 seconds (--grpc-keepalive-min-time). */
const PING_EVERY_MS = 5_200
const PING_ANSWER_MS = 2_500

/** Properties of a server that its connections depend on. */
export type Peer = {
  /** Its name in errors. */
  readonly name: string
  /** Sent with every call. */
  readonly metadata?: readonly (readonly [name: string, value: string])[]
  /** The `:authority` of calls; by default the host of the endpoint. */
  readonly authority?: string
  /** Whether it is asked for a sign of life while it is silent; most servers take that for an attack. */
  readonly isPinged?: boolean
}

export type ConnectionOptions = {
  readonly peer: Peer
  readonly tls?: Tls
  /** Opens the connection, where it is not direct. */
  readonly dial?: Dial | undefined
  readonly signal: AbortSignal
}

/**
 * Connects to `http://HOST:PORT`, `https://HOST:PORT` or the Unix socket `unix:///PATH`. Rejects with the error of the socket or of TLS,
 * or with what the signal says.
 */
export async function openConnection(endpoint: string, { peer, tls = {}, dial, signal }: ConnectionOptions): Promise<Connection> {
  const url = new URL(endpoint)
  const windows = { streamWindow: STREAM_WINDOW, sessionWindow: SESSION_WINDOW }
  return new Connection(endpoint, peer, await openSession(url, { tls, dial, connectMs: CONNECT_MS, signal, ...windows }))
}

/** Names and values that a call has beside its message. */
export type Metadata = Readonly<Record<string, string>>
export type CallOptions = { readonly deadlineMs: number; readonly metadata?: Metadata | undefined }

type Waiting = { readonly since: number }

export class Connection {
  readonly endpoint: string
  readonly #peer: Peer
  readonly #session: Http2Session
  readonly #requestHeaders: RequestHeaders
  readonly #calls = new Set<Waiting>()
  readonly #lookTimer: NodeJS.Timeout
  #streams = 0
  #lookedAt = performance.now()
  #pingedAt = Number.NEGATIVE_INFINITY
  #isPinging = false
  #isRetired = false

  constructor(endpoint: string, peer: Peer, session: Http2Session) {
    this.endpoint = endpoint
    this.#peer = peer
    this.#session = session
    this.#requestHeaders = new RequestHeaders(new URL(endpoint), peer)
    session.onGoaway = () => this.retire()
    session.onClose = () => this.#closed()
    session.unref()
    this.#lookTimer = setInterval(() => this.#look(), LOOK_MS)
    this.#lookTimer.unref()
  }

  /** Whether calls can be made. */
  get isUsable(): boolean {
    return !this.#isRetired && this.#session.isOpen
  }

  /** Makes no further calls; the connection ends when those under way have. */
  retire(): void {
    if (this.#isRetired) return
    this.#isRetired = true
    this.#session.close()
  }

  /** Ends the connection with all calls on it. */
  destroy(why?: Error): void {
    this.#session.destroy(why)
  }

  /** Calls the server and resolves with its answer; rejects with `RpcError`, `ConnectionLost` or `DeadlineExceeded`. */
  call<Request, Response>(method: Method<Request, Response>, request: Request, { deadlineMs, metadata }: CallOptions): Promise<Response> {
    return new Promise((resolve, reject) => {
      const frame = framed(method.write(request))
      const waiting = { since: performance.now() }
      this.#calls.add(waiting)
      if (this.#calls.size === 1 && this.#streams === 0) this.#session.ref()
      let timer: NodeJS.Timeout | undefined
      const settle = (end: () => void) => {
        if (!this.#calls.delete(waiting)) return
        clearTimeout(timer)
        this.#unrefIfIdle()
        end()
      }
      let answer: Buffer | undefined
      const headers = this.#requestHeaders.of(method.path, deadlineMs, metadata)
      const stream = this.#open(headers, {
        message: message => (answer = message),
        ended: error =>
          settle(() => {
            if (error) return reject(error)
            if (!answer) return reject(new RpcError(INTERNAL, `${this.#peer.name} answered without a message`))
            try {
              resolve(method.read(answer))
            } catch (error) {
              reject(error)
            }
          }),
      })
      stream?.send(frame, true)
      // All that can wait is done while the server is at work.
      if (!this.#calls.has(waiting)) return
      timer = setTimeout(() => {
        settle(() => reject(new DeadlineExceeded(`no answer within ${deadlineMs / 1000} seconds`)))
        stream?.cancel()
      }, deadlineMs)
    })
  }

  /** Opens a stream in both directions. */
  stream(path: string, handler: StreamHandler): Stream {
    this.#streams++
    this.#session.ref()
    let isOpen = true
    const stream = this.#open(this.#requestHeaders.of(path), {
      message: message => isOpen && handler.message(message),
      ended: error => {
        if (!isOpen) return
        isOpen = false
        this.#streams--
        this.#unrefIfIdle()
        handler.ended(error ?? new RpcError(UNAVAILABLE, `${this.#peer.name} has ended the stream`))
      },
    })
    return {
      send: message => {
        if (isOpen) stream?.send(framed(message), false)
      },
      pause: () => stream?.pause(),
      resume: () => stream?.resume(),
      close: () => {
        if (!isOpen) return
        isOpen = false
        stream?.cancel()
        this.#streams--
        this.#unrefIfIdle()
      },
    }
  }

  #open(headers: Buffer, on: { message(message: Buffer): void; ended(error?: RpcError | ConnectionLost): void }): Http2Stream | undefined {
    if (!this.isUsable) {
      // Never within the call: whoever made it is not ready for the end yet.
      queueMicrotask(() => on.ended(new ConnectionLost('the connection is closed', { neverSent: true })))
      return undefined
    }
    const messages = new Frames(on.message)
    let status: RpcError | 'ok' | undefined
    const stream = this.#session.request(headers, {
      headers: headers => {
        status ??= statusOf(headers)
      },
      data: chunk => {
        try {
          messages.take(chunk)
        } catch (error) {
          stream.cancel()
          on.ended(new ConnectionLost(messageOf(error), { cause: error }))
        }
      },
      closed: ({ neverSent, error: cause }) => {
        if (status === 'ok') return on.ended()
        if (status) return on.ended(status)
        on.ended(new ConnectionLost(cause ? messageOf(cause) : 'the connection was lost', { cause, neverSent }))
      },
    })
    return stream
  }

  #unrefIfIdle(): void {
    if (this.#calls.size === 0 && this.#streams === 0) this.#session.unref()
  }

  /** Finds out whether the server still answers, if a call waits for it. */
  #look(): void {
    const now = performance.now()
    const isLate = now - this.#lookedAt > 2 * LOOK_MS
    this.#lookedAt = now
    // This process was busy or stopped: what has come meanwhile has not been read yet.
    if (isLate || !this.#peer.isPinged) return
    if (this.#isPinging) {
      if (now - this.#pingedAt > PING_ANSWER_MS) this.destroy(new DeadlineExceeded(`${this.#peer.name} does not answer`))
      return
    }
    const silence = now - this.#session.heardAt
    const [eldest] = this.#calls
    const isWaitedFor = eldest !== undefined && now - eldest.since >= SILENCE_MS && silence >= SILENCE_MS
    if (!(isWaitedFor || (this.#streams > 0 && silence >= IDLE_MS)) || now - this.#pingedAt < PING_EVERY_MS) return
    this.#pingedAt = now
    this.#isPinging = true
    this.#session.ping(() => {
      this.#isPinging = false
    })
  }

  #closed(): void {
    clearInterval(this.#lookTimer)
    this.#isRetired = true
  }
}

const INTERNAL = 13
const UNAVAILABLE = 14

/** Puts the header of a gRPC message, for which room was left, before it. */
export function framed(message: Writer): Buffer {
  const frame = message.finish()
  frame[0] = 0
  frame.writeUInt32BE(frame.length - 5, 1)
  return frame
}

const NOTHING = Buffer.alloc(0)

/** Splits the bytes of a stream into its messages. */
export class Frames {
  readonly #take: (message: Buffer) => void
  #chunks: Buffer[] = []
  #length = 0
  #needed = 5

  constructor(take: (message: Buffer) => void) {
    this.#take = take
  }

  take(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#needed) return
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#length)
    for (;;) {
      this.#needed = bytes.length < 5 ? 5 : 5 + bytes.readUInt32BE(1)
      if (this.#needed > MAX_MESSAGE_BYTES) throw new RangeError('the server sent a message that is too long')
      if (bytes.length < this.#needed) break
      this.#take(bytes.subarray(5, this.#needed))
      bytes = bytes.length === this.#needed ? NOTHING : bytes.subarray(this.#needed)
    }
    this.#chunks = bytes.length === 0 ? [] : [bytes]
    this.#length = bytes.length
  }
}

/** The headers of requests, encoded. Those of a method are the same each time. */
class RequestHeaders {
  readonly #url: URL
  readonly #peer: Peer
  readonly #encoded = new Map<string, Buffer>()

  constructor(url: URL, peer: Peer) {
    this.#url = url
    this.#peer = peer
  }

  /** Metadata of one call follows the headers that its method always has. */
  of(path: string, deadlineMs?: number, metadata?: Metadata): Buffer {
    const usual = this.#usual(path, deadlineMs)
    return metadata ? Buffer.concat([usual, encodeHeaders(Object.entries(metadata))]) : usual
  }

  #usual(path: string, deadlineMs: number | undefined): Buffer {
    const timeout = deadlineMs === undefined ? '' : `${Math.ceil(deadlineMs)}m`
    const known = this.#encoded.get(path + timeout)
    if (known) return known
    const block = encodeHeaders([
      [':method', 'POST'],
      [':scheme', this.#url.protocol === 'https:' ? 'https' : 'http'],
      [':path', path],
      [':authority', this.#peer.authority ?? this.#url.host],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ...(this.#peer.metadata ?? []),
      ...(timeout === '' ? [] : [['grpc-timeout', timeout] as const]),
    ])
    if (this.#encoded.size < MAX_ENCODED) this.#encoded.set(path + timeout, block)
    return block
  }
}
const MAX_ENCODED = 64

/** The outcome of the call in headers or trailers; undefined for headers before a response. */
function statusOf(headers: Headers): RpcError | 'ok' | undefined {
  const code = headers.get('grpc-status')
  if (code === undefined) {
    const http = Number(headers.get(':status') ?? 200)
    return http === 200 ? undefined : new RpcError(UNAVAILABLE, `HTTP status ${http}`)
  }
  if (Number(code) === 0) return 'ok'
  return new RpcError(Number(code), percentDecoded(headers.get('grpc-message') ?? '') || `gRPC status ${code}`)
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
