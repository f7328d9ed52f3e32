/**
 * A client that needs a small part of a core, so that a server of several processes is the bottleneck of a machine that both share.
 *
 * - Requests are encrypted before they are needed: a round only sends bytes.
 * - Answers are not decrypted. Their length is known from one that was, and TLS 1.3 shows how long the content of each record is, so the end
 *   of an answer is found by counting. An answer of another length, such as an error, is a failure.
 * - Where much is under way, the client sleeps between looks at its connections, and finds more at each.
 */
import { connect as connectPlain, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import type { Target } from './raw-client.ts'

export type FloodOptions = {
  readonly connections: number
  /** Makes the bytes of a request. All are answered with the same number of bytes, give or take `slack`. */
  readonly request: () => Buffer
  /** How many requests of a connection are sent at once (HTTP/1.1 pipelining); 1 if left out. */
  readonly depth?: number
  /** How many bytes longer than the shortest an answer may be, as where it has a number that grows; 0 if left out. Needs a depth of 1. */
  readonly slack?: number
  /** How long the client sleeps between two looks at its connections; left out where the server would wait for it. */
  readonly sleepMs?: number
  /** How long nothing may arrive while an answer is expected: only that shows an answer that is too short. */
  readonly stalledMs?: number
}

/** Connections that send requests, and stay open over several rounds. */
export class Flood {
  readonly #connections: readonly LightConnection[]
  readonly #options: Required<FloodOptions>
  /** The bytes of the shortest answers to the requests that are sent at once. */
  #length = 0

  /** Opens the connections, and has the first request of each answered by a success. */
  static async open(target: Target, given: FloodOptions): Promise<Flood> {
    const options = { depth: 1, slack: 0, sleepMs: 0, stalledMs: STALLED_MS, ...given }
    const connections = await connectionsTo(target, options.connections)
    const flood = new Flood(connections, options)
    try {
      await flood.#learn()
      return flood
    } catch (error) {
      flood.close()
      throw error
    }
  }

  private constructor(connections: readonly LightConnection[], options: Required<FloodOptions>) {
    this.#connections = connections
    this.#options = options
  }

  async #learn(): Promise<void> {
    const { depth, slack } = this.#options
    const lengths = await Promise.all(this.#connections.map(connection => connection.learn(batchOf(this.#options), depth)))
    this.#length = Math.min(...lengths)
    const others = lengths.filter(length => length > this.#length + slack)
    if (others.length > 0) throw new Error(`first answers of ${this.#length} and of ${others[0]} bytes`)
  }

  /** Encrypts enough requests that any half of the connections could send so many. */
  async prepare(requests: number): Promise<void> {
    const batches = Math.ceil((2 * requests) / this.#options.depth / this.#connections.length) + 1
    await Promise.all(this.#connections.map(connection => connection.prepare(batches, () => batchOf(this.#options))))
  }

  /** Sends that many prepared requests or a few more, each connection a batch after the other; resolves with their number when all are answered. */
  async send(requests: number): Promise<number> {
    const { depth, slack } = this.#options
    const bytes = this.#length
    let sent = 0
    const done = Promise.all(
      this.#connections.map(
        connection =>
          new Promise<void>((resolve, reject) => {
            const sendNext = () => {
              if (sent >= requests || !connection.sendPrepared()) return resolve()
              sent += depth
            }
            connection.onReceived = received => {
              if (received < bytes) return
              if (received > bytes + slack) return reject(new Error(`answers of ${received} bytes where ${bytes} were expected`))
              connection.received = 0
              sendNext()
            }
            connection.onFailure = reject
            sendNext()
          }),
      ),
    )
    await watched(done, this.#connections, this.#options)
    return sent
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

const batchOf = ({ depth, request }: Required<FloodOptions>): Buffer => Buffer.concat(Array.from({ length: depth }, request))

export type StreamOptions = {
  readonly count: number
  readonly request: Buffer
  /** Bytes of each thing that is counted, such as an event, and how many more its framing may have. */
  readonly length: number
  readonly slack: number
  readonly sleepMs: number
}

/** Answers that do not end, such as watches: counts events of equal length. */
export class Streams {
  readonly #connections: readonly LightConnection[]
  readonly #options: StreamOptions

  /** Sends the request on each connection; resolves when all are being answered with success. */
  static async open(target: Target, options: StreamOptions): Promise<Streams> {
    const connections = await connectionsTo(target, options.count)
    const streams = new Streams(connections, options)
    try {
      await Promise.all(connections.map(connection => connection.begin(options.request)))
      return streams
    } catch (error) {
      streams.close()
      throw error
    }
  }

  private constructor(connections: readonly LightConnection[], options: StreamOptions) {
    this.#connections = connections
    this.#options = options
  }

  /**
   * Resolves when so many more have arrived on each connection. They must be few enough that the framing of all is shorter than one of
   * them: then their bytes tell the number.
   */
  async arrived(each: number): Promise<void> {
    const { length, slack } = this.#options
    if (each * slack >= length) throw new RangeError(`${each} at a time cannot be told apart by their bytes`)
    const all = this.#connections.map(
      connection =>
        new Promise<void>((resolve, reject) => {
          connection.received = 0
          connection.onFailure = reject
          connection.onReceived = received => {
            if (received > each * (length + slack)) reject(new Error(`${received} bytes where ${each} times ${length} were expected`))
            else if (received >= each * length) resolve()
          }
        }),
    )
    await watched(Promise.all(all), this.#connections, { stalledMs: STALLED_MS, ...this.#options })
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

const CLOSED = 'the server closed a connection'
const STALLED_MS = 20_000
/** More handshakes at a time would take longer than a server on a busy machine waits for one. */
const HANDSHAKES = 16

async function connectionsTo(target: Target, count: number): Promise<LightConnection[]> {
  const connections: LightConnection[] = []
  while (connections.length < count) {
    const many = Math.min(HANDSHAKES, count - connections.length)
    connections.push(...(await Promise.all(Array.from({ length: many }, () => LightConnection.open(target)))))
  }
  return connections
}

/** Waits for something that connections receive: sleeps between looks at them, and fails when nothing comes any more. */
async function watched(
  done: Promise<unknown>,
  connections: readonly LightConnection[],
  { sleepMs, stalledMs }: Pick<Required<FloodOptions>, 'sleepMs' | 'stalledMs'>,
): Promise<void> {
  let isOver = false
  const sleep = () => {
    if (isOver) return
    Atomics.wait(NEVER, 0, 0, sleepMs)
    setImmediate(sleep)
  }
  if (sleepMs > 0) setImmediate(sleep)
  let before = Number.NaN
  const all = () => connections.reduce((sum, { total }) => sum + total, 0)
  let stalled: NodeJS.Timeout | undefined
  const stall = new Promise<never>((_, reject) => {
    stalled = setInterval(() => {
      const now = all()
      if (now === before) reject(new Error(`nothing has arrived for ${stalledMs} ms: an answer is shorter than expected`))
      before = now
    }, stalledMs)
  })
  try {
    await Promise.race([done, stall])
  } finally {
    isOver = true
    clearInterval(stalled)
  }
}
const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** Read by one connection after the other. */
const READ_BUFFER = Buffer.allocUnsafe(128 << 10)

/** TLS over a socket whose bytes are seen here: those to send can be kept until later, and those received need not be decrypted. */
class LightConnection {
  readonly #socket: Socket
  readonly #records = new RecordCounter()
  /** The encrypted side of the TLS connection. */
  readonly #encrypted = new Duplex({
    read() {},
    write: (bytes: Buffer, _, taken) => {
      if (this.#preparing) this.#preparing.push(bytes)
      else this.#socket.write(bytes)
      taken()
    },
  })
  readonly #tls: TLSSocket
  readonly #ready: Promise<void>
  #preparing: Buffer[] | undefined
  readonly #prepared: Buffer[] = []
  #isDecrypting = true
  /** Bytes of content that have arrived in whole records: all of them, and since this was last set. */
  total = 0
  received = 0
  onReceived: (received: number) => void = () => {}
  onFailure: (error: Error) => void = () => {}

  static async open(target: Target): Promise<LightConnection> {
    const connection = new LightConnection(target)
    await connection.#ready
    return connection
  }

  private constructor({ host, port, ...credentials }: Target) {
    const onread = { buffer: READ_BUFFER, callback: (length: number) => this.#read(length) }
    this.#socket = connectPlain({ host, port, noDelay: true, onread })
    this.#tls = connect({
      ...credentials,
      socket: this.#encrypted,
      servername: 'localhost',
      ALPNProtocols: ['http/1.1'],
      // Its records all look alike.
      minVersion: 'TLSv1.3',
    })
    const fail = (error: Error) => this.onFailure(error)
    this.#ready = new Promise((resolve, reject) => {
      this.onFailure = reject
      this.#tls.once('secureConnect', resolve)
    })
    this.#tls.on('error', fail)
    this.#socket.on('error', fail)
    this.#socket.on('close', () => fail(new Error(CLOSED)))
  }

  /** Sends requests at once; resolves with the bytes of their answers, all of which must be successes. From then on answers are only counted. */
  async learn(requests: Buffer, count: number): Promise<number> {
    const answers = new Answers(count)
    await this.#decrypt(requests, piece => answers.take(piece))
    return answers.bytes
  }

  /** Sends a request that is answered without end, with success; resolves when the answer has begun. From then on it is only counted. */
  begin(request: Buffer): Promise<void> {
    let head = ''
    return this.#decrypt(request, piece => {
      head += piece.toString('latin1')
      checkSuccess(head)
      return head.includes(HEAD_END)
    })
  }

  /** Encrypts bytes to send later, until there are so many batches. */
  async prepare(count: number, bytes: () => Buffer): Promise<void> {
    while (this.#prepared.length < count) {
      const pieces: Buffer[] = []
      this.#preparing = pieces
      await new Promise<void>((resolve, reject) => {
        this.onFailure = reject
        this.#tls.write(bytes(), () => resolve())
      })
      this.#prepared.push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    }
    this.#preparing = undefined
  }

  /** Sends the batch that was prepared first; false if there is none. */
  sendPrepared(): boolean {
    const bytes = this.#prepared.shift()
    if (bytes) this.#socket.write(bytes)
    return bytes !== undefined
  }

  close(): void {
    this.onFailure = () => {}
    this.#socket.destroy()
    this.#tls.destroy()
  }

  /** Sends bytes, and hands over the answer piece by piece until that is enough. */
  #decrypt(bytes: Buffer, isEnough: (piece: Buffer) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.onFailure = reject
      this.#tls.on('data', (piece: Buffer) => {
        try {
          if (!isEnough(piece)) return
          this.#isDecrypting = false
          this.#records.isDataOnly = true
          resolve()
        } catch (error) {
          reject(error)
        }
      })
      this.#tls.write(bytes)
    })
  }

  #read(length: number): boolean {
    try {
      const content = this.#records.take(READ_BUFFER, length)
      if (this.#isDecrypting) this.#encrypted.push(Buffer.from(READ_BUFFER.subarray(0, length)))
      else if (content > 0) {
        this.total += content
        this.received += content
        this.onReceived(this.received)
      }
    } catch (error) {
      this.onFailure(error as Error)
      this.#socket.destroy()
    }
    return true
  }
}

const HEAD_END = '\r\n\r\n'

function checkSuccess(answer: string): void {
  if (answer.length >= 10 && !/^HTTP\/1\.1 2/.test(answer)) throw new Error(`the answer to a first request is ${answer.slice(0, 1000)}`)
}

/** Finds the end of so many answers, which have a Content-Length. */
class Answers {
  #left: number
  #pieces: Buffer[] = []
  #length = 0
  #needed = 0
  bytes = 0

  constructor(count: number) {
    this.#left = count
  }

  /** Whether all are complete with this piece. */
  take(piece: Buffer): boolean {
    this.#pieces.push(piece)
    this.#length += piece.length
    while (this.#left > 0 && this.#length >= this.#needed) {
      const rest = Buffer.concat(this.#pieces)
      this.#pieces = [rest]
      const end = rest.indexOf(HEAD_END)
      if (end < 0) return false
      const head = rest.toString('latin1', 0, end)
      checkSuccess(head)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)
      if (!length) throw new Error(`an answer without a length: ${head}`)
      this.#needed = end + HEAD_END.length + Number(length[1])
      if (this.#length < this.#needed) return false
      this.bytes += this.#needed
      this.#pieces = [rest.subarray(this.#needed)]
      this.#length -= this.#needed
      this.#needed = 0
      this.#left--
    }
    return this.#left === 0
  }
}

const RECORD_HEAD = 5
const APPLICATION_DATA = 23
/** The type of the content and the tag of the cipher. */
const RECORD_END = 17

/** Follows the records of TLS 1.3 in one direction of a connection, which can be done without its keys. */
class RecordCounter {
  readonly #head = Buffer.alloc(RECORD_HEAD)
  #headBytes = 0
  #content = 0
  #left = 0
  /** Whether the handshake is over, so that a record of another type is an error. */
  isDataOnly = false

  /** Takes the first bytes of a buffer; returns how many bytes of content the records have that are complete now. */
  take(bytes: Buffer, length: number): number {
    let content = 0
    let at = 0
    while (at < length) {
      if (this.#left === 0) {
        this.#head[this.#headBytes++] = bytes[at++]!
        if (this.#headBytes < RECORD_HEAD) continue
        this.#begin()
      }
      const part = Math.min(this.#left, length - at)
      at += part
      this.#left -= part
      if (this.#left === 0) content += this.#content
    }
    return content
  }

  #begin(): void {
    this.#headBytes = 0
    const [type] = this.#head
    this.#left = this.#head.readUInt16BE(3)
    if (this.isDataOnly && type !== APPLICATION_DATA) throw new Error(`a TLS record of type ${type} instead of data`)
    if (type === APPLICATION_DATA && this.#left < RECORD_END) throw new Error(`a TLS record of ${this.#left} bytes`)
    this.#content = type === APPLICATION_DATA ? this.#left - RECORD_END : 0
  }
}
