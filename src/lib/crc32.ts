/** CRC-32 as in zlib, for checking records. */
import * as zlib from 'node:zlib'

/** The checksum of some bytes, or of more bytes after those of a previous checksum. */
export type Crc32 = (bytes: Uint8Array, previous?: number) => number

/** The same sum in plain JavaScript, for Node before 20.15 and 22.2. */
export const tableCrc32: Crc32 = (bytes, previous = 0) => {
  const table = (crcTable ??= makeTable())
  let crc = ~previous
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Native where Node has it. */
export const crc32: Crc32 = (bytes, previous = 0) => {
  // Node's answers 0 for empty bytes without memory behind them, whatever went before.
  if (bytes.length === 0) return previous
  return native ? native(bytes, previous) : tableCrc32(bytes, previous)
}

const native = (zlib as { crc32?: Crc32 }).crc32
let crcTable: Int32Array | undefined

function makeTable(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1
    return crc
  })
}
