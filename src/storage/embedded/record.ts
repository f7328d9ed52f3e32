/** How one write lies on disk: a header, which is the database key, and a body, which is its value. */
import type { Version } from '../history.ts'
import type { Entry } from '../store.ts'
import { crc32 } from './crc32.ts'

/** The layout written by this release; a store with a later one is refused. */
export const FORMAT = 1

/** A version whose header could not be read keeps the bytes it was found under, so that it can be removed. */
export type Stored = Version & { readonly damage?: Damage }
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
export function encodeHeader(key: string, version: Stored): Uint8Array {
  if (version.damage) return version.damage.header
  const expires = version.deadline !== undefined
  const keyStart = FIXED_BYTES + (expires ? DEADLINE_BYTES : 0)
  const end = keyStart + Buffer.byteLength(key)
  const header = Buffer.allocUnsafe(end + SUM_BYTES)
  writeSafeInteger(header, version.modified, 0)
  header[8] = (version.deleted ? DELETED : 0) | (expires ? EXPIRES : 0)
  writeSafeInteger(header, version.created, 9)
  if (expires) writeSafeInteger(header, version.deadline, FIXED_BYTES)
  header.write(key, keyStart)
  header.writeUInt32BE(crc32(header.subarray(0, end)), end)
  return header
}

/** Reads a header; one that does not fit its checksum still says what it seems to be, with the damage noted. */
export function decodeHeader(header: Uint8Array): { key: string; version: Stored } {
  const bytes = Buffer.from(header.buffer, header.byteOffset, header.length)
  const end = bytes.length - SUM_BYTES
  const sound = end > FIXED_BYTES && crc32(bytes.subarray(0, end)) === bytes.readUInt32BE(end)
  const flags = bytes[8] ?? 0
  const expires = (flags & EXPIRES) !== 0
  const key = bytes.toString('utf8', Math.min(end, FIXED_BYTES + (expires ? DEADLINE_BYTES : 0)), Math.max(end, 0))
  const modified = readSafeInteger(bytes, 0)
  if (!sound) {
    const damage = { fault: 'the header of the stored record does not match its checksum', header: bytes }
    return { key, version: { modified, created: modified, deleted: false, damage } }
  }
  const version = { modified, created: readSafeInteger(bytes, 9), deleted: (flags & DELETED) !== 0 }
  return { key, version: expires ? { ...version, deadline: readSafeInteger(bytes, FIXED_BYTES) } : version }
}

/** A body is a format byte, the CRC-32 of header and value, and the value. */
export function encodeBody(header: Uint8Array, value: Uint8Array): Uint8Array {
  const body = Buffer.allocUnsafe(BODY_START + value.length)
  body[0] = FORMAT
  body.set(value, BODY_START)
  body.writeUInt32BE(crc32(value, crc32(header)), 1)
  return body
}

/** The entry of a version from the body found under its header; what does not fit its checksum becomes a fault, never a value. */
export function decodeEntry(key: string, version: Stored, stored: { header: Uint8Array; body: Uint8Array | undefined }): Entry {
  const entry = { key, created: version.created, modified: version.modified }
  const fault = version.damage?.fault ?? faultOf(stored.header, stored.body)
  return fault ? { ...entry, value: new Uint8Array(), fault } : { ...entry, value: stored.body!.subarray(BODY_START) }
}

function faultOf(header: Uint8Array, body: Uint8Array | undefined): string | undefined {
  if (!body) return 'the stored record is missing'
  if (body.length < BODY_START) return 'the stored record is cut short'
  const sum = new DataView(body.buffer, body.byteOffset).getUint32(1)
  if (crc32(body.subarray(BODY_START), crc32(header)) !== sum) return 'the stored record does not match its checksum'
  return body[0] === FORMAT ? undefined : `the stored record has the unknown format ${body[0]}`
}

function writeSafeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at)
  bytes.writeUInt32BE(value % 2 ** 32, at + 4)
}

function readSafeInteger(bytes: Buffer, at: number): number {
  return bytes.length < at + 8 ? 0 : bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}
