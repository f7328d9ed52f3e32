/**
 * The file of a snapshot: all records of a store at one revision.
 *
 *     magic 8 | header | record … record | summary | end
 *
 * Each part after the magic is a frame: type 1, length of the payload 4, payload, CRC-32 of all before 4. Header and summary are JSON. The
 * payload of a record is revision 8, created 8, length of the key 2, key, value. The end holds the SHA-256 of all bytes before its frame, so
 * that no frame can be missing, repeated or exchanged. A server that fails while it writes a snapshot ends it with the reason instead of
 * a summary. Numbers are big-endian.
 */
import { crc32 } from '../../lib/crc32.ts'
import { resourceOf } from '../resource-prefix.ts'
import type { Revision } from '../store.ts'

/** The layout that this release writes; later ones are refused. */
export const SNAPSHOT_FORMAT = 1
export const MAGIC = Buffer.from('keelsnap')

export const FRAME = { header: 1, record: 2, summary: 3, end: 4, failure: 5 } as const
export const FRAME_START = 5
export const SUM_BYTES = 4
export const HASH_BYTES = 32
const RECORD_START = 18
/** More than the largest record and the longest summary: a damaged length must not make the reader take all memory. */
export const MAX_FRAME_BYTES = 64 << 20

export type SnapshotHeader = {
  readonly format: number
  /** The revision at which all records were read. */
  readonly revision: Revision
  /** The time at which that was, in RFC 3339. */
  readonly time: string
  /** The program that wrote it. */
  readonly writtenBy: string
  /** The uid of the cluster, where it is known. */
  readonly cluster: string
  readonly groupDomain: string
  /** The number of records. */
  readonly records: number
}

export type SnapshotRecord = {
  readonly key: string
  readonly value: Uint8Array
  readonly created: Revision
  readonly modified: Revision
}

/** Records and bytes of values. */
export type Amount = { readonly records: number; readonly bytes: number }

export type SnapshotSummary = Amount & {
  /** The amounts by the beginning of their keys: `/core/pods/`. */
  readonly resources: Readonly<Record<string, Amount>>
}

/** Thrown for a file that is no snapshot, is damaged or cut short, or is of a later release. Its message begins with a verb. */
export class SnapshotError extends Error {}

/** Counts records by resource. */
export class Counting {
  #records = 0
  #bytes = 0
  readonly #resources = new Map<string, { records: number; bytes: number }>()

  add({ key, value }: Pick<SnapshotRecord, 'key' | 'value'>): void {
    const resource = resourceOf(key)
    const amount = this.#resources.get(resource) ?? { records: 0, bytes: 0 }
    amount.records++
    amount.bytes += value.length
    this.#resources.set(resource, amount)
    this.#records++
    this.#bytes += value.length
  }

  get summary(): SnapshotSummary {
    const resources = Object.fromEntries([...this.#resources].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { records: this.#records, bytes: this.#bytes, resources }
  }
}

export function frame(type: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_START + payload.length + SUM_BYTES)
  bytes[0] = type
  bytes.writeUInt32BE(payload.length, 1)
  bytes.set(payload, FRAME_START)
  return sealed(bytes)
}

export const jsonFrame = (type: number, value: object): Buffer => frame(type, Buffer.from(JSON.stringify(value)))

export function recordFrame({ key, value, created, modified }: SnapshotRecord): Buffer {
  const keyBytes = Buffer.byteLength(key)
  const length = RECORD_START + keyBytes + value.length
  const bytes = Buffer.allocUnsafe(FRAME_START + length + SUM_BYTES)
  bytes[0] = FRAME.record
  bytes.writeUInt32BE(length, 1)
  writeInteger(bytes, modified, FRAME_START)
  writeInteger(bytes, created, FRAME_START + 8)
  bytes.writeUInt16BE(keyBytes, FRAME_START + 16)
  bytes.write(key, FRAME_START + RECORD_START)
  bytes.set(value, FRAME_START + RECORD_START + keyBytes)
  return sealed(bytes)
}

/** The record of a payload. Its value is a part of the payload. */
export function readRecord(payload: Buffer): SnapshotRecord {
  const keyBytes = payload.length < RECORD_START ? 0 : payload.readUInt16BE(16)
  const valueStart = RECORD_START + keyBytes
  if (keyBytes === 0 || payload.length < valueStart) throw new SnapshotError('has a record without a key')
  const key = payload.toString('utf8', RECORD_START, valueStart)
  return { key, value: payload.subarray(valueStart), modified: readInteger(payload, 0), created: readInteger(payload, 8) }
}

function sealed(bytes: Buffer): Buffer {
  const end = bytes.length - SUM_BYTES
  bytes.writeUInt32BE(crc32(bytes.subarray(0, end)), end)
  return bytes
}

function writeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at)
  bytes.writeUInt32BE(value % 2 ** 32, at + 4)
}

const readInteger = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
