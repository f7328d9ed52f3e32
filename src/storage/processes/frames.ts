/**
 * The messages between the processes of a family, over a Unix socket. A frame is
 *
 *     length of the rest 4 | type 1 | id of the request 4 | what the type needs
 *
 * with numbers in big-endian order, and revisions as doubles. Values go to the primary only: a follower reads those of others in the file.
 */
import type { Fence } from '../../lib/fence.ts'
import type { Change, Revision } from '../store.ts'

const TYPES = {
  // From a follower.
  hello: 1,
  opened: 2,
  swap: 3,
  compact: 4,
  probe: 5,
  // From the primary.
  open: 16,
  welcome: 17,
  made: 18,
  lost: 19,
  fenced: 20,
  done: 21,
  failed: 22,
  notice: 23,
  alarm: 24,
} as const

export type FrameType = keyof typeof TYPES
const NAMES = new Map<number, FrameType>(Object.entries(TYPES).map(([name, type]) => [type, name as FrameType]))

export type Frame = { readonly type: FrameType; readonly id: number; readonly body: Buffer }

const HEAD = 9
/** The largest frame: the largest object, with much room for its key and fences. */
const MAX_FRAME = 256 << 20

const HAS_VALUE = 1
const HAS_TTL = 2
const IS_ENDING = 4

/** A frame around a body, or around a text. */
export function encodeFrame(type: FrameType, id: number, body: Uint8Array | string = EMPTY): Buffer {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const frame = begin(type, id, length)
  if (typeof body === 'string') frame.write(body, HEAD)
  else frame.set(body, HEAD)
  return frame
}

const EMPTY = new Uint8Array()

function begin(type: FrameType, id: number, length: number): Buffer {
  const frame = Buffer.allocUnsafe(HEAD + length)
  frame.writeUInt32BE(HEAD - 4 + length, 0)
  frame[4] = TYPES[type]
  frame.writeUInt32BE(id, 5)
  return frame
}

export function encodeRevision(type: FrameType, id: number, revision: Revision): Buffer {
  const frame = begin(type, id, 8)
  frame.writeDoubleBE(revision, HEAD)
  return frame
}

export const decodeRevision = ({ body }: Frame): Revision => body.readDoubleBE(0)

type Sent = Pick<Change, 'expect' | 'ttlSeconds' | 'isEnding' | 'fences'> & { readonly value: Uint8Array | null }

/** `flags 1 | expect 8 | ttl 8 | fences 2, each: modified 8, length 2, key | length 2, key | value` */
export function encodeSwap(id: number, key: string, { expect, value, ttlSeconds, isEnding, fences = [] }: Sent): Buffer {
  const keys = [...fences.map(fence => fence.key), key].map(each => Buffer.byteLength(each))
  const length = 19 + 8 * fences.length + keys.reduce((sum, bytes) => sum + 2 + bytes, 0) + (value?.length ?? 0)
  const frame = begin('swap', id, length)
  let at = HEAD
  frame[at] = (value ? HAS_VALUE : 0) | (ttlSeconds !== undefined ? HAS_TTL : 0) | (isEnding ? IS_ENDING : 0)
  at = frame.writeDoubleBE(expect, at + 1)
  at = frame.writeDoubleBE(ttlSeconds ?? 0, at)
  at = frame.writeUInt16BE(fences.length, at)
  for (const [i, fence] of fences.entries()) {
    at = frame.writeDoubleBE(fence.modified, at)
    at = frame.writeUInt16BE(keys[i]!, at)
    at += frame.write(fence.key, at)
  }
  at = frame.writeUInt16BE(keys[fences.length]!, at)
  at += frame.write(key, at)
  if (value) frame.set(value, at)
  return frame
}

/** The value is a copy: it outlives the memory that it has arrived in. */
export function decodeSwap({ body }: Frame): { readonly key: string; readonly change: Change } {
  const flags = body[0]!
  const expect = body.readDoubleBE(1)
  const ttlSeconds = (flags & HAS_TTL) !== 0 ? body.readDoubleBE(9) : undefined
  let at = 19
  const text = () => {
    const start = at + 2
    at = start + body.readUInt16BE(at)
    return body.toString('utf8', start, at)
  }
  const fences: Fence[] = []
  for (let left = body.readUInt16BE(17); left > 0; left--) {
    const modified = body.readDoubleBE(at)
    at += 8
    fences.push({ key: text(), modified })
  }
  const key = text()
  const value = (flags & HAS_VALUE) !== 0 ? Buffer.from(body.subarray(at)) : null
  return { key, change: { expect, value, ttlSeconds, isEnding: (flags & IS_ENDING) !== 0, fences } }
}

/** Cuts what arrives into frames. Throws for what cannot be one. */
export class FrameReader {
  #chunks: Buffer[] = []
  #length = 0

  /** The frames that are complete now; their bodies are parts of the received bytes. */
  take(chunk: Buffer): Frame[] {
    const frames: Frame[] = []
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#needed()) return frames
    let rest = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    while (rest.length >= HEAD) {
      const end = 4 + checked(rest.readUInt32BE(0))
      if (rest.length < end) break
      const type = NAMES.get(rest[4]!)
      if (!type) throw new RangeError(`there is no frame of type ${rest[4]}`)
      frames.push({ type, id: rest.readUInt32BE(5), body: rest.subarray(HEAD, end) })
      rest = rest.subarray(end)
    }
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#length = rest.length
    return frames
  }

  /** Bytes until the first frame is complete, as far as is known: a large one is put together only once. */
  #needed(): number {
    const first = this.#chunks[0]!
    return first.length < 4 ? HEAD : 4 + checked(first.readUInt32BE(0))
  }
}

function checked(length: number): number {
  if (length < HEAD - 4 || length > MAX_FRAME) throw new RangeError(`no frame has ${length} bytes`)
  return length
}
