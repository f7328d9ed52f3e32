/**
 * The server's side of a SPDY/3.1 connection, as Kubernetes' clients use it for exec, attach and port-forward: the client opens streams,
 * both ends send data on them, and either end closes its direction. There is no flow control beside that of TCP, as in those clients.
 *
 *     client  SYN_STREAM 1 (streamtype: stdout)  →
 *                                                ←  SYN_REPLY 1
 *                                                ←  data 1 "hello"
 *                                                ←  data 1, FIN
 */
import { Duplex } from 'node:stream'
import { LIMITS } from '../../lib/limits.ts'
import { emptyBlock, HeaderReader, type SpdyHeaders } from './header-block.ts'

/** Types of control frames. */
const SYN_STREAM = 1
const SYN_REPLY = 2
const RST_STREAM = 3
const PING = 6
const GOAWAY = 7
const HEADERS = 8

const FIN = 1
const FRAME_HEAD = 8
/** Why a stream is reset. */
const REFUSED = 3
const CANCELLED = 5

export type SpdyConnectionParts = {
  /** Takes a stream that the client has opened; false refuses it. */
  readonly onStream: (stream: SpdyStream) => boolean
}

export class SpdyConnection {
  readonly #socket: Duplex
  readonly #onStream: SpdyConnectionParts['onStream']
  readonly #headers = new HeaderReader()
  readonly #streams = new Map<number, SpdyStream>()
  #hasReplied = false
  #lastStream = 0
  /** Resolves when the connection has ended, whoever ended it. Never rejects. */
  readonly ended: Promise<void>

  /** `head` is data that the client has sent already. */
  constructor(socket: Duplex, head: Uint8Array, { onStream }: SpdyConnectionParts) {
    this.#socket = socket
    this.#onStream = onStream
    // Errors end the connection, as its end does.
    socket.on('error', () => {})
    const gone = new Promise<void>(resolve => void socket.once('close', resolve))
    this.ended = Promise.race([this.#read(head).catch(() => {}), gone]).then(() => this.#end())
  }

  /** Ends the connection once everything that was written to its streams has been sent. */
  async close(): Promise<void> {
    await Promise.all([...this.#streams.values()].map(stream => stream.finish()))
    const body = Buffer.alloc(8)
    body.writeUInt32BE(this.#lastStream, 0)
    if (this.#socket.writable) {
      this.#socket.write(controlFrame(GOAWAY, body))
      this.#socket.end()
    }
    // A client that does not close its end gets little time.
    setTimeout(() => this.#socket.destroy(), LIMITS.lingerMs).unref()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** For streams: sends data, and calls back when the socket has taken it. */
  send(stream: number, data: Uint8Array, isLast: boolean, sent: (error?: Error | null) => void): void {
    if (!this.#socket.writable) return void sent(new Error('the connection is closed'))
    const head = Buffer.alloc(FRAME_HEAD)
    head.writeUInt32BE(stream, 0)
    head.writeUInt32BE(data.byteLength, 4)
    head[4] = isLast ? FIN : 0
    this.#socket.write(head)
    this.#socket.write(data, sent)
  }

  /** For streams: tells the client that nothing more follows in either direction. */
  reset(stream: number, status = CANCELLED): void {
    this.#streams.delete(stream)
    const body = Buffer.alloc(8)
    body.writeUInt32BE(stream, 0)
    body.writeUInt32BE(status, 4)
    if (this.#socket.writable) this.#socket.write(controlFrame(RST_STREAM, body))
  }

  /** For streams: both directions have ended. */
  forget(stream: number): void {
    this.#streams.delete(stream)
  }

  #end(): void {
    this.#headers.close()
    for (const stream of this.#streams.values()) stream.destroy()
    this.#streams.clear()
    this.#socket.destroy()
  }

  async #read(head: Uint8Array): Promise<void> {
    let rest: Buffer = Buffer.from(head)
    /** The stream of the data frame that is being read, with the bytes of it that are still to come. */
    let data: { readonly stream: SpdyStream | undefined; left: number; readonly isLast: boolean } | undefined
    const take = async () => {
      for (;;) {
        if (data) {
          const part = rest.subarray(0, data.left)
          rest = rest.subarray(part.length)
          data.left -= part.length
          if (part.length > 0) await data.stream?.received(part)
          if (data.left > 0) return
          if (data.isLast) data.stream?.receivedAll()
          data = undefined
        }
        if (rest.length < FRAME_HEAD) return
        const length = rest.readUIntBE(5, 3)
        if ((rest[0]! & 0x80) === 0) {
          const stream = this.#streams.get(rest.readUInt32BE(0))
          data = { stream, left: length, isLast: (rest[4]! & FIN) !== 0 }
          rest = rest.subarray(FRAME_HEAD)
          continue
        }
        if (length > LIMITS.spdyHeaderBytes) throw new Error('control frame too large')
        if (rest.length < FRAME_HEAD + length) return
        const type = rest.readUInt16BE(2)
        const flags = rest[4]!
        const body = rest.subarray(FRAME_HEAD, FRAME_HEAD + length)
        rest = rest.subarray(FRAME_HEAD + length)
        await this.#control(type, flags, body)
      }
    }
    await take()
    for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      await take()
    }
  }

  async #control(type: number, flags: number, body: Buffer): Promise<void> {
    const id = body.length >= 4 ? body.readUInt32BE(0) & 0x7fffffff : 0
    switch (type) {
      case SYN_STREAM:
        return this.#opened(id, (flags & FIN) !== 0, await this.#headers.read(body.subarray(10)))
      case SYN_REPLY:
      case HEADERS:
        // Read for the sake of those that follow: all blocks are one compressed stream.
        return void (await this.#headers.read(body.subarray(4)))
      case RST_STREAM:
        this.#streams.get(id)?.destroy()
        return this.forget(id)
      case PING:
        return void this.#socket.write(controlFrame(PING, body))
      case GOAWAY:
        return undefined
      default:
        return undefined
    }
  }

  #opened(id: number, isLast: boolean, headers: SpdyHeaders): void {
    if (id % 2 === 0 || id <= this.#lastStream) throw new Error('invalid stream id')
    this.#lastStream = id
    const stream = new SpdyStream(this, id, headers)
    this.#streams.set(id, stream)
    if (this.#streams.size > LIMITS.spdyStreams || !this.#onStream(stream)) {
      stream.destroy()
      return void this.reset(id, REFUSED)
    }
    const reply = Buffer.alloc(4)
    reply.writeUInt32BE(id, 0)
    this.#socket.write(controlFrame(SYN_REPLY, Buffer.concat([reply, emptyBlock(!this.#hasReplied)])))
    this.#hasReplied = true
    if (isLast) stream.receivedAll()
  }
}

/** A stream of a connection: data of the client is read from it, and data for the client is written to it. */
export class SpdyStream extends Duplex {
  readonly #connection: SpdyConnection
  readonly id: number
  readonly headers: SpdyHeaders
  #resume = () => {}
  #hasReceivedAll = false
  #isReset = false

  constructor(connection: SpdyConnection, id: number, headers: SpdyHeaders) {
    super({ allowHalfOpen: true, emitClose: true, readableHighWaterMark: LIMITS.spdyStreamBytes })
    this.#connection = connection
    this.id = id
    this.headers = headers
    this.on('error', () => {})
    this.once('close', () => connection.forget(id))
  }

  /** Called with data of the client; resolves when more may follow. */
  async received(bytes: Uint8Array): Promise<void> {
    if (this.destroyed || this.#hasReceivedAll) return
    // A piece of the buffer that the socket has read into would keep all of it.
    if (this.push(Buffer.from(bytes))) return
    await new Promise<void>(resolve => {
      this.#resume = resolve
      this.once('close', resolve)
    })
  }

  /** The client has closed its direction. */
  receivedAll(): void {
    if (this.#hasReceivedAll || this.destroyed) return
    this.#hasReceivedAll = true
    this.push(null)
  }

  /** Ends the direction to the client, and resolves when that has been sent. */
  finish(): Promise<void> {
    if (this.writableFinished || this.destroyed) return Promise.resolve()
    return new Promise(resolve => {
      this.once('close', resolve).once('finish', resolve)
      this.end()
    })
  }

  /** Ends both directions at once. */
  reset(): void {
    this.#isReset = true
    this.#connection.reset(this.id)
    this.destroy()
  }

  override _read(): void {
    this.#resume()
  }

  override _write(chunk: Buffer, _: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#connection.send(this.id, chunk, false, callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#isReset) return void callback()
    this.#connection.send(this.id, NOTHING, true, () => callback())
  }
}

const NOTHING = Buffer.alloc(0)

function controlFrame(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUInt16BE(0x8003, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt32BE(body.length, 4)
  return Buffer.concat([head, body])
}
