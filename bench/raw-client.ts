/** A client that costs little: requests are bytes made beforehand, answers are only counted. So the benchmark measures the server. */
import { request } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'

export type Target = { readonly host: string; readonly port: number; readonly ca: string; readonly cert?: string; readonly key?: string }
export type Load = {
  /** The complete request of an iteration: head and body. */
  readonly request: (iteration: number) => Buffer
  /** How many requests are under way: with HTTP/1.1 on as many connections, with HTTP/2 as streams of few. */
  readonly connections: number
  readonly seconds: number
  /** HTTP/1.1 unless another is named; `request` makes requests of that one. */
  readonly protocol?: Protocol
  /** Stops after this many requests, if that is reached first. */
  readonly requests?: number
}
export type Outcome = {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly failures: number
}

/** A way to speak to a server. */
export type Protocol = {
  readonly name: 'HTTP/1.1' | 'HTTP/2'
  /** The bytes of a request, made beforehand. */
  request(method: string, path: string, body?: string | Buffer, type?: string): Buffer
  /** For this many requests at a time, each with one at a time. */
  lanes(target: Target, count: number): Promise<readonly Connection[]>
  /** Sends the request as often, and hands over what comes of the answers; resolves when all have begun, with how to end them. */
  stream(
    target: Target,
    job: { readonly count: number; readonly request: Buffer; readonly onData: () => (chunk: Buffer) => void },
  ): Promise<() => void>
}

export function requestBytes(method: string, path: string, body?: string | Buffer, type = 'application/json'): Buffer {
  const head = `${method} ${path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench/1\r\nAccept: application/json\r\n`
  if (body === undefined) return Buffer.from(`${head}\r\n`)
  return Buffer.concat([
    Buffer.from(`${head}Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`),
    Buffer.from(body),
  ])
}

/** The same request, sent with a token. */
export const withToken = (request: Buffer, token: string): Buffer =>
  Buffer.from(request.toString('latin1').replace('\r\n', `\r\nAuthorization: Bearer ${token}\r\n`), 'latin1')

/** Keeps every connection busy with one request at a time, and returns how many were answered. */
export async function run(target: Target, load: Load): Promise<Outcome> {
  const lanes = await (load.protocol ?? HTTP1).lanes(target, load.connections)
  const outcome = await drive(lanes, load)
  for (const lane of lanes) lane.close()
  return outcome
}

/** The same with connections that are open, and stay so. */
export async function drive(lanes: readonly Connection[], load: Pick<Load, 'request' | 'seconds' | 'requests'>): Promise<Outcome> {
  const times: number[] = []
  let iteration = 0
  let failures = 0
  const start = performance.now()
  const end = start + load.seconds * 1000
  await Promise.all(
    lanes.map(async lane => {
      while (performance.now() < end && (load.requests === undefined || iteration < load.requests)) {
        const sent = performance.now()
        const status = await lane.send(load.request(iteration++))
        times.push(performance.now() - sent)
        if (status >= 400) failures++
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  return { requests: times.length, seconds, perSecond: times.length / seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99), failures }
}

/** A connection that stays open, with one request at a time on it. */
export type Connection = { send(request: Buffer): Promise<number>; close(): void }

export async function connectTo(target: Target): Promise<Connection> {
  const socket = await secureSocket(target, 'http/1.1')
  const reader = new AnswerReader(socket)
  return {
    send(request) {
      socket.write(request)
      return reader.next()
    },
    close: () => void socket.destroy(),
  }
}

export const HTTP1: Protocol = {
  name: 'HTTP/1.1',
  request: requestBytes,
  lanes: (target, count) => Promise.all(Array.from({ length: count }, () => connectTo(target))),
  async stream(target, { count, request, onData }) {
    const open = async () => {
      const socket = await secureSocket(target, 'http/1.1')
      socket.on('data', onData())
      const begun = new Promise(resolve => socket.once('data', resolve))
      socket.write(request)
      await begun
      return socket
    }
    const sockets = await Promise.all(Array.from({ length: count }, open))
    return () => {
      for (const socket of sockets) socket.destroy()
    }
  },
}

/** A request that the direct reader leaves to node:http, with all that follows on the connection (`src/http/listener/direct.ts`). */
const CHUNKED = Buffer.from('GET /version HTTP/1.1\r\nHost: bench\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')

/** HTTP/1.1 on connections that Keelson reads by means of node:http and its streams. */
export const HTTP1_STREAMS: Protocol = {
  ...HTTP1,
  async lanes(target, count) {
    const lanes = await HTTP1.lanes(target, count)
    await Promise.all(lanes.map(lane => lane.send(CHUNKED)))
    return lanes
  },
}

/** The body that a path is answered with. */
export async function bodyOf(target: Target, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    request({ ...target, path }, answer => {
      const parts: Buffer[] = []
      answer.on('data', part => parts.push(part))
      answer.on('end', () => resolve(Buffer.concat(parts)))
    })
      .on('error', reject)
      .end()
  })
}

export function secureSocket({ host, port, ...tls }: Target, protocol: 'h2' | 'http/1.1'): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, ...tls, servername: 'localhost', ALPNProtocols: [protocol] }, () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

const CLOSED = 'the server closed the connection'

const LINE_END = '\r\n'

/** Finds the ends of answers by their Content-Length or their chunks; bodies are never looked at. */
class AnswerReader {
  /** The received part of a head or of a chunk's line. */
  #text = ''
  #part: 'head' | 'body' | 'chunk line' | 'chunk' | 'last line' = 'head'
  /** Bytes that are to come of a body or a chunk. */
  #left = 0
  #isClosed = false
  #status = 0
  #resolve: ((status: number) => void) | undefined
  #reject: ((error: Error) => void) | undefined

  constructor(socket: TLSSocket) {
    socket.on('data', chunk => this.#take(chunk))
    socket.on('close', () => {
      this.#isClosed = true
      this.#reject?.(new Error(CLOSED))
    })
  }

  next(): Promise<number> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED))
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  #take(bytes: Buffer): void {
    let rest: Buffer | undefined = bytes
    while (rest !== undefined && (rest.length > 0 || (this.#part === 'body' && this.#left === 0))) {
      if (this.#part === 'body' || this.#part === 'chunk') {
        const length: number = Math.min(this.#left, rest.length)
        this.#left -= length
        rest = rest.subarray(length)
        if (this.#left > 0) return
        if (this.#part === 'body') this.#finish()
        else this.#part = 'chunk line'
      } else rest = this.#takeText(rest, this.#part === 'head' ? `${LINE_END}${LINE_END}` : LINE_END)
    }
  }

  /** The bytes after the end of the text; undefined when that has not arrived. */
  #takeText(bytes: Buffer, end: string): Buffer | undefined {
    const before = this.#text.length
    // A head that comes whole is not copied with the body behind it.
    const at = before === 0 ? bytes.indexOf(end, 0, 'latin1') : -1
    this.#text += bytes.toString('latin1', 0, at < 0 ? bytes.length : at + end.length)
    const found = this.#text.indexOf(end)
    if (found < 0) return undefined
    const text = this.#text.slice(0, found)
    this.#text = ''
    if (this.#part === 'head') this.#head(text)
    else if (this.#part === 'last line') this.#finish()
    else {
      const size = Number.parseInt(text, 16)
      this.#part = size === 0 ? 'last line' : 'chunk'
      this.#left = size + LINE_END.length
    }
    return bytes.subarray(found + end.length - before)
  }

  #head(head: string): void {
    this.#status = Number(head.slice(9, 12))
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (!length && !/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`an answer without a length: ${head.slice(0, 200)}`)
    this.#part = length ? 'body' : 'chunk line'
    this.#left = Number(length?.[1])
  }

  #finish(): void {
    this.#part = 'head'
    this.#resolve?.(this.#status)
  }
}
