/** Writes HTTP/1.1 responses directly to the socket, without Node's streams. Only for requests that have been read to their end. */
import { STATUS_CODES } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { LIMITS } from '../../lib/limits.ts'
import type { Outlet, Response, ResponseHeaders } from '../message.ts'

/** The head of a response, with the empty line behind it. Throws for a value that would break the framing. */
export function headOf({ status, headers }: Pick<Response, 'status' | 'headers'>, framing: string, isLast: boolean): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (typeof value === 'string') head += line(name, value)
    else for (const one of value) head += line(name, one)
  }
  head += framing
  if (headers['date'] === undefined) head += dateLine()
  return head + (isLast ? LAST : KEPT)
}

const INVALID = /[^\t\x20-\x7e\x80-\xff]/
const LAST = 'Connection: close\r\n\r\n'
const KEPT = `Connection: keep-alive\r\nKeep-Alive: timeout=${LIMITS.idleMs / 1000}\r\n\r\n`

function line(name: string, value: string): string {
  if (INVALID.test(value)) throw new Error(`the header ${name} has a character that cannot be sent`)
  return `${name}: ${value}\r\n`
}

let dateText = ''
let dateSecond = -1

function dateLine(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = `Date: ${new Date(second * 1000).toUTCString()}\r\n`
  }
  return dateText
}

/** Whether a response of this status has content. */
const hasContent = (status: number): boolean => status >= 200 && status !== 204 && status !== 304

/** The Content-Length line. */
export function lengthLine({ status, headers }: Pick<Response, 'status' | 'headers'>, bytes: number): string {
  return headers['content-length'] === undefined && hasContent(status) ? `content-length: ${bytes}\r\n` : ''
}

/** Writes head and content of a small response in one write, and so in one TLS record. False when the socket's buffer is full. */
export function writeAtOnce(socket: TLSSocket, head: string, body: Uint8Array): boolean {
  const bytes = Buffer.allocUnsafe(head.length + body.byteLength)
  bytes.write(head, 0, 'latin1')
  bytes.set(body, head.length)
  return socket.write(bytes)
}

const NO_CONTENT = 'none'
const CHUNKED = 'chunked'

/** The framing of a streamed response: its length, chunks, or no content. */
type Framing = number | typeof CHUNKED | typeof NO_CONTENT

export function framingOf({ status, headers }: { readonly status: number; readonly headers: ResponseHeaders }, length?: number): Framing {
  if (!hasContent(status)) return NO_CONTENT
  const given = headers['content-length']
  if (given !== undefined) return Number(given)
  return length ?? CHUNKED
}

export const framingLine = (framing: Framing, { 'content-length': given }: ResponseHeaders): string => {
  if (framing === CHUNKED) return 'Transfer-Encoding: chunked\r\n'
  return framing === NO_CONTENT || given !== undefined ? '' : `content-length: ${framing}\r\n`
}

/** The outlet of a response that is written in parts. `done` is called once all of it has been written. */
export class DirectOutlet implements Outlet {
  readonly #socket: TLSSocket
  readonly #framing: Framing
  readonly #done: () => void
  #onClose: (() => void)[] = []
  #sent = 0
  #unwritten = 0
  #isEnded = false
  #isClosed = false

  constructor(socket: TLSSocket, framing: Framing, done: () => void) {
    this.#socket = socket
    this.#framing = framing
    this.#done = done
  }

  get writableLength(): number {
    return this.#socket.writableLength
  }
  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain
  }

  write(bytes: Uint8Array, taken?: () => void): boolean {
    if (this.#isEnded || this.#socket.destroyed) return false
    // An empty chunk would be the last.
    if (bytes.byteLength === 0 || this.#framing === NO_CONTENT) {
      if (taken) process.nextTick(taken)
      return !this.writableNeedDrain
    }
    this.#sent += bytes.byteLength
    if (typeof this.#framing === 'number' && this.#sent > this.#framing) {
      this.destroy()
      return false
    }
    this.#unwritten++
    const written = () => {
      this.#unwritten--
      taken?.()
      if (this.#isEnded && this.#unwritten === 0) this.#finish()
    }
    return this.#framing === CHUNKED ? this.#writeChunk(bytes, written) : this.#socket.write(bytes, written)
  }

  #writeChunk(bytes: Uint8Array, written: () => void): boolean {
    const size = `${bytes.byteLength.toString(16)}\r\n`
    if (bytes.byteLength <= LIMITS.smallBytes) {
      const chunk = Buffer.allocUnsafe(size.length + bytes.byteLength + 2)
      chunk.write(size, 0, 'latin1')
      chunk.set(bytes, size.length)
      chunk.write('\r\n', size.length + bytes.byteLength, 'latin1')
      return this.#socket.write(chunk, written)
    }
    this.#socket.cork()
    this.#socket.write(size, 'latin1')
    this.#socket.write(bytes)
    const wantsMore = this.#socket.write('\r\n', 'latin1', written)
    this.#socket.uncork()
    return wantsMore
  }

  end(): void {
    if (this.#isEnded || this.#socket.destroyed) return
    this.#isEnded = true
    // Less than announced: the client must not wait for the rest, nor take the next response for it.
    if (typeof this.#framing === 'number' && this.#sent < this.#framing) return void this.destroy()
    if (this.#framing === CHUNKED) {
      this.#unwritten++
      this.#socket.write('0\r\n\r\n', 'latin1', () => {
        this.#unwritten--
        this.#finish()
      })
    } else if (this.#unwritten === 0) process.nextTick(() => this.#finish())
  }

  destroy(): void {
    this.#socket.destroy()
  }

  once(event: 'drain' | 'close' | 'finish', listener: () => void): void {
    if (event === 'drain') this.#socket.once('drain', listener)
    else if (this.#isClosed) process.nextTick(listener)
    else this.#onClose.push(listener)
  }

  /** The client has received all of it, or has disconnected. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const listeners = this.#onClose
    this.#onClose = []
    for (const listener of listeners) listener()
  }

  #finish(): void {
    if (this.#isClosed || this.#socket.destroyed) return
    this.close()
    this.#done()
  }
}
