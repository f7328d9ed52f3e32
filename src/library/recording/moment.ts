/** A moment of a recorded run: the state, the time and the faults after a revision, before the next one. */
import type { Fault } from '../../public.d.ts'
import { isApart } from '../../server/data/cluster-records.ts'
import type { SavedRecord, SavedState } from '../state.ts'
import { type Recording, RecordingError } from './recording-file.ts'

export type Moment = {
  readonly revision: number
  readonly state: SavedState
  readonly at: string
  readonly isFrozen: boolean
  readonly seed: number
  readonly faults: readonly Fault[]
}

export const lastRevision = ({ revision, writes }: Recording): number => writes.at(-1)?.revision ?? revision

/** Throws RecordingError for a revision that the run did not have. */
export function momentAt(recording: Recording, revision: number): Moment {
  const { writes, faults, started } = recording
  const last = lastRevision(recording)
  if (!(revision >= recording.revision && revision <= last))
    throw new RecordingError(`has the revisions ${recording.revision} to ${last}, not ${revision}`)
  const records = new Map<string, SavedRecord>(recording.records)
  const done = writes.filter(write => write.revision <= revision)
  for (const { key, value, revision: modified } of done) {
    const created = records.get(key)?.created ?? modified
    if (value && !isApart(key)) records.set(key, { value, created, modified })
    else records.delete(key)
  }
  const ordered = new Map([...records].sort(([a], [b]) => (a < b ? -1 : 1)))
  const bytes = [...ordered].reduce((sum, [key, { value }]) => sum + key.length + value.byteLength, 0)
  const { seed, faults: active } = faults.findLast(each => each.revision <= revision) ?? { seed: 1, faults: [] }
  return {
    revision,
    state: { revision, records: ordered, bytes },
    at: done.at(-1)?.at ?? started,
    isFrozen: done.at(-1)?.isFrozen ?? false,
    seed,
    faults: active,
  }
}
