/** HTTP/2 at as little cost as `raw-client.ts` has for HTTP/1.1: frames are made beforehand, of answers only the status is read. */
import type { TLSSocket } from 'node:tls'
import { type Connection, type Protocol, secureSocket, type Target } from './raw-client.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const FRAME_HEAD = 9
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const
const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const
const SETTING = { enablePush: 2, initialWindowSize: 4 } as const
const MAX_WINDOW = 2 ** 31 - 1
const FIRST_WINDOW = 65_535
/** Servers allow more; kube-apiserver allows 100. */
const STREAMS_PER_CONNECTION = 64
/** No server has to accept larger frames. */
const MAX_DATA_BYTES = 16_384

export const HTTP2: Protocol = {
  name: 'HTTP/2',
  request(method, path, body, type = 'application/json') {
    const common = [
      `:method`,
      method,
      ':scheme',
      'https',
      ':authority',
      'bench',
      ':path',
      path,
      'user-agent',
      'bench/1',
      'accept',
      'application/json',
    ]
    if (body === undefined) return frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, headerBlock(common))
    const bytes = Buffer.from(body)
    if (bytes.length > MAX_DATA_BYTES) throw new Error(`a body of ${bytes.length} bytes does not fit into one frame`)
    const headers = [...common, 'content-type', type, 'content-length', String(bytes.length)]
    return Buffer.concat([frame(FRAME.headers, FLAG.endHeaders, headerBlock(headers)), frame(FRAME.data, FLAG.endStream, bytes)])
  },
  async lanes(target, count) {
    const connections: Connection[] = []
    for (let left = count; left > 0; left -= STREAMS_PER_CONNECTION) {
      const session = await Session.open(target)
      const lanes = Math.min(left, STREAMS_PER_CONNECTION)
      for (let i = 0; i < lanes; i++) connections.push({ send: request => session.send(request), close: () => session.close() })
    }
    return connections
  },
  async stream(target, { count, request, onData }) {
    const sessions: Session[] = []
    for (let left = count; left > 0; left -= STREAMS_PER_CONNECTION) {
      const session = await Session.open(target)
      sessions.push(session)
      await Promise.all(Array.from({ length: Math.min(left, STREAMS_PER_CONNECTION) }, () => session.stream(request, onData())))
    }
    return () => {
      for (const session of sessions) session.close()
    }
  },
}

type Data = { readonly stream: number; readonly flags: number; left: number }

/** A pending stream: waits for its end, or for its head and then its data. */
type Waiting = {
  readonly resolve: (status: number) => void
  readonly reject: (error: Error) => void
  readonly onData?: (chunk: Buffer) => void
  status: number
}

class Session {
  readonly #socket: TLSSocket
  readonly #waiting = new Map<number, Waiting>()
  readonly #statuses = new Statuses()
  #nextStream = 1
  /** Bytes that may be sent and are left to receive before the window is renewed. */
  #sendWindow = FIRST_WINDOW
  #received = 0
  #unsent: { readonly bytes: Buffer; readonly data: number }[] = []
  /** The received part of a frame; frames other than data are handled whole. */
  #partial: Buffer | undefined
  /** The stream of a data frame, and its remaining bytes. */
  #data: Data | undefined

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', chunk => this.#take(chunk))
    socket.on('close', () => this.#fail('the server closed the connection'))
    const settings = Buffer.alloc(12)
    settings.writeUInt16BE(SETTING.enablePush, 0)
    settings.writeUInt16BE(SETTING.initialWindowSize, 6)
    settings.writeUInt32BE(MAX_WINDOW, 8)
    socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, settings), windowUpdate(MAX_WINDOW - FIRST_WINDOW)]))
  }

  static async open(target: Target): Promise<Session> {
    return new Session(await secureSocket(target, 'h2'))
  }

  /** The status of the answer, once all of it has come. */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => this.#begin(request, { resolve, reject, status: 0 }))
  }

  /** The status of the answer, as soon as its head has come. */
  stream(request: Buffer, onData: (chunk: Buffer) => void): Promise<number> {
    return new Promise((resolve, reject) => this.#begin(request, { resolve, reject, onData, status: 0 }))
  }

  close(): void {
    this.#socket.destroy()
  }

  #begin(request: Buffer, waiting: Waiting): void {
    if (this.#socket.destroyed) return void waiting.reject(new Error('the server closed the connection'))
    const id = this.#nextStream
    this.#nextStream += 2
    this.#waiting.set(id, waiting)
    const bytes = Buffer.from(request)
    let data = 0
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUIntBE(at, 3)
      if (bytes[at + 3] === FRAME.data) data += length
      bytes.writeUInt32BE(id, at + 5)
      at += FRAME_HEAD + length
    }
    this.#unsent.push({ bytes, data })
    this.#flush()
  }

  /** Sends what the window of the server has room for; only data counts. */
  #flush(): void {
    while (this.#unsent.length > 0 && this.#unsent[0]!.data <= this.#sendWindow) {
      const { bytes, data } = this.#unsent.shift()!
      this.#sendWindow -= data
      this.#socket.write(bytes)
    }
  }

  #take(chunk: Buffer): void {
    let rest = this.#partial === undefined ? chunk : Buffer.concat([this.#partial, chunk])
    this.#partial = undefined
    while (rest.length > 0) {
      if (this.#data !== undefined) {
        rest = this.#takeData(this.#data, rest)
        continue
      }
      if (rest.length < FRAME_HEAD) break
      const [length, type, flags, stream] = [rest.readUIntBE(0, 3), rest[3]!, rest[4]!, rest.readUInt32BE(5)]
      if (type === FRAME.data) {
        this.#data = { stream, flags, left: length }
        rest = this.#takeData(this.#data, rest.subarray(FRAME_HEAD))
        continue
      }
      if (rest.length < FRAME_HEAD + length) break
      this.#frame(type, flags, stream, rest.subarray(FRAME_HEAD, FRAME_HEAD + length))
      rest = rest.subarray(FRAME_HEAD + length)
    }
    if (rest.length > 0) this.#partial = rest
  }

  #takeData(data: Data, bytes: Buffer): Buffer {
    const part = bytes.subarray(0, data.left)
    data.left -= part.length
    this.#received += part.length
    if (this.#received > MAX_WINDOW / 2) {
      this.#socket.write(windowUpdate(this.#received))
      this.#received = 0
    }
    this.#waiting.get(data.stream)?.onData?.(part)
    if (data.left === 0) {
      this.#data = undefined
      if (data.flags & FLAG.endStream) this.#end(data.stream)
    }
    return bytes.subarray(part.length)
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === FRAME.headers) {
      if (!(flags & FLAG.endHeaders) || flags & (FLAG.padded | FLAG.priority)) throw new Error('a head in a form that is not read here')
      const status = this.#statuses.read(payload)
      const waiting = this.#waiting.get(stream)
      if (waiting !== undefined && waiting.status === 0) waiting.status = status
      if (waiting?.onData !== undefined) waiting.resolve(status)
      if (flags & FLAG.endStream) this.#end(stream)
    } else if (type === FRAME.settings && !(flags & FLAG.ack)) this.#socket.write(frame(FRAME.settings, FLAG.ack, Buffer.alloc(0)))
    else if (type === FRAME.ping && !(flags & FLAG.ack)) this.#socket.write(frame(FRAME.ping, FLAG.ack, payload))
    else if (type === FRAME.windowUpdate && stream === 0) {
      this.#sendWindow += payload.readUInt32BE(0)
      this.#flush()
    } else if (type === FRAME.reset) this.#waiting.get(stream)?.reject(new Error(`the stream was reset: ${payload.readUInt32BE(0)}`))
    else if (type === FRAME.goAway) this.#fail(`the server ends the connection: ${payload.subarray(4).toString('latin1')}`)
  }

  #end(stream: number): void {
    const waiting = this.#waiting.get(stream)
    this.#waiting.delete(stream)
    waiting?.resolve(waiting.status)
  }

  #fail(why: string): void {
    for (const { reject } of this.#waiting.values()) reject(new Error(why))
    this.#waiting.clear()
  }
}

/** A frame of the stream that its bytes 5 to 8 are set to later. */
function frame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  return Buffer.concat([head, payload])
}

function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(bytes)
  return frame(FRAME.windowUpdate, 0, payload)
}

/**
 * Names and values in turn as HPACK writes them without any table. A client that keeps a table sends fewer bytes; reading them costs a
 * server about as much.
 */
function headerBlock(headers: readonly string[]): Buffer {
  const parts: Buffer[] = []
  for (let i = 0; i < headers.length; i += 2) parts.push(Buffer.of(0), text(headers[i]!), text(headers[i + 1]!))
  return Buffer.concat(parts)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const length = [127]
  let left = bytes.length - 127
  for (; left >= 128; left >>= 7) length.push((left & 127) | 128)
  return Buffer.concat([Buffer.of(...length, left), bytes])
}

const STATIC_ENTRIES = 61
const STATIC_STATUSES = [200, 204, 206, 304, 400, 404, 500]
const FIRST_STATUS = 8
/** No table of the usual 4,096 bytes holds more, as each entry counts 32 bytes and its text. */
const MAX_ENTRIES = 128

/** Finds the status in heads that HPACK encodes. It keeps the status of each entry of the server's table. */
class Statuses {
  /** The status of each entry, or 0; the newest first. Old entries that the server has dropped make no difference. */
  #table: number[] = []

  read(block: Buffer): number {
    let status = 0
    let at = 0
    const integer = (bits: number): number => {
      const most = (1 << bits) - 1
      let value = block[at++]! & most
      if (value < most) return value
      for (let shift = 0; ; shift += 7) {
        const byte = block[at++]
        if (byte === undefined) throw new Error('a head that ends too early')
        value += (byte & 127) << shift
        if (byte < 128) return value
      }
    }
    const string = (): readonly [bytes: Buffer, isHuffman: boolean] => {
      const isHuffman = block[at]! >= 128
      const length = integer(7)
      at += length
      return [block.subarray(at - length, at), isHuffman]
    }
    while (at < block.length) {
      const first = block[at]!
      if (first >= 128) {
        const found = this.#entry(integer(7))
        status ||= found
      } else if (first >= 64 || first < 32) {
        const index = integer(first >= 64 ? 6 : 4)
        if (index === 0) string()
        const [bytes, isHuffman] = string()
        const own = this.#isStatus(index) ? numberOf(bytes, isHuffman) : 0
        status ||= own
        if (first >= 64) this.#table.unshift(own)
        if (this.#table.length > MAX_ENTRIES) this.#table.pop()
      } else integer(5)
    }
    return status
  }

  #entry(index: number): number {
    return index > STATIC_ENTRIES ? (this.#table[index - STATIC_ENTRIES - 1] ?? 0) : (STATIC_STATUSES[index - FIRST_STATUS] ?? 0)
  }

  #isStatus(index: number): boolean {
    return this.#entry(index) !== 0
  }
}

/** A number of three digits. Huffman's codes: five bits for 0, 1 and 2, six for the others. */
function numberOf(bytes: Buffer, isHuffman: boolean): number {
  if (!isHuffman) return Number(bytes.toString('latin1'))
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  let digits = ''
  for (let at = 0; digits.length < 3; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2)
    digits += short < 3 ? short : Number.parseInt(bits.slice(at, at + 6), 2) - 22
    at += short < 3 ? 5 : 6
  }
  return Number(digits)
}
