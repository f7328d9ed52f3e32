/** HTTP/2: adapts Node's streams. */
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { Cancellable } from '../../lib/cancellation.ts'
import { LIMITS } from '../../lib/limits.ts'
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import type { UnsentResponses } from '../flow-control/unsent-responses.ts'
import { type Outlet, type Peer, type Request, type RequestHeaders, type Response, type Settle, textResponse } from '../message.ts'
import { abandon, collect, pump } from '../streams.ts'
import { authorityProblem } from './host.ts'
import { isSmall } from './iteration-end.ts'

type Serve = (request: Request) => MaybePromise<Response>
/** The connection of a stream, and its headers as they were sent. */
type Connection = {
  readonly peer: Peer
  readonly unsentResponses: UnsentResponses
  readonly headerLines: readonly string[]
  readonly passed: () => void
}

class Http2Request implements Request {
  readonly protocol = 'HTTP/2.0'
  readonly method: string
  readonly target: string
  readonly headers: RequestHeaders
  readonly headerLines: readonly string[]
  readonly peer: Peer
  readonly unsentResponses: UnsentResponses
  readonly passed: () => void
  readonly signal = new Cancellable()
  settle: Settle | undefined = undefined
  readonly #stream: ServerHttp2Stream
  #body: Promise<Uint8Array | undefined> | undefined

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, { peer, unsentResponses, headerLines, passed }: Connection) {
    this.method = headers[':method'] ?? 'GET'
    this.target = headers[':path'] ?? ''
    this.headers = headers as RequestHeaders
    this.headerLines = headerLines
    this.peer = peer
    this.unsentResponses = unsentResponses
    this.passed = passed
    this.#stream = stream
  }

  beforeSending(settle: Settle): void {
    this.settle = settle
  }

  get isGone(): boolean {
    return this.signal.aborted
  }

  cancel(reason: Error): void {
    this.signal.abort(reason)
  }

  get stream(): ServerHttp2Stream | undefined {
    return this.#stream.endAfterHeaders ? undefined : this.#stream
  }

  readBody(limit: number): Promise<Uint8Array | undefined> {
    return this.#stream.endAfterHeaders ? EMPTY : (this.#body ??= collect(this.#stream, limit))
  }
}

const EMPTY = Promise.resolve(new Uint8Array(0))

/** Serves one stream; the caller handles errors of the stream. */
export function answerHttp2(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  connection: Connection & {
    readonly serve: Serve
    /** Sends a small response at the end of the iteration. */
    readonly atEnd: (send: () => MaybePromise<void>) => void
  },
): MaybePromise<void> {
  const problem = authorityProblem(headers)
  if (problem !== undefined) {
    connection.passed()
    return send(textResponse(400, problem), stream, false)
  }
  const request = new Http2Request(stream, headers, connection)
  // Node leaves a stream that was reset without an error open while there is something to write, which would never be read.
  stream.on('aborted', destroyItself)
  // Node keeps streams for a while after they have closed; with `once` they do not keep the request.
  stream.once('close', () => {
    if (!stream.writableEnded) request.signal.abort(new Error('the client went away'))
  })
  const answered = connection.serve(request)
  if (answered instanceof Promise)
    return answered.then(answer => {
      request.passed()
      if (!request.settle) return reply(answer, stream, request)
      connection.atEnd(() => replyWhenReady(answer, stream, request))
    })
  request.passed()
  if (!isSmall(answered)) return replyWhenReady(answered, stream, request)
  connection.atEnd(() => replyWhenReady(answered, stream, request))
}

function replyWhenReady(answer: Response, stream: ServerHttp2Stream, request: Http2Request): MaybePromise<void> {
  const waiting = request.settle?.()
  return waiting ? waiting.then(() => reply(answer, stream, request)) : reply(answer, stream, request)
}

function reply(answer: Response, stream: ServerHttp2Stream, { method }: Request): MaybePromise<void> {
  if (stream.destroyed || stream.closed) return abandon(answer)
  // Further input is not read: the stream is reset rather than left to fill its window.
  return whenDone(send(answer, stream, method === 'HEAD'), () => (answer.close ? finish(stream) : undefined))
}

function destroyItself(this: ServerHttp2Stream): void {
  this.destroy()
}

function send({ status, headers, body, taken, cut }: Response, stream: ServerHttp2Stream, isHead: boolean): MaybePromise<void> {
  if (cut) return void stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  const head: OutgoingHttpHeaders = { ':status': status }
  for (const name in headers) {
    const value = headers[name]!
    head[name] = typeof value === 'string' ? value : [...value]
  }
  if (taken) stream.once('close', taken)
  if (body instanceof Uint8Array) {
    if (status !== 204 && status !== 304) head['content-length'] ??= body.byteLength
    if (body.byteLength > LIMITS.smallBytes) guardAgainstStall(stream)
    const bare = body.byteLength === 0 || isHead
    stream.respond(head, { endStream: bare })
    if (!bare) stream.end(body)
  } else if (body.type === 'pieces') {
    if (body.length !== undefined) head['content-length'] = body.length
    guardAgainstStall(stream)
    stream.respond(head)
    return pump(body.pieces, stream)
  } else {
    stream.respond(head)
    body.start(stream as unknown as Outlet)
  }
}

function guardAgainstStall(stream: ServerHttp2Stream): void {
  stream.setTimeout(LIMITS.stallMs, () => stream.close(constants.NGHTTP2_CANCEL))
}

/** Ends a stream and, once it is sent, its connection: the client is unauthenticated or exceeds limits. */
function finish(stream: ServerHttp2Stream): void {
  const { session } = stream
  const leave = () => {
    if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR)
    // A stream with unread data never ends, nor does its session.
    stream.resume()
    if (session !== undefined && !session.closed) session.close()
  }
  if (stream.writableFinished) leave()
  else stream.once('finish', leave)
}
