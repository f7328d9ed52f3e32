// The checker itself: a good history passes, and each kind of lie in an otherwise good history is found.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from './check.ts'
import type { Act, Delete, Get, History, Page, Put, Revision, Seen, Session, Sweep, WatchEvent } from './history.ts'
import { describe, summary } from './report.ts'
import type { Selection } from './selection.ts'

const ALL: Selection = { resource: 'configmaps' }
const RED: Selection = { resource: 'configmaps', labels: { label: 'color', operator: 'in', values: ['red'] } }
const A = 'configmaps/east/a'
const B = 'configmaps/east/b'
const RED_LABEL = { color: 'red' }
const BLUE_LABEL = { color: 'blue' }

const object = (key: string, revision: Revision, value: string, more: Partial<Seen> = {}): Seen => ({
  key,
  revision,
  uid: `uid of ${key}`,
  value,
  labels: RED_LABEL,
  ...more,
})

type Times = { readonly start?: number; readonly end?: number }
/** Calls begin and end at their revision times ten by default. */
const at = (revision: Revision, { start = revision * 10 - 5, end = revision * 10 }: Times = {}) => ({ client: 'c', start, end })

const put = (seen: Seen, more: Partial<Put> = {}): Put => ({
  type: 'put',
  ...at(seen.revision),
  verb: 'create',
  key: seen.key,
  value: seen.value,
  labels: seen.labels,
  outcome: { is: 'done', object: seen },
  ...more,
})
const remove = (key: string, revision: Revision, more: Partial<Delete> = {}): Delete => ({
  type: 'delete',
  ...at(revision),
  key,
  outcome: { is: 'done', uid: `uid of ${key}`, revision },
  ...more,
})
const get = (key: string, found: Seen | undefined, times: Times): Get => ({ type: 'get', ...at(0, times), key, found })
const page = (revision: Revision, items: readonly Seen[], more: Partial<Page> = {}): Page => ({
  type: 'page',
  ...at(revision, { start: revision * 10 + 1, end: revision * 10 + 2 }),
  selection: ALL,
  revision,
  items,
  more: false,
  ...more,
})
const event = (type: 'ADDED' | 'MODIFIED' | 'DELETED', seen: Seen): WatchEvent => ({ type, time: seen.revision * 10 + 1, object: seen })
const bookmark = (revision: Revision, endsInitial = false): WatchEvent => ({
  type: 'BOOKMARK',
  time: revision * 10 + 3,
  revision,
  endsInitial,
})
const watch = (from: Revision | undefined, events: readonly WatchEvent[], more: Partial<Session> = {}): Session => ({
  type: 'watch',
  client: 'w',
  start: 1,
  end: 1000,
  selection: ALL,
  isMarked: true,
  events,
  how: 'closed',
  ...(from !== undefined && { from }),
  ...more,
})

const history = (...acts: Act[]): History => ({ base: { revision: 1, objects: [] }, windowMs: 100, acts })
const promises = (...acts: Act[]) => [...new Set(check(history(...acts)).map(violation => violation.promise))]

/** a is made at 2, changed at 3, turned blue at 5 and deleted at 7; b is made at 4 and changed at 6. */
const a2 = object(A, 2, 'a2')
const a3 = object(A, 3, 'a3')
const b4 = object(B, 4, 'b4')
const a5 = object(A, 5, 'a5', { labels: BLUE_LABEL })
const b6 = object(B, 6, 'b6')
const a7 = { ...a5, revision: 7 }
const WRITES: readonly Act[] = [
  put(a2),
  put(a3, { verb: 'replace', expects: 2 }),
  put(b4),
  put(a5, { verb: 'patch', labels: BLUE_LABEL }),
  put(b6, { verb: 'replace' }),
  remove(A, 7),
]
const EVENTS = [
  event('ADDED', a2),
  event('MODIFIED', a3),
  event('ADDED', b4),
  event('MODIFIED', a5),
  event('MODIFIED', b6),
  event('DELETED', a7),
]
const RED_EVENTS = [
  event('ADDED', a2),
  event('MODIFIED', a3),
  event('ADDED', b4),
  event('DELETED', { ...a3, revision: 5 }),
  event('MODIFIED', b6),
]
const without = <T>(items: readonly T[], index: number): T[] => items.filter((_, i) => i !== index)
const swapped = <T>(items: readonly T[], i: number): T[] => [...items.slice(0, i), items[i + 1]!, items[i]!, ...items.slice(i + 2)]

test('a history that a correct server can produce has nothing wrong with it', () => {
  const good = [
    ...WRITES,
    watch(1, [...EVENTS, bookmark(7)]),
    watch(4, [bookmark(4), ...EVENTS.slice(3)]),
    watch(1, RED_EVENTS, { selection: RED }),
    watch(undefined, [event('ADDED', a3), event('ADDED', b4), bookmark(4, true), ...EVENTS.slice(3)], { start: 41 }),
    watch(undefined, [event('ADDED', a3), event('ADDED', b4), ...EVENTS.slice(3)], { start: 41, isMarked: false }),
    page(4, [a3, b4]),
    page(4, [a3], { start: 61, end: 62, exactly: 4, more: true, remaining: 1 }),
    page(4, [b4], { start: 63, end: 64, exactly: 4, after: A }),
    page(5, [b4], { selection: RED }),
    page(7, [b6]),
    get(A, a3, { start: 35, end: 36 }),
    get(A, undefined, { start: 71, end: 72 }),
    get(A, a5, { start: 66, end: 72 }),
    put(object(B, 0, 'late'), { start: 65, end: 66, outcome: { is: 'refused', code: 409 } }),
    put(object(B, 0, 'stale'), { verb: 'replace', expects: 4, start: 65, end: 66, outcome: { is: 'refused', code: 409 } }),
    put(object(B, 0, 'lost'), { verb: 'replace', start: 65, end: 66, outcome: { is: 'unknown' } }),
  ]
  assert.deepEqual(check(history(...good)), [])
  assert.match(summary(history(...good)), /^9 writes \(1 without an answer\), 3 reads, 5 lists and pages, \d+ events in 5 watches/)
})

test('a write without a response is settled by later reads', () => {
  const unknown = put(a2, { outcome: { is: 'unknown' } })
  assert.deepEqual(promises(unknown, watch(1, [event('ADDED', a2)])), [])
  assert.deepEqual(promises(unknown, watch(1, [bookmark(2)])), [])
  assert.deepEqual(promises(unknown, page(2, [a2]), watch(1, [bookmark(2)])), ['bookmarks do not run ahead'])
})

test('initial objects that could be the first events of an empty snapshot are still initial objects', () => {
  const [b3, later] = [object(B, 3, 'b3'), object(B, 4, 'later')]
  const writes = [put(a2), put(b3), put(later, { verb: 'replace' })]
  const begin = { start: 41, isMarked: false, mayBeOld: true }
  assert.deepEqual(promises(...writes, watch(undefined, [event('ADDED', a2), event('ADDED', later)], begin)), [])
  assert.deepEqual(promises(...writes, watch(undefined, [event('ADDED', a2), event('MODIFIED', later)], begin)), ['watches are reliable'])
})

test('watches that leave out, repeat, reorder or make up events are found', () => {
  assert.deepEqual(promises(...WRITES, watch(1, without(EVENTS, 2))), ['watches are reliable'])
  assert.deepEqual(promises(...WRITES, watch(1, [...EVENTS.slice(0, 3), ...EVENTS.slice(2)])), ['watches are unique'])
  assert.deepEqual(promises(...WRITES, watch(1, [...swapped(EVENTS, 0), bookmark(7)])), ['watches are reliable'])
  assert.deepEqual(promises(...WRITES, watch(2, [EVENTS[0]!])), ['watches are unique'])
  assert.deepEqual(promises(...WRITES, watch(3, [EVENTS[0]!])), ['watches are ordered'])
  assert.deepEqual(promises(...WRITES, watch(1, [event('MODIFIED', a2)])), ['watches tell what happened'])
  assert.deepEqual(promises(...WRITES, watch(1, [event('ADDED', object(A, 2, 'forged'))])), [
    'one revision is one write',
    'watches tell what happened',
  ])
  assert.ok(promises(...WRITES, watch(7, [event('ADDED', object(A, 8, 'forged'))])).includes('a write is what was asked for'))
})

test('a watch that resumes must go on with the very next event', () => {
  assert.deepEqual(promises(...WRITES, watch(3, EVENTS.slice(2))), [])
  assert.deepEqual(promises(...WRITES, watch(3, EVENTS.slice(3))), ['watches are reliable'])
})

test('a watch with a selector must send objects that begin or cease to match', () => {
  const red = { selection: RED }
  assert.deepEqual(promises(...WRITES, watch(1, without(RED_EVENTS, 3), red)), ['watches are reliable'])
  assert.deepEqual(promises(...WRITES, watch(1, [...RED_EVENTS.slice(0, 3), event('DELETED', a5)], red)), ['watches tell what happened'])
  assert.deepEqual(promises(...WRITES, watch(1, [...RED_EVENTS.slice(0, 3), event('MODIFIED', a5)], red)), ['watches tell what happened'])
})

test('a bookmark ahead of the delivered events is found', () => {
  assert.deepEqual(promises(...WRITES, watch(1, [...EVENTS.slice(0, 2), bookmark(4)])), ['bookmarks do not run ahead'])
  assert.deepEqual(promises(...WRITES, watch(3, [bookmark(2)])), ['watches are ordered'])
  assert.deepEqual(promises(...WRITES, watch(1, [...RED_EVENTS.slice(0, 3), bookmark(5)], { selection: RED })), [
    'bookmarks do not run ahead',
  ])
})

test('a watch must begin with one snapshot that is not older than earlier observations', () => {
  const begin = (events: WatchEvent[], more: Partial<Session> = {}) =>
    promises(...WRITES, watch(1, EVENTS), watch(undefined, events, { start: 41, ...more }))
  const broken = ['a watch begins with a snapshot']
  assert.deepEqual(begin([event('ADDED', a3), bookmark(4, true)]), broken)
  assert.deepEqual(begin([event('ADDED', a2), event('ADDED', b4), bookmark(4, true)]), broken)
  assert.deepEqual(begin([event('MODIFIED', a3), event('ADDED', b4), bookmark(4, true)]), broken)
  assert.deepEqual(begin([event('ADDED', a2), bookmark(2, true)]), ['reads see what is known'])
  assert.deepEqual(begin([event('ADDED', a3), event('ADDED', b4), bookmark(4, true), ...EVENTS.slice(4)]), ['watches are reliable'])
  assert.deepEqual(begin([event('ADDED', a3), event('MODIFIED', b6)], { isMarked: false, how: 'ended' }), broken)
})

test('a watch that requested initial events and continues without their end bookmark is found', () => {
  const begin = (...events: WatchEvent[]) => promises(...WRITES, watch(1, EVENTS), watch(undefined, events, { start: 41, how: 'ended' }))
  const broken = ['the end of the initial objects is marked']
  assert.deepEqual(begin(event('ADDED', a3), event('ADDED', b4), event('MODIFIED', a5)), broken)
  assert.deepEqual(begin(event('ADDED', a3), event('ADDED', b4), bookmark(4)), broken)
  assert.deepEqual(begin(event('ADDED', a3)), [])
})

test('410 is valid only for old revisions', () => {
  const young = watch(1, EVENTS.slice(0, 2), { how: 'expired', end: 100 })
  assert.deepEqual(promises(...WRITES, young), ['the past is kept for a while'])
  assert.deepEqual(promises(...WRITES, { ...young, end: 200 }), [])
  assert.deepEqual(promises(...WRITES, watch(7, [], { how: 'expired' })), ['the past is kept for a while'])
  // Watches end, something unseen is deleted at 8, and after a while there are watches again.
  const again = object(B, 9, 'b9', { uid: 'another' })
  const unseen = [remove(B, 8, { outcome: { is: 'done', uid: `uid of ${B}` } }), watch(1, EVENTS), watch(8, [event('ADDED', again)])]
  assert.deepEqual(promises(...WRITES, ...unseen, put(again), watch(7, [], { how: 'expired', end: 100 })), [])
})

test('lists that miss, mix or make up objects are found', () => {
  const broken = ['a list is a snapshot']
  assert.deepEqual(promises(...WRITES, page(4, [a3])), broken)
  assert.deepEqual(promises(...WRITES, page(4, [a2, b4])), broken)
  assert.deepEqual(promises(...WRITES, page(4, [b4, a3])), broken)
  assert.deepEqual(promises(...WRITES, page(5, [a5, b4], { selection: RED })), broken)
  assert.deepEqual(promises(...WRITES, page(7, [a5, b6])), broken)
  assert.deepEqual(promises(...WRITES, page(4, [a3, b4], { more: true })), broken)
  assert.deepEqual(promises(...WRITES, page(4, [a3], { more: true, remaining: 2 })), broken)
})

test('pages of different snapshots are found', () => {
  assert.deepEqual(promises(...WRITES, page(6, [b6], { start: 61, exactly: 4, after: A })), ['pages are one snapshot'])
  assert.deepEqual(promises(...WRITES, page(4, [b6], { start: 61, exactly: 4, after: A })), ['a list is a snapshot'])
})

test('readers that go back in time are found', () => {
  assert.deepEqual(promises(...WRITES, page(4, [a3, b4], { start: 51, end: 52 })), ['reads see what is known'])
  assert.deepEqual(promises(...WRITES, page(4, [a3, b4], { atLeast: 5 })), ['reads see what is known'])
  assert.deepEqual(promises(...WRITES, get(A, a2, { start: 31, end: 32 })), ['reads see what is known'])
  assert.deepEqual(promises(...WRITES, get(A, undefined, { start: 31, end: 32 })), ['reads see what is known'])
  assert.deepEqual(promises(...WRITES, get(A, a5, { start: 71, end: 72 })), ['reads see what is known'])
  const unacknowledged = put(a2, { end: 500 })
  const seenByOne = watch(1, [event('ADDED', a2)])
  assert.deepEqual(promises(unacknowledged, seenByOne, get(A, undefined, { start: 20, end: 30 })), [])
  assert.deepEqual(promises(unacknowledged, seenByOne, get(A, undefined, { start: 22, end: 30 })), ['reads see what is known'])
})

test('an acknowledged write that is lost is found', () => {
  assert.deepEqual(promises(put(a2), page(3, [], { start: 50, end: 51 })), ['a list is a snapshot'])
  assert.deepEqual(promises(put(a2), get(A, undefined, { start: 50, end: 51 })), ['reads see what is known'])
  const deleted = remove(A, 3, { outcome: { is: 'done', uid: a2.uid } })
  assert.deepEqual(promises(put(a2), deleted), ['an acknowledged write is kept'])
  const sweep: Sweep = { type: 'sweep', ...at(3), selection: RED, outcome: { is: 'done', revision: 2, items: [a2] } }
  assert.deepEqual(promises(put(a2), sweep), ['an acknowledged write is kept'])
  assert.deepEqual(promises(put(a2), sweep, watch(1, [event('ADDED', a2), event('DELETED', { ...a2, revision: 3 })])), [])
})

test('two writers that win on one revision are found', () => {
  const other = object(A, 4, 'other')
  const both = [put(a2), put(a3, { verb: 'replace', expects: 2 }), put(other, { verb: 'replace', expects: 2 })]
  assert.deepEqual(promises(...both), ['a write is what was asked for'])
  assert.deepEqual(promises(put(a2), remove(A, 3), remove(A, 3)), ['one deletion deletes'])
  assert.deepEqual(promises(put(a2), put(object(A, 3, 'again', { uid: 'second' }))), ['a write is what was asked for'])
})

test('writes that were not sent, were rejected, happen twice or lose a part are found', () => {
  const asked = ['a write is what was asked for']
  assert.deepEqual(promises(page(2, [a2])), asked)
  assert.deepEqual(promises(put(a2, { outcome: { is: 'refused', code: 409 } }), page(2, [a2])), asked)
  assert.deepEqual(promises(put(a2), remove(A, 3), page(4, [object(A, 4, 'a2', { uid: 'second' })])), ['a write happens once'])
  assert.deepEqual(promises(put(a2), put(a3, { verb: 'patch', labels: { tier: 'back' } })), asked)
  assert.deepEqual(promises(put(a2), put({ ...a3, uid: 'another' }, { verb: 'replace' })), asked)
  assert.deepEqual(promises(put(a2), watch(2, [event('DELETED', { ...a2, revision: 3 })])), asked)
  assert.deepEqual(promises(put(a2, { start: 50, end: 60 }), put(object(B, 3, 'b3'))), ['revisions follow time'])
})

test('refusals without a reason are found', () => {
  const refused = (more: Partial<Put>) => promises(...WRITES, put(object(B, 0, 'no'), { start: 65, end: 66, ...more }))
  const broken = ['a refusal has a reason']
  assert.deepEqual(refused({ verb: 'replace', outcome: { is: 'refused', code: 404 } }), broken)
  assert.deepEqual(refused({ verb: 'replace', expects: 6, outcome: { is: 'refused', code: 409 } }), broken)
  assert.deepEqual(refused({ verb: 'replace', outcome: { is: 'refused', code: 409 } }), broken)
  assert.deepEqual(refused({ verb: 'create', outcome: { is: 'refused', code: 409 }, start: 5, end: 6 }), broken)
  assert.deepEqual(promises(...WRITES, remove(B, 0, { start: 65, end: 66, outcome: { is: 'refused', code: 404 } })), broken)
})

test('incomplete observations are not reported as errors', () => {
  const lost = put(object(A, 0, 'lost'), { start: 5, end: 9, outcome: { is: 'unknown' } })
  const gap = [watch(1, [bookmark(2)]), watch(6, [bookmark(9)])]
  assert.deepEqual(promises(lost, ...gap, get(A, object(A, 5, 'lost'), { start: 90, end: 95 })), [])
  const unseen = [put(a2), remove(A, 3, { outcome: { is: 'unknown' } }), put(object(A, 7, 'a7', { uid: 'second' }))]
  const later = [watch(1, [event('ADDED', a2)]), watch(6, [event('ADDED', object(A, 7, 'a7', { uid: 'second' }))])]
  assert.deepEqual(promises(...unseen, ...later), [])
  assert.deepEqual(promises(...unseen, ...later, page(6, [])), [])
  assert.deepEqual(promises(...unseen, ...later, page(6, []), page(6, [a2], { selection: RED })), ['a list is a snapshot'])
})

test('a deletion that the only observer has missed, as history was forgotten before it listed again, is not a lost write', () => {
  const acts = [put(a2), watch(1, [event('ADDED', a2)], { end: 25 }), remove(A, 3, { outcome: { is: 'done', uid: a2.uid } })]
  const listed = page(5, [], { client: 'w' })
  assert.deepEqual(promises(...acts), ['an acknowledged write is kept'])
  assert.deepEqual(promises(...acts, listed), [])
  assert.deepEqual(promises(...acts, listed, watch(5, [], { start: 60 })), [])
  assert.deepEqual(promises(...acts, listed, watch(5, [bookmark(6)], { start: 60 })), [])
  // Lists of others say nothing about that, and neither does one of an observer beside which another goes on watching.
  assert.deepEqual(promises(...acts, page(5, [])), ['an acknowledged write is kept', 'a list is a snapshot'])
  const other = watch(2, [], { client: 'another', end: 1000 })
  assert.deepEqual(promises(...acts, listed, other), ['an acknowledged write is kept', 'a list is a snapshot'])
})

test('a violation is shown with the few lines of history around it', () => {
  const bad = history(...WRITES, watch(1, without(EVENTS, 2)))
  const [violation] = check(bad)
  const text = describe(bad, violation!)
  assert.match(text, /^✗ watches are reliable: w watching \/api\/v1\/configmaps from 1: ADDED configmaps\/east\/b at 4 was left out before/)
  assert.match(text, /c create configmaps\/east\/b = b4 .* → 4/)
  assert.ok(text.split('\n').length < 30)
})

test('a read from before the record is not taken for the state at its beginning', () => {
  const again = object(A, 11, 'a11', { uid: 'another' })
  const acts = [
    page(9, [a5], { ...at(10, { start: 101, end: 102 }), exactly: 9 }),
    page(10, [], { ...at(10, { start: 103, end: 104 }) }),
    put(again),
    watch(10, [event('ADDED', again)]),
  ]
  assert.deepEqual(check({ base: { revision: 10, objects: [] }, windowMs: 100, acts }), [])
  assert.ok(check({ base: { revision: 10, objects: [a5] }, windowMs: 100, acts }).length > 0)
})
