/** The watchers of one resource, found from the side of an event: an event costs only the watchers it may concern. */
import type { Resource } from '../schema/resource.ts'
import { type CachedRevision, tombstoneOf } from './cached-revision.ts'
import { type Selection, selects, termValue } from './selection.ts'
import { type EventType, WatchEvent } from './watch-stream.ts'

/** One live watch, as events see it. */
export interface Watcher {
  readonly selection: Selection
  receive(event: WatchEvent, current: CachedRevision): void
}

type Terms = Map<string, Map<string, Set<Watcher>>>

export class Watchers {
  readonly #resource: Resource
  readonly #byName = new Map<string, Set<Watcher>>()
  readonly #byNamespace = new Map<string, Set<Watcher>>()
  /** Watchers by label or field key, then value. */
  readonly #byTerm: Record<'label' | 'field', Terms> = { label: new Map(), field: new Map() }
  readonly #others = new Set<Watcher>()
  #size = 0

  constructor(resource: Resource) {
    this.#resource = resource
  }

  get size(): number {
    return this.#size
  }

  add(watcher: Watcher): void {
    for (const group of this.#groupsOf(watcher.selection)) group.add(watcher)
    this.#size++
  }

  remove(watcher: Watcher): void {
    let found = false
    for (const group of this.#groupsOf(watcher.selection)) found = group.delete(watcher) || found
    if (found) this.#size--
    this.#tidy(watcher.selection)
  }

  /** Sends a change to the watchers that selected the object before or select it now. */
  tell(current: CachedRevision, before: CachedRevision | undefined): void {
    if (this.#size === 0) return
    const last = before?.deleted ? undefined : before
    const events = new EventsOf(this.#resource, current, last)
    for (const watcher of this.#concerned(current, last)) {
      const event = events.for(watcher.selection)
      if (event) watcher.receive(event, current)
    }
  }

  /** Every watcher, for bookmarks and the end. */
  *all(): Iterable<Watcher> {
    const seen = new Set<Watcher>()
    const terms = Object.values(this.#byTerm).flatMap(byKey => [...byKey.values()].flatMap(byValue => [...byValue.values()]))
    for (const group of [this.#others, ...this.#byName.values(), ...this.#byNamespace.values(), ...terms])
      for (const watcher of group)
        if (!seen.has(watcher)) {
          seen.add(watcher)
          yield watcher
        }
  }

  /** A watcher lives under the most telling thing its selection says. */
  *#groupsOf({ namespace, name, term }: Selection): Iterable<Set<Watcher>> {
    if (name !== '') yield grow(this.#byName, `${namespace}/${name}`)
    else if (term) for (const value of term.values) yield grow(growMap(this.#byTerm[term.on], term.key), value)
    else if (namespace !== '') yield grow(this.#byNamespace, namespace)
    else yield this.#others
  }

  *#concerned(current: CachedRevision, before: CachedRevision | undefined): Iterable<Watcher> {
    const { namespace, name } = current
    yield* this.#others
    yield* this.#byNamespace.get(namespace) ?? NONE
    yield* this.#byName.get(`${namespace}/${name}`) ?? NONE
    // A name may also be watched in all namespaces.
    if (namespace !== '') yield* this.#byName.get(`/${name}`) ?? NONE
    for (const on of ['label', 'field'] as const)
      for (const [key, byValue] of this.#byTerm[on]) {
        const now = byValue.get(termValue(on, key, current) ?? '') ?? NONE
        const then = byValue.get((before && termValue(on, key, before)) ?? '') ?? NONE
        yield* now
        // A watcher of several values may be found under both.
        if (then !== now) for (const watcher of then) if (!now.has(watcher)) yield watcher
      }
  }

  #tidy({ namespace, name, term }: Selection): void {
    if (name !== '') dropEmpty(this.#byName, `${namespace}/${name}`)
    else if (term) {
      const byValue = this.#byTerm[term.on].get(term.key)
      for (const value of term.values) if (byValue) dropEmpty(byValue, value)
      if (byValue?.size === 0) this.#byTerm[term.on].delete(term.key)
    } else if (namespace !== '') dropEmpty(this.#byNamespace, namespace)
  }
}

/** The up to three events one change can be, each made once for all watchers. */
export class EventsOf {
  readonly #resource: Resource
  readonly #current: CachedRevision
  readonly #before: CachedRevision | undefined
  readonly #made: Partial<Record<EventType, WatchEvent>> = {}

  /** `before` is what the change replaced, if that was not a deletion. */
  constructor(resource: Resource, current: CachedRevision, before: CachedRevision | undefined) {
    this.#resource = resource
    this.#current = current
    this.#before = before
  }

  /** The event of a selection: the object enters it, changes in it or leaves it; undefined when the selection is not concerned. */
  for(selection: Selection): WatchEvent | undefined {
    const is = !this.#current.deleted && selects(selection, this.#current)
    const was = this.#before !== undefined && selects(selection, this.#before)
    if (is) return this.#event(was ? 'MODIFIED' : 'ADDED')
    return was ? this.#event('DELETED') : undefined
  }

  #event(type: EventType): WatchEvent {
    return (this.#made[type] ??= new WatchEvent(type, this.#resource, this.#bytes(type)))
  }

  /** An object that leaves a selection is shown as it was while it was in it. */
  #bytes(type: EventType): Buffer {
    const leaves = type === 'DELETED' && !this.#current.deleted
    return leaves ? tombstoneOf(this.#before!, this.#current.revision).json : this.#current.json
  }
}

const NONE: ReadonlySet<Watcher> = new Set()

function grow<V>(map: Map<string, Set<V>>, key: string): Set<V> {
  let set = map.get(key)
  if (!set) map.set(key, (set = new Set()))
  return set
}
function growMap<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let inner = map.get(key)
  if (!inner) map.set(key, (inner = new Map()))
  return inner
}
function dropEmpty(map: Map<string, Set<Watcher>>, key: string): void {
  if (map.get(key)?.size === 0) map.delete(key)
}
