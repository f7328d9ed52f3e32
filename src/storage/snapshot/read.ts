/** Reads the file of a snapshot and checks every byte of it. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { crc32 } from '../../lib/crc32.ts'
import {
  Counting,
  FRAME,
  FRAME_START,
  HASH_BYTES,
  MAGIC,
  MAX_FRAME_BYTES,
  readRecord,
  SNAPSHOT_FORMAT,
  SnapshotError,
  type SnapshotHeader,
  type SnapshotRecord,
  type SnapshotSummary,
  SUM_BYTES,
} from './format.ts'

export type SnapshotPart =
  | { readonly type: 'header'; readonly header: SnapshotHeader }
  | { readonly type: 'record'; readonly record: SnapshotRecord }
  /** The last part: every byte before it has been checked. */
  | { readonly type: 'end'; readonly summary: SnapshotSummary; readonly hash: string; readonly bytes: number }

/**
 * The parts of a snapshot. Nothing may be done with its records that cannot be undone until the end has come: a damaged one, or one that is
 * cut short, throws SnapshotError there at the latest.
 */
export async function* readSnapshot(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SnapshotPart> {
  const bytes = new Bytes(chunks)
  try {
    yield* partsIn(bytes)
  } finally {
    await bytes.close()
  }
}

async function* partsIn(bytes: Bytes): AsyncGenerator<SnapshotPart> {
  const magic = await bytes.take(MAGIC.length)
  if (!magic?.equals(MAGIC)) throw new SnapshotError('is not a snapshot of Keelson')
  const hash = createHash('sha256').update(magic)
  const counting = new Counting()
  let header: SnapshotHeader | undefined
  let summary: SnapshotSummary | undefined
  let last = ''
  for (;;) {
    const { type, payload, whole } = await nextFrame(bytes)
    if (type === FRAME.failure) throw new SnapshotError(`was given up: ${jsonIn<{ message: string }>(payload).message}`)
    if (type === FRAME.header && !header) {
      header = readHeader(payload)
      yield { type: 'header', header }
    } else if (type === FRAME.record && header && !summary) {
      const record = readRecord(payload)
      if (Buffer.compare(Buffer.from(last), Buffer.from(record.key)) >= 0) throw damaged('its records are not in order')
      if (!(record.modified >= 1 && record.modified <= header.revision && record.created <= record.modified))
        throw damaged(`${record.key} has a revision that cannot be`)
      last = record.key
      counting.add(record)
      yield { type: 'record', record }
    } else if (type === FRAME.summary && header && !summary) {
      summary = jsonIn<SnapshotSummary>(payload)
      if (!isDeepStrictEqual(summary, counting.summary) || summary.records !== header.records)
        throw damaged('it does not hold the records that it says')
    } else if (type === FRAME.end && summary) {
      const digest = hash.digest()
      if (payload.length !== HASH_BYTES || !digest.equals(payload)) throw damaged('its hash does not match')
      if (await bytes.take(1)) throw damaged('something follows its end')
      yield { type: 'end', summary, hash: digest.toString('hex'), bytes: bytes.taken }
      return
    } else throw damaged('its parts are not in order')
    hash.update(whole)
  }
}

const damaged = (why: string) => new SnapshotError(`is damaged: ${why}`)

type Frame = { readonly type: number; readonly payload: Buffer; readonly whole: Buffer }

async function nextFrame(bytes: Bytes): Promise<Frame> {
  const start = await bytes.peek(FRAME_START)
  if (!start) throw new SnapshotError('is cut short')
  const length = start.readUInt32BE(1)
  if (length > MAX_FRAME_BYTES) throw damaged('a part is longer than any can be')
  const whole = await bytes.take(FRAME_START + length + SUM_BYTES)
  if (!whole) throw new SnapshotError('is cut short')
  const end = FRAME_START + length
  if (crc32(whole.subarray(0, end)) !== whole.readUInt32BE(end)) throw damaged('a part does not match its checksum')
  return { type: whole[0]!, payload: whole.subarray(FRAME_START, end), whole }
}

function readHeader(payload: Buffer): SnapshotHeader {
  const header = jsonIn<SnapshotHeader>(payload)
  if (Number.isSafeInteger(header.format) && header.format > SNAPSHOT_FORMAT)
    throw new SnapshotError(`has format ${header.format}, this release reads up to ${SNAPSHOT_FORMAT}: use the release that wrote it`)
  if (header.format !== SNAPSHOT_FORMAT || !Number.isSafeInteger(header.revision) || Number.isNaN(Date.parse(header.time)))
    throw damaged('its header says nothing that makes sense')
  return header
}

function jsonIn<T extends object>(payload: Buffer): T {
  try {
    return JSON.parse(payload.toString()) as T
  } catch {
    throw damaged('a part is no JSON')
  }
}

/** Chunks of any size, read in pieces of a given size. */
class Bytes {
  readonly #chunks: AsyncIterator<Uint8Array>
  #held: Buffer = Buffer.alloc(0)
  /** The number of bytes that were taken. */
  taken = 0

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next bytes, which stay; undefined where there are fewer. */
  async peek(count: number): Promise<Buffer | undefined> {
    const more = [this.#held]
    let length = this.#held.length
    while (length < count) {
      const { value, done } = await this.#chunks.next()
      if (done) break
      more.push(Buffer.from(value))
      length += value.length
    }
    if (more.length > 1) this.#held = Buffer.concat(more)
    return length < count ? undefined : this.#held.subarray(0, count)
  }

  /** Gives up what has not been read. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async take(count: number): Promise<Buffer | undefined> {
    const bytes = await this.peek(count)
    if (!bytes) return undefined
    this.#held = this.#held.subarray(count)
    this.taken += count
    return bytes
  }
}
