/** Which versions of which keys exist: the index both local stores read, list, watch and compact by. */
import { compareKeys } from './key-order.ts'
import { OrderedKeys, type Position } from './ordered-keys.ts'
import { Compacted, FutureRevision, type PageRequest, type Revision } from './store.ts'

/** One write of one key; a store may keep more with it, such as the value. */
export type Version = {
  readonly modified: Revision
  readonly created: Revision
  readonly deleted: boolean
  /** When the key expires, in milliseconds since the epoch. */
  readonly deadline?: number
}

export type Versioned<V> = { readonly key: string; readonly version: V }

type Timeline<V> = { readonly key: string; live: boolean; latest: V; older: V[] | undefined }

/**
 * Every key has a timeline of versions, oldest first, and every revision after the oldest points at the timeline it changed:
 *
 *     /a   2 ── 5 ── 7✝        revision   2  3  4  5  6  7
 *     /b   3 ── 6              changed   /a /b /c /a /b /a
 *     /c   4
 *
 * Compacting at 6 drops 2 and 3, which can no longer be read, but keeps 5, /a's state at 6, and 4, /c's.
 * A tombstone (✝) is dropped as soon as the oldest revision has reached it.
 */
export class History<V extends Version> {
  readonly #timelines = new Map<string, Timeline<V>>()
  readonly #ordered = new OrderedKeys<Timeline<V>>()
  /** Timelines changed by the revisions from `#firstLogged` on; undefined where a revision was lost to damage. */
  readonly #log: (Timeline<V> | undefined)[] = []
  #firstLogged: Revision
  #oldest: Revision
  #newest: Revision
  #loading = false

  /** The history of writes that come by revision; putting the keys in order at the end is quicker than keeping them so. */
  static load<V extends Version>(oldest: Revision, writes: Iterable<Versioned<V>>): History<V> {
    const history = new History<V>(oldest)
    history.#loading = true
    for (const { key, version } of writes) history.append(key, version)
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

  /** Adds the next write and returns the version it replaces. */
  append(key: string, version: V): V | undefined {
    const timeline = this.#timelines.get(key)
    const before = timeline && !timeline.latest.deleted ? timeline.latest : undefined
    if (timeline) this.#extend(timeline, version)
    const changed = timeline ?? this.#begin(key, version)
    if (version.modified >= this.#firstLogged) {
      // Assigning past the end leaves holes for revisions that are missing.
      this.#log[version.modified - this.#firstLogged] = changed
    }
    this.#newest = Math.max(this.#newest, version.modified)
    return before
  }

  /** The version of a key that can be read now. */
  latest(key: string): V | undefined {
    const latest = this.#timelines.get(key)?.latest
    return latest?.deleted ? undefined : latest
  }

  /** The version of a key that could be read at a revision. */
  at(key: string, revision: Revision): V | undefined {
    this.check(revision)
    const timeline = this.#timelines.get(key)
    return timeline && versionAt(timeline, revision)
  }

  /** The version that a key got at a revision, while it is known. */
  exact(key: string, modified: Revision): V | undefined {
    const timeline = this.#timelines.get(key)
    const version = timeline && anyVersionAt(timeline, modified)
    return version?.modified === modified ? version : undefined
  }

  /** The first write of a key after a revision, deletions included, among those that are known. */
  firstAfter(key: string, modified: Revision): V | undefined {
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
  page(prefix: string, { limit = Infinity, after, at = this.#newest }: PageRequest): { found: Versioned<V>[]; remaining: number } {
    this.check(at)
    const start = after !== undefined && compareKeys(after, prefix) >= 0 ? this.#ordered.after(after) : this.#ordered.atOrAfter(prefix)
    const end = this.#ordered.pastPrefix(prefix)
    const found: Versioned<V>[] = []
    if (limit > 0) {
      for (const timeline of this.#ordered.between(start, end)) {
        const version = versionAt(timeline, at)
        if (version && found.push({ key: timeline.key, version }) >= limit) break
      }
    }
    if (found.length < limit) return { found, remaining: 0 }
    const last = found.at(-1)
    return { found, remaining: this.#count(last ? this.#ordered.after(last.key) : start, end, at) }
  }

  /** The changes of a prefix after a revision, up to `matches` changes and a bounded scan of the log; `revision` is how far the scan got. */
  changes(prefix: string, after: Revision, matches: number): { revision: Revision; found: Versioned<V>[] } {
    this.check(after)
    const end = Math.min(this.#newest, after + MAX_SCANNED)
    const found: Versioned<V>[] = []
    let revision = after
    while (revision < end && found.length < matches) {
      revision++
      const timeline = this.#log[revision - this.#firstLogged]
      if (!timeline?.key.startsWith(prefix)) continue
      const version = anyVersionAt(timeline, revision)
      if (version) found.push({ key: timeline.key, version })
    }
    return { revision, found }
  }

  /** Rejects reads before a revision from now on; `sweep` then drops what can no longer be read. */
  forget(before: Revision): void {
    if (!(before <= this.#newest)) throw new FutureRevision(before, this.#newest)
    this.#oldest = Math.max(this.#oldest, before)
  }

  /** Drops unreadable versions of at most this many forgotten revisions and returns them; undefined when none is left. */
  sweep(revisions: number): Versioned<V>[] | undefined {
    if (this.#firstLogged > this.#oldest) return undefined
    const until = Math.min(this.#oldest, this.#firstLogged + revisions - 1)
    const dropped: Versioned<V>[] = []
    for (const timeline of this.#log.splice(0, until - this.#firstLogged + 1)) if (timeline) this.#prune(timeline, until, dropped)
    this.#firstLogged = until + 1
    return dropped
  }

  /** Drops everything unreadable at once, for a history that has just been loaded, and returns it. */
  sweepAll(): Versioned<V>[] {
    const dropped: Versioned<V>[] = []
    for (const timeline of [...this.#timelines.values()]) this.#prune(timeline, this.#oldest, dropped)
    return dropped
  }

  /** Every key with its live version, in no particular order. */
  *current(): Generator<Versioned<V>, void> {
    for (const { key, latest } of this.#timelines.values()) if (!latest.deleted) yield { key, version: latest }
  }

  #begin(key: string, version: V): Timeline<V> {
    const timeline = { key, live: !version.deleted, latest: version, older: undefined }
    this.#timelines.set(key, timeline)
    if (!this.#loading) this.#ordered.insert(timeline)
    return timeline
  }

  #extend(timeline: Timeline<V>, version: V): void {
    if (timeline.older) timeline.older.push(timeline.latest)
    else timeline.older = [timeline.latest]
    timeline.latest = version
    if (timeline.live === version.deleted) {
      timeline.live = !version.deleted
      if (!this.#loading) this.#ordered.liveChanged(timeline)
    }
  }

  /** Drops the versions of a timeline that are not readable at `oldest` or later. */
  #prune(timeline: Timeline<V>, oldest: Revision, dropped: Versioned<V>[]): void {
    const { key, latest, older = [] } = timeline
    const readable = latest.modified <= oldest ? older.length : newestUpTo(older, oldest)
    const tombstone = (older[readable] ?? latest).deleted && readable >= 0
    const gone = Math.max(0, Math.min(readable + Number(tombstone), older.length))
    for (const version of older.splice(0, gone)) dropped.push({ key, version })
    if (older.length === 0) timeline.older = undefined
    if (!latest.deleted || latest.modified > oldest || this.#timelines.get(key) !== timeline) return
    dropped.push({ key, version: latest })
    this.#timelines.delete(key)
    this.#ordered.remove(timeline)
  }

  /** Counts what can be read at a revision, either key by key or by undoing what has changed since, whichever is shorter. */
  #count(from: Position, to: Position, at: Revision): number {
    const now = this.#ordered.countLive(from, to)
    if (at === this.#newest) return now
    if (this.#newest - at > now + FEW_KEYS) {
      let count = 0
      for (const timeline of this.#ordered.between(from, to)) count += Number(versionAt(timeline, at) !== undefined)
      return count
    }
    const changed = new Set(this.#log.slice(at + 1 - this.#firstLogged))
    let count = now
    for (const timeline of changed) {
      if (!timeline || !this.#ordered.isBetween(timeline, from, to)) continue
      count += Number(versionAt(timeline, at) !== undefined) - Number(timeline.live)
    }
    return count
  }
}

// Scanning a log entry takes some 20 ns, so this keeps one call under a millisecond.
const MAX_SCANNED = 20_000
const FEW_KEYS = 1_000

/** The version that could be read at a revision. */
function versionAt<V extends Version>(timeline: Timeline<V>, revision: Revision): V | undefined {
  const version = anyVersionAt(timeline, revision)
  return version?.deleted ? undefined : version
}

/** The last write up to a revision, deletions included. */
function anyVersionAt<V extends Version>({ latest, older }: Timeline<V>, revision: Revision): V | undefined {
  if (latest.modified <= revision) return latest
  return older?.[newestUpTo(older, revision)]
}

/** The index of the last version up to a revision, or -1. */
function newestUpTo(versions: readonly Version[], revision: Revision): number {
  let low = 0
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (versions[middle]!.modified <= revision) low = middle + 1
    else high = middle
  }
  return low - 1
}
