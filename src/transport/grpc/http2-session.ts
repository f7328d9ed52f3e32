/**
 * The client's side of one HTTP/2 connection (RFC 9113) over which calls are made: no pushes, no priorities, no dynamic headers. Node's
 * own makes a duplex stream of each call, which takes four times as long as all that is done here; see docs/decisions/005-etcd-client.md.
 *
 *     request  ─→ HEADERS, DATA … ─┐                     ┌→ socket: the first of a tick at once, all others of the tick together
 *     request  ─→ HEADERS, DATA … ─┴→ windows of the peer ┘
 *     socket ─→ frames ─→ headers, data, closed of the stream that they belong to
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import type { Dial } from '../egress.ts'
import { connectTrusting, type Trust } from '../trusting-agent.ts'
import { HeaderReader, type Headers } from './hpack.ts'

/** Certificates of this client, and the authorities of the server; PEM. */
export type Tls = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** Whether any certificate of the server is accepted, as by probes. */
  readonly isUnverified?: boolean
}

export type StreamHandler = {
  /** Headers before the first data, and trailers after the last. */
  headers(headers: Headers): void
  data(chunk: Buffer): void
  /** Nothing follows; called once. */
  closed(how: StreamEnd): void
}
export type StreamEnd = {
  /** Whether the server has said all that it had to say. */
  readonly isComplete: boolean
  /** Whether the server has certainly not begun to process the request. */
  readonly neverSent: boolean
  readonly error?: Error
}

export type Http2Stream = {
  /** Sends data, and with `isLast` that nothing follows. */
  send(data: Buffer, isLast: boolean): void
  /** Hands out nothing until `resume`; the server may send as much as a window holds. */
  pause(): void
  resume(): void
  /** Ends the stream without waiting for the server. `closed` is not called. */
  cancel(): void
}

export type SessionOptions = {
  readonly tls: Tls
  /** Opens the connection, where it is not direct. */
  readonly dial?: Dial | undefined
  readonly connectMs: number
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal
  /** How much the server may send on one stream, and on all, before it is told that there is room again. */
  readonly streamWindow: number
  readonly sessionWindow: number
}

/** Connects, and waits for the settings of the server. Rejects with the error of the socket or of TLS. */
export function openSession(url: URL, options: SessionOptions): Promise<Http2Session> {
  const { tls, dial, connectMs, signal } = options
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isTls = url.protocol === 'https:'
  const port = Number(url.port || (isTls ? 443 : 80))
  return new Promise((resolve, reject) => {
    const socket = isTls
      ? connectTrusting({ host, port, ...(!isIP(host) && { servername: host }), ALPNProtocols: ['h2'], dial }, trustOf(host, tls))
      : url.protocol === 'unix:'
        ? connectTcp({ path: socketPath(url) })
        : dial
          ? (dial({ host, port }) as Socket)
          : connectTcp({ host, port })
    socket.setNoDelay(true)
    const settle = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const fail = (error: Error) => {
      settle()
      socket.destroy()
      reject(error)
    }
    const abort = () => fail(signal!.reason)
    signal?.addEventListener('abort', abort)
    const timer = setTimeout(() => fail(new DeadlineExceeded(`no connection within ${connectMs / 1000} seconds`)), connectMs)
    const session = new Http2Session(socket, options)
    session.onClose = error => fail(error ?? Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    session.onReady = () => {
      settle()
      session.onClose = () => {}
      resolve(session)
    }
    socket.once(isTls ? 'secureConnect' : 'connect', () => session.begin())
  })
}

/** The path of a Unix socket; one that begins with `@` is the name of an abstract socket of Linux. */
function socketPath(url: URL): string {
  const path = decodeURIComponent(url.pathname)
  return path.startsWith('/@') ? `\0${path.slice(2)}` : path
}

const trustOf = (host: string, { ca = '', cert, key, isUnverified = false }: Tls): Trust => ({
  host,
  ca,
  servername: '',
  client: cert && key ? { cert, key } : undefined,
  skipsVerification: isUnverified,
})

/** No answer came in time. */
export class DeadlineExceeded extends Error {}

/** The server does not speak HTTP/2, or breaks its rules. */
class ProtocolError extends Error {
  readonly code = 'ERR_HTTP2_PROTOCOL'
}

const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const PUSH_PROMISE = 5
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8
const CONTINUATION = 9

const ACK = 0x1
const END_STREAM = 0x1
const END_HEADERS = 0x4
const PADDED = 0x8
const PRIORITY = 0x20

const HEADER_TABLE_SIZE = 1
const ENABLE_PUSH = 2
const MAX_CONCURRENT_STREAMS = 3
const INITIAL_WINDOW_SIZE = 4
const MAX_FRAME_SIZE = 5

const REFUSED_STREAM = 7
const CANCELED = Buffer.from([0, 0, 0, 8])

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const FRAME_HEAD = 9
/** The preface of every connection. */
const FIRST_WINDOW = 65_535
const FIRST_FRAME_SIZE = 16_384
const MAX_WINDOW = 2 ** 31 - 1
/** Ids have 31 bits: after that many requests another connection has to be made. */
const LAST_ID = 2 ** 31 - 1
/** Headers that are longer are not believed. */
const MAX_HEADER_BYTES = 256 << 10
const NOTHING = Buffer.alloc(0)

export class Http2Session {
  /** Told once, after all streams. */
  onClose: (error: Error | undefined) => void = () => {}
  /** The server has sent its settings. */
  onReady: () => void = () => {}
  /** The server takes no further requests. */
  onGoaway: () => void = () => {}
  /** When something last came from the server, on the clock of `performance.now`. */
  heardAt = performance.now()
  readonly #socket: Socket
  readonly #streamWindow: number
  readonly #sessionWindow: number
  readonly #headers = new HeaderReader()
  /** Those with an id. A closed one has lost its handler, as maps keep removed entries for a while; see CONTRIBUTING.md. */
  readonly #streams = new Map<number, Stream>()
  /** Requests that the server has no room for yet. */
  readonly #unopened: Stream[] = []
  /** Streams with data that the windows of the server do not let pass yet. */
  #held: Stream[] = []
  #out: Buffer[] = []
  #willFlush = false
  /** Whether more is likely to be sent in this tick, so that it is gathered. */
  #isGathering = false
  #rest: Buffer = NOTHING
  /** A header block that goes on in the next frame, with the first frame's flags. */
  #block: { readonly id: number; readonly flags: number; readonly parts: Buffer[]; length: number } | undefined
  #nextId = 1
  #isReady = false
  /** The window for sending, granted by the server. */
  #sendWindow = FIRST_WINDOW
  #firstSendWindow = FIRST_WINDOW
  #frameSize = FIRST_FRAME_SIZE
  #mostStreams = Number.POSITIVE_INFINITY
  /** Bytes received since the last window update that was sent. */
  #received = 0
  #pings: (() => void)[] = []
  #state: 'open' | 'closing' | 'closed' = 'open'
  #problem: Error | undefined

  constructor(socket: Socket, { streamWindow, sessionWindow }: Pick<SessionOptions, 'streamWindow' | 'sessionWindow'>) {
    this.#socket = socket
    this.#streamWindow = streamWindow
    this.#sessionWindow = sessionWindow
    socket.on('data', chunk => this.#take(chunk))
    socket.on('error', error => {
      this.#problem ??= error
    })
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#closed())
  }

  /** Whether requests can be made. */
  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Sends what a connection begins with. */
  begin(): void {
    const settings = Buffer.alloc(18)
    for (const [i, [id, value]] of [
      [HEADER_TABLE_SIZE, 0],
      [ENABLE_PUSH, 0],
      [INITIAL_WINDOW_SIZE, this.#streamWindow],
    ].entries()) {
      settings.writeUInt16BE(id!, 6 * i)
      settings.writeUInt32BE(value!, 6 * i + 2)
    }
    this.#write(PREFACE)
    this.#writeFrame(SETTINGS, 0, 0, settings)
    this.#giveWindow(0, this.#sessionWindow - FIRST_WINDOW)
  }

  /** Opens a stream with a block of headers. Throws where `isOpen` is false. */
  request(block: Buffer, handler: StreamHandler): Http2Stream {
    if (this.#state !== 'open') throw new Error('the connection is closed')
    const stream = new Stream(block, handler)
    if (this.#streams.size < this.#mostStreams) this.#open(stream)
    else this.#unopened.push(stream)
    return {
      send: (data, isLast) => this.#send(stream, data, isLast),
      pause: () => {
        stream.isPaused = true
      },
      resume: () => this.#resume(stream),
      cancel: () => this.#cancel(stream),
    }
  }

  /** Calls back when the server has answered, which it does unless the connection is lost. */
  ping(answered: () => void): void {
    this.#pings.push(answered)
    this.#writeFrame(PING, 0, 0, Buffer.alloc(8))
  }

  ref(): void {
    this.#socket.ref()
  }

  unref(): void {
    this.#socket.unref()
  }

  /** Makes no further requests; the connection ends with the last stream. */
  close(): void {
    if (this.#state === 'open') this.#state = 'closing'
    this.#endIfDone()
  }

  /** Ends the connection with all its streams, for a reason. */
  destroy(why?: Error): void {
    this.#problem ??= why
    if (this.#state === 'open') this.#state = 'closing'
    this.#socket.destroy()
  }

  #open(stream: Stream): void {
    // Nobody waits for it any more.
    if (!stream.handler) return
    if (this.#nextId > LAST_ID) {
      this.#state = 'closing'
      stream.end(UNSENT)
      return
    }
    stream.id = this.#nextId
    stream.sendWindow = this.#firstSendWindow
    this.#nextId += 2
    this.#streams.set(stream.id, stream)
    const { block } = stream
    for (let at = 0; at === 0 || at < block.length; at += this.#frameSize) {
      const part = block.subarray(at, at + this.#frameSize)
      this.#writeFrame(at === 0 ? HEADERS : CONTINUATION, at + part.length === block.length ? END_HEADERS : 0, stream.id, part)
    }
    if (stream.unsent.length > 0) this.#pump(stream)
  }

  #send(stream: Stream, data: Buffer, isLast: boolean): void {
    if (!stream.handler) return
    stream.unsent.push({ data, isLast })
    if (stream.id > 0 && stream.unsent.length === 1) this.#pump(stream)
    if (isLast && !this.#isGathering) {
      this.#isGathering = true
      this.#flush()
    }
  }

  /** Sends as much as the windows allow. */
  #pump(stream: Stream): void {
    while (stream.unsent.length > 0) {
      const { data, isLast } = stream.unsent[0]!
      const size = Math.min(data.length, this.#frameSize, this.#sendWindow, stream.sendWindow)
      if (size <= 0 && data.length > 0) {
        if (!this.#held.includes(stream)) this.#held.push(stream)
        return
      }
      const isWhole = size === data.length
      this.#sendWindow -= size
      stream.sendWindow -= size
      stream.hasEnded = isWhole && isLast
      this.#writeFrame(DATA, stream.hasEnded ? END_STREAM : 0, stream.id, isWhole ? data : data.subarray(0, size))
      if (isWhole) stream.unsent.shift()
      else stream.unsent[0] = { data: data.subarray(size), isLast }
    }
  }

  /** There is room again: those that have waited longest come first. */
  #pumpHeld(): void {
    if (this.#held.length === 0) return
    const held = this.#held
    this.#held = []
    for (const stream of held) this.#pump(stream)
  }

  #resume(stream: Stream): void {
    stream.isPaused = false
    while (stream.kept.length > 0 && !stream.isPaused) {
      const chunk = stream.kept.shift()!
      stream.handler?.data(chunk)
      this.#consumed(stream, chunk.length)
    }
    if (stream.kept.length === 0 && stream.endAfterKept) stream.end(stream.endAfterKept)
  }

  #cancel(stream: Stream): void {
    if (!stream.handler) return
    stream.clear()
    if (!this.#streams.has(stream.id)) return
    this.#reset(stream)
    this.#gone(stream)
  }

  #reset({ id }: Stream): void {
    this.#writeFrame(RST_STREAM, 0, id, CANCELED)
  }

  /** A stream has come to its end on the wire. */
  #streamEnded(stream: Stream, how: StreamEnd): void {
    // Its handler has canceled it while it took the last frame.
    if (!this.#streams.has(stream.id)) return
    // The server wants no more of the request.
    if (how.isComplete && !stream.hasEnded) this.#reset(stream)
    if (how.isComplete && stream.kept.length > 0) stream.endAfterKept = how
    else stream.end(how)
    this.#gone(stream)
  }

  #gone({ id }: Stream): void {
    this.#streams.delete(id)
    this.#openNext()
    this.#endIfDone()
  }

  #openNext(): void {
    while (this.#unopened.length > 0 && this.#streams.size < this.#mostStreams) this.#open(this.#unopened.shift()!)
  }

  #endIfDone(): void {
    if (this.#state !== 'closing' || this.#streams.size > 0 || this.#unopened.length > 0) return
    this.#flush()
    this.#socket.destroySoon()
  }

  #closed(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const error = this.#problem
    const lost = { isComplete: false, neverSent: false, ...(error && { error }) }
    const streams = [...this.#streams.values()]
    this.#streams.clear()
    for (const stream of this.#unopened.splice(0)) stream.end({ ...lost, neverSent: true })
    for (const stream of streams) stream.end(lost)
    this.#held = []
    this.#pings = []
    this.onClose(error)
  }

  #take(chunk: Buffer): void {
    this.heardAt = performance.now()
    // Callers that waited for this go on in this tick, and may have something to send.
    this.#isGathering = true
    this.#flushLater()
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let at = 0
    try {
      while (bytes.length - at >= FRAME_HEAD) {
        const length = bytes.readUIntBE(at, 3)
        const type = bytes[at + 3]!
        if (!this.#isReady && type !== SETTINGS) throw new ProtocolError('it does not speak HTTP/2')
        if (length > FIRST_FRAME_SIZE) throw new ProtocolError('it sent a frame that is larger than allowed')
        const end = at + FRAME_HEAD + length
        if (end > bytes.length) break
        const id = bytes.readUInt32BE(at + 5) & 0x7fffffff
        this.#takeFrame({ type, flags: bytes[at + 4]!, id }, bytes.subarray(at + FRAME_HEAD, end))
        at = end
      }
      this.#rest = at === bytes.length ? NOTHING : bytes.subarray(at)
    } catch (error) {
      // A peer that breaks the protocol is not trusted any further.
      this.#rest = NOTHING
      this.destroy(error as Error)
    }
  }

  #takeFrame({ type, flags, id }: FrameHead, payload: Buffer): void {
    if (this.#block && type !== CONTINUATION) throw new ProtocolError('it sent headers that do not end')
    switch (type) {
      case DATA:
        this.#takeData(id, flags, payload)
        break
      case HEADERS: {
        const block = unpadded(flags, payload)
        this.#takeHeaders(id, flags, flags & PRIORITY ? block.subarray(5) : block)
        break
      }
      case CONTINUATION:
        this.#takeContinuation(id, flags, payload)
        break
      case RST_STREAM:
        this.#takeReset(id, sized(payload, 4).readUInt32BE(0))
        break
      case SETTINGS:
        this.#takeSettings(flags, payload)
        break
      case PING:
        if (flags & ACK) this.#pings.shift()?.()
        else this.#writeFrame(PING, ACK, 0, sized(payload, 8))
        break
      case GOAWAY:
        if (payload.length < 8) throw new ProtocolError('it sent a frame of a wrong size')
        this.#takeGoaway(payload.readUInt32BE(0) & 0x7fffffff)
        break
      case WINDOW_UPDATE:
        this.#takeWindow(id, sized(payload, 4).readUInt32BE(0) & 0x7fffffff)
        break
      case PUSH_PROMISE:
        throw new ProtocolError('it sent what was not asked for')
      // Priorities, and frames of other specifications, mean nothing here.
    }
  }

  #takeData(id: number, flags: number, payload: Buffer): void {
    const stream = this.#streams.get(id)
    const chunk = unpadded(flags, payload)
    // Bytes kept for one stream must not hold back the others.
    this.#received += payload.length
    if (this.#received >= this.#sessionWindow / 2) {
      this.#giveWindow(0, this.#received)
      this.#received = 0
    }
    if (!stream) return
    if (chunk.length < payload.length) this.#consumed(stream, payload.length - chunk.length)
    if (chunk.length > 0) {
      if (stream.isPaused || stream.kept.length > 0) stream.kept.push(chunk)
      else {
        stream.handler?.data(chunk)
        this.#consumed(stream, chunk.length)
      }
    }
    if (flags & END_STREAM) this.#streamEnded(stream, COMPLETE)
  }

  #consumed(stream: Stream, bytes: number): void {
    stream.consumed += bytes
    if (stream.consumed < this.#streamWindow / 2 || !this.#streams.has(stream.id)) return
    this.#giveWindow(stream.id, stream.consumed)
    stream.consumed = 0
  }

  #takeHeaders(id: number, flags: number, block: Buffer): void {
    if (!(flags & END_HEADERS)) {
      this.#block = { id, flags, parts: [block], length: block.length }
      return
    }
    const stream = this.#streams.get(id)
    if (!stream) return
    stream.handler?.headers(this.#headers.read(block))
    if (flags & END_STREAM) this.#streamEnded(stream, COMPLETE)
  }

  #takeContinuation(id: number, flags: number, part: Buffer): void {
    const block = this.#block
    if (!block || block.id !== id) throw new ProtocolError('it sent headers out of order')
    block.parts.push(part)
    block.length += part.length
    if (block.length > MAX_HEADER_BYTES) throw new ProtocolError('it sent headers that are too long')
    if (!(flags & END_HEADERS)) return
    this.#block = undefined
    this.#takeHeaders(id, block.flags | END_HEADERS, Buffer.concat(block.parts))
  }

  #takeReset(id: number, code: number): void {
    const stream = this.#streams.get(id)
    if (!stream) return
    const error = new Error(`the stream was reset (${code})`)
    this.#streamEnded(stream, { isComplete: false, neverSent: code === REFUSED_STREAM, error })
  }

  #takeSettings(flags: number, payload: Buffer): void {
    if (flags & ACK) return
    if (payload.length % 6 > 0) throw new ProtocolError('it sent a frame of a wrong size')
    for (let at = 0; at < payload.length; at += 6) this.#setSetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    this.#writeFrame(SETTINGS, ACK, 0, NOTHING)
    if (!this.#isReady) {
      this.#isReady = true
      this.onReady()
    }
    this.#openNext()
    this.#pumpHeld()
  }

  #setSetting(id: number, value: number): void {
    if (id === MAX_CONCURRENT_STREAMS) this.#mostStreams = value
    else if (id === MAX_FRAME_SIZE) this.#frameSize = Math.max(FIRST_FRAME_SIZE, Math.min(value, 2 ** 24 - 1))
    else if (id === INITIAL_WINDOW_SIZE) {
      if (value > MAX_WINDOW) throw new ProtocolError('it sent a window that is too large')
      for (const stream of this.#streams.values()) stream.sendWindow += value - this.#firstSendWindow
      this.#firstSendWindow = value
    }
  }

  /** Streams with a later id than the last one that the server names were not processed, and will not be. */
  #takeGoaway(last: number): void {
    if (this.#state === 'open') this.#state = 'closing'
    for (const stream of this.#unopened.splice(0)) stream.end(UNSENT)
    for (const stream of [...this.#streams.values()]) if (stream.id > last) this.#streamEnded(stream, UNSENT)
    this.onGoaway()
    this.#endIfDone()
  }

  #takeWindow(id: number, more: number): void {
    if (id === 0) {
      this.#sendWindow += more
      if (this.#sendWindow > MAX_WINDOW) throw new ProtocolError('it sent a window that is too large')
    } else {
      const stream = this.#streams.get(id)
      if (stream) stream.sendWindow += more
    }
    this.#pumpHeld()
  }

  #giveWindow(id: number, more: number): void {
    const payload = Buffer.allocUnsafe(4)
    payload.writeUInt32BE(more)
    this.#writeFrame(WINDOW_UPDATE, 0, id, payload)
  }

  #writeFrame(type: number, flags: number, id: number, payload: Buffer): void {
    const head = Buffer.allocUnsafe(FRAME_HEAD)
    head.writeUIntBE(payload.length, 0, 3)
    head[3] = type
    head[4] = flags
    head.writeUInt32BE(id, 5)
    this.#write(head)
    if (payload.length > 0) this.#write(payload)
  }

  #write(bytes: Buffer): void {
    this.#out.push(bytes)
    this.#flushLater()
  }

  #flushLater(): void {
    if (this.#willFlush) return
    this.#willFlush = true
    process.nextTick(this.#endTick)
  }

  readonly #endTick = () => {
    this.#willFlush = this.#isGathering = false
    this.#flush()
  }

  #flush(): void {
    const out = this.#out
    if (out.length === 0) return
    this.#out = []
    if (this.#socket.writable) this.#socket.write(out.length === 1 ? out[0]! : Buffer.concat(out))
  }
}

type FrameHead = { readonly type: number; readonly flags: number; readonly id: number }

const COMPLETE: StreamEnd = { isComplete: true, neverSent: false }
const UNSENT: StreamEnd = { isComplete: false, neverSent: true }

class Stream {
  readonly block: Buffer
  handler: StreamHandler | undefined
  /** 0 until it is opened. */
  id = 0
  sendWindow = 0
  unsent: { readonly data: Buffer; readonly isLast: boolean }[] = []
  /** Data that came while it was paused, and how it ended then. */
  kept: Buffer[] = []
  endAfterKept: StreamEnd | undefined
  isPaused = false
  consumed = 0
  /** Whether the server has been told that we have nothing more to say. */
  hasEnded = false

  constructor(block: Buffer, handler: StreamHandler) {
    this.block = block
    this.handler = handler
  }

  end(how: StreamEnd): void {
    const { handler } = this
    this.clear()
    handler?.closed(how)
  }

  clear(): void {
    this.handler = undefined
    this.endAfterKept = undefined
    this.unsent = NONE
    this.kept = NONE
  }
}
const NONE: never[] = Object.freeze([]) as unknown as never[]

function unpadded(flags: number, payload: Buffer): Buffer {
  if (!(flags & PADDED)) return payload
  const padding = payload[0]
  if (padding === undefined || padding >= payload.length) throw new ProtocolError('it sent a frame of a wrong size')
  return payload.subarray(1, payload.length - padding)
}

function sized(payload: Buffer, length: number): Buffer {
  if (payload.length !== length) throw new ProtocolError('it sent a frame of a wrong size')
  return payload
}
