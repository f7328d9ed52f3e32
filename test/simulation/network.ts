/** The network between clients and servers: function calls that take time, get lost and are cut. */
import type { Readable } from 'node:stream'
import type { Outlet, Peer, Response, Request as ServerRequest } from '../../src/http/message.ts'
import { Cancellable } from '../../src/lib/cancellation.ts'
import { type MaybePromise, whenDone } from '../../src/lib/maybe-promise.ts'
import type { Answer, Connection, Request, StreamAnswer } from '../robustness/connection.ts'
import type { Random } from '../robustness/random.ts'
import type { Process, World } from './world.ts'

/** The faults of the network at this moment. */
export type NetworkFaults = {
  /** Further milliseconds that a message may take. */
  delayMs: number
  /** The share of requests and responses that are lost with their connection. */
  loses: number
  /** The share of pieces of a stream after which it is cut. */
  cuts: number
}

/** A server as the network sees it. */
export interface Host {
  readonly process: Process
  /** Undefined while nobody listens. */
  readonly serve: ((request: ServerRequest) => MaybePromise<Response>) | undefined
  /** Exchanges that end when the server is killed. */
  readonly exchanges: Set<{ cut(): void }>
}

/** The user of a client, as its certificate tells. */
export type User = { readonly name: string; readonly groups: readonly string[] }

export const ADMIN: User = { name: 'admin', groups: ['system:masters'] }

/** An answer with its body as it came. */
export type WholeAnswer = Answer & { readonly bytes: Buffer }

const BRACE = '{'.charCodeAt(0)
const MAX_TRIP_MS = 1
const HIGH_WATER = 16_384

export class Network {
  readonly world: World
  readonly faults: NetworkFaults = { delayMs: 0, loses: 0, cuts: 0 }
  readonly #random: Random
  readonly #clients: Process

  readonly counts: { requests: number }

  constructor(world: World, clients: Process, counts = { requests: 0 }) {
    this.world = world
    this.counts = counts
    this.#random = world.random.fork()
    this.#clients = clients
  }

  connect(host: Host, user: User = ADMIN): Connection {
    const peer = peerOf(user)
    return {
      call: sent => this.#call(host, sent, peer),
      stream: (path, onLine) => this.#stream(host, { path, onLine, peer }),
      close() {},
    }
  }

  #call(host: Host, sent: Request, peer: Peer): Promise<WholeAnswer> {
    return new Promise((resolve, reject) => {
      this.#exchange(host, requestOf(sent, peer), {
        failed: reject,
        head() {},
        // A path of a kind that is not defined yet is answered in plain text.
        body(status, bytes) {
          resolve({ status, json: bytes[0] === BRACE ? JSON.parse(bytes.toString()) : undefined, bytes })
        },
        line() {},
        ended() {},
      })
    })
  }

  #stream(
    host: Host,
    { path, onLine, peer }: { readonly path: string; readonly onLine: (line: string) => void; readonly peer: Peer },
  ): Promise<StreamAnswer> {
    return new Promise((resolve, reject) => {
      let end: (how: 'ended' | 'cut') => void = () => {}
      const ended = new Promise<'ended' | 'cut'>(done => (end = done))
      const exchange = this.#exchange(host, requestOf({ method: 'GET', path }, peer), {
        failed(error) {
          reject(error)
          end('cut')
        },
        head: status => resolve({ status, stream: { ended, read: on => exchange.read(on), close: () => exchange.leave() } }),
        body(status) {
          resolve({ status, stream: { ended, read() {}, close() {} } })
          end('ended')
        },
        line: onLine,
        ended: end,
      })
    })
  }

  #exchange(host: Host, request: SimulatedRequest, client: Receiver): SimulatedExchange {
    const exchange = new SimulatedExchange(this, { host, request, client, clients: this.#clients })
    exchange.begin()
    return exchange
  }

  /** The time of one message. */
  tripMs(): number {
    const { delayMs } = this.faults
    return this.#random.next() * MAX_TRIP_MS + (delayMs > 0 && this.#random.oneIn(2) ? this.#random.below(delayMs) : 0)
  }

  isLost(): boolean {
    return this.faults.loses > 0 && this.#random.next() < this.faults.loses
  }

  isCut(): boolean {
    return this.faults.cuts > 0 && this.#random.next() < this.faults.cuts
  }
}

/** The client's side of an exchange. */
type Receiver = {
  failed(error: Error): void
  head(status: number): void
  body(status: number, bytes: Buffer): void
  line(line: string): void
  ended(how: 'ended' | 'cut'): void
}

type ExchangeParts = {
  readonly host: Host
  readonly request: SimulatedRequest
  readonly client: Receiver
  readonly clients: Process
}

/** One request and its response, of which messages arrive in their order. */
class SimulatedExchange {
  readonly #network: Network
  readonly #parts: ExchangeParts
  #isOver = false
  #outlet: SimulatedOutlet | undefined
  /** The time at which the last message arrives at the client. */
  #arrivesAt = 0

  constructor(network: Network, parts: ExchangeParts) {
    this.#network = network
    this.#parts = parts
  }

  begin(): void {
    const { world } = this.#network
    if (this.#network.isLost()) return void this.#toClient('request lost', () => this.#cutAtClient())
    world.after(this.#network.tripMs(), 'request', () => this.#arrive(), this.#parts.clients)
  }

  /** The server is gone. */
  cut(): void {
    this.#leaveServer()
    this.#toClient('cut', () => this.#cutAtClient())
  }

  /** The client closes the stream. */
  leave(): void {
    const { host, request } = this.#parts
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.client.ended('cut')
    this.#network.world.after(
      this.#network.tripMs(),
      'client left',
      () => {
        host.exchanges.delete(this)
        request.cancel(new Error('the client went away'))
        this.#outlet?.destroy()
      },
      host.process,
    )
  }

  read(on: boolean): void {
    const { host } = this.#parts
    this.#network.world.after(0, 'reads', () => this.#outlet?.read(on), host.process)
  }

  #arrive(): void {
    const { host, client } = this.#parts
    if (this.#isOver) return
    if (!host.serve || host.process.isDead) {
      this.#toClient('refused', () => {
        this.#isOver = true
        client.failed(new Error('ECONNREFUSED'))
        client.ended('cut')
      })
      return
    }
    host.exchanges.add(this)
    const { serve } = host
    this.#network.world.after(0, 'serve', () => void this.#serve(serve), host.process)
  }

  async #serve(serve: NonNullable<Host['serve']>): Promise<void> {
    const { host, request } = this.#parts
    const { world } = this.#network
    this.#network.counts.requests++
    world.note(`${host.process.name} receives ${request.what}`)
    try {
      await whenDone(serve(request), response => this.#answer(response))
    } catch (error) {
      world.failures.push(`${request.what} was not answered: ${(error as Error).stack}`)
      this.cut()
    }
  }

  #answer(response: Response): MaybePromise<void> {
    const { client } = this.#parts
    const { status, body } = response
    if (response.cut) return this.cut()
    if (body instanceof Uint8Array) return this.#sendBody(response, Buffer.from(body))
    if (body.type === 'pieces')
      return collect(body.pieces).then(
        bytes => this.#sendBody(response, bytes),
        () => {
          response.taken?.()
          this.cut()
        },
      )
    this.#toClient('head', () => client.head(status))
    const outlet = new SimulatedOutlet({
      arrive: (bytes, taken) => this.#piece(bytes, taken),
      ended: () => {
        this.#leaveServer()
        this.#toClient('stream ended', () => this.#over(() => client.ended('ended')))
      },
      destroyed: () => this.cut(),
    })
    this.#outlet = outlet
    if (response.taken) outlet.once('close', response.taken)
    body.start(outlet)
  }

  #rest = ''

  #piece(bytes: Uint8Array, taken: () => void): void {
    const { client, host } = this.#parts
    const text = Buffer.from(bytes).toString()
    if (this.#network.isCut()) {
      this.#outlet?.destroy()
      return
    }
    this.#toClient('piece', () => {
      if (!this.#isOver) {
        const lines = (this.#rest + text).split('\n')
        this.#rest = lines.pop()!
        for (const line of lines) client.line(line)
      }
      this.#network.world.after(this.#network.tripMs(), 'acknowledged', taken, host.process)
    })
  }

  #sendBody({ status, taken }: Response, bytes: Buffer): void {
    const { client, host, request } = this.#parts
    this.#leaveServer()
    this.#network.world.note(`${host.process.name} answers ${request.what} with ${status}`)
    taken?.()
    if (this.#network.isLost()) return void this.#toClient('response lost', () => this.#cutAtClient())
    this.#toClient('response', () => this.#over(() => client.body(status, bytes)))
  }

  #leaveServer(): void {
    this.#parts.host.exchanges.delete(this)
  }

  #cutAtClient(): void {
    this.#over(() => {
      this.#parts.client.failed(new Error('cut'))
      this.#parts.client.ended('cut')
    })
  }

  #over(then: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    then()
  }

  #toClient(what: string, run: () => void): void {
    const { world } = this.#network
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#network.tripMs())
    world.after(this.#arrivesAt - world.now, what, run, this.#parts.clients)
  }
}

async function collect(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const piece of pieces) chunks.push(Buffer.from(piece))
  return Buffer.concat(chunks)
}

type OutletParts = {
  readonly arrive: (bytes: Uint8Array, taken: () => void) => void
  readonly ended: () => void
  readonly destroyed: () => void
}

/** The server's side of a stream. What the client does not read fills it up. */
class SimulatedOutlet implements Outlet {
  readonly #parts: OutletParts
  readonly #listeners = { drain: [] as (() => void)[], close: [] as (() => void)[], finish: [] as (() => void)[] }
  /** Pieces that the client has not read because it is paused. */
  #unread: { readonly bytes: Uint8Array; readonly taken: (() => void) | undefined }[] = []
  #isRead = true
  #isEnding = false
  #isClosed = false
  writableLength = 0

  constructor(parts: OutletParts) {
    this.#parts = parts
  }

  get writableNeedDrain(): boolean {
    return this.writableLength >= HIGH_WATER
  }

  write(bytes: Uint8Array, taken?: () => void): boolean {
    if (this.#isClosed || this.#isEnding) return false
    this.writableLength += bytes.byteLength
    // The buffer may be used again.
    const piece = { bytes: Uint8Array.from(bytes), taken }
    if (this.#isRead) this.#send(piece)
    else this.#unread.push(piece)
    return !this.writableNeedDrain
  }

  end(): void {
    this.#isEnding = true
    this.#finishIfRead()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#parts.destroyed()
    this.#close()
  }

  once(event: 'drain' | 'close' | 'finish', listener: () => void): void {
    this.#listeners[event].push(listener)
  }

  read(on: boolean): void {
    this.#isRead = on
    if (!on || this.#isClosed) return
    for (const piece of this.#unread.splice(0)) this.#send(piece)
    this.#finishIfRead()
  }

  #send({ bytes, taken }: { readonly bytes: Uint8Array; readonly taken: (() => void) | undefined }): void {
    this.#parts.arrive(bytes, () => {
      const wasFull = this.writableNeedDrain
      this.writableLength -= bytes.byteLength
      taken?.()
      if (wasFull && !this.writableNeedDrain) this.#emit('drain')
    })
  }

  #finishIfRead(): void {
    if (!this.#isEnding || this.#isClosed || this.#unread.length > 0) return
    this.#emit('finish')
    this.#parts.ended()
    this.#close()
  }

  #close(): void {
    this.#isClosed = true
    this.#unread = []
    this.#emit('close')
  }

  #emit(event: 'drain' | 'close' | 'finish'): void {
    for (const listener of this.#listeners[event].splice(0)) listener()
  }
}

class SimulatedRequest implements ServerRequest {
  readonly protocol = 'HTTP/2.0'
  readonly method: string
  readonly target: string
  readonly headers: ServerRequest['headers']
  readonly peer: Peer
  readonly signal = new Cancellable()
  readonly #body: Uint8Array

  constructor({ method, path, type, body }: Request, peer: Peer) {
    this.method = method
    this.target = path
    this.peer = peer
    this.#body = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body))
    this.headers = {
      ':authority': 'simulated:6443',
      'user-agent': 'simulation',
      ...(body !== undefined && { 'content-type': type ?? 'application/json', 'content-length': String(this.#body.byteLength) }),
    }
  }

  /** The request in words; tokens are those of a key that is another in each process. */
  get what(): string {
    return `${this.method} ${this.target.replace(/continue=[^&]*/, 'continue=…')}`
  }

  get isGone(): boolean {
    return this.signal.aborted
  }

  get stream(): Readable | undefined {
    return undefined
  }

  cancel(reason: Error): void {
    this.signal.abort(reason)
  }

  readBody(limit: number): Uint8Array | undefined {
    return this.#body.byteLength > limit ? undefined : this.#body
  }
}

const requestOf = (sent: Request, peer: Peer) => new SimulatedRequest(sent, peer)

const peerOf = ({ name, groups }: User): Peer => ({
  address: '10.0.0.1',
  certificate: {
    trusted: true,
    commonName: name,
    organizations: groups,
    uids: [],
    sha256: '00'.repeat(32),
    notBefore: Number.NEGATIVE_INFINITY,
    notAfter: Number.POSITIVE_INFINITY,
  },
})
