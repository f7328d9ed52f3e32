/** Which states of which keys exist: the index both local stores read, list, watch and compact by. */
import { compareKeys } from './key-order.ts'
import { OrderedKeys, type Position } from './ordered-keys.ts'
import { Compacted, FutureRevision, type PageRequest, type Revision } from './store.ts'

/** The state of a key after a write; a store may keep more with it, such as the value. */
export type KeyState = {
  readonly modified: Revision
  readonly created: Revision
  readonly deleted: boolean
  /** When the key expires, in milliseconds since the epoch. */
  readonly deadline?: number
}

export type KeyedState<S> = { readonly key: string; readonly state: S }

type Timeline<S> = { readonly key: string; live: boolean; latest: S; older: S[] | undefined }

/**
 * Every key has a timeline of states, oldest first, and every revision after the oldest points at the timeline it changed:
 *
 *     /a   2 ── 5 ── 7✝        revision   2  3  4  5  6  7
 *     /b   3 ── 6              changed   /a /b /c /a /b /a
 *     /c   4
 *
 * Compacting at 6 drops 2 and 3, which can no longer be read, but keeps 5, /a's state at 6, and 4, /c's.
 * A tombstone (✝) is dropped as soon as the oldest revision has reached it.
 */
export class History<S extends KeyState> {
  readonly #timelines = new Map<string, Timeline<S>>()
  readonly #ordered = new OrderedKeys<Timeline<S>>()
  /** Timelines changed by the revisions from `#firstLogged` on; undefined where a revision was lost to damage. */
  readonly #log: (Timeline<S> | undefined)[] = []
  #firstLogged: Revision
  #oldest: Revision
  #newest: Revision
  #loading = false

  /** The history of writes that come by revision; putting the keys in order at the end is quicker than keeping them so. */
  static load<S extends KeyState>(oldest: Revision, writes: Iterable<KeyedState<S>>): History<S> {
    const history = new History<S>(oldest)
    history.#loading = true
    for (const { key, state } of writes) history.append(key, state)
    history.#loading = false
    const sorted = [...history.#timelines.values()].sort((a, b) => compareKeys(a.key, b.key))
    for (const timeline of sorted) history.#ordered.insert(timeline)
    return history
  }

  constructor(oldest: Revision = 1) {
    this.#oldest = this.#newest = oldest
    this.#firstLogged = oldest + 1
  }

  get oldest(): Revision {
    return this.#oldest
  }

  get newest(): Revision {
    return this.#newest
  }

  /** How many keys there are, with those that were deleted and are not forgotten yet. */
  get keys(): number {
    return this.#timelines.size
  }

  /** Adds the next write and returns the state it replaces. */
  append(key: string, state: S): S | undefined {
    const timeline = this.#timelines.get(key)
    const before = timeline && !timeline.latest.deleted ? timeline.latest : undefined
    if (timeline) this.#extend(timeline, state)
    const changed = timeline ?? this.#begin(key, state)
    if (state.modified >= this.#firstLogged) {
      // Assigning past the end leaves holes for revisions that are missing.
      this.#log[state.modified - this.#firstLogged] = changed
    }
    this.#newest = Math.max(this.#newest, state.modified)
    return before
  }

  /** The state of a key that can be read now. */
  latest(key: string): S | undefined {
    const latest = this.#timelines.get(key)?.latest
    return latest?.deleted ? undefined : latest
  }

  /** The state of a key that could be read at a revision. */
  at(key: string, revision: Revision): S | undefined {
    this.check(revision)
    const timeline = this.#timelines.get(key)
    return timeline && stateAt(timeline, revision)
  }

  /** The state that a key got at a revision, while it is known. */
  exact(key: string, modified: Revision): S | undefined {
    const timeline = this.#timelines.get(key)
    const state = timeline && anyStateAt(timeline, modified)
    return state?.modified === modified ? state : undefined
  }

  /** The first write of a key after a revision, deletions included, among those that are known. */
  firstAfter(key: string, modified: Revision): S | undefined {
    const timeline = this.#timelines.get(key)
    if (!timeline || timeline.latest.modified <= modified) return undefined
    const { older = [], latest } = timeline
    return older[newestUpTo(older, modified) + 1] ?? latest
  }

  /** Throws unless a revision can be read and watched from. */
  check(revision: Revision): void {
    if (revision < this.#oldest) throw new Compacted(revision, this.#oldest)
    if (!(revision <= this.#newest)) throw new FutureRevision(revision, this.#newest)
  }

  /** A page of a prefix; `remaining` counts the keys behind it. */
  page(
    prefix: string,
    { limit = Infinity, after, at = this.#newest, uncounted }: PageRequest,
  ): { found: KeyedState<S>[]; remaining: number } {
    this.check(at)
    const start = after !== undefined && compareKeys(after, prefix) >= 0 ? this.#ordered.after(after) : this.#ordered.atOrAfter(prefix)
    const end = this.#ordered.pastPrefix(prefix)
    const found: KeyedState<S>[] = []
    if (limit > 0) {
      for (const timeline of this.#ordered.between(start, end)) {
        const state = stateAt(timeline, at)
        if (state && found.push({ key: timeline.key, state }) >= limit) break
      }
    }
    if (found.length < limit) return { found, remaining: 0 }
    const last = found.at(-1)
    const rest = last ? this.#ordered.after(last.key) : start
    return { found, remaining: uncounted ? Number(this.#hasSome(rest, end, at)) : this.#count(rest, end, at) }
  }

  /** The changes of a prefix after a revision, up to `matches` changes and a bounded scan of the log; `revision` is how far the scan got. */
  changes(prefix: string, after: Revision, matches: number): { revision: Revision; found: KeyedState<S>[] } {
    this.check(after)
    const end = Math.min(this.#newest, after + MAX_SCANNED)
    const found: KeyedState<S>[] = []
    let revision = after
    while (revision < end && found.length < matches) {
      revision++
      const timeline = this.#log[revision - this.#firstLogged]
      if (!timeline?.key.startsWith(prefix)) continue
      const state = anyStateAt(timeline, revision)
      if (state) found.push({ key: timeline.key, state })
    }
    return { revision, found }
  }

  /** Rejects reads before a revision from now on; `sweep` then drops what can no longer be read. */
  forget(before: Revision): void {
    if (!(before <= this.#newest)) throw new FutureRevision(before, this.#newest)
    this.#oldest = Math.max(this.#oldest, before)
  }

  /** Drops unreadable states of at most this many forgotten revisions and returns them; undefined when none is left. */
  sweep(revisions: number): KeyedState<S>[] | undefined {
    if (this.#firstLogged > this.#oldest) return undefined
    const until = Math.min(this.#oldest, this.#firstLogged + revisions - 1)
    const dropped: KeyedState<S>[] = []
    for (const timeline of this.#log.splice(0, until - this.#firstLogged + 1)) if (timeline) this.#prune(timeline, until, dropped)
    this.#firstLogged = until + 1
    return dropped
  }

  /** Drops everything unreadable at once, for a history that has just been loaded, and returns it. */
  sweepAll(): KeyedState<S>[] {
    const dropped: KeyedState<S>[] = []
    for (const timeline of [...this.#timelines.values()]) this.#prune(timeline, this.#oldest, dropped)
    return dropped
  }

  /** Every key with its live state, in no particular order. */
  *current(): Generator<KeyedState<S>, void> {
    for (const { key, latest } of this.#timelines.values()) if (!latest.deleted) yield { key, state: latest }
  }

  #begin(key: string, state: S): Timeline<S> {
    const timeline = { key, live: !state.deleted, latest: state, older: undefined }
    this.#timelines.set(key, timeline)
    if (!this.#loading) this.#ordered.insert(timeline)
    return timeline
  }

  #extend(timeline: Timeline<S>, state: S): void {
    if (timeline.older) timeline.older.push(timeline.latest)
    else timeline.older = [timeline.latest]
    timeline.latest = state
    if (timeline.live === state.deleted) {
      timeline.live = !state.deleted
      if (!this.#loading) this.#ordered.liveChanged(timeline)
    }
  }

  /** Drops the states of a timeline that are not readable at `oldest` or later. */
  #prune(timeline: Timeline<S>, oldest: Revision, dropped: KeyedState<S>[]): void {
    const { key, latest, older = [] } = timeline
    const readable = latest.modified <= oldest ? older.length : newestUpTo(older, oldest)
    const tombstone = (older[readable] ?? latest).deleted && readable >= 0
    const gone = Math.max(0, Math.min(readable + Number(tombstone), older.length))
    for (const state of older.splice(0, gone)) dropped.push({ key, state })
    if (older.length === 0) timeline.older = undefined
    if (!latest.deleted || latest.modified > oldest || this.#timelines.get(key) !== timeline) return
    dropped.push({ key, state: latest })
    this.#timelines.delete(key)
    this.#ordered.remove(timeline)
  }

  #hasSome(from: Position, to: Position, at: Revision): boolean {
    for (const timeline of this.#ordered.between(from, to)) if (stateAt(timeline, at)) return true
    return false
  }

  /** Counts what can be read at a revision, either key by key or by undoing what has changed since, whichever is shorter. */
  #count(from: Position, to: Position, at: Revision): number {
    const now = this.#ordered.countLive(from, to)
    if (at === this.#newest) return now
    if (this.#newest - at > now + FEW_KEYS) {
      let count = 0
      for (const timeline of this.#ordered.between(from, to)) count += Number(stateAt(timeline, at) !== undefined)
      return count
    }
    const changed = new Set(this.#log.slice(at + 1 - this.#firstLogged))
    let count = now
    for (const timeline of changed) {
      if (!timeline || !this.#ordered.isBetween(timeline, from, to)) continue
      count += Number(stateAt(timeline, at) !== undefined) - Number(timeline.live)
    }
    return count
  }
}

// Scanning a log entry takes some 20 ns, so this keeps one call under a millisecond.
const MAX_SCANNED = 20_000
const FEW_KEYS = 1_000

/** The state that could be read at a revision. */
function stateAt<S extends KeyState>(timeline: Timeline<S>, revision: Revision): S | undefined {
  const state = anyStateAt(timeline, revision)
  return state?.deleted ? undefined : state
}

/** The last write up to a revision, deletions included. */
function anyStateAt<S extends KeyState>({ latest, older }: Timeline<S>, revision: Revision): S | undefined {
  if (latest.modified <= revision) return latest
  return older?.[newestUpTo(older, revision)]
}

/** The index of the last state up to a revision, or -1. */
function newestUpTo(states: readonly KeyState[], revision: Revision): number {
  let low = 0
  let high = states.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (states[middle]!.modified <= revision) low = middle + 1
    else high = middle
  }
  return low - 1
}
