/** Builds the index of a store from the headers of its records. */
import { History, type KeyedState } from '../history.ts'
import type { Revision } from '../store.ts'
import type { LogFile } from './log-file.ts'
import { decodeHeader, encodeHeader, type Stored } from './record.ts'

/** The header of a damaged record, and the revision that it counts as. */
export type DamagedRecord = { readonly header: Uint8Array; readonly revision: Revision }

/** A database whose headers can be read. */
type Headers = Pick<LogFile, 'compacted' | 'headers'>

export type Loaded = {
  readonly history: History<Stored>
  /** Headers of records that an unfinished compaction has left. */
  readonly garbage: Uint8Array[]
  readonly damaged: readonly DamagedRecord[]
}

/** The history in a database. A process that joins another one is told which revisions damaged records have there. */
export function loadHistory(file: Headers, known?: readonly DamagedRecord[]): Loaded {
  const damaged: DamagedRecord[] = []
  const compacted = file.compacted() ?? 1
  const noted = function* (writes: Iterable<KeyedState<Stored>>) {
    for (const write of writes) {
      const { damage, modified } = write.state
      if (damage) damaged.push({ header: damage.header, revision: modified })
      yield write
    }
  }
  const history = History.load(compacted, noted(known ? asKnown(file, known) : inOrder(file, compacted)))
  const garbage = history.sweepAll().map(({ key, state }) => encodeHeader(key, state))
  return { history, garbage, damaged }
}

// A damaged revision at the end of the log that is further off than this is not believed.
const MAX_GAP = 1_000_000

/** Damaged headers may name any revision; they get one between those of their sound neighbours, which they must have had. */
function* inOrder(file: Headers, compacted: Revision): Generator<KeyedState<Stored>> {
  let last: Revision = 0
  let damaged: KeyedState<Stored>[] = []
  for (const header of file.headers()) {
    const found = decodeHeader(header)
    if (found.state.damage) {
      damaged.push(found)
      continue
    }
    yield* withRevisionsBetween(damaged, last, found.state.modified)
    damaged = []
    last = found.state.modified
    yield found
  }
  yield* withRevisionsBetween(damaged, last, Math.max(last, compacted) + MAX_GAP)
}

function* withRevisionsBetween(damaged: KeyedState<Stored>[], low: Revision, high: Revision): Generator<KeyedState<Stored>> {
  let last = low
  for (const found of damaged) {
    const { modified } = found.state
    const believable = modified > last && modified < high
    last = believable ? modified : last + 1
    yield countedAs(found, last)
  }
}

/** Damaged headers where the other process has them; one that is damaged since then is left out. */
function* asKnown(file: Headers, known: readonly DamagedRecord[]): Generator<KeyedState<Stored>> {
  const damaged = known.map(({ header, revision }) => countedAs(decodeHeader(header), revision))
  damaged.sort((a, b) => b.state.modified - a.state.modified)
  for (const header of file.headers()) {
    const found = decodeHeader(header)
    if (found.state.damage) continue
    while (damaged.length > 0 && damaged.at(-1)!.state.modified < found.state.modified) yield damaged.pop()!
    yield found
  }
  yield* damaged.reverse()
}

const countedAs = ({ key, state }: KeyedState<Stored>, revision: Revision): KeyedState<Stored> => ({
  key,
  state: { ...state, modified: revision, created: revision },
})
