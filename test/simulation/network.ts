/** The network between clients and servers: function calls that take time, get lost and are cut. */
import type { Readable } from 'node:stream'
import type { Outlet, Peer, Response, Request as ServerRequest } from '../../src/http/message.ts'
import { Cancellable } from '../../src/lib/cancellation.ts'
import { type MaybePromise, whenDone } from '../../src/lib/maybe-promise.ts'
import { badRequest } from '../../src/schema/status-error.ts'
import type { Answer, Connection, Request, StreamAnswer } from '../robustness/connection.ts'
import type { Random } from '../robustness/random.ts'
import type { Process, World } from './world.ts'

/** The faults of the network at this moment. */
export type NetworkFaults = {
  /** Further milliseconds that a message may take. */
  delayMs: number
  /** The share of requests and responses that are lost with their connection. */
  loses: number
  /** The share of bodies, and of pieces of a stream, in which the connection is cut. */
  cuts: number
  /** How many bytes of a stream pass in a millisecond; 0 where that does not matter. */
  bytesPerMs: number
}

/** A server as the network sees it. */
export interface Host {
  readonly process: Process
  /** Undefined while nobody listens. */
  readonly serve: ((request: ServerRequest) => MaybePromise<Response>) | undefined
  /** Whether clients cannot reach it, and it cannot reach them. */
  readonly isCutOff: boolean
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
/** The longest time of one piece of a stream, so that little is left to pass when the network is wide again. */
const MAX_PASSING_MS = 500
/** As Node has it. */
export const HIGH_WATER_BYTES = 16_384
/** How often a message tries to pass where the network is cut. */
const HELD_UP_MS = 20
/** A client that hears nothing gives up within this time. */
const GIVE_UP_MS = 3_000

export type NetworkOptions = {
  readonly counts?: { requests: number }
  readonly repeatsReads?: boolean
  /** Unread bytes of a stream from which on its server is asked to wait. */
  readonly highWaterBytes?: number
}

export class Network {
  readonly world: World
  readonly faults: NetworkFaults = { delayMs: 0, loses: 0, cuts: 0, bytesPerMs: 0 }
  readonly highWaterBytes: number
  readonly #random: Random
  readonly #clients: Process

  readonly counts: { requests: number }
  /** Whether a GET without a response is sent again, as proxies and client libraries do. */
  readonly #repeatsReads: boolean

  constructor(
    world: World,
    clients: Process,
    { counts = { requests: 0 }, repeatsReads = false, highWaterBytes = HIGH_WATER_BYTES }: NetworkOptions = {},
  ) {
    this.world = world
    this.highWaterBytes = highWaterBytes
    this.counts = counts
    this.#repeatsReads = repeatsReads
    this.#random = world.random.fork()
    this.#clients = clients
  }

  connect(host: Host, user: User = ADMIN): Connection {
    const peer = peerOf(user)
    return {
      call: sent =>
        this.#repeatsReads && sent.method === 'GET' ? repeatedOnce(() => this.#call(host, sent, peer)) : this.#call(host, sent, peer),
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

  /** A number from 0 to `limit`, without `limit`. */
  below(limit: number): number {
    return this.#random.below(limit)
  }

  /** Whether bodies of requests arrive after their heads. */
  get isUneven(): boolean {
    return this.faults.delayMs > 0 || this.faults.cuts > 0
  }

  /** The time of one message. */
  tripMs(): number {
    const { delayMs } = this.faults
    return this.#random.next() * MAX_TRIP_MS + (delayMs > 0 && this.#random.oneIn(2) ? this.#random.below(delayMs) : 0)
  }

  /** The further time of a message that is a part of a stream. */
  passingMs(bytes: number): number {
    return this.faults.bytesPerMs > 0 ? Math.min(bytes / this.faults.bytesPerMs, MAX_PASSING_MS) : 0
  }

  isLost(): boolean {
    return this.faults.loses > 0 && this.#random.next() < this.faults.loses
  }

  isCut(): boolean {
    return this.faults.cuts > 0 && this.#random.next() < this.faults.cuts
  }
}

const repeatedOnce = <R>(send: () => Promise<R>): Promise<R> => send().catch(send)

/** A connection that sends a request again when there is no response: it may be done twice. */
export const repeating = (connection: Connection): Connection => ({
  call: sent => repeatedOnce(() => connection.call(sent)),
  stream: (path, onLine) => connection.stream(path, onLine),
  close: () => connection.close(),
})

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
  /** Messages on their way to the client. */
  readonly #underWay: { readonly run: () => void; readonly bytes: number }[] = []
  /** How many of them are there but for what passes before them. */
  #due = 0
  #isPassing = false
  /** Whether the client gives up when the network is cut, instead of waiting. */
  #givesUp: boolean | undefined

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
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.client.ended('cut')
    this.#tellServer()
  }

  /** The server finds out that the client is gone. */
  #tellServer(): void {
    const { host, request } = this.#parts
    const gone = () => {
      if (host.isCutOff) return void this.#network.world.after(HELD_UP_MS, 'client left', gone, host.process)
      host.exchanges.delete(this)
      request.cancel(new Error('the client went away'))
      this.#outlet?.destroy()
    }
    this.#network.world.after(this.#network.tripMs(), 'client left', gone, host.process)
  }

  read(on: boolean): void {
    const { host } = this.#parts
    this.#network.world.after(0, 'reads', () => this.#outlet?.read(on), host.process)
  }

  #arrive(): void {
    const { host, client } = this.#parts
    if (this.#isOver) return
    if (host.isCutOff) return void this.#heldUp(() => this.#arrive())
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
    if (this.#network.isUneven) this.#sendRequestBody()
    this.#network.world.after(0, 'serve', () => void this.#serve(serve), host.process)
  }

  /** The body of the request comes after its head, or only a part of it. */
  #sendRequestBody(): void {
    const { host, request } = this.#parts
    const isCut = this.#network.isCut()
    if (!request.awaitBody()) return
    const arrive = () => {
      if (!isCut) return request.bodyArrived()
      request.bodyBroken()
      this.cut()
    }
    this.#network.world.after(this.#network.tripMs(), isCut ? 'request body cut' : 'request body', arrive, host.process)
  }

  /** Retries messages that the network blocks, unless the client gives up. */
  #heldUp(again: () => void): void {
    const { world } = this.#network
    if (this.#givesUp === undefined) {
      this.#givesUp = this.#network.below(2) === 0
      if (this.#givesUp)
        world.after(
          this.#network.below(GIVE_UP_MS),
          'given up',
          () => {
            if (!this.#isOver) this.#tellServer()
            this.#cutAtClient()
          },
          this.#parts.clients,
        )
    }
    world.after(HELD_UP_MS, 'held up', again, this.#parts.clients)
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
      return this.#collect(body.pieces).then(
        bytes => {
          if (bytes) return this.#sendBody(response, bytes)
          response.taken?.()
          this.cut()
        },
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
      highWaterBytes: this.#network.highWaterBytes,
    })
    this.#outlet = outlet
    if (response.taken) outlet.once('close', response.taken)
    body.start(outlet)
  }

  /** The whole body; undefined if the client leaves in the middle of it. */
  async #collect(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
    const chunks: Buffer[] = []
    for await (const piece of pieces) {
      chunks.push(Buffer.from(piece))
      if (this.#network.isCut()) return undefined
    }
    return Buffer.concat(chunks)
  }

  #rest = ''

  #piece(bytes: Buffer, taken: () => void): void {
    const { host } = this.#parts
    const text = bytes.toString()
    if (this.#network.isCut()) {
      // Some of it arrives: whole lines, and the beginning of another.
      const part = text.slice(0, this.#network.below(text.length))
      this.#toClient('part of a piece', () => this.#takeLines(part))
      this.#outlet?.destroy()
      return
    }
    const arrive = () => {
      this.#takeLines(text)
      this.#network.world.after(this.#network.tripMs(), 'acknowledged', taken, host.process)
    }
    this.#toClient('piece', arrive, bytes.byteLength)
  }

  #takeLines(text: string): void {
    if (this.#isOver) return
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#parts.client.line(line)
  }

  #sendBody({ status, taken }: Response, bytes: Buffer): void {
    const { client, host, request } = this.#parts
    this.#leaveServer()
    this.#network.world.note(`${host.process.name} answers ${request.what} with ${status}`)
    taken?.()
    if (request.isBroken && status < 300) this.#network.world.failures.push(`${request.what} was done without the rest of its body`)
    if (this.#network.isLost() || this.#network.isCut()) return void this.#toClient('response lost', () => this.#cutAtClient())
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

  #toClient(what: string, run: () => void, bytes = 0): void {
    const { world } = this.#network
    this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#network.tripMs())
    this.#underWay.push({ run, bytes })
    world.after(this.#arrivesAt - world.now, what, () => this.#deliver(), this.#parts.clients)
  }

  /** The oldest message arrives first, also after the network was cut for a while. */
  #deliver(): void {
    if (this.#parts.host.isCutOff && !this.#isOver) {
      this.#heldUp(() => this.#deliver())
      return
    }
    this.#due++
    if (!this.#isPassing) this.#pass()
  }

  /** Messages that have arrived pass one after the other. */
  #pass(): void {
    while (this.#due > 0) {
      const { run, bytes } = this.#underWay.shift()!
      this.#due--
      const ms = this.#isOver ? 0 : this.#network.passingMs(bytes)
      if (ms === 0) {
        run()
        continue
      }
      this.#isPassing = true
      const passed = () => {
        this.#isPassing = false
        run()
        this.#pass()
      }
      this.#network.world.after(ms, 'passing', passed, this.#parts.clients)
      return
    }
  }
}

/** A copy of bytes that were written, and whom to tell when the client has them. */
type Piece = { readonly bytes: Buffer; readonly taken: (() => void) | undefined }

type OutletParts = {
  readonly arrive: (bytes: Buffer, taken: () => void) => void
  readonly ended: () => void
  readonly destroyed: () => void
  readonly highWaterBytes: number
}

/** The server's side of a stream. Unread data fills it up. */
class SimulatedOutlet implements Outlet {
  readonly #parts: OutletParts
  readonly #listeners = { drain: [] as (() => void)[], close: [] as (() => void)[], finish: [] as (() => void)[] }
  /** Pieces that the client has not read because it is paused. */
  #unread: Piece[] = []
  #isRead = true
  #isEnding = false
  #isClosed = false
  writableLength = 0

  constructor(parts: OutletParts) {
    this.#parts = parts
  }

  get writableNeedDrain(): boolean {
    return this.writableLength >= this.#parts.highWaterBytes
  }

  write(bytes: Uint8Array, taken?: () => void): boolean {
    if (this.#isClosed || this.#isEnding) return false
    this.writableLength += bytes.byteLength
    // The buffer may be used again.
    const piece = { bytes: Buffer.from(bytes), taken }
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

  #send({ bytes, taken }: Piece): void {
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
  /** The request in words; tokens are those of a key that is another in each process. */
  readonly what: string
  readonly signal = new Cancellable()
  readonly #body: Uint8Array
  /** Settled when the body has arrived, where it comes later than the head. */
  #arriving: { readonly whole: Promise<void>; readonly arrived: () => void; readonly broken: (error: Error) => void } | undefined
  /** Whether its connection was cut in the middle of the body. */
  isBroken = false

  constructor({ method, path, type, body }: Request, peer: Peer) {
    this.method = method
    this.target = path
    this.peer = peer
    this.what = `${method} ${path.replace(/continue=[^&]*/, 'continue=…')}`
    this.#body = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body))
    this.headers = {
      ':authority': 'simulated:6443',
      'user-agent': 'simulation',
      ...(body !== undefined && { 'content-type': type ?? 'application/json', 'content-length': String(this.#body.byteLength) }),
    }
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

  readBody(limit: number): MaybePromise<Uint8Array | undefined> {
    return whenDone(this.#arriving?.whole, () => (this.#body.byteLength > limit ? undefined : this.#body))
  }

  /** From now on the body is waited for; false where there is none. */
  awaitBody(): boolean {
    if (this.#body.byteLength === 0) return false
    let [arrived, broken] = [() => {}, (_: Error) => {}]
    const whole = new Promise<void>((resolve, reject) => ([arrived, broken] = [resolve, reject]))
    whole.catch(() => {})
    this.#arriving = { whole, arrived, broken }
    return true
  }

  bodyArrived(): void {
    this.#arriving?.arrived()
  }

  /** As the port has it: reading the body fails, and the client is gone. */
  bodyBroken(): void {
    this.isBroken = true
    this.#arriving?.broken(badRequest('unexpected EOF'))
    this.signal.abort(new Error('the client went away'))
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
