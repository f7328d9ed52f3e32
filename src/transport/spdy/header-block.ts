/**
 * Header blocks of SPDY/3. All blocks of one direction are one zlib stream. Those that are read may be compressed; those that are written
 * are stored in it as they are, which every reader understands and which needs no state.
 */
import { constants, createInflate, type Inflate } from 'node:zlib'
import { LIMITS } from '../../lib/limits.ts'
import { DICTIONARY } from './dictionary.ts'

/** Names in lower case. */
export type SpdyHeaders = ReadonlyMap<string, string>

/** Reads the header blocks of one direction, in their order. */
export class HeaderReader {
  readonly #inflate: Inflate

  constructor() {
    this.#inflate = createInflate({
      dictionary: DICTIONARY,
      flush: constants.Z_SYNC_FLUSH,
      finishFlush: constants.Z_SYNC_FLUSH,
    })
  }

  /** Throws when the block is malformed or too large. */
  async read(block: Uint8Array): Promise<SpdyHeaders> {
    return parse(await this.#inflated(block))
  }

  close(): void {
    this.#inflate.destroy()
  }

  #inflated(block: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      let size = 0
      const take = (piece: Buffer) => {
        size += piece.length
        pieces.push(piece)
        if (size > LIMITS.spdyHeaderBytes) done(new Error('header block too large'))
      }
      const done = (error?: Error | null) => {
        this.#inflate.off('data', take).off('error', done)
        if (error) reject(error)
        else resolve(Buffer.concat(pieces))
      }
      this.#inflate.on('data', take).on('error', done)
      // Pieces that are ready when the block has been written arrive before the next iteration.
      this.#inflate.write(block, error => setImmediate(done, error))
    })
  }
}

function parse(block: Buffer): SpdyHeaders {
  const headers = new Map<string, string>()
  let at = 4
  const text = () => {
    const start = at + 4
    at = start + block.readUInt32BE(at)
    if (at > block.length) throw new Error('header block cut off')
    return block.toString('utf8', start, at)
  }
  for (let left = block.length < 4 ? 0 : block.readUInt32BE(0); left > 0; left--) {
    const name = text().toLowerCase()
    headers.set(name, text())
  }
  return headers
}

/** The block of a direction that never carries any header; the first one opens the zlib stream. */
export function emptyBlock(isFirst: boolean): Buffer {
  return isFirst ? Buffer.concat([ZLIB_START, STORED_NOTHING]) : STORED_NOTHING
}

/**
 * Four bytes that stand for no headers, as a stored block of deflate: not the last, its length, and the complement of that. The empty block
 * behind it is a flush: Go's reader hands out the four bytes when it comes to it.
 */
const STORED_NOTHING = Buffer.from([0x00, 0x04, 0x00, 0xfb, 0xff, 0, 0, 0, 0, 0x00, 0x00, 0x00, 0xff, 0xff])

/** The header of a zlib stream with a dictionary, and the checksum of the dictionary. */
const ZLIB_START = Buffer.concat([Buffer.from([0x78, 0xbb]), checksum(DICTIONARY)])

/** Adler-32. */
function checksum(bytes: Uint8Array): Buffer {
  let [low, high] = [1, 0]
  for (const byte of bytes) {
    low = (low + byte) % 65521
    high = (high + low) % 65521
  }
  const sum = Buffer.alloc(4)
  sum.writeUInt16BE(high, 0)
  sum.writeUInt16BE(low, 2)
  return sum
}
