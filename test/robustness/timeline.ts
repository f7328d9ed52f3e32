/** The order of all writes, assembled from the observations of all clients. */
import {
  type Delete,
  type History,
  type Key,
  type Put,
  type Revision,
  type Seen,
  type Session,
  type Sweep,
  sameObject,
  type Time,
  type Violation,
} from './history.ts'
import { matches, type Selection } from './selection.ts'

/** One write that took effect. */
export type Entry = {
  readonly revision: Revision
  readonly key: Key
  /** The resulting object; undefined for a deletion. */
  readonly after: Seen | undefined
  /** When a client first observed it. */
  heard: Time
  /** It cannot have happened before this time. */
  begun: Time
}

/** A range that no client observed completely: unknown writes may have happened in it. */
type Hole = { readonly after: Revision; readonly upTo: Revision }
type Anchor = { readonly revision: Revision; readonly keys: ReadonlySet<Key> }

export const UNKNOWN = Symbol('unknown')
export type State = Seen | undefined | typeof UNKNOWN

export class Timeline {
  readonly violations: Violation[] = []
  readonly base: Revision
  readonly puts = new Map<string, Put>()
  /** Deletions that were requested and not refused, by key. */
  readonly deletes = new Map<Key, Delete[]>()
  readonly sweeps: Sweep[] = []
  readonly #entries = new Map<Revision, Entry>()
  #ordered = new Map<string, Entry[]>()
  #byKey = new Map<Key, Entry[]>()
  readonly #holes = new Map<string, Hole[]>()
  /** Whole lists by resource, oldest first: they show the state after a gap. */
  readonly #anchors = new Map<string, Anchor[]>()

  constructor(history: History) {
    this.base = history.base.revision
    for (const object of history.base.objects) this.#put(object, Number.NEGATIVE_INFINITY)
    for (const act of history.acts) {
      if (act.type === 'put') this.puts.set(act.value, act)
      if (act.type === 'delete' && act.outcome.is !== 'refused') pushTo(this.deletes, act.key, act)
      if (act.type === 'sweep') this.sweeps.push(act)
    }
    for (const act of history.acts) this.#learn(act)
    this.#arrange(history.base)
    for (const resource of new Set([
      ...this.#ordered.keys(),
      ...history.acts.flatMap(a => (a.type === 'watch' ? [a.selection.resource] : [])),
    ]))
      this.#holes.set(resource, holesOf(this.base, coverage(history, resource)))
  }

  /** The writes of a resource in order. */
  entries(resource: string): readonly Entry[] {
    return this.#ordered.get(resource) ?? []
  }

  *all(): Iterable<Entry> {
    for (const entries of this.#ordered.values()) yield* entries
  }

  /** The writes of one key in order. */
  of(key: Key): readonly Entry[] {
    return this.#byKey.get(key) ?? []
  }

  keys(): Iterable<Key> {
    return this.#byKey.keys()
  }

  /** Whether something unknown may have happened to a resource after one revision and up to another. */
  isUncertain(resource: string, after: Revision, upTo: Revision): boolean {
    return after < this.base || (this.#holes.get(resource) ?? []).some(hole => hole.after < upTo && after < hole.upTo)
  }

  /** The state of a key at a revision. */
  state(key: Key, revision: Revision): State {
    const entry = lastUpTo(this.of(key), revision)
    const since = Math.max(entry?.revision ?? 0, this.base)
    const resource = resourceOf(key)
    if (revision >= this.base && !this.isUncertain(resource, since, revision)) return entry?.after
    const anchor = this.#anchors.get(resource)?.findLast(anchor => anchor.revision <= revision)
    if (!anchor || anchor.revision < since || this.isUncertain(resource, anchor.revision, revision)) return UNKNOWN
    return anchor.keys.has(key) ? entry?.after : undefined
  }

  /** The state of a selection at a revision, in the order of keys; `isUncertain` when some keys are not known. */
  snapshot(selection: Selection, revision: Revision): { objects: Seen[]; isUncertain: boolean } {
    const objects: Seen[] = []
    let isUncertain = revision < this.base
    for (const key of this.#byKey.keys()) {
      if (resourceOf(key) !== selection.resource) continue
      const state = this.state(key, revision)
      if (state === UNKNOWN) isUncertain = true
      else if (state !== undefined && matches(selection, key, state.labels)) objects.push(state)
    }
    return { objects: objects.sort((a, b) => (a.key < b.key ? -1 : 1)), isUncertain }
  }

  /** Whether a key was, at some time between a revision and a time, in a matching state. True when that is not known. */
  sometime(key: Key, { from, until }: { from: Revision; until: Time }, fits: (state: Seen | undefined) => boolean): boolean {
    const first = this.state(key, Math.max(from, this.base))
    if (first === UNKNOWN || fits(first)) return true
    const entries = this.of(key)
    for (let i = firstAfter(entries, from); i < entries.length; i++) {
      const { begun, after } = entries[i]!
      if (begun <= until && fits(after)) return true
    }
    return this.isUncertain(resourceOf(key), from, Number.POSITIVE_INFINITY)
  }

  #learn(act: History['acts'][number]): void {
    switch (act.type) {
      case 'put':
        if (act.outcome.is === 'done') this.#put(act.outcome.object, act.end)
        break
      case 'delete':
        if (act.outcome.is === 'done' && act.outcome.revision !== undefined) this.#deletion(act.key, act.outcome.revision, act.end)
        break
      case 'sweep':
        if (act.outcome.is === 'done') for (const item of act.outcome.items) this.#put(item, act.end)
        break
      case 'get':
        if (act.found) this.#put(act.found, act.end)
        break
      case 'page':
        for (const item of act.items) this.#put(item, act.end)
        if (isWhole(act.selection) && act.after === undefined && !act.more)
          pushTo(this.#anchors, act.selection.resource, { revision: act.revision, keys: new Set(act.items.map(item => item.key)) })
        break
      case 'watch':
        this.#learnFromWatch(act)
    }
  }

  #learnFromWatch({ selection, events }: Session): void {
    for (const event of events) {
      if (event.type === 'BOOKMARK') continue
      const { key, revision } = event.object
      if (event.type !== 'DELETED') this.#put(event.object, event.time)
      // A watch with a label selector gets objects that cease to match as deleted.
      else if (selection.labels === undefined) this.#deletion(key, revision, event.time)
    }
  }

  #put(object: Seen, heard: Time): void {
    const { revision, key, value } = object
    const known = this.#entries.get(revision)
    if (known === undefined)
      this.#entries.set(revision, { revision, key, after: object, heard, begun: this.puts.get(value)?.start ?? Number.NEGATIVE_INFINITY })
    else if (known.after !== undefined && sameObject(known.after, object)) known.heard = Math.min(known.heard, heard)
    else this.#contradiction(known, `${key} = ${value}`, heard)
  }

  #deletion(key: Key, revision: Revision, heard: Time): void {
    const known = this.#entries.get(revision)
    if (known === undefined) this.#entries.set(revision, { revision, key, after: undefined, heard, begun: this.#earliestDelete(key) })
    else if (known.key === key && known.after === undefined) known.heard = Math.min(known.heard, heard)
    else this.#contradiction(known, `a deletion of ${key}`, heard)
  }

  #earliestDelete(key: Key): Time {
    const starts = this.deletes.get(key)?.map(act => act.start) ?? []
    return this.sweeps.length > 0 ? Number.NEGATIVE_INFINITY : Math.min(Number.POSITIVE_INFINITY, ...starts)
  }

  #contradiction(known: Entry, other: string, time: Time): void {
    const first = known.after ? `${known.key} = ${known.after.value}` : `a deletion of ${known.key}`
    const what = `revision ${known.revision} is ${first} to one client and ${other} to another`
    this.violations.push({ promise: 'one revision is one write', what, key: known.key, revision: known.revision, time })
  }

  #arrange(base: History['base']): void {
    for (const anchors of this.#anchors.values()) anchors.sort((a, b) => a.revision - b.revision)
    // A reader may look back to before the base, at objects that were deleted by then.
    const there = new Set(base.objects.map(object => object.revision))
    const entries = [...this.#entries.values()].filter(({ revision }) => revision > base.revision || there.has(revision))
    for (const entry of entries.sort((a, b) => a.revision - b.revision)) {
      pushTo(this.#ordered, resourceOf(entry.key), entry)
      pushTo(this.#byKey, entry.key, entry)
    }
  }
}

export const resourceOf = (key: Key): string => key.slice(0, key.indexOf('/'))

/** The index of the first entry after a revision. */
export function firstAfter(entries: readonly { readonly revision: Revision }[], revision: Revision): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]!.revision > revision) high = middle
    else low = middle + 1
  }
  return low
}

const lastUpTo = (entries: readonly Entry[], revision: Revision): Entry | undefined => entries[firstAfter(entries, revision) - 1]

const isWhole = ({ namespace, name, labels }: Selection): boolean => namespace === undefined && name === undefined && labels === undefined

type Coverage = {
  /** The ranges over which some client observed all changes of a resource. */
  readonly ranges: Hole[]
  /** From here on some client observes all changes until the end; undefined if none is known to. */
  readonly last: Revision | undefined
}

function coverage({ acts }: History, resource: string): Coverage {
  const ranges: Hole[] = []
  // Clients that watch everything, each with the revision from which its last list or watch goes on.
  const positions = new Map<string, Revision>()
  for (const act of acts) {
    if ((act.type !== 'watch' && act.type !== 'page') || act.selection.resource !== resource || !isWhole(act.selection)) continue
    if (act.type === 'page') {
      if (positions.has(act.client) && act.after === undefined) positions.set(act.client, act.revision)
      continue
    }
    const after = beginOf(act)
    const last = act.events.at(-1)
    if (after !== undefined) positions.set(act.client, after)
    if (after !== undefined && last) ranges.push({ after, upTo: last.type === 'BOOKMARK' ? last.revision : last.object.revision })
  }
  return { ranges, last: positions.size > 0 ? Math.min(...positions.values()) : undefined }
}

/** The revision from which a watch has all changes. */
function beginOf({ from, events }: Session): Revision | undefined {
  const initial = events.find(event => event.type === 'BOOKMARK' && event.endsInitial)
  return from ?? (initial?.type === 'BOOKMARK' ? initial.revision : undefined)
}

/**
 * The end of a history is a gap only up to where the last watches begin. A run ends when nothing is in flight and every watch has received
 * a last write, or has listed everything after it; one that listed because history was forgotten does not know what it has missed.
 */
function holesOf(base: Revision, { ranges, last = base }: Coverage): Hole[] {
  const holes: Hole[] = []
  let reached = base
  for (const { after, upTo } of [...ranges.sort((a, b) => a.after - b.after), { after: last, upTo: last }]) {
    if (after > reached) holes.push({ after: reached, upTo: after })
    reached = Math.max(reached, upTo)
  }
  return holes
}

function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key)
  if (values) values.push(value)
  else map.set(key, [value])
}
