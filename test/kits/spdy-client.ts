/** A client of SPDY/3.1 for tests of exec and port-forward: opens streams, and collects the data of each. */
import { request as httpsRequest } from 'node:https'
import type { Duplex } from 'node:stream'
import { constants, createDeflate } from 'node:zlib'
import { DICTIONARY } from '../../src/transport/spdy/dictionary.ts'
import type { Target } from '../kit.ts'

export type Upgraded = { readonly socket: Duplex; readonly headers: Readonly<Record<string, string | string[] | undefined>> }

/** The connection after 101, or the status and the text of any other answer. */
export function upgradeToSpdy(
  { url, credentials }: Target,
  path: string,
  protocols: readonly string[],
): Promise<Upgraded | { readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': [...protocols] }
    const request = httpsRequest(url + path, { method: 'POST', headers, ...credentials, agent: false })
    request.on('upgrade', (message, socket) => resolve({ socket, headers: message.headers }))
    request.on('response', message => {
      let text = ''
      message.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      message.on('end', () => resolve({ status: message.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end()
  })
}

export class SpdyClient {
  readonly #socket: Duplex
  readonly #deflate = createDeflate({ dictionary: DICTIONARY })
  #next = 1
  #rest = Buffer.alloc(0)
  /** Data by stream. */
  readonly received = new Map<number, string>()
  readonly replied = new Set<number>()
  readonly finished = new Set<number>()
  readonly reset = new Set<number>()
  readonly pings: number[] = []
  readonly ended: Promise<void>

  constructor(socket: Duplex) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', () => {})
    this.ended = new Promise(resolve => void socket.once('close', resolve))
    socket.once('end', () => socket.end())
  }

  async open(headers: Readonly<Record<string, string>>): Promise<number> {
    const id = this.#next
    this.#next += 2
    const text = (value: string) => [numberOf(value.length), Buffer.from(value)]
    const entries = Object.entries(headers)
    const block = await this.#compressed(
      Buffer.concat([numberOf(entries.length), ...entries.flatMap(([k, v]) => [...text(k), ...text(v)])]),
    )
    this.#socket.write(frame(1, Buffer.concat([numberOf(id), numberOf(0), Buffer.alloc(2), block])))
    return id
  }

  send(stream: number, data: string, isLast = false): void {
    const bytes = Buffer.from(data)
    const head = Buffer.concat([numberOf(stream), numberOf(bytes.length)])
    head[4] = isLast ? 1 : 0
    this.#socket.write(Buffer.concat([head, bytes]))
  }

  ping(id: number): void {
    this.#socket.write(frame(6, numberOf(id)))
  }

  #compressed(bytes: Buffer): Promise<Buffer> {
    return new Promise(resolve => {
      const pieces: Buffer[] = []
      const take = (piece: Buffer) => void pieces.push(piece)
      this.#deflate.on('data', take)
      this.#deflate.write(bytes)
      this.#deflate.flush(constants.Z_SYNC_FLUSH, () => {
        this.#deflate.off('data', take)
        resolve(Buffer.concat(pieces))
      })
    })
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= 8) {
      const length = this.#rest.readUIntBE(5, 3)
      if (this.#rest.length < 8 + length) return
      const head = this.#rest.subarray(0, 8)
      const body = this.#rest.subarray(8, 8 + length)
      this.#rest = this.#rest.subarray(8 + length)
      if ((head[0]! & 0x80) === 0) {
        const id = head.readUInt32BE(0)
        this.received.set(id, (this.received.get(id) ?? '') + body.toString())
        if (head[4] === 1) this.finished.add(id)
        continue
      }
      const type = head.readUInt16BE(2)
      if (type === 2) this.replied.add(body.readUInt32BE(0))
      if (type === 3) this.reset.add(body.readUInt32BE(0))
      if (type === 6) this.pings.push(body.readUInt32BE(0))
    }
  }
}

function numberOf(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const frame = (type: number, body: Buffer): Buffer => Buffer.concat([Buffer.from([0x80, 3, 0, type]), numberOf(body.length), body])
