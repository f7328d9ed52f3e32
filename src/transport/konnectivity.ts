/**
 * Connections through a proxy of Konnectivity: each is a gRPC stream of packets on a Unix socket, as kube-apiserver's client opens it.
 *
 *     DIAL_REQ ─→    ←─ DIAL_RSP    DATA ⇄ DATA    CLOSE_REQ ─→    ←─ CLOSE_RSP
 *
 * A connection has no half that can be closed alone: `end()` waits for the other side, and `destroy()` closes both.
 */
import { randomInt } from 'node:crypto'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { dialFailure } from './dial-failure.ts'
import type { DialMetrics, ObservedDial, TunnelFailure, TunnelStatus } from './dial-metrics.ts'
import { authorityOf, type Dial, type DialTarget, withAddress } from './egress.ts'
import { Frames, framed } from './grpc/connection.ts'
import { readFields, Writer } from './grpc/wire.ts'

/** Opens connections through the proxy that listens on a Unix socket. */
export const dialKonnectivity =
  (path: string, metrics: DialMetrics): Dial =>
  target =>
    new KonnectivityTunnel(path, target, metrics)

const METHOD = '/ProxyService/Proxy'
const PACKET_TYPES = ['DIAL_REQ', 'DIAL_RSP', 'CLOSE_REQ', 'CLOSE_RSP', 'DATA', 'DIAL_CLS', 'DRAIN'] as const
type PacketType = (typeof PACKET_TYPES)[number]
/** The field of a packet that has the content of its type. */
const CONTENT: Readonly<Record<PacketType, number>> = {
  DIAL_REQ: 2,
  DIAL_RSP: 3,
  DATA: 4,
  CLOSE_REQ: 5,
  CLOSE_RSP: 6,
  DIAL_CLS: 7,
  DRAIN: 8,
}
/** Servers of gRPC refuse messages of more than 4 MiB. */
const MAX_PACKET_BYTES = 64 * 1024
const CONNECT_MS = 30_000
const DIAL_MS = 30_000
const CLOSE_MS = 10_000
/** A proxy that does not listen is tried again after this time, and then after longer ones, as gRPC does. */
const FIRST_RETRY_MS = 1_000
const RETRY_GROWTH = 1.6

type State = 'connecting' | 'dialing' | 'open' | 'closed'

class KonnectivityTunnel extends Duplex {
  readonly #path: string
  readonly #target: DialTarget
  readonly #metrics: DialMetrics
  readonly #observed: ObservedDial
  /** Identifies the dial in the packets before there is a connection. */
  readonly #dialId = randomInt(1, 2 ** 47)
  #connectId = 0
  #state: State = 'connecting'
  #status: TunnelStatus | undefined
  #session: ClientHttp2Session | undefined
  #stream: ClientHttp2Stream | undefined
  #timer: NodeJS.Timeout | undefined
  #waiting: (() => void) | undefined
  #idle: { readonly ms: number; readonly callback: (() => void) | undefined } | undefined

  constructor(path: string, target: DialTarget, metrics: DialMetrics) {
    super({ allowHalfOpen: false })
    this.#path = path
    this.#target = target
    this.#metrics = metrics
    this.#observed = metrics.begin({ protocol: 'grpc', transport: 'uds' })
    this.#connect(performance.now() + CONNECT_MS, FIRST_RETRY_MS)
  }

  /** Sockets have these; requests call them. */
  setTimeout(ms: number, callback?: () => void): this {
    this.#idle = { ms, callback }
    this.#stream?.setTimeout(ms, callback)
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    this.#session?.ref()
    return this
  }
  unref(): this {
    this.#session?.unref()
    return this
  }

  #connect(deadline: number, retryMs: number): void {
    const socket = connect({ path: this.#path })
    const failed = (error: Error) => {
      if (this.#state !== 'connecting') return
      const left = deadline - performance.now()
      if (left > 0) {
        this.#timer = setTimeout(() => this.#connect(deadline, retryMs * RETRY_GROWTH), Math.min(retryMs, left))
        return
      }
      const why = dialFailure('unix', this.#path, error)
      this.#observed.failed('connect')
      this.destroy(new Error(`context deadline exceeded: connection error: desc = "transport: Error while dialing: ${why}"`))
    }
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      if (this.#state === 'connecting') this.#begin(socket)
      else socket.destroy()
    })
  }

  #begin(socket: Socket): void {
    this.#became('created')
    const session = connectHttp2('http://localhost', { createConnection: () => socket })
    // The end of the stream says it all.
    session.on('error', () => {})
    this.#session = session
    const stream = session.request({ ':method': 'POST', ':path': METHOD, 'content-type': 'application/grpc', te: 'trailers' })
    this.#stream = stream
    if (this.#idle) stream.setTimeout(this.#idle.ms, this.#idle.callback)
    const packets = new Frames(packet => this.#receive(packet))
    stream.on('data', chunk => {
      try {
        packets.take(chunk)
      } catch {
        session.destroy()
      }
    })
    stream.on('error', () => {})
    stream.once('close', () => this.#streamEnded())
    this.#state = 'dialing'
    this.#became('dialing')
    this.#timer = setTimeout(() => this.#failDial('dial timeout, backstop', 'timeout'), DIAL_MS)
    withAddress(this.#target, (error, host) => {
      if (this.#state !== 'dialing') return
      if (error) {
        this.#observed.failed('proxy')
        this.destroy(error)
        return
      }
      const address = authorityOf(host, this.#target.port)
      this.#send('DIAL_REQ', content => content.text(1, 'tcp').text(2, address).number(3, this.#dialId))
    })
  }

  #receive(packet: Buffer): void {
    let type: PacketType | undefined = 'DIAL_REQ'
    let content: Buffer = Buffer.alloc(0)
    readFields(packet, ({ field, number, bytes }) => {
      if (field === 1) type = PACKET_TYPES[number]
      else content = bytes
    })
    this.#metrics.packet('to_client', type)
    const { texts, numbers } = contentOf(content)
    switch (type as PacketType) {
      case 'DIAL_RSP':
        if (this.#state !== 'dialing' || numbers[3] !== this.#dialId) this.destroy()
        else if (texts[1]?.length) this.#failDial(texts[1].toString(), 'endpoint')
        else this.#opened(numbers[2] ?? 0)
        break
      case 'DIAL_CLS':
        if (this.#state === 'dialing') this.#failDial('dial closed', 'dialclosed')
        else this.destroy()
        break
      case 'DATA':
        this.#take(numbers[1] ?? 0, texts[3])
        break
      case 'CLOSE_RSP':
        if (numbers[2] !== this.#connectId || this.#connectId === 0) break
        if (this.#state === 'open') this.#ended()
        else this.#session?.destroy()
        break
    }
  }

  #take(connectId: number, data: Buffer | undefined): void {
    if (connectId === 0 || !data?.length) return
    if (connectId !== this.#connectId) this.#send('CLOSE_REQ', content => content.number(1, connectId))
    else if (this.#state === 'open' && !this.push(data)) this.#stream?.pause()
  }

  #opened(connectId: number): void {
    clearTimeout(this.#timer)
    this.#connectId = connectId
    this.#state = 'open'
    this.#became('ok')
    this.#observed.opened()
    this.#waiting?.()
    this.emit('connect')
  }

  #failDial(message: string, reason: TunnelFailure): void {
    if (this.#state !== 'dialing') return
    this.#metrics.tunnelFailed(reason)
    this.#observed.failed('proxy')
    this.destroy(new Error(message))
  }

  /** Nothing more comes, and nothing can be sent. */
  #ended(): void {
    this.#state = 'closed'
    this.#session?.destroy()
    this.push(null)
    this.#waiting?.()
  }

  #streamEnded(): void {
    this.#became(undefined)
    if (this.#state === 'dialing') this.#failDial('tunnel closed', 'tunnelclosed')
    else if (this.#state === 'open') this.#ended()
  }

  #became(status: TunnelStatus | undefined): void {
    this.#metrics.tunnelChanged(this.#status, status)
    this.#status = status
  }

  #send(type: PacketType, write: (content: Writer) => Writer, sent?: () => void): void {
    const packet = new Writer({ reserve: 5 }).number(1, PACKET_TYPES.indexOf(type)).begin(CONTENT[type])
    this.#metrics.packet('from_client', type)
    this.#stream!.write(framed(write(packet).end()), () => sent?.())
  }

  override _read(): void {
    this.#stream?.resume()
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#state === 'closed') done(new Error('tunnel closed'))
    else if (this.#state === 'open') this.#sendData(chunk, done)
    else
      this.#waiting = () => {
        this.#waiting = undefined
        this._write(chunk, _, done)
      }
  }

  #sendData(chunk: Buffer, done: () => void): void {
    for (let at = 0; at < chunk.length; at += MAX_PACKET_BYTES) {
      const isLast = at + MAX_PACKET_BYTES >= chunk.length
      const data = chunk.subarray(at, at + MAX_PACKET_BYTES)
      this.#send('DATA', content => content.number(1, this.#connectId).bytes(3, data), isLast ? done : undefined)
    }
    if (chunk.length === 0) done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    const [state, session] = [this.#state, this.#session]
    this.#state = 'closed'
    if (session && !session.destroyed && state === 'open') {
      this.#send('CLOSE_REQ', content => content.number(1, this.#connectId))
      this.#stream!.resume()
      // The proxy closes the other side first; it is not waited for long.
      const timer = setTimeout(() => session.destroy(), CLOSE_MS)
      timer.unref()
      session.once('close', () => clearTimeout(timer))
      session.unref()
    } else if (session && state === 'dialing' && !session.destroyed)
      this.#send(
        'DIAL_CLS',
        content => content.number(1, this.#dialId),
        () => session.destroy(),
      )
    else session?.destroy()
    done(error)
  }
}

/** The fields of the content of a packet, by their numbers. */
function contentOf(content: Buffer): { readonly texts: readonly Buffer[]; readonly numbers: readonly number[] } {
  const texts: Buffer[] = []
  const numbers: number[] = []
  readFields(content, ({ field, number, bytes }) => {
    if (field > 3) return
    texts[field] = bytes
    numbers[field] = number
  })
  return { texts, numbers }
}
