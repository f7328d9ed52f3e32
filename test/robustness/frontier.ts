/** The newest revision that any client had observed at each time. */
import type { Act, History, Revision, Time } from './history.ts'
import type { Timeline } from './timeline.ts'

export class Frontier {
  readonly #times: Time[] = []
  readonly #revisions: Revision[] = []
  readonly #base: Revision

  constructor({ acts, base }: History, timeline: Timeline) {
    this.#base = base.revision
    const deletions = deletionsByUid(timeline)
    const observed: [Time, Revision][] = []
    for (const act of acts) for (const [time, revision] of observedBy(act, deletions)) observed.push([time, revision])
    let newest = base.revision
    for (const [time, revision] of observed.sort((a, b) => a[0] - b[0])) {
      if (revision <= newest) continue
      newest = revision
      this.#times.push(time)
      this.#revisions.push(revision)
    }
  }

  /** The newest revision known before a time. A request that begins then must not be older. */
  before(time: Time): Revision {
    let low = 0
    let high = this.#times.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#times[middle]! < time) low = middle + 1
      else high = middle
    }
    return low === 0 ? this.#base : this.#revisions[low - 1]!
  }
}

/** The revision at which each object was deleted. */
export function deletionsByUid(timeline: Timeline): Map<string, Revision> {
  const deletions = new Map<string, Revision>()
  for (const key of timeline.keys()) {
    const entries = timeline.of(key)
    for (const [i, entry] of entries.entries()) {
      const before = entries[i - 1]?.after
      if (entry.after === undefined && before !== undefined) deletions.set(before.uid, entry.revision)
    }
  }
  return deletions
}

function* observedBy(act: Act, deletions: ReadonlyMap<string, Revision>): Iterable<[Time, Revision]> {
  switch (act.type) {
    case 'put':
      if (act.outcome.is === 'done') yield [act.end, act.outcome.object.revision]
      break
    case 'delete':
      if (act.outcome.is === 'done') yield [act.end, act.outcome.revision ?? deletions.get(act.outcome.uid) ?? 0]
      break
    case 'sweep':
      if (act.outcome.is !== 'done') break
      yield [act.end, act.outcome.revision]
      for (const { uid } of act.outcome.items) yield [act.end, deletions.get(uid) ?? 0]
      break
    case 'get':
      if (act.found) yield [act.end, act.found.revision]
      break
    case 'page':
      yield [act.end, act.revision]
      break
    case 'watch':
      for (const event of act.events) yield [event.time, event.type === 'BOOKMARK' ? event.revision : event.object.revision]
  }
}
