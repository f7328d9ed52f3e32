/** Watches over HTTP/2, HTTP/1.1 and WebSocket, in every representation, recorded as short lines such as `ADDED a@7`. */
import { type ClientHttp2Session, connect } from 'node:http2'
import { request } from 'node:https'
import type { Readable } from 'node:stream'
import { PATIENCE_MS, type Scope, type Target } from './kit.ts'
import { withContext } from './kits/tls-context.ts'

export const ACCEPT = {
  json: 'application/json',
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  protobuf: 'application/vnd.kubernetes.protobuf',
  protobufMetadata: 'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
} as const
export type Representation = keyof typeof ACCEPT

/** The events of a watch so far, in order. */
export class Transcript {
  readonly lines: string[] = []
  readonly #label: string
  readonly #source: Readable
  #wake: () => void = () => {}
  #ended = false

  constructor(source: Readable, { label, split }: { label: string; split: (bytes: Buffer) => { events: string[]; rest: Buffer } }) {
    this.#label = label
    this.#source = source
    let bytes: Buffer = Buffer.alloc(0)
    source.on('data', chunk => {
      const { events, rest } = split(Buffer.concat([bytes, chunk]))
      bytes = rest
      this.lines.push(...events)
      this.#wake()
    })
    const end = () => {
      this.#ended = true
      this.#wake()
    }
    source.on('end', end).on('close', end).on('error', end)
  }

  /** Waits until all of these were sent, each the beginning of a line. */
  async until(...lines: readonly string[]): Promise<readonly string[]> {
    const missing = () => lines.filter(line => !this.lines.some(sent => sent.startsWith(line)))
    while (missing().length > 0) {
      if (this.#ended) throw new Error(`${this.#label} ended without ${missing()} after ${this.lines}`)
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve
        timer = setTimeout(() => reject(new Error(`${this.#label} did not send ${missing()}, only ${this.lines}`)), PATIENCE_MS / 10)
      }).finally(() => clearTimeout(timer))
    }
    return this.lines
  }

  /** Disconnects. */
  close(): void {
    this.#source.destroy()
  }

  /** Waits for the end of the stream. */
  async end(): Promise<readonly string[]> {
    while (!this.#ended) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.lines
  }
}

/** One HTTP/2 connection of the admin. */
export function openSession(t: Scope, { url, credentials }: Target): ClientHttp2Session {
  const session = connect(url, credentials)
  t.after(() => session.destroy())
  return session
}

export type Reply = { readonly status: number; readonly type: string; readonly warning: string; readonly body: Buffer; readonly json: any }
export type Question = { readonly method?: string; readonly body?: unknown; readonly accept?: string; readonly type?: string }

/** One request over HTTP/2. */
export function over(session: ClientHttp2Session, path: string, { method = 'GET', body, accept, type }: Question = {}): Promise<Reply> {
  const stream = session.request({
    ':method': method,
    ':path': path,
    ...(accept && { accept }),
    ...(body !== undefined && { 'content-type': type ?? 'application/json' }),
  })
  stream.end(body === undefined ? undefined : JSON.stringify(body))
  return new Promise((resolve, reject) => {
    let headers: Record<string, unknown> = {}
    const chunks: Buffer[] = []
    stream.on('response', received => (headers = received))
    stream.on('data', chunk => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('end', () => {
      const body = Buffer.concat(chunks)
      const type = String(headers['content-type'] ?? '')
      let parsed: { readonly json: any } | undefined
      resolve({
        status: Number(headers[':status']),
        type,
        warning: String(headers['warning'] ?? ''),
        body,
        // Some tests read large answers of which only the status matters.
        get json() {
          parsed ??= { json: type === 'application/json' && body.length > 0 ? JSON.parse(body.toString()) : undefined }
          return parsed.json
        },
      })
    })
  })
}

/** Opens a watch over HTTP/2; resolves with the head of the response. */
export function watchOver(session: ClientHttp2Session, path: string, representation: Representation = 'json'): Promise<Transcript> {
  const stream = session.request({ ':path': path, accept: ACCEPT[representation] })
  const transcript = new Transcript(stream, {
    label: `${representation} ${path}`,
    split: representation.startsWith('protobuf') ? splitFrames : splitLines,
  })
  return new Promise((resolve, reject) => {
    stream.on('error', reject)
    stream.on('response', ({ ':status': status }) =>
      status === 200 ? resolve(transcript) : reject(new Error(`${path} was answered with ${status}`)),
    )
  })
}

/** Opens a watch over a connection of its own, as HTTP/1.1 chunks or WebSocket messages. */
export function watchAlone(t: Scope, { url, credentials }: Target, path: string, { webSocket = false } = {}): Promise<Transcript> {
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, url), withContext({ ...credentials, agent: false, headers: webSocket ? upgrade : {} }))
    t.after(() => outgoing.destroy())
    outgoing.on('error', reject)
    outgoing.on('upgrade', (_, socket) => {
      t.after(() => socket.destroy())
      resolve(new Transcript(socket, { label: `WebSocket ${path}`, split: bytes => splitMessages(bytes, () => socket.end()) }))
    })
    outgoing.on('response', answer => {
      if (answer.statusCode !== 200 || webSocket) reject(new Error(`${path} was answered with ${answer.statusCode}`))
      else resolve(new Transcript(answer, { label: `HTTP/1.1 ${path}`, split: splitLines }))
    })
    outgoing.end()
  })
}

function splitLines(bytes: Buffer): { events: string[]; rest: Buffer } {
  const end = bytes.lastIndexOf(0x0a) + 1
  const lines = bytes.subarray(0, end).toString().split('\n').filter(Boolean)
  return { events: lines.map(jsonEvent), rest: bytes.subarray(end) }
}

/** An object, a table of one row, or the metadata of an object. */
function jsonEvent(line: string): string {
  const { type, object } = JSON.parse(line)
  if (type === 'ERROR') return `ERROR ${object.reason}`
  const metadata = object.kind === 'Table' ? (object.rows[0].object?.metadata ?? object.metadata) : object.metadata
  const end = metadata.annotations?.['k8s.io/initial-events-end'] === 'true' ? ' end' : ''
  return `${type} ${metadata.name ?? ''}@${metadata.resourceVersion}${end}`
}

/** Messages of a server are whole and not masked. */
function splitMessages(bytes: Buffer, onClose: () => void): { events: string[]; rest: Buffer } {
  const events: string[] = []
  let at = 0
  while (bytes.length >= at + 2) {
    const short = bytes[at + 1]!
    const head = short < 126 ? 2 : short === 126 ? 4 : 10
    if (bytes.length < at + head) break
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
    if (bytes.length < at + head + length) break
    if (bytes[at] === 0x88) onClose()
    if (bytes[at] === 0x81) events.push(jsonEvent(bytes.subarray(at + head, at + head + length).toString()))
    at += head + length
  }
  return { events, rest: bytes.subarray(at) }
}

function splitFrames(bytes: Buffer): { events: string[]; rest: Buffer } {
  const events: string[] = []
  let at = 0
  while (bytes.length >= at + 4 && bytes.length >= at + 4 + bytes.readUInt32BE(at)) {
    const frame = bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at))
    at += 4 + frame.length
    const event = fieldsOf(frame)
    const object = fieldsOf(unwrapped(fieldsOf(event.get(2)!).get(1)!))
    const metadata = fieldsOf(object.get(1)!)
    const isError = event.get(1)!.toString() === 'ERROR'
    events.push(isError ? `ERROR ${object.get(4)}` : `${event.get(1)} ${metadata.get(1) ?? ''}@${metadata.get(6)}`)
  }
  return { events, rest: bytes.subarray(at) }
}

/** The content of the protobuf envelope, after `k8s\0` and the type. */
export const unwrapped = (bytes: Buffer): Buffer => fieldsOf(bytes.subarray(4)).get(2)!

/** The last value of each length-delimited field; numbers are skipped. */
export function fieldsOf(bytes: Buffer): Map<number, Buffer> {
  const fields = new Map<number, Buffer>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++]!
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const wire = tag & 7
    if (wire === 0) varint()
    else if (wire === 1) at += 8
    else if (wire === 5) at += 4
    else {
      const length = varint()
      fields.set(tag >> 3, bytes.subarray(at, at + length))
      at += length
    }
  }
  return fields
}
