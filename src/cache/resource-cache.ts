/**
 * The current objects of one resource and their recent past, in memory.
 *
 * Every key has a chain of object revisions, newest first; a log holds the same in the order they were written:
 *
 *     a ─ a@9 → a@4          log  a@4  b@6  a@9  b@11(deleted)
 *     b ─ b@11 → b@6
 *
 * A read at revision 7 takes from each chain the first one not newer than 7: a@4 and b@6. A watch from 6 sends a@9 and
 * b@11. When the log drops a@4, the chain ends after the one that follows it; once a deletion is dropped, so is its key.
 * Nothing refers to a dropped revision any more: its bytes are free at once.
 */

import { bufferOf, withRevision } from '../codec/stored-bytes.ts'
import { monotonicMs } from '../lib/environment.ts'
import type { Resource } from '../schema/resource.ts'
import { compareKeys } from '../storage/key-order.ts'
import { OrderedKeys } from '../storage/ordered-keys.ts'
import type { Entry, Event, Revision, Store } from '../storage/store.ts'
import type { ByteBudget, Evictable } from './byte-budget.ts'
import { type ByteSource, type CachedRevision, objectRevisionOf, tombstoneOf, type Written } from './cached-revision.ts'
import { Postings } from './postings.ts'
import { type Selection, selects } from './selection.ts'
import type { Slabs } from './slabs.ts'
import { Watchers } from './watchers.ts'

/** How much history a resource keeps in memory, and all of them together. */
export type HistoryLimits = {
  readonly bytes: number
  readonly entries: number
  readonly ageMs: number
  readonly totalBytes?: number
}
export const DEFAULT_HISTORY: HistoryLimits = { bytes: 64 << 20, entries: 100_000, ageMs: 10 * 60_000, totalBytes: 128 << 20 }

export type Listing = {
  readonly objects: readonly CachedRevision[]
  /** Where the next page begins, when there is more. */
  readonly next: string | undefined
  /** How many objects follow; counted only when nothing but namespace selects. */
  readonly remaining: number | undefined
}
export type ListRequest = { readonly selection: Selection; readonly at?: Revision; readonly after?: string; readonly limit?: number }

class Slot {
  readonly key: string
  newest: CachedRevision

  constructor(newest: CachedRevision) {
    this.key = newest.key
    this.newest = newest
  }
  get live(): boolean {
    return !this.newest.deleted
  }
}

/** An object revision and the one that was current before it. */
export type Replaced = { readonly current: CachedRevision; readonly previous: CachedRevision | undefined }
/** `bytes` is how much history in memory the write has made: what it replaced, and of a deletion its own state as well. */
type Logged = { readonly object: CachedRevision; readonly time: number; bytes: number }

/** The place of a dropped revision in the log, until the log is cut. */
const DROPPED: Logged = { object: undefined as never, time: 0, bytes: 0 }
/** The log is cut when half of it is gone, so that each entry is moved once on average; a short one need not be. */
const FEW_DROPPED = 1024

/** Where bytes are read again that are not in memory, and how many may be. */
export type ReadBack = { readonly store: Pick<Store, 'readBack'>; readonly budget: ByteBudget }

export class ResourceCache implements ByteSource, Evictable {
  readonly resource: Resource
  readonly watchers: Watchers
  readonly #limits: HistoryLimits
  readonly #now: () => number
  readonly #slots = new Map<string, Slot>()
  readonly #order = new OrderedKeys<Slot>()
  readonly #postings = new Postings()
  /** Object revisions in the order they were written; those before `#dropped` are gone, and only their places are left. */
  #log: Logged[] = []
  #dropped = 0
  #logBytes = 0
  /** Before it, history has no bytes in memory. */
  #evicted = 0
  #count = 0
  /** Bytes of all current objects, in memory or not. */
  #size = 0
  #oldest: Revision
  readonly #readBack: ReadBack | undefined
  /** Bytes of all its object revisions that are in memory and could be read again. */
  #heldBytes = 0
  #isReleased = false

  constructor(resource: Resource, options: { since: Revision; limits?: HistoryLimits; now?: () => number; readBack?: ReadBack }) {
    this.#readBack = options.readBack
    this.resource = resource
    this.watchers = new Watchers(resource)
    this.#oldest = options.since
    this.#limits = options.limits ?? DEFAULT_HISTORY
    this.#now = options.now ?? monotonicMs
  }

  /** The oldest revision at which reads and from which watches can still be served. */
  get oldest(): Revision {
    return this.#oldest
  }
  /** How many objects there are. */
  get count(): number {
    return this.#count
  }
  /** How many bytes they have. */
  get size(): number {
    return this.#size
  }
  /** Bytes of past object revisions. */
  get historyBytes(): number {
    return this.#logBytes
  }

  /** Adds an object that existed at the start, without an event. Those that are loaded together may share slabs. */
  load(entry: Entry, slabs?: Slabs): void {
    const object = objectRevisionOf(this.resource, entry, undefined, slabs)
    this.#setNewest(object)
    // Objects that are read at the start are mostly not the ones that clients read next.
    if (this.#readBack?.budget.isUsedUp) object.evict()
  }

  /** The bytes of an object that it has, or had a moment ago. */
  read(object: CachedRevision): Buffer | undefined {
    return this.#readBack && readFrom(this.#readBack.store, object)
  }

  /** Current objects that somebody asked for are likely to be asked for again; past revisions and very large objects are not kept. */
  keeps(object: CachedRevision): boolean {
    return this.#slots.get(object.key)?.newest === object && object.size <= this.#readBack!.budget.limit / 16
  }

  held(bytes: number): void {
    if (this.#isReleased) return
    this.#heldBytes += bytes
    this.#readBack!.budget.add(bytes)
  }

  evictAfter(key: string | undefined, many: number, leastSize: number): string | undefined {
    const from = key === undefined ? START : this.#order.after(key)
    let left = many
    for (const { newest } of this.#order.between(from, END)) {
      if (newest.isRead) newest.isRead = false
      else if (newest.size >= leastSize && !newest.deleted) newest.evict()
      if (--left === 0 || !this.#readBack?.budget.isUsedUp) return newest.key
    }
    return undefined
  }

  /** Nobody uses the cache any more: its bytes no longer count. */
  release(): void {
    this.#isReleased = true
    this.#readBack?.budget.add(-this.#heldBytes)
  }

  /**
   * Applies one event of the store, notifies the watchers and returns the newest object revision of its key; undefined for the
   * deletion of something that does not exist. `written` is what the writer knows, if that was here.
   */
  apply(event: Event, written?: Written): CachedRevision | undefined {
    const newest = event.after ? objectRevisionOf(this.resource, event.after, written) : this.#deletionOf(event)
    if (!newest) return undefined
    const before = this.#setNewest(newest)
    const bytes = (before?.bytesInMemory ?? 0) + (newest.deleted ? newest.size : 0)
    this.#log.push({ object: newest, time: this.#now(), bytes })
    this.#logBytes += bytes
    this.watchers.tell(newest, before)
    this.dropOld()
    return newest
  }

  /** Drops history beyond the limits. Called now and then as well, since history also ages where nothing is written. */
  dropOld(): void {
    const { bytes, entries, ageMs } = this.#limits
    const eldest = this.#now() - ageMs
    if (this.#logBytes > bytes) this.shrinkHistory(bytes)
    this.#dropWhile(({ time }) => this.#log.length - this.#dropped > entries || time < eldest)
  }

  /** Keeps no more than so many bytes of history in memory: where they can be read again, the history itself stays. */
  shrinkHistory(bytes: number): void {
    if (!this.#readBack) this.#dropWhile(() => this.#logBytes > bytes)
    this.#evicted = Math.max(this.#evicted, this.#dropped)
    while (this.#logBytes > bytes && this.#evicted < this.#log.length) this.#evictLogged(this.#log[this.#evicted++]!)
  }

  #evictLogged(logged: Logged): void {
    const { object } = logged
    // A deletion is made from what it deleted.
    if (object.deleted) object.evict()
    object.previous?.evict()
    this.#logBytes -= logged.bytes
    logged.bytes = 0
  }

  /** Drops what can no longer be read from the store either. */
  forgetBefore(revision: Revision): void {
    this.#dropWhile(({ object }) => object.revision <= revision)
  }

  /**
   * Takes over what the store has at a revision when its history up to there is lost: nothing from before can be watched or listed any
   * more. Returns the changed objects with their previous revisions; all of it where the store went back, since the same revision may be another one.
   */
  reset(entries: readonly Entry[], revision: Revision, { isBack = false } = {}): readonly Replaced[] {
    const changes: Replaced[] = []
    const present = new Set<string>()
    for (const entry of entries) {
      present.add(entry.key)
      const previous = this.get(entry.key)
      if (previous?.revision === entry.modified && !isBack) continue
      const current = objectRevisionOf(this.resource, entry)
      // Another object of the same name: its predecessor was deleted meanwhile, and whoever depends on that has to hear of it.
      const isReplaced = previous !== undefined && previous.uid !== current.uid && previous.uid !== '' && current.uid !== ''
      if (isReplaced) changes.push(this.#bury(previous, entry.modified - 1))
      this.#setNewest(current)
      changes.push({ current, previous: isReplaced ? undefined : previous })
    }
    for (const previous of [...this.current()]) if (!present.has(previous.key)) changes.push(this.#bury(previous, revision))
    this.#log = []
    this.#dropped = this.#evicted = this.#logBytes = 0
    this.#oldest = revision
    for (const { newest } of [...this.#slots.values()]) {
      for (let past = newest.previous; past; past = past.previous) past.untrack()
      newest.previous = undefined
      if (newest.deleted) this.#free(newest)
    }
    return changes
  }

  /** Takes an object for deleted whose deletion was not seen. */
  #bury(previous: CachedRevision, revision: Revision): Replaced {
    const current = tombstoneOf(previous, revision)
    // Its bytes are made of those that it replaces, to which it loses its reference.
    void current.json
    this.#setNewest(current)
    return { current, previous }
  }

  get(key: string): CachedRevision | undefined {
    const object = this.#slots.get(key)?.newest
    return object?.deleted ? undefined : object
  }

  /** The revision at which a key was last written or deleted, as far as that is known. */
  newestRevisionOf(key: string): Revision | undefined {
    return this.#slots.get(key)?.newest.revision
  }

  /** The objects selected, in key order. `at` must not be before `oldest`. */
  list({ selection, at, after, limit = Number.POSITIVE_INFINITY }: ListRequest): Listing {
    if (at === undefined && selection.term) return this.#listByTerm(selection, after, limit)
    const prefix = prefixOf(this.resource, selection)
    const from = after === undefined ? this.#order.atOrAfter(prefix) : this.#order.after(after)
    const past = this.#order.pastPrefix(prefix)
    const objects: CachedRevision[] = []
    for (const slot of this.#order.between(from, past)) {
      const object = at === undefined ? slot.newest : objectAt(slot.newest, at)
      if (!object || object.deleted || !selects(selection, object)) continue
      if (objects.length === limit) return { objects, ...this.#more(selection, objects.at(-1)!.key, at) }
      objects.push(object)
    }
    return { objects, next: undefined, remaining: undefined }
  }

  /** Every current object, in no particular order. */
  *current(): Iterable<CachedRevision> {
    for (const { newest } of this.#slots.values()) if (!newest.deleted) yield newest
  }

  /** The current objects whose records cannot be read. */
  *unreadable(): Iterable<CachedRevision> {
    for (const object of this.current()) if (object.fault !== undefined) yield object
  }

  /** The changes after a revision, in order. The revision must not be before `oldest`. */
  *since(revision: Revision): Iterable<CachedRevision> {
    for (let i = this.#firstAfter(revision); i < this.#log.length; i++) yield this.#log[i]!.object
  }

  #listByTerm(selection: Selection, after: string | undefined, limit: number): Listing {
    const found: CachedRevision[] = []
    for (const key of this.#postings.keys(selection.term!, this.current())) {
      const object = this.#slots.get(key)!.newest
      if ((after === undefined || compareKeys(key, after) > 0) && selects(selection, object)) found.push(object)
    }
    found.sort((a, b) => compareKeys(a.key, b.key))
    return { objects: found.slice(0, limit), next: found.length > limit ? found[limit - 1]!.key : undefined, remaining: undefined }
  }

  #more(selection: Selection, last: string, at: Revision | undefined): { next: string; remaining: number | undefined } {
    if (selection.test || selection.name !== '') return { next: last, remaining: undefined }
    const from = this.#order.after(last)
    const past = this.#order.pastPrefix(prefixOf(this.resource, selection))
    let remaining = this.#order.countLive(from, past)
    // At a past revision: undo what has changed in the rest of the range since then.
    const seen = new Set<string>()
    for (let i = at === undefined ? this.#log.length : this.#firstAfter(at); i < this.#log.length; i++) {
      const { key } = this.#log[i]!.object
      const slot = this.#slots.get(key)
      if (!slot || seen.has(key) || !this.#order.isBetween(slot, from, past)) continue
      seen.add(key)
      const then = objectAt(slot.newest, at!)
      remaining += Number(then !== undefined && !then.deleted) - Number(slot.live)
    }
    return { next: last, remaining }
  }

  /** Makes it the newest of its key; returns what it replaces. */
  #setNewest(object: CachedRevision): CachedRevision | undefined {
    if (this.#readBack) object.track(this)
    const slot = this.#slots.get(object.key)
    if (!slot) {
      const added = new Slot(object)
      this.#slots.set(object.key, added)
      this.#order.insert(added)
      this.#count++
      this.#size += object.size
      this.#postings.replace(undefined, object)
      return undefined
    }
    const before = slot.newest
    const wasLive = slot.live
    if (wasLive) this.#size -= before.size
    object.previous = before
    slot.newest = object
    if (slot.live) this.#size += object.size
    if (slot.live !== wasLive) {
      this.#order.liveChanged(slot)
      this.#count += slot.live ? 1 : -1
    }
    this.#postings.replace(wasLive ? before : undefined, slot.live ? object : undefined)
    return before
  }

  #deletionOf({ key, revision }: Event): CachedRevision | undefined {
    const last = this.get(key)
    return last && tombstoneOf(last, revision)
  }

  #firstAfter(revision: Revision): number {
    let low = this.#dropped
    let high = this.#log.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#log[middle]!.object.revision > revision) high = middle
      else low = middle + 1
    }
    return low
  }

  #dropWhile(isOver: (oldest: Logged) => boolean): void {
    while (this.#dropped < this.#log.length) {
      const logged = this.#log[this.#dropped]!
      if (!isOver(logged)) break
      const { object } = logged
      // The array keeps its length for now, but must not keep the object and its bytes.
      this.#log[this.#dropped++] = DROPPED
      this.#logBytes -= logged.bytes
      object.previous?.untrack()
      object.previous = undefined
      this.#oldest = object.revision
      if (object.deleted) this.#free(object)
    }
    if (this.#dropped <= FEW_DROPPED || this.#dropped * 2 <= this.#log.length) return
    this.#log.splice(0, this.#dropped)
    this.#evicted = Math.max(0, this.#evicted - this.#dropped)
    this.#dropped = 0
  }

  #free(deleted: CachedRevision): void {
    const slot = this.#slots.get(deleted.key)
    if (slot?.newest !== deleted) return
    this.#slots.delete(deleted.key)
    this.#order.remove(slot)
  }
}

/** The bytes of an object revision, read again from the store. */
export function readFrom(store: Pick<Store, 'readBack'>, { key, revision, revisionOffset }: CachedRevision): Buffer | undefined {
  const entry = store.readBack?.(key, revision)
  if (!entry || entry.fault !== undefined) return undefined
  return withRevision(bufferOf(entry.value), revision, revisionOffset)
}

const START = { block: 0, offset: 0 }
const END = { block: Number.POSITIVE_INFINITY, offset: 0 }

/** The prefix of the keys of all selected objects. */
export function prefixOf({ prefix, namespaced }: Resource, { namespace, name }: Selection): string {
  if (!namespaced) return prefix + name
  return namespace === '' ? prefix : `${prefix}${namespace}/${name}`
}

function objectAt(newest: CachedRevision, revision: Revision): CachedRevision | undefined {
  let object: CachedRevision | undefined = newest
  while (object && object.revision > revision) object = object.previous
  return object
}
