/** A client that costs little: requests are bytes made beforehand, answers are only counted. Its server is then what is measured. */
import { request } from 'node:https'
import { connect, type TLSSocket } from 'node:tls'

export type Target = { readonly host: string; readonly port: number; readonly ca: string; readonly cert?: string; readonly key?: string }
export type Load = {
  /** The complete request of an iteration: head and body. */
  readonly request: (iteration: number) => Buffer
  readonly connections: number
  readonly seconds: number
  /** Stops after this many requests, if that is reached first. */
  readonly requests?: number
}
export type Outcome = {
  readonly requests: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
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
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(target)))
  const times: number[] = []
  let iteration = 0
  let failures = 0
  const start = performance.now()
  const end = start + load.seconds * 1000
  await Promise.all(
    sockets.map(async socket => {
      const reader = new AnswerReader(socket)
      while (performance.now() < end && (load.requests === undefined || iteration < load.requests)) {
        const sent = performance.now()
        socket.write(load.request(iteration++))
        const status = await reader.next()
        times.push(performance.now() - sent)
        if (status >= 400) failures++
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  for (const socket of sockets) socket.destroy()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
  return { requests: times.length, seconds, perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99), failures }
}

/** A connection that stays open, with one request at a time on it. */
export type Connection = { send(request: Buffer): Promise<number>; close(): void }

export async function connectTo(target: Target): Promise<Connection> {
  const socket = await open(target)
  const reader = new AnswerReader(socket)
  return {
    send(request) {
      socket.write(request)
      return reader.next()
    },
    close: () => void socket.destroy(),
  }
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

export function open({ host, port, ...tls }: Target): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, ...tls, servername: 'localhost', ALPNProtocols: ['http/1.1'] }, () => resolve(socket))
    socket.setNoDelay(true)
    socket.once('error', reject)
  })
}

const CLOSED = 'the server closed the connection'

/** Finds the ends of answers by their Content-Length; bodies are never looked at. */
class AnswerReader {
  #head = ''
  #isClosed = false
  #left = -1
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

  #take(chunk: Buffer): void {
    let rest = chunk
    if (this.#left < 0) {
      this.#head += chunk.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)
      if (!length) throw new Error(`an answer without a length: ${this.#head.slice(0, 200)}`)
      this.#status = Number(this.#head.slice(9, 12))
      this.#left = Number(length[1])
      rest = chunk.subarray(chunk.length - (this.#head.length - end - 4))
      this.#head = ''
    }
    this.#left -= rest.length
    if (this.#left > 0) return
    this.#left = -1
    this.#resolve?.(this.#status)
  }
}
