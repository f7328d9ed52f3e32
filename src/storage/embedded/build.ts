/** Makes a store of given records in a new directory, at revisions that the caller chooses. */
import type { Revision } from '../store.ts'
import { openEngine, type Work } from './engine.ts'
import { explain } from './failure.ts'
import { encodeBody, encodeHeader } from './record.ts'

export type GivenRecord = {
  readonly key: string
  readonly value: Uint8Array
  readonly created: Revision
  readonly modified: Revision
  /** When it expires, in milliseconds since the epoch. */
  readonly deadline?: number
}

const MAX_BATCH_PUTS = 512
const MAX_BATCH_BYTES = 4 << 20

/**
 * Writes records to a directory that has no store yet; `newest` is its revision then, and nothing before that can be read or watched
 * from. When it rejects, the directory holds a part of the records.
 */
export async function buildEmbeddedStore(dir: string, newest: Revision, records: AsyncIterable<GivenRecord>): Promise<void> {
  const engine = await openEngine(dir)
  const commit = (work: Work) =>
    engine.commit(work).catch(error => {
      throw explain(error, `cannot write to the store in ${dir}`)
    })
  try {
    // Records come in the order of keys.
    engine.expectDisorder()
    let puts: Work['puts'][number][] = []
    let bytes = 0
    for await (const { key, value, ...state } of records) {
      const header = encodeHeader(key, { ...state, deleted: false })
      const body = encodeBody(header, value)
      puts.push({ header, body, isFreeing: false })
      bytes += body.length
      if (puts.length < MAX_BATCH_PUTS && bytes < MAX_BATCH_BYTES) continue
      await commit({ puts, removes: [] })
      puts = []
      bytes = 0
    }
    await commit({ puts, removes: [], compacted: newest })
  } finally {
    await engine.close()
  }
}
