/**
 * HTTP/1.1 as almost all clients use it: each request arrives whole in one chunk, and the next after the response. Such requests are served
 * without Node's streams for requests and responses, which take longer than most of the work for a request. On anything else, such as a
 * request in parts or of HTTP/1.0, an upgrade, an expectation, several requests at once or a malformed request, the connection is handed to
 * node:http for good. It parses the same bytes from the beginning, so that there is only one interpretation of them.
 */
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { Cancellable } from '../../lib/cancellation.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Peer, Request, Response, Settle } from '../message.ts'
import { abandon, pump } from '../streams.ts'
import { DirectOutlet, framingLine, framingOf, headOf, lengthLine, writeAtOnce } from './direct-response.ts'
import { type IterationEnd, isSmall } from './iteration-end.ts'
import { WholeReader, type WholeRequest } from './whole-request.ts'

export type DirectOptions = {
  readonly peer: Peer
  readonly serve: (request: Request) => MaybePromise<Response>
  /** Sends small responses. */
  readonly iterationEnd: IterationEnd
  /** Whether clients are asked to use another connection for their next request. */
  readonly draining: () => boolean
  /** A request has started, and its response has been written or its client has disconnected. */
  readonly opened: () => void
  readonly closed: () => void
  /** A response could not be written. */
  readonly failed: (error: unknown) => void
  /** Hands the connection to node:http, where the received bytes can be read again. */
  readonly leave: () => void
}

/** Serves the requests of a connection as long as they are plain. */
export function answerDirectly(socket: TLSSocket, options: DirectOptions): void {
  new DirectConnection(socket, options)
}

/**
 * Waiting for the first request or the next; making a response; writing one as fast as the client reads; a long-running response; the last
 * one has been written.
 */
type State = 'new' | 'idle' | 'serving' | 'writing' | 'streaming' | 'ended'

/** Responses up to this size are copied into one write with their head. */
const MAX_COPIED_BYTES = 16 * 1024
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

class DirectConnection {
  readonly #socket: TLSSocket
  readonly #options: DirectOptions
  readonly #reader = new WholeReader()
  #state: State = 'new'
  #request: DirectRequest | undefined
  #outlet: DirectOutlet | undefined
  #taken: (() => void) | undefined
  #isLast = false
  /** Bytes received before the response to the last request was written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0

  constructor(socket: TLSSocket, options: DirectOptions) {
    this.#socket = socket
    this.#options = options
    socket.setTimeout(LIMITS.headersMs)
    socket.on('data', this.#read).on('timeout', this.#timedOut).on('close', this.#closed)
  }

  #read = (bytes: Buffer): void => {
    if (this.#state === 'ended') return
    if (this.#state !== 'new' && this.#state !== 'idle') return void this.#keep(bytes)
    const whole = this.#reader.read(bytes)
    if (whole === undefined) return void this.#leave(bytes)
    if (this.#state === 'new') this.#socket.setTimeout(LIMITS.idleMs)
    this.#state = 'serving'
    this.#answer(whole)
  }

  #keep(bytes: Buffer): void {
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > LIMITS.pipelinedBytes) this.#socket.pause()
  }

  #leave(bytes: Buffer): void {
    const socket = this.#socket
    socket.off('data', this.#read).off('timeout', this.#timedOut).off('close', this.#closed)
    socket.setTimeout(0)
    socket.unshift(bytes)
    this.#options.leave()
  }

  #answer(whole: WholeRequest): void {
    const { peer, serve, iterationEnd, opened } = this.#options
    const request = new DirectRequest(whole, peer)
    this.#request = request
    opened()
    try {
      const answer = serve(request)
      if (answer instanceof Promise) answer.then(this.#sendSoon, this.#failed)
      else if (isSmall(answer)) iterationEnd.add(() => this.#sendLater(answer))
      else this.#sendLater(answer)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Sends a response that came late; together with others of this iteration where something has to be done before. */
  #sendSoon = (answer: Response): void => {
    if (this.#request?.settle) this.#options.iterationEnd.add(() => this.#sendLater(answer))
    else this.#sendLater(answer)
  }

  #sendLater = (answer: Response): void => {
    try {
      const waiting = this.#request?.settle?.()
      if (waiting) waiting.then(() => this.#send(answer)).catch(this.#failed)
      else this.#send(answer)
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed = (error: unknown): void => {
    this.#options.failed(error)
    this.#socket.destroy()
  }

  #send(answer: Response): void {
    const socket = this.#socket
    if (socket.destroyed) return void abandon(answer)
    if (answer.cut) {
      answer.taken?.()
      socket.destroy()
      return
    }
    const { headers, body } = answer
    this.#taken = answer.taken
    this.#isLast = answer.close === true || this.#options.draining()
    if (body instanceof Uint8Array) return void this.#sendBytes(answer, body)
    const isStream = body.type === 'stream'
    const framing = framingOf(answer, isStream ? undefined : body.length)
    const outlet = new DirectOutlet(socket, framing, this.#finished)
    const head = headOf(answer, framingLine(framing, headers), this.#isLast)
    this.#outlet = outlet
    this.#state = isStream ? 'streaming' : 'writing'
    socket.write(head, 'latin1')
    if (isStream) return void body.start(outlet)
    socket.setTimeout(LIMITS.stallMs)
    // It never rejects: a response that cannot be finished is cut off.
    void pump(body.pieces, outlet)
  }

  #sendBytes(answer: Response, body: Uint8Array): void {
    const socket = this.#socket
    const head = headOf(answer, lengthLine(answer, body.byteLength), this.#isLast)
    this.#state = 'writing'
    if (body.byteLength <= MAX_COPIED_BYTES) {
      if (writeAtOnce(socket, head, body)) return void this.#finished()
    } else {
      if (body.byteLength > LIMITS.smallBytes) socket.setTimeout(LIMITS.stallMs)
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(body)
      socket.uncork()
    }
    // The next request has to wait until the client reads this response.
    if (socket.writableNeedDrain) socket.once('drain', this.#finished)
    else this.#finished()
  }

  /** The response is written, or small enough to be left to the socket. */
  #finished = (): void => {
    if (this.#request === undefined) return
    const socket = this.#socket
    if (this.#state === 'writing' && socket.timeout !== LIMITS.idleMs) socket.setTimeout(LIMITS.idleMs)
    this.#release()
    this.#state = this.#isLast ? 'ended' : 'idle'
    this.#options.closed()
    if (this.#isLast) socket.destroySoon()
    else if (this.#waiting.length > 0) this.#readWaiting()
  }

  #readWaiting(): void {
    const bytes = this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    if (this.#socket.isPaused()) this.#socket.resume()
    this.#read(bytes)
  }

  #release(): void {
    const taken = this.#taken
    this.#request = this.#outlet = this.#taken = undefined
    taken?.()
  }

  #timedOut = (): void => {
    if (this.#state === 'new') this.#socket.end(TIMED_OUT, () => this.#socket.destroy())
    else if (this.#state !== 'serving' && this.#state !== 'streaming') this.#socket.destroy()
  }

  #closed = (): void => {
    const request = this.#request
    const outlet = this.#outlet
    if (request === undefined) return
    request.cancel(new Error('the client went away'))
    this.#release()
    outlet?.close()
    this.#options.closed()
  }
}

class DirectRequest implements Request {
  readonly protocol = 'HTTP/1.1'
  readonly peer: Peer
  readonly signal = new Cancellable()
  settle: Settle | undefined = undefined
  readonly #whole: WholeRequest
  #stream: Readable | undefined

  constructor(whole: WholeRequest, peer: Peer) {
    this.#whole = whole
    this.peer = peer
  }

  beforeSending(settle: Settle): void {
    this.settle = settle
  }

  get method(): string {
    return this.#whole.method
  }

  get target(): string {
    return this.#whole.target
  }

  get headers(): WholeRequest['headers'] {
    return this.#whole.headers
  }

  get headerLines(): readonly string[] {
    return this.#whole.headerLines
  }

  get isGone(): boolean {
    return this.signal.aborted
  }

  cancel(reason: Error): void {
    this.signal.abort(reason)
  }

  get stream(): Readable | undefined {
    const { body } = this.#whole
    if (body.byteLength > 0) this.#stream ??= Readable.from([body], { objectMode: false })
    return this.#stream
  }

  readBody(limit: number): Uint8Array | undefined {
    const { body } = this.#whole
    return body.byteLength > limit ? undefined : body
  }
}
