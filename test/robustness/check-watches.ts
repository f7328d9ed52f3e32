/** Watches: ordered, unique, atomic, reliable, resumable, bookmarkable. */
import { firstDifference } from './check-reads.ts'
import type { Context } from './check-writes.ts'
import { type Revision, type Seen, type Session, sameObject, type Violation, type WatchEvent } from './history.ts'
import { matches, showSelection } from './selection.ts'
import { type Entry, firstAfter, resourceOf, type Timeline, UNKNOWN } from './timeline.ts'

export function* checkWatches(context: Context): Iterable<Violation> {
  for (const act of context.history.acts) if (act.type === 'watch') yield* checkSession(context, act)
}

type Change = Extract<WatchEvent, { object: Seen }>
/** `isSure` unless the previous state is unknown: the event may then be of another type, or a deletion be missing. */
type Expected = { readonly type: Change['type']; readonly object: Seen; readonly isSure: boolean }

function* checkSession(context: Context, session: Session): Iterable<Violation> {
  const begun = session.from === undefined ? checkInitial(context, session) : { from: session.from, sent: 0 }
  if ('promise' in begun) yield begun
  else {
    const found = checkEvents(context.timeline, session, begun)
    if (found) yield found
    if (session.how === 'expired') yield* checkExpiry(context, session, begun.from)
  }
}

const violation = (session: Session, promise: string, what: string, at: Partial<Violation> = {}): Violation => ({
  promise,
  what: `${session.client} watching ${showSelection(session.selection)} from ${session.from ?? 'now'}: ${what}`,
  time: session.end,
  ...at,
})

/** The beginning of live events: the revision before them, and the number of earlier events. */
type Begin = { readonly from: Revision; readonly sent: number }
const UNCHECKED: Begin = { from: Number.POSITIVE_INFINITY, sent: Number.POSITIVE_INFINITY }

/** Initial objects are first. Their end is marked by a bookmark, or must be inferred. */
function checkInitial({ timeline, frontier }: Context, session: Session): Begin | Violation {
  const { events, isMarked, start, selection, mayBeOld } = session
  const known = mayBeOld ? 0 : frontier.before(start)
  const mark = events.findIndex(event => event.type === 'BOOKMARK' && event.endsInitial)
  const marked = events[mark]
  if (marked?.type !== 'BOOKMARK') {
    // Cut off before the end of the initial objects: those received so far exist, which the timeline has checked.
    if (isMarked) {
      const early = events.find(event => event.type !== 'ADDED')
      if (early)
        return violation(
          session,
          'the end of the initial objects is marked',
          `${show(early)} came, and no end of the initial objects before it`,
        )
      return UNCHECKED
    }
    return (
      findBeginning(timeline, session, known) ?? violation(session, 'a watch begins with a snapshot', 'no moment fits what it began with')
    )
  }
  const { revision } = marked
  if (revision < known) return violation(session, 'reads see what is known', `began at ${revision} when ${known} was known`, { revision })
  const initial = events.slice(0, mark)
  if (!initial.every(event => event.type === 'ADDED'))
    return violation(session, 'a watch begins with a snapshot', 'something else than ADDED came before the bookmark', { revision })
  const snapshot = timeline.snapshot(selection, revision)
  const problem = snapshot.isUncertain
    ? undefined
    : firstDifference(
        initial.map(event => (event as Change).object),
        snapshot.objects,
      )
  if (problem) return violation(session, 'a watch begins with a snapshot', `at ${revision}, ${problem.what}`, { revision, ...problem.at })
  return { from: revision, sent: mark + 1 }
}

/**
 * Without a bookmark: some first events must be a snapshot of one revision from which the rest continues. Several may be one: before the
 * first object was made, nothing is a snapshot as well.
 */
function findBeginning(timeline: Timeline, session: Session, known: Revision): Begin | undefined {
  const { selection, events, end, how } = session
  let first: Begin | undefined
  const changes = events.filter(event => event.type !== 'BOOKMARK')
  let newest = 0
  for (let sent = 0; sent <= changes.length; sent++) {
    const next = changes[sent]
    const moments = next ? [next.object.revision - 1] : momentsUntil(timeline, selection.resource, { known, end })
    for (const from of moments.filter(moment => moment >= Math.max(newest, known))) {
      const { objects, isUncertain } = timeline.snapshot(selection, from)
      if (isUncertain) return UNCHECKED
      const initial = changes.slice(0, sent).map(event => event.object)
      if (firstDifference(initial, objects)) continue
      if (!checkEvents(timeline, session, { from, sent })) return { from, sent }
      first ??= { from, sent }
    }
    if (next?.type !== 'ADDED') break
    newest = Math.max(newest, next.object.revision)
  }
  if (first) return first
  // A watch that was cut may have been cut within its initial objects.
  return how === 'closed' || how === 'cut' ? UNCHECKED : undefined
}

function momentsUntil(timeline: Timeline, resource: string, { known, end }: { known: Revision; end: number }): Revision[] {
  const entries = timeline.entries(resource)
  return [
    known,
    ...entries
      .slice(firstAfter(entries, known))
      .filter(entry => entry.begun <= end)
      .map(entry => entry.revision),
  ]
}

/** Compares received events with the timeline, step by step. */
function checkEvents(timeline: Timeline, session: Session, { from, sent }: Begin): Violation | undefined {
  const { selection, events } = session
  const last = lastRevision(events.slice(sent), from)
  const isUncertain = timeline.isUncertain(selection.resource, from, last)
  const expected = expectedEvents(timeline, session, from)
  let next = expected.next().value
  let reached = from
  for (const event of events.slice(sent)) {
    const revision = revisionOf(event)
    const at = { revision, time: event.time, ...(event.type !== 'BOOKMARK' && { key: event.object.key }) }
    const passed = event.type === 'BOOKMARK' ? revision + 1 : revision
    while (next && !next.isSure && next.type === 'DELETED' && next.object.revision < passed) next = expected.next().value
    if (revision < reached) return violation(session, 'watches are ordered', `${show(event)} came after ${reached}`, at)
    if (event.type === 'BOOKMARK') {
      if (next && next.object.revision <= revision && !isUncertain)
        return violation(session, 'bookmarks do not run ahead', `${show(event)} came before ${show(next)}`, { ...at, key: next.object.key })
    } else {
      if (revision === reached) return violation(session, 'watches are unique', `${show(event)} came after ${reached}`, at)
      if (!isUncertain) {
        const problem = compare(event, next)
        if (problem) return violation(session, problem.promise, problem.what, { ...at, ...problem.at })
      }
      next = expected.next().value
    }
    reached = revision
  }
  return undefined
}

function compare(event: Change, next: Expected | undefined): (Pick<Violation, 'promise' | 'what'> & { at?: { key: string } }) | undefined {
  if (!next) return { promise: 'watches tell what happened', what: `${show(event)} came, but nothing like it happened` }
  if (next.object.revision < event.object.revision)
    return { promise: 'watches are reliable', what: `${show(next)} was left out before ${show(event)}`, at: { key: next.object.key } }
  if (next.object.revision === event.object.revision && !next.isSure) return undefined
  if (next.object.revision === event.object.revision && next.type === event.type && sameObject(next.object, event.object)) return undefined
  return { promise: 'watches tell what happened', what: `${show(event)} came instead of ${show(next)}` }
}

/** The events that a watch on a selection must receive, from a revision on. */
function* expectedEvents(timeline: Timeline, { selection }: Session, from: Revision): Generator<Expected, undefined> {
  const entries = timeline.entries(selection.resource)
  for (let i = firstAfter(entries, from); i < entries.length; i++) {
    const event = eventOf(timeline, selection, entries[i]!)
    if (event) yield event
  }
  return undefined
}

function eventOf(timeline: Timeline, selection: Session['selection'], { key, revision, after }: Entry): Expected | undefined {
  const before = timeline.state(key, revision - 1)
  const isSure = before !== UNKNOWN
  const was = isSure && before !== undefined && matches(selection, key, before.labels)
  if (after && matches(selection, key, after.labels)) return { type: was ? 'MODIFIED' : 'ADDED', object: after, isSure }
  if (!isSure) return { type: 'DELETED', object: { key, revision, uid: '', value: '', labels: {} }, isSure }
  // An object that leaves the selection is shown in its last state inside, with the revision of its leaving.
  return was ? { type: 'DELETED', object: { ...before, revision }, isSure } : undefined
}

/** A watch may get 410 only if its revision is older than the history window. */
function* checkExpiry({ timeline, history }: Context, session: Session, from: Revision): Iterable<Violation> {
  const position = lastRevision(session.events, from)
  if (!Number.isFinite(position)) return
  let first: Entry | undefined
  for (const resource of new Set([...timeline.keys()].map(resourceOf))) {
    const entries = timeline.entries(resource)
    const entry = entries[firstAfter(entries, position)]
    if (entry && (!first || entry.revision < first.revision)) first = entry
  }
  // The first event after the position may be a deletion during a stop that only its writer knows of, without its revision.
  if (first && first.revision > position + 1) return
  const begun = first?.begun ?? Number.POSITIVE_INFINITY
  if (session.end - begun >= history.windowMs) return
  const age = first ? `${Math.round(session.end - begun)} ms old` : 'yet to come'
  yield violation(session, 'the past is kept for a while', `410 for what follows ${position}, but it is ${age}`, {
    revision: position,
  })
}

const revisionOf = (event: WatchEvent): Revision => (event.type === 'BOOKMARK' ? event.revision : event.object.revision)
const lastRevision = (events: readonly WatchEvent[], from: Revision): Revision => {
  const last = events.at(-1)
  return last ? Math.max(from, revisionOf(last)) : from
}

const show = (event: WatchEvent | Expected): string =>
  event.type === 'BOOKMARK' ? `BOOKMARK ${event.revision}` : `${event.type} ${event.object.key} at ${event.object.revision}`
