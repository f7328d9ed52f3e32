/** Clients over HTTP/1.1 and HTTP/2: calls that are answered or cut, and streams of lines that can be paused. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { Agent, request } from 'node:https'
import type { Readable } from 'node:stream'
import type { Target } from '../kit.ts'
import { withContext } from '../kits/tls-context.ts'

export type Protocol = 'http/1.1' | 'http/2'
export type Answer = { readonly status: number; readonly json: any }
export type Request = { readonly method: string; readonly path: string; readonly body?: unknown; readonly type?: string }
/** An open stream. `read` pauses and resumes reading it. */
export type Stream = { readonly ended: Promise<'ended' | 'cut'>; read(on: boolean): void; close(): void }
export type StreamAnswer = { readonly status: number; readonly stream: Stream }

export interface Connection {
  /** Rejects without a response. */
  call(sent: Request): Promise<Answer>
  /** Resolves with the head of the response; `onLine` then receives each line. */
  stream(path: string, onLine: (line: string) => void): Promise<StreamAnswer>
  close(): void
}

/** A connection that reconnects when it is lost. */
export const openConnection = (protocol: Protocol, target: Target): Connection =>
  protocol === 'http/2' ? new Http2Connection(target) : new Http1Connection(target)

type Head = { readonly status: number; readonly body: Readable & { readonly rstCode?: number | undefined } }

/** Over HTTP/2 Node also reports the end of a body whose connection was closed in the middle of it; only the code tells. */
const isWhole = ({ rstCode = 0 }: Head['body']): boolean => rstCode === 0

async function answerOf({ status, body }: Head): Promise<Answer> {
  const text = await new Promise<string>((resolve, reject) => {
    let got = ''
    body.setEncoding('utf8').on('data', chunk => (got += chunk))
    body.on('error', reject).on('end', () => (isWhole(body) ? resolve(got) : reject(new Error('cut'))))
    body.on('close', () => reject(new Error('cut')))
  })
  // A path of a kind that is not defined yet is answered in plain text.
  return { status, json: text.startsWith('{') ? JSON.parse(text) : undefined }
}

function streamOf({ status, body }: Head, onLine: (line: string) => void, close: () => void): StreamAnswer {
  let rest = ''
  body.setEncoding('utf8').on('data', chunk => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) onLine(line)
  })
  const ended = new Promise<'ended' | 'cut'>(resolve => {
    body.on('end', () => resolve(isWhole(body) ? 'ended' : 'cut'))
    body.on('error', () => resolve('cut')).on('close', () => resolve('cut'))
  })
  return { status, stream: { ended, close, read: on => (on ? body.resume() : body.pause()) } }
}

class Http1Connection implements Connection {
  readonly #target: Target
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(target: Target) {
    this.#target = target
  }

  async call(sent: Request): Promise<Answer> {
    return answerOf((await this.#begin(sent, this.#agent)).head)
  }

  async stream(path: string, onLine: (line: string) => void): Promise<StreamAnswer> {
    const { head, destroy } = await this.#begin({ method: 'GET', path }, false)
    return streamOf(head, onLine, destroy)
  }

  close(): void {
    this.#agent.destroy()
  }

  #begin({ method, path, body, type = 'application/json' }: Request, agent: Agent | false): Promise<{ head: Head; destroy: () => void }> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const headers = bytes ? { 'content-type': type, 'content-length': String(bytes.length) } : {}
    return new Promise((resolve, reject) => {
      const options = withContext({ method, path, headers, agent, ...this.#target.credentials })
      const outgoing = request(new URL(this.#target.url), options, incoming =>
        resolve({ head: { status: incoming.statusCode!, body: incoming }, destroy: () => outgoing.destroy() }),
      )
      outgoing.on('error', reject)
      outgoing.end(bytes)
    })
  }
}

/** Node delays the end of a stream until received data is read, so it is read. */
function leave(stream: ClientHttp2Stream): void {
  stream.resume()
  stream.close()
}

const PING_MS = 5_000

/**
 * Ends a connection that does not answer pings, as clients in Go do. Node 20 does not always notice that a connection was reset: it has
 * stopped to read it then, and its streams would never end.
 */
function endWhenSilent(session: ClientHttp2Session): void {
  let isAnswered = true
  const timer = setInterval(() => {
    if (session.connecting) return
    if (session.destroyed) return clearInterval(timer)
    if (!isAnswered) return session.destroy()
    isAnswered = false
    session.ping(() => (isAnswered = true))
  }, PING_MS)
  session.on('close', () => clearInterval(timer))
}

class Http2Connection implements Connection {
  readonly #target: Target
  #session: ClientHttp2Session | undefined

  constructor(target: Target) {
    this.#target = target
  }

  async call(sent: Request): Promise<Answer> {
    return answerOf((await this.#begin(sent)).head)
  }

  async stream(path: string, onLine: (line: string) => void): Promise<StreamAnswer> {
    const { head, destroy } = await this.#begin({ method: 'GET', path })
    return streamOf(head, onLine, destroy)
  }

  close(): void {
    this.#session?.destroy()
  }

  #begin({ method, path, body, type = 'application/json' }: Request): Promise<{ head: Head; destroy: () => void }> {
    const headers = { ':method': method, ':path': path, ...(body !== undefined && { 'content-type': type }) }
    return new Promise((resolve, reject) => {
      const stream = this.#open().request(headers, { endStream: body === undefined })
      stream.on('response', ({ ':status': status }) => resolve({ head: { status: status!, body: stream }, destroy: () => leave(stream) }))
      stream.on('error', reject).on('close', () => reject(new Error('cut')))
      if (body !== undefined) stream.end(JSON.stringify(body))
    })
  }

  #open(): ClientHttp2Session {
    if (this.#session && !this.#session.closed && !this.#session.destroyed) return this.#session
    const session = connect(this.#target.url, withContext(this.#target.credentials))
    const forget = () => {
      if (this.#session === session) this.#session = undefined
    }
    // Errors reach the streams, each of which reports to its caller.
    session.on('error', forget).on('close', forget).on('goaway', forget)
    endWhenSilent(session)
    return (this.#session = session)
  }
}
