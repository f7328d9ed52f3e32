/** Builds the index of a store from the headers of its records. */
import { History, type Versioned } from '../history.ts'
import type { Revision } from '../store.ts'
import type { Engine } from './engine.ts'
import { decodeHeader, encodeHeader, type Stored } from './record.ts'

/** A database whose headers can be read. */
type Headers = Pick<Engine, 'compacted' | 'headers' | 'expectDisorder'>

/** The history in a database, and the headers of records that an unfinished compaction has left there. */
export function loadHistory(engine: Headers): { history: History<Stored>; garbage: Uint8Array[] } {
  const history = History.load(engine.compacted, inOrder(engine))
  const garbage = history.sweepAll().map(({ key, version }) => encodeHeader(key, version))
  return { history, garbage }
}

// A damaged revision at the end of the log that is further off than this is not believed.
const WIDEST_GAP = 1_000_000

/** Damaged headers may name any revision; what they get is one between those of their sound neighbours, which they must have had. */
function* inOrder(engine: Headers): Generator<Versioned<Stored>> {
  let last: Revision = 0
  let damaged: Versioned<Stored>[] = []
  for (const header of engine.headers()) {
    const found = decodeHeader(header)
    if (found.version.damage) {
      engine.expectDisorder()
      damaged.push(found)
      continue
    }
    yield* withRevisionsBetween(damaged, last, found.version.modified)
    damaged = []
    last = found.version.modified
    yield found
  }
  yield* withRevisionsBetween(damaged, last, Math.max(last, engine.compacted) + WIDEST_GAP)
}

function* withRevisionsBetween(damaged: Versioned<Stored>[], low: Revision, high: Revision): Generator<Versioned<Stored>> {
  let last = low
  for (const { key, version } of damaged) {
    const believable = version.modified > last && version.modified < high
    last = believable ? version.modified : last + 1
    yield { key, version: { ...version, modified: last, created: last } }
  }
}
