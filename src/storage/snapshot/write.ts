/** Writes the file of a snapshot in chunks, as fast as they are taken. */
import { createHash } from 'node:crypto'
import {
  Counting,
  FRAME,
  frame,
  jsonFrame,
  MAGIC,
  recordFrame,
  SNAPSHOT_FORMAT,
  type SnapshotHeader,
  type SnapshotRecord,
} from './format.ts'

const CHUNK_BYTES = 256 << 10

/** Thrown by the source of records: a snapshot that is being sent ends with its message, as the reader has to learn why. */
export class SnapshotFailed extends Error {}

/** The bytes of a snapshot. The records come in the order of their keys. */
export async function* writeSnapshot(
  header: Omit<SnapshotHeader, 'format'>,
  records: AsyncIterable<SnapshotRecord>,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  const counting = new Counting()
  let waiting: Buffer[] = [MAGIC, jsonFrame(FRAME.header, { format: SNAPSHOT_FORMAT, ...header })]
  let bytes = 0
  const take = (): Buffer => {
    const chunk = Buffer.concat(waiting)
    waiting = []
    bytes = 0
    hash.update(chunk)
    return chunk
  }
  try {
    for await (const record of records) {
      const next = recordFrame(record)
      counting.add(record)
      waiting.push(next)
      bytes += next.length
      if (bytes >= CHUNK_BYTES) yield take()
    }
  } catch (error) {
    if (!(error instanceof SnapshotFailed)) throw error
    yield take()
    yield jsonFrame(FRAME.failure, { message: error.message })
    return
  }
  waiting.push(jsonFrame(FRAME.summary, counting.summary))
  yield take()
  yield frame(FRAME.end, hash.digest())
}
