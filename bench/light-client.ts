/**
 * A client that needs a small part of a server's processor time, so that a server of several processes is the bottleneck of a machine that both
 * share: requests are made beforehand and sent in batches on each connection (HTTP/1.1 pipelining), and nothing of an answer is
 * looked at but its beginning.
 */
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import type { Target } from './raw-client.ts'

/** Requests that are sent together; the next ones of a connection are sent when all of these are being answered. */
export type RequestBatch = { readonly bytes: Buffer; readonly count: number }

export type Flooded = { readonly answers: number; readonly failures: number; readonly seconds: number }

/** The same requests many times. */
export const batchesOf = (request: Buffer, { requests, depth }: { readonly requests: number; readonly depth: number }): RequestBatch[] => {
  const bytes = Buffer.concat(Array.from({ length: depth }, () => request))
  return Array.from({ length: Math.ceil(requests / depth) }, () => ({ bytes, count: depth }))
}

/** Connections that stay open over several floods. */
export class Flood {
  readonly #connections: readonly LightConnection[]

  static async open(target: Target, count: number): Promise<Flood> {
    return new Flood(await connectionsTo(target, count, ANSWER))
  }

  private constructor(connections: readonly LightConnection[]) {
    this.#connections = connections
  }

  /** Sends all batches, each connection one after the other. */
  async send(batches: readonly RequestBatch[]): Promise<Flooded> {
    let next = 0
    let answers = 0
    let failures = 0
    const began = performance.now()
    await Promise.all(
      this.#connections.map(
        connection =>
          new Promise<void>((resolve, reject) => {
            let open = 0
            const sendNext = () => {
              const batch = batches[next++]
              if (!batch) return resolve()
              open = batch.count
              connection.write(batch.bytes)
            }
            connection.onFound = isSuccess => {
              answers++
              if (!isSuccess) failures++
              if (--open === 0) sendNext()
            }
            connection.onClose = () => reject(new Error(CLOSED))
            sendNext()
          }),
      ),
    )
    return { answers, failures, seconds: (performance.now() - began) / 1000 }
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

/** Answers that do not end, such as watches: counts a text in them. */
export class Streams {
  readonly #connections: readonly LightConnection[]
  #found = 0
  #wanted = Number.POSITIVE_INFINITY
  #done: () => void = () => {}
  #failed: (error: Error) => void = () => {}

  /** Sends the request on each connection; resolves when all are being answered. */
  static async open(
    target: Target,
    { count, request, marker }: { readonly count: number; readonly request: Buffer; readonly marker: string },
  ) {
    const connections = await connectionsTo(target, count, Buffer.from(marker))
    await Promise.all(
      connections.map(connection => {
        const begun = new Promise<void>((resolve, reject) => {
          connection.onFirst = resolve
          connection.onClose = () => reject(new Error(CLOSED))
        })
        connection.write(request)
        return begun
      }),
    )
    return new Streams(connections)
  }

  private constructor(connections: readonly LightConnection[]) {
    this.#connections = connections
    for (const connection of connections) {
      connection.onFound = () => {
        if (++this.#found >= this.#wanted) this.#done()
      }
      connection.onClose = () => this.#failed(new Error(CLOSED))
    }
  }

  /** Resolves when so many more have arrived on all connections together; rejects if one is closed before. */
  arrived(count: number): Promise<void> {
    this.#wanted = this.#found + count
    return new Promise((resolve, reject) => {
      this.#done = resolve
      this.#failed = reject
    })
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

const CLOSED = 'the server closed a connection'
/** More handshakes at a time would take longer than a server on a busy machine waits for one. */
const HANDSHAKES = 16

async function connectionsTo(target: Target, count: number, marker: Buffer): Promise<LightConnection[]> {
  const connections: LightConnection[] = []
  while (connections.length < count) {
    const many = Math.min(HANDSHAKES, count - connections.length)
    connections.push(...(await Promise.all(Array.from({ length: many }, () => LightConnection.open(target, marker)))))
  }
  return connections
}

const ANSWER = Buffer.from('HTTP/1.1 ')
const SUCCESS = '2'.charCodeAt(0)
const READ_BYTES = 64 << 10

class LightConnection {
  readonly #socket: TLSSocket
  readonly #marker: Buffer
  /** The end of the last piece, which may have the beginning of the text. */
  #tail: Buffer = Buffer.alloc(0)
  onFirst: () => void = () => {}
  onFound: (isSuccess: boolean) => void = () => {}
  onClose: () => void = () => {}

  static open({ host, port, ...tls }: Target, marker: Buffer): Promise<LightConnection> {
    return new Promise((resolve, reject) => {
      let opened: LightConnection | undefined
      const onread = {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback(length: number, bytes: Uint8Array) {
          if (opened) opened.#take(bytes as Buffer, length)
          return true
        },
      }
      // The types of tls.connect leave out `onread`, which it hands to the socket.
      const options = { host, port, ...tls, servername: 'localhost', ALPNProtocols: ['http/1.1'], onread } as ConnectionOptions
      const socket = connect(options, () => resolve((opened = new LightConnection(socket, marker))))
      socket.setNoDelay(true)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error(CLOSED)))
    })
  }

  private constructor(socket: TLSSocket, marker: Buffer) {
    this.#socket = socket
    this.#marker = marker
    socket.on('error', () => {})
    socket.on('close', () => this.onClose())
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  close(): void {
    this.onClose = () => {}
    this.#socket.destroy()
  }

  #take(buffer: Buffer, length: number): void {
    this.onFirst()
    const marker = this.#marker
    const bytes = buffer.subarray(0, length)
    const short = marker.length - 1
    if (this.#tail.length > 0 && Buffer.concat([this.#tail, bytes.subarray(0, short)]).includes(marker)) this.onFound(true)
    for (let at = bytes.indexOf(marker); at >= 0; at = bytes.indexOf(marker, at + marker.length)) {
      // A status that comes in the next piece is taken for a good one.
      this.onFound((bytes[at + marker.length] ?? SUCCESS) === SUCCESS || marker !== ANSWER)
    }
    const rest = bytes.subarray(Math.max(0, length - short))
    // Mostly the end is that of a body, and no beginning of the text.
    this.#tail = rest.includes(marker[0]!) ? Buffer.from(rest) : NOTHING
  }
}
const NOTHING = Buffer.alloc(0)
