/** Builds the index of a store from the headers of its records. */
import { History, type Versioned } from '../history.ts'
import type { Revision } from '../store.ts'
import type { Engine } from './engine.ts'
import { decodeHeader, encodeHeader, type Stored } from './record.ts'

/** The history in a database, and the headers of records that an unfinished compaction has left there. */
export function loadHistory(engine: Engine): { history: History<Stored>; garbage: Uint8Array[] } {
  const history = new History<Stored>(engine.compacted)
  for (const { key, version } of inOrder(engine.headers())) {
    if (version.damage) engine.expectDisorder()
    history.append(key, version)
  }
  const garbage = history.sweepAll().map(({ key, version }) => encodeHeader(key, version))
  return { history, garbage }
}

// No compaction leaves a wider gap at the end of the log, so a damaged revision further off is not believed.
const WIDEST_GAP = 1_000_000

/** Damaged headers may name any revision; what they get is one between those of their sound neighbours, which they must have had. */
function* inOrder(headers: Iterable<Uint8Array>): Generator<Versioned<Stored>> {
  let last: Revision = 0
  let damaged: Versioned<Stored>[] = []
  for (const header of headers) {
    const found = decodeHeader(header)
    if (found.version.damage) {
      damaged.push(found)
      continue
    }
    yield* placeBetween(damaged, last, found.version.modified)
    damaged = []
    last = found.version.modified
    yield found
  }
  yield* placeBetween(damaged, last, last + WIDEST_GAP)
}

function* placeBetween(damaged: Versioned<Stored>[], low: Revision, high: Revision): Generator<Versioned<Stored>> {
  let last = low
  for (const { key, version } of damaged) {
    const believable = version.modified > last && version.modified < high
    last = believable ? version.modified : last + 1
    yield { key, version: { ...version, modified: last, created: last } }
  }
}
