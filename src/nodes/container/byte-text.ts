/** Bytes as text, and back without loss: bytes that are not part of UTF-8 are low surrogates on their own, which no text has. */
import { isUtf8 } from 'node:buffer'

const ESCAPED = 0xdc00
const ESCAPES = /([\udc80-\udcff]+)/u

export function textOfBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  let text = ''
  let from = 0
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOf(bytes[at]!)
    if (length === 1 || (length > 1 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length)) {
      at += length
      continue
    }
    text += bytes.toString('utf8', from, at) + String.fromCharCode(ESCAPED + bytes[at]!)
    from = ++at
  }
  return text + bytes.toString('utf8', from)
}

export function bytesOfText(text: string): Buffer {
  if (!ESCAPES.test(text)) return Buffer.from(text)
  const pieces = text.split(ESCAPES)
  return Buffer.concat(
    pieces.map((piece, i) => (i % 2 === 0 ? Buffer.from(piece) : Buffer.from(Array.from(piece, each => each.charCodeAt(0) - ESCAPED)))),
  )
}

/** The length of a character of UTF-8 by its first byte; 0 for a byte that cannot be one. */
function lengthOf(first: number): number {
  if (first < 0x80) return 1
  if (first < 0xc2) return 0
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
}
