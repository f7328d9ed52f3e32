/**
 * Header compression of HTTP/2 (RFC 7541), as far as a client needs it that allows no dynamic table: a block then means the same
 * whenever it comes, so that both the requests sent and the responses read need not be worked out more than once.
 */

/** Headers by name; of those that every request has anyway, only `:status`. */
export type Headers = ReadonlyMap<string, string>

/** Headers as they are sent: each as a literal that nobody is asked to remember. */
export function encodeHeaders(headers: Iterable<readonly [name: string, value: string]>): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of headers) parts.push(LITERAL, ...[name, value].flatMap(literalText))
  return Buffer.concat(parts)
}

/** Reads header blocks. Throws a RangeError for other bytes. */
export class HeaderReader {
  /** Nearly all answers begin and end alike. */
  readonly #known = new Map<string, Headers>()

  read(block: Buffer): Headers {
    if (block.length > MAX_KNOWN_LENGTH) return decodeHeaders(block)
    const text = block.toString('latin1')
    const known = this.#known.get(text)
    if (known) return known
    const headers = decodeHeaders(block)
    if (this.#known.size < MAX_KNOWN) this.#known.set(text, headers)
    return headers
  }
}

const MAX_KNOWN_LENGTH = 256
const MAX_KNOWN = 64

/** A literal without indexing whose name is a literal, too. */
const LITERAL = Buffer.from([0])

function literalText(text: string): [Buffer, Buffer] {
  const bytes = Buffer.from(text, 'latin1')
  return [integerOf(bytes.length), bytes]
}

/** With seven bits in its first byte, the eighth being zero: no Huffman code. */
function integerOf(value: number): Buffer {
  if (value < 0x7f) return Buffer.from([value])
  const bytes = [0x7f]
  let rest = value - 0x7f
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

/** The entries 8 to 14 of the static table; all others are of headers that nobody here asks for. */
const STATUSES = ['200', '204', '206', '304', '400', '404', '500']
const FIRST_STATUS = 8
const STATIC_ENTRIES = 61

function decodeHeaders(block: Buffer): Headers {
  const headers = new Map<string, string>()
  let at = 0
  const integer = (bits: number): number => {
    const most = (1 << bits) - 1
    let value = block[at++]! & most
    if (value < most) return value
    for (let scale = 1; ; scale *= 0x80) {
      const byte = block[at++]
      if (byte === undefined || scale > 2 ** 28) throw new RangeError('a header block is cut off')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }
  const text = (): string => {
    if (at >= block.length) throw new RangeError('a header block is cut off')
    const isCoded = block[at]! >= 0x80
    const length = integer(7)
    const bytes = block.subarray(at, at + length)
    at += length
    if (at > block.length) throw new RangeError('a header block is cut off')
    return isCoded ? decodeHuffman(bytes) : bytes.toString('latin1')
  }
  const nameAt = (index: number): string => {
    if (index > STATIC_ENTRIES) throw new RangeError('a header block refers to a table that was not allowed')
    return STATUSES[index - FIRST_STATUS] === undefined ? '' : ':status'
  }
  while (at < block.length) {
    const first = block[at]!
    if (first >= 0x80) {
      const index = integer(7)
      if (index === 0) throw new RangeError('a header block refers to nothing')
      if (nameAt(index) !== '') headers.set(':status', STATUSES[index - FIRST_STATUS]!)
    } else if (first >= 0x20 && first < 0x40) {
      if (integer(5) > 0) throw new RangeError('a header block has a table that was not allowed')
    } else {
      // With indexing, in a table that nothing fits into, or without.
      const index = integer(first >= 0x40 ? 6 : 4)
      const name = index === 0 ? text() : nameAt(index)
      const value = text()
      if (name !== '') headers.set(name, value)
    }
  }
  return headers
}

/** How many bits the code of each byte has. The codes follow from that: shorter ones first, then by byte; each is its predecessor plus one. */
const CODE_LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10,
  12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7,
  7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
  23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22,
  23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20,
  24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
]
const MAX_CODE_BITS = 30

type Code = { /** The first code of each length. */ readonly first: readonly number[]; readonly bytesOf: readonly (readonly number[])[] }
let code: Code | undefined

function makeCode(): Code {
  const bytesOf: number[][] = Array.from({ length: MAX_CODE_BITS + 1 }, () => [])
  for (const [byte, length] of CODE_LENGTHS.entries()) bytesOf[length]!.push(byte)
  const first: number[] = []
  let next = 0
  for (const bytes of bytesOf) {
    next *= 2
    first.push(next)
    next += bytes.length
  }
  return { first, bytesOf }
}

function decodeHuffman(bytes: Uint8Array): string {
  code ??= makeCode()
  const { first, bytesOf } = code
  const result: number[] = []
  let value = 0
  let length = 0
  for (const byte of bytes)
    for (let bit = 7; bit >= 0; bit--) {
      value = value * 2 + ((byte >> bit) & 1)
      length++
      const found = bytesOf[length]?.[value - first[length]!]
      if (found !== undefined) {
        result.push(found)
        value = length = 0
      } else if (length >= MAX_CODE_BITS) throw new RangeError('a header block has a code that does not exist')
    }
  // The last byte is filled with ones.
  if (length > 7 || value !== 2 ** length - 1) throw new RangeError('a header block has a code that is cut off')
  return Buffer.from(result).toString('latin1')
}
