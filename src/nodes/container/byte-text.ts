/** Bytes as text, and back without loss: bytes that are not part of UTF-8 are low surrogates on their own, which no text has. */
import { isUtf8 } from 'node:buffer'

const ESCAPED = 0xdc00
const ESCAPES = /[\udc80-\udcff]/u

export function textOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  const units = new Uint16Array(bytes.length)
  let count = 0
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at)
    if (length === 0) units[count++] = ESCAPED + bytes[at++]!
    else if (length === 1) units[count++] = bytes[at++]!
    else {
      const point = pointAt(bytes, at, length)
      at += length
      if (point < 0x10000) units[count++] = point
      else {
        units[count++] = 0xd800 + ((point - 0x10000) >> 10)
        units[count++] = 0xdc00 + ((point - 0x10000) & 0x3ff)
      }
    }
  }
  return Buffer.from(units.buffer, 0, count * 2).toString('utf16le')
}

export function bytesOfText(text: string): Buffer {
  if (!ESCAPES.test(text)) return Buffer.from(text)
  const bytes = Buffer.allocUnsafe(text.length * MAX_BYTES_OF_UNIT)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const point = text.codePointAt(at)!
    if (point < 0x80) bytes[count++] = point
    else if ((point & ~0x7f) === (ESCAPED | 0x80)) bytes[count++] = point - ESCAPED
    else {
      count += bytes.write(String.fromCodePoint(point), count)
      if (point >= 0x10000) at++
    }
  }
  return bytes.subarray(0, count)
}

const MAX_BYTES_OF_UNIT = 3

/** How many bytes the character at a position has; 0 where there is none. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at]!
  if (first < 0x80) return 1
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  if (length === 0 || at + length > bytes.length) return 0
  const second = bytes[at + 1]!
  // Longer forms of shorter characters, surrogates, and numbers above the last character are not UTF-8.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  if (second < least || second > most) return 0
  for (let i = 2; i < length; i++) if (bytes[at + i]! >> 6 !== 0b10) return 0
  return length
}

function pointAt(bytes: Buffer, at: number, length: number): number {
  let point = bytes[at]! & (0xff >> (length + 1))
  for (let i = 1; i < length; i++) point = (point << 6) | (bytes[at + i]! & 0x3f)
  return point
}
