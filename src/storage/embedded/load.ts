/** Builds the index of a store from the headers of its records. */
import { History, type KeyedState } from '../history.ts'
import type { Revision } from '../store.ts'
import type { LogFile } from './log-file.ts'
import { decodeHeader, encodeHeader, type Stored } from './record.ts'

/** The header of a damaged record, and the revision that it counts as. */
export type DamagedRecord = { readonly header: Uint8Array; readonly revision: Revision }

/** The history in a database, and the headers of records that an unfinished compaction has left there. */
export function loadHistory(engine: Headers): { history: History<Stored>; garbage: Uint8Array[] } {
  const history = History.load(engine.compacted, inOrder(engine))
  const garbage = history.sweepAll().map(({ key, state }) => encodeHeader(key, state))
  return { history, garbage, damaged }
}

// A damaged revision at the end of the log that is further off than this is not believed.
const WIDEST_GAP = 1_000_000

/** Damaged headers may name any revision; what they get is one between those of their sound neighbours, which they must have had. */
function* inOrder(engine: Headers): Generator<KeyedState<Stored>> {
  let last: Revision = 0
  let damaged: KeyedState<Stored>[] = []
  for (const header of file.headers()) {
    const found = decodeHeader(header)
    if (found.state.damage) {
      engine.expectDisorder()
      damaged.push(found)
      continue
    }
    yield* withRevisionsBetween(damaged, last, found.state.modified)
    damaged = []
    last = found.state.modified
    yield found
  }
  yield* withRevisionsBetween(damaged, last, Math.max(last, compacted) + WIDEST_GAP)
}

function* withRevisionsBetween(damaged: KeyedState<Stored>[], low: Revision, high: Revision): Generator<KeyedState<Stored>> {
  let last = low
  for (const { key, state } of damaged) {
    const believable = state.modified > last && state.modified < high
    last = believable ? state.modified : last + 1
    yield { key, state: { ...state, modified: last, created: last } }
  }
}

/** Damaged headers where the other process has them; one that is damaged since then is left out. */
function* asKnown(file: Headers, known: readonly DamagedRecord[]): Generator<Versioned<Stored>> {
  const damaged = known.map(({ header, revision }) => countedAs(decodeHeader(header), revision))
  damaged.sort((a, b) => b.version.modified - a.version.modified)
  for (const header of file.headers()) {
    const found = decodeHeader(header)
    if (found.version.damage) continue
    while (damaged.length > 0 && damaged.at(-1)!.version.modified < found.version.modified) yield damaged.pop()!
    yield found
  }
  yield* damaged.reverse()
}

const countedAs = ({ key, version }: Versioned<Stored>, revision: Revision): Versioned<Stored> => ({
  key,
  version: { ...version, modified: revision, created: revision },
})
