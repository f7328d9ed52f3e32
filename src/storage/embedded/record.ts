/** How one write lies on disk: a header, which is the database key, and a body, which is its value. */

import { crc32, tableCrc32 } from '../../lib/crc32.ts'
import type { KeyState } from '../history.ts'
import { type Entry, type Revision, undecodable } from '../store.ts'

/** The layout written by this release; a store with a later one is refused. */
export const FORMAT = 1

/** A state whose header could not be read keeps the bytes it was found under, so that it can be removed. */
export type Stored = KeyState & { readonly damage?: Damage }
export type Damage = { readonly fault: string; readonly header: Uint8Array }

const DELETED = 1
const EXPIRES = 2
const FIXED_BYTES = 17
const DEADLINE_BYTES = 8
const SUM_BYTES = 4
const BODY_START = 1 + SUM_BYTES

/**
 * Headers sort by revision, so the database is a log, and hold all but the value, so an index can be built without reading values:
 *
 *     revision 8 | flags 1 | created 8 | deadline 8, if it expires | key, UTF-8 | CRC-32 of all before 4
 */
export function encodeHeader(key: string, state: Stored): Uint8Array {
  if (state.damage) return state.damage.header
  const expires = state.deadline !== undefined
  const keyStart = FIXED_BYTES + (expires ? DEADLINE_BYTES : 0)
  const end = keyStart + Buffer.byteLength(key)
  const header = Buffer.allocUnsafe(end + SUM_BYTES)
  writeSafeInteger(header, state.modified, 0)
  header[8] = (state.deleted ? DELETED : 0) | (expires ? EXPIRES : 0)
  writeSafeInteger(header, state.created, 9)
  if (expires) writeSafeInteger(header, state.deadline, FIXED_BYTES)
  header.write(key, keyStart)
  header.writeUInt32BE(sumOfHeader(header, end), end)
  return header
}

/** Reads a header; one that does not fit its checksum still says what it seems to be, with the damage noted. */
export function decodeHeader(header: Uint8Array): { key: string; state: Stored } {
  const bytes = Buffer.from(header.buffer, header.byteOffset, header.length)
  const end = bytes.length - SUM_BYTES
  const sound = end > FIXED_BYTES && sumOfHeader(bytes, end) === bytes.readUInt32BE(end)
  const flags = bytes[8] ?? 0
  const expires = (flags & EXPIRES) !== 0
  const key = bytes.toString('utf8', Math.min(end, FIXED_BYTES + (expires ? DEADLINE_BYTES : 0)), Math.max(end, 0))
  const modified = readSafeInteger(bytes, 0)
  if (!sound) {
    const damage = { fault: 'the header of the stored record does not match its checksum', header: bytes }
    return { key, state: { modified, created: modified, deleted: false, damage } }
  }
  const state = { modified, created: readSafeInteger(bytes, 9), deleted: (flags & DELETED) !== 0 }
  return { key, state: expires ? { ...state, deadline: readSafeInteger(bytes, FIXED_BYTES) } : state }
}

/** The beginning of all headers of a revision; it sorts before them. */
export function startOfRevision(revision: Revision): Uint8Array {
  const start = Buffer.allocUnsafe(8)
  writeSafeInteger(start, revision, 0)
  return start
}

/** The revision in a header, which may be damaged. */
export const revisionIn = (header: Uint8Array): Revision => readSafeInteger(Buffer.from(header.buffer, header.byteOffset, header.length), 0)

/** A body is a format byte, the CRC-32 of the value continued from that of the header, and the value. */
export function encodeBody(header: Uint8Array, value: Uint8Array): Uint8Array {
  const body = Buffer.allocUnsafe(BODY_START + value.length)
  body[0] = FORMAT
  body.set(value, BODY_START)
  body.writeUInt32BE(crc32(value, sumIn(header)), 1)
  return body
}

/**
 * The entry of a state from the body found under its header, with a copy of the value; what does not fit its checksum becomes a
 * fault, never a value.
 */
export function decodeEntry(key: string, state: Stored, stored: { header: Uint8Array; body: Uint8Array | undefined }): Entry {
  const { created, modified } = state
  const value = stored.body?.subarray(BODY_START) ?? new Uint8Array()
  const fault = state.damage?.fault ?? faultOf(stored, value)
  // A copy of its own comes from Node's pool, which takes a fraction of the time of separate memory.
  return fault
    ? { key, value: new Uint8Array(), created, modified, fault: undecodable(modified, fault) }
    : { key, value: Buffer.from(value), created, modified }
}

function faultOf({ header, body }: { header: Uint8Array; body: Uint8Array | undefined }, value: Uint8Array): string | undefined {
  if (!body) return 'the stored record is missing'
  if (body.length < BODY_START) return 'the stored record is cut short'
  if (crc32(value, sumIn(header)) !== uint32At(body, 1)) return 'the stored record does not match its checksum'
  return body[0] === FORMAT ? undefined : `the stored record has the unknown format ${body[0]}`
}

// Headers are so short that calling into native code would take longer.
function sumOfHeader(header: Uint8Array, end: number): number {
  return tableCrc32(header.subarray(0, end))
}

function sumIn(header: Uint8Array): number {
  return uint32At(header, header.length - SUM_BYTES)
}

function uint32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

function writeSafeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at)
  bytes.writeUInt32BE(value % 2 ** 32, at + 4)
}

function readSafeInteger(bytes: Buffer, at: number): number {
  return bytes.length < at + 8 ? 0 : bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}
