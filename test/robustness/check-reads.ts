/** Reads: lists are whole snapshots, pages parts of one, and a later read is never older than known state. */
import type { Context } from './check-writes.ts'
import { type Get, type Page, type Seen, sameObject, type Violation } from './history.ts'
import { showSelection } from './selection.ts'
import type { Timeline } from './timeline.ts'

export function* checkReads(context: Context): Iterable<Violation> {
  for (const act of context.history.acts) {
    if (act.type === 'get') yield* checkGet(context, act)
    if (act.type === 'page') yield* checkPage(context, act)
  }
}

function* checkGet({ timeline, frontier }: Context, { client, key, found, start, end }: Get): Iterable<Violation> {
  const from = frontier.before(start)
  if (timeline.sometime(key, { from, until: end }, state => state?.revision === found?.revision)) return
  const what = `${client} read ${key} ${found ? `at ${found.revision}` : 'as absent'} when ${from} was known`
  yield { promise: 'reads see what is known', what, key, time: end, ...(found && { revision: found.revision }) }
}

function* checkPage({ timeline, frontier }: Context, page: Page): Iterable<Violation> {
  const { client, start, end, exactly, atLeast = 0, revision, selection } = page
  const about = `${client} listed ${showSelection(selection)}${page.after === undefined ? '' : ` after ${page.after}`}`
  const known = page.mayBeOld ? 0 : frontier.before(start)
  if (exactly !== undefined && revision !== exactly)
    yield { promise: 'pages are one snapshot', what: `${about} and got revision ${revision} instead of ${exactly}`, revision, time: end }
  if (exactly === undefined && revision < Math.max(known, atLeast))
    yield {
      promise: 'reads see what is known',
      what: `${about} at ${revision} when ${Math.max(known, atLeast)} was known`,
      revision,
      time: end,
    }
  const problem = compare(timeline, page)
  if (problem)
    yield { promise: 'a list is a snapshot', what: `${about} at ${revision}: ${problem.what}`, revision, time: end, ...problem.at }
}

type Problem = { readonly what: string; readonly at?: { key: string } }

function compare(timeline: Timeline, { selection, after, revision, items, more, remaining }: Page): Problem | undefined {
  const snapshot = timeline.snapshot(selection, revision)
  const expected = after === undefined ? snapshot.objects : snapshot.objects.filter(object => object.key > after)
  if (snapshot.isUncertain) return undefined
  const difference = firstDifference(items, more ? expected.slice(0, items.length) : expected)
  if (difference) return difference
  if (more && items.length === expected.length) return { what: 'a next page was promised, but there is nothing left' }
  if (remaining !== undefined && remaining !== expected.length - items.length)
    return { what: `${remaining} were said to remain, but ${expected.length - items.length} do` }
  return undefined
}

/** The first difference between two lists of objects. */
export function firstDifference(items: readonly Seen[], expected: readonly Seen[]): Problem | undefined {
  for (let i = 0; i < Math.max(items.length, expected.length); i++) {
    const item = items[i]
    const wanted = expected[i]
    if (item && wanted && item.revision === wanted.revision && sameObject(item, wanted)) continue
    const show = (object: Seen | undefined) => (object ? `${object.key} at ${object.revision}` : 'nothing')
    return { what: `item ${i} is ${show(item)} instead of ${show(wanted)}`, at: { key: (wanted ?? item)!.key } }
  }
  return undefined
}
