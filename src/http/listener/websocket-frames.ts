/** Frames of the WebSocket protocol (RFC 6455): those a server sends, and a reader of those a client may send. */

export const TEXT = 0x1
export const BINARY = 0x2
export const CLOSE = 0x8
export const PING = 0x9
export const PONG = 0xa
const CONTINUATION = 0x0

/** Why a connection is closed. */
export const NORMAL = 1000
export const PROTOCOL_ERROR = 1002
export const TOO_BIG = 1009

const CONTROL_BYTES = 125
const MASK_BYTES = 4

/** The head of a whole, unmasked message of so many bytes. */
export function frameHead(opcode: number, length: number): Buffer {
  if (length <= CONTROL_BYTES) return Buffer.from([0x80 | opcode, length])
  if (length <= 0xffff) {
    const head = Buffer.from([0x80 | opcode, 126, 0, 0])
    head.writeUInt16BE(length, 2)
    return head
  }
  const head = Buffer.alloc(10)
  head[0] = 0x80 | opcode
  head[1] = 127
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

export const frameOf = (opcode: number, payload: Uint8Array): Buffer => Buffer.concat([frameHead(opcode, payload.byteLength), payload])

/** A close with its code. */
export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return frameOf(CLOSE, payload)
}

/** What a client's frames mean to a server that only sends. Messages are read past, not kept. */
export interface FrameEvents {
  ping(payload: Uint8Array): void
  /** The client is done, or did what it must not; nothing is read after it. */
  close(code: number): void
}

/** `size` is that of the head itself, whose last four bytes are the mask. */
type Head = { readonly opcode: number; readonly size: number; readonly length: number }

/** Reads frames from chunks of any size, in the memory of one control frame. */
export class FrameReader {
  readonly #events: FrameEvents
  readonly #messageBytes: number
  #pending: Buffer = Buffer.alloc(0)
  /** Bytes of a message that are still to be read past. */
  #skip = 0
  /** Whether a message was begun and not ended, and how long it is so far. */
  #open = false
  #message = 0
  #done = false

  constructor(events: FrameEvents, messageBytes: number) {
    this.#events = events
    this.#messageBytes = messageBytes
  }

  take(chunk: Buffer): void {
    let rest = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    while (!this.#done) {
      const past = Math.min(this.#skip, rest.length)
      this.#skip -= past
      rest = rest.subarray(past)
      const size = this.#next(rest)
      if (size === 0) break
      rest = rest.subarray(size)
    }
    // A copy: the rest is small, the chunk it is part of may not be.
    this.#pending = this.#done ? Buffer.alloc(0) : Buffer.from(rest)
  }

  /** Reads one frame, of a message its head alone; 0 when there is not enough yet. */
  #next(bytes: Buffer): number {
    const head = this.#head(bytes)
    if (head === undefined || this.#done) return 0
    const { opcode, size, length } = head
    if (opcode < CLOSE) {
      this.#skip = length
      return size
    }
    if (bytes.length < size + length) return 0
    const payload = Buffer.from(bytes.subarray(size, size + length))
    for (let i = 0; i < length; i++) payload[i]! ^= bytes[size - MASK_BYTES + (i % MASK_BYTES)]!
    if (opcode === PING) this.#events.ping(payload)
    if (opcode === CLOSE) this.#end(codeOf(payload))
    return size + length
  }

  #head(bytes: Buffer): Head | undefined {
    if (bytes.length < 2) return undefined
    const opcode = bytes[0]! & 0x0f
    const isFinal = (bytes[0]! & 0x80) !== 0
    const short = bytes[1]! & 0x7f
    if ((bytes[0]! & 0x70) !== 0 || (bytes[1]! & 0x80) === 0 || !this.#isExpected(opcode, isFinal, short)) return this.#end(PROTOCOL_ERROR)
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
    const size = 2 + lengthBytes + MASK_BYTES
    if (bytes.length < size) return undefined
    const length = lengthBytes === 0 ? short : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
    if (opcode < CLOSE) {
      this.#message = (opcode === CONTINUATION ? this.#message : 0) + length
      if (this.#message > this.#messageBytes) return this.#end(TOO_BIG)
      this.#open = !isFinal
    }
    return { opcode, size, length }
  }

  /** Control frames are short and whole; a continuation follows an open message and nothing else does. */
  #isExpected(opcode: number, isFinal: boolean, short: number): boolean {
    if (opcode >= CLOSE) return opcode <= PONG && isFinal && short <= CONTROL_BYTES
    return opcode <= BINARY && (opcode === CONTINUATION) === this.#open
  }

  #end(code: number): undefined {
    this.#done = true
    this.#events.close(code)
  }
}

/** The code a client closes with, to be sent back; what is no such code is an error of its own. */
function codeOf(payload: Buffer): number {
  if (payload.length === 0) return NORMAL
  if (payload.length === 1) return PROTOCOL_ERROR
  const code = payload.readUInt16BE()
  const isKnown = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999)
  return isKnown ? code : PROTOCOL_ERROR
}
