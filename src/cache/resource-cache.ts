/**
 * The current objects of one resource and their recent past, in memory.
 *
 * Every key has a chain of versions, newest first; a log holds the same versions in the order they were written:
 *
 *     a ─ a@9 → a@4          log  a@4  b@6  a@9  b@11(deleted)
 *     b ─ b@11 → b@6
 *
 * A read at revision 7 takes from each chain the first version not newer than 7: a@4 and b@6. A watch from 6 sends a@9 and
 * b@11. When the log forgets a@4, the chain ends after the version that follows it; a forgotten deletion frees its key.
 */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { compareKeys } from '../storage/key-order.ts'
import { OrderedKeys } from '../storage/ordered-keys.ts'
import type { Entry, Event, Revision } from '../storage/store.ts'
import { Postings } from './postings.ts'
import { type Selection, selects } from './selection.ts'
import { tombstoneOf, type Version, versionOf } from './version.ts'
import { Watchers } from './watchers.ts'

/** How much of the past a resource keeps in memory. */
export type HistoryLimits = { readonly bytes: number; readonly versions: number; readonly ageMs: number }
export const DEFAULT_HISTORY: HistoryLimits = { bytes: 64 << 20, versions: 100_000, ageMs: 10 * 60_000 }

export type Listing = {
  readonly versions: readonly Version[]
  /** Where the next page begins, when there is more. */
  readonly next: string | undefined
  /** How many objects follow; counted only when nothing but namespace selects. */
  readonly remaining: number | undefined
}
export type ListRequest = { readonly selection: Selection; readonly at?: Revision; readonly after?: string; readonly limit?: number }

class Slot {
  readonly key: string
  newest: Version

  constructor(newest: Version) {
    this.key = newest.key
    this.newest = newest
  }
  get live(): boolean {
    return !this.newest.deleted
  }
}

type Logged = { readonly version: Version; readonly time: number }

export class ResourceCache {
  readonly resource: Resource
  readonly watchers: Watchers
  readonly #limits: HistoryLimits
  readonly #now: () => number
  readonly #slots = new Map<string, Slot>()
  readonly #order = new OrderedKeys<Slot>()
  readonly #postings = new Postings()
  /** Versions in the order they were written; those before `#forgotten` are gone. */
  #log: Logged[] = []
  #forgotten = 0
  #logBytes = 0
  #count = 0
  #oldest: Revision

  constructor(resource: Resource, options: { since: Revision; limits?: HistoryLimits; now?: () => number }) {
    this.resource = resource
    this.watchers = new Watchers(resource)
    this.#oldest = options.since
    this.#limits = options.limits ?? DEFAULT_HISTORY
    this.#now = options.now ?? Date.now
  }

  /** The oldest revision at which reads and from which watches can still be served. */
  get oldest(): Revision {
    return this.#oldest
  }
  /** How many objects there are. */
  get count(): number {
    return this.#count
  }

  /** Takes in an object as it was at the start, without an event. */
  load(entry: Entry): void {
    this.#place(versionOf(this.resource, entry, undefined))
  }

  /**
   * Takes in one event of the store, tells the watchers and returns what has become the newest version; nothing when what is not
   * there has gone. `object` is the decoded value when the writer is at hand.
   */
  apply(event: Event, object?: AnyObject): Version | undefined {
    const version = event.after ? versionOf(this.resource, event.after, object) : this.#deletionOf(event)
    if (!version) return undefined
    const before = this.#place(version)
    this.#log.push({ version, time: this.#now() })
    this.#logBytes += before?.json.length ?? 0
    this.watchers.tell(version, before)
    this.#forget()
    return version
  }

  get(key: string): Version | undefined {
    const version = this.#slots.get(key)?.newest
    return version?.deleted ? undefined : version
  }

  /** The objects selected, in key order. `at` must not be before `oldest`. */
  list({ selection, at, after, limit = Number.POSITIVE_INFINITY }: ListRequest): Listing {
    if (at === undefined && selection.term) return this.#listByTerm(selection, after, limit)
    const prefix = this.#prefixOf(selection)
    const from = after === undefined ? this.#order.atOrAfter(prefix) : this.#order.after(after)
    const past = this.#order.pastPrefix(prefix)
    const versions: Version[] = []
    for (const slot of this.#order.between(from, past)) {
      const version = at === undefined ? slot.newest : versionAt(slot.newest, at)
      if (!version || version.deleted || !selects(selection, version)) continue
      if (versions.length === limit) return { versions, ...this.#more(selection, versions.at(-1)!.key, at) }
      versions.push(version)
    }
    return { versions, next: undefined, remaining: undefined }
  }

  /** Every current object, in no particular order. */
  *current(): Iterable<Version> {
    for (const { newest } of this.#slots.values()) if (!newest.deleted) yield newest
  }

  /** The versions written after a revision, in order; undefined when some of them are forgotten. */
  *since(revision: Revision): Iterable<Version> {
    for (let i = this.#firstAfter(revision); i < this.#log.length; i++) yield this.#log[i]!.version
  }

  #prefixOf({ namespace, name }: Selection): string {
    const { prefix, namespaced } = this.resource
    if (!namespaced) return prefix + name
    return namespace === '' ? prefix : `${prefix}${namespace}/${name}`
  }

  #listByTerm(selection: Selection, after: string | undefined, limit: number): Listing {
    const found: Version[] = []
    for (const key of this.#postings.keys(selection.term!, this.current())) {
      const version = this.#slots.get(key)!.newest
      if ((after === undefined || compareKeys(key, after) > 0) && selects(selection, version)) found.push(version)
    }
    found.sort((a, b) => compareKeys(a.key, b.key))
    return { versions: found.slice(0, limit), next: found.length > limit ? found[limit - 1]!.key : undefined, remaining: undefined }
  }

  #more(selection: Selection, last: string, at: Revision | undefined): { next: string; remaining: number | undefined } {
    if (selection.test || selection.name !== '') return { next: last, remaining: undefined }
    const from = this.#order.after(last)
    const past = this.#order.pastPrefix(this.#prefixOf(selection))
    let remaining = this.#order.countLive(from, past)
    // At a past revision: take back what has changed in the rest of the range since then.
    const seen = new Set<string>()
    for (let i = at === undefined ? this.#log.length : this.#firstAfter(at); i < this.#log.length; i++) {
      const { key } = this.#log[i]!.version
      const slot = this.#slots.get(key)
      if (!slot || seen.has(key) || !this.#order.isBetween(slot, from, past)) continue
      seen.add(key)
      const then = versionAt(slot.newest, at!)
      remaining += Number(then !== undefined && !then.deleted) - Number(slot.live)
    }
    return { next: last, remaining }
  }

  /** Makes a version the newest of its key; returns what it replaces. */
  #place(version: Version): Version | undefined {
    const slot = this.#slots.get(version.key)
    if (!slot) {
      const added = new Slot(version)
      this.#slots.set(version.key, added)
      this.#order.insert(added)
      this.#count++
      this.#postings.replace(undefined, version)
      return undefined
    }
    const before = slot.newest
    const wasLive = slot.live
    version.previous = before
    slot.newest = version
    if (slot.live !== wasLive) {
      this.#order.liveChanged(slot)
      this.#count += slot.live ? 1 : -1
    }
    this.#postings.replace(wasLive ? before : undefined, slot.live ? version : undefined)
    return before
  }

  #deletionOf({ key, revision }: Event): Version | undefined {
    const last = this.get(key)
    return last && tombstoneOf(last, revision)
  }

  #firstAfter(revision: Revision): number {
    let low = this.#forgotten
    let high = this.#log.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#log[middle]!.version.revision > revision) high = middle
      else low = middle + 1
    }
    return low
  }

  #forget(): void {
    const { bytes, versions, ageMs } = this.#limits
    const eldest = this.#now() - ageMs
    while (this.#forgotten < this.#log.length) {
      const { version, time } = this.#log[this.#forgotten]!
      if (this.#logBytes <= bytes && this.#log.length - this.#forgotten <= versions && time >= eldest) break
      this.#forgotten++
      this.#logBytes -= version.previous?.json.length ?? 0
      version.previous = undefined
      this.#oldest = version.revision
      if (version.deleted) this.#free(version)
    }
    // The array is cut when half of it is gone, so that each entry is moved once on average.
    if (this.#forgotten > 1024 && this.#forgotten * 2 > this.#log.length) {
      this.#log = this.#log.slice(this.#forgotten)
      this.#forgotten = 0
    }
  }

  #free(deleted: Version): void {
    const slot = this.#slots.get(deleted.key)
    if (slot?.newest !== deleted) return
    this.#slots.delete(deleted.key)
    this.#order.remove(slot)
  }
}

function versionAt(newest: Version, revision: Revision): Version | undefined {
  let version: Version | undefined = newest
  while (version && version.revision > revision) version = version.previous
  return version
}
