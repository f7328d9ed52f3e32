/** Writes: each happens once or not at all, after the state its client knew, on the revision it named, and persists. */
import { deletionsByUid, type Frontier } from './frontier.ts'
import { type Delete, type History, type Labels, type Put, type Seen, type Sweep, sameLabels, type Violation } from './history.ts'
import { matches } from './selection.ts'
import { type Entry, resourceOf, type Timeline } from './timeline.ts'

export type Context = { readonly history: History; readonly timeline: Timeline; readonly frontier: Frontier }

export function* checkWrites(context: Context): Iterable<Violation> {
  for (const key of context.timeline.keys()) yield* checkKey(context, context.timeline.of(key))
  yield* checkTwice(context)
  const deletions = deletionsByUid(context.timeline)
  const deletedBy = new Map<string, Delete>()
  for (const act of context.history.acts) {
    if (act.type === 'put' || act.type === 'delete') yield* checkRefusal(context, act)
    if (act.type === 'sweep') yield* checkSweep(context, act, deletions)
    if (act.type !== 'delete' || act.outcome.is !== 'done') continue
    const { uid } = act.outcome
    if (deletedBy.has(uid))
      yield broken('one deletion deletes', `${act.client} and ${deletedBy.get(uid)!.client} both deleted ${act.key} (${uid})`, act)
    deletedBy.set(uid, act)
    yield* checkDeletion(context, act, deletions.get(uid))
  }
}

const broken = (promise: string, what: string, { key, end }: { key: string; end: number }, revision?: number): Violation => ({
  promise,
  what,
  key,
  time: end,
  ...(revision !== undefined && { revision }),
})

/** Walks the revisions of one key: each must follow from the one before and its write. */
function* checkKey({ timeline, frontier }: Context, entries: readonly Entry[]): Iterable<Violation> {
  const uids = new Set<string>()
  for (const [i, entry] of entries.entries()) {
    const { revision, key, after } = entry
    if (revision <= timeline.base) {
      if (after) uids.add(after.uid)
      continue
    }
    const last = entries[i - 1]
    const at = { key, end: entry.heard }
    const isUncertain = timeline.isUncertain(resourceOf(key), Math.max(last?.revision ?? 0, timeline.base), revision)
    const problem = after
      ? problemOfPut(timeline, { entry: after, last, isUncertain, uids })
      : problemOfDeletion(timeline, { entry, last, isUncertain })
    if (problem) yield broken('a write is what was asked for', `${key} at ${revision}: ${problem}`, at, revision)
    if (after) uids.add(after.uid)
    const act = after && timeline.puts.get(after.value)
    const known = act && frontier.before(act.start)
    if (known !== undefined && revision <= known)
      yield broken('revisions follow time', `${key} was written at ${revision} by a call that began when ${known} was known`, at, revision)
  }
}

type Step<E> = { readonly entry: E; readonly last: Entry | undefined; readonly isUncertain: boolean }

function problemOfPut(
  timeline: Timeline,
  { entry: after, last, isUncertain, uids }: Step<Seen> & { uids: ReadonlySet<string> },
): string | undefined {
  const act = timeline.puts.get(after.value)
  if (!act || act.key !== after.key) return `nobody wrote ${after.value}`
  if (act.outcome.is === 'refused') return `${act.client} was refused with ${act.outcome.code}, but ${act.value} is there`
  const before = last?.after
  if (act.verb === 'create') {
    if (before && !isUncertain) return `created while it was there, at ${before.revision}`
    return uids.has(after.uid) ? 'created with the uid of an object before it' : sameContent(after, act, {})
  }
  if (isUncertain) return undefined
  if (!before) return `${act.verb}d while it was not there`
  if (before.uid !== after.uid) return `${act.verb}d, and its uid changed`
  if (act.expects !== undefined && act.expects !== before.revision)
    return `${act.client} named revision ${act.expects}, but replaced ${before.revision}`
  return sameContent(after, act, act.verb === 'patch' ? before.labels : {})
}

function sameContent(after: Seen, act: Put, base: Labels): string | undefined {
  const labels: Record<string, string> = { ...base }
  for (const [name, value] of Object.entries(act.labels)) {
    if (value === null) delete labels[name]
    else labels[name] = value
  }
  return sameLabels(labels, after.labels) ? undefined : `has labels ${JSON.stringify(after.labels)} instead of ${JSON.stringify(labels)}`
}

function problemOfDeletion(timeline: Timeline, { entry: { key, heard, revision }, last, isUncertain }: Step<Entry>): string | undefined {
  if (isUncertain) return undefined
  const before = last?.after
  if (!before) return 'deleted while it was not there'
  const asked = (timeline.deletes.get(key) ?? []).filter(act => act.start <= heard)
  const mine = asked.find(act => act.outcome.is === 'done' && act.outcome.uid === before.uid)
  if (mine?.expects !== undefined && mine.expects !== before.revision)
    return `${mine.client} meant revision ${mine.expects}, but deleted ${before.revision}`
  const swept = () =>
    timeline.sweeps.some(act => act.start <= heard && act.outcome.is !== 'refused' && couldSweep(timeline, act, key, revision))
  if (mine || asked.some(act => act.outcome.is === 'unknown') || swept()) return undefined
  return 'deleted, and nobody asked for it'
}

/** A sweep deletes the objects that its list selected, even if they have changed since. */
const couldSweep = (timeline: Timeline, { selection }: Sweep, key: string, before: number): boolean =>
  timeline.of(key).some(entry => entry.revision < before && entry.after !== undefined && matches(selection, key, entry.after.labels))

/** An acknowledged write is at exactly one revision. */
function* checkTwice({ timeline }: Context): Iterable<Violation> {
  const firstOf = new Map<string, Entry>()
  for (const entry of timeline.all()) {
    if (!entry.after) continue
    const first = firstOf.get(entry.after.value)
    if (first)
      yield broken(
        'a write happens once',
        `${entry.after.value} was stored at ${first.revision} and at ${entry.revision}`,
        { key: entry.key, end: entry.heard },
        entry.revision,
      )
    firstOf.set(entry.after.value, entry)
  }
}

/** A refusal is an observation: there must have been a time at which it was right. */
function* checkRefusal({ timeline, frontier }: Context, act: Put | Delete): Iterable<Violation> {
  if (act.outcome.is !== 'refused') return
  const { code } = act.outcome
  const { expects } = act
  const verb = act.type === 'put' ? act.verb : 'delete'
  const fits = (state: Seen | undefined): boolean => {
    if (verb === 'create') return code === 409 && state !== undefined
    if (code === 404) return state === undefined
    return code === 409 && expects !== undefined && state !== undefined && state.revision !== expects
  }
  if (timeline.sometime(act.key, { from: frontier.before(act.start), until: act.end }, fits)) return
  const named = expects === undefined ? '' : ` of revision ${expects}`
  yield broken(
    'a refusal has a reason',
    `${act.client} was refused a ${verb}${named} of ${act.key} with ${code}, and at no time was that right`,
    act,
  )
}

function* checkDeletion({ timeline, frontier }: Context, act: Delete, revision: number | undefined): Iterable<Violation> {
  const known = frontier.before(act.start)
  if (revision === undefined) {
    if (!timeline.isUncertain(resourceOf(act.key), timeline.base, Number.POSITIVE_INFINITY))
      yield broken('an acknowledged write is kept', `${act.client} deleted ${act.key}, but no deletion was ever seen`, act)
  } else if (revision <= known)
    yield broken(
      'revisions follow time',
      `${act.key} was deleted at ${revision} by a call that began when ${known} was known`,
      act,
      revision,
    )
}

function* checkSweep(
  { timeline, frontier }: Context,
  { outcome, selection, start, end, client }: Sweep,
  deletions: ReadonlyMap<string, number>,
): Iterable<Violation> {
  if (outcome.is !== 'done') return
  const known = frontier.before(start)
  if (outcome.revision < known)
    yield { promise: 'reads see what is known', what: `${client} swept a list at ${outcome.revision} when ${known} was known`, time: end }
  for (const { key, uid, labels } of outcome.items) {
    if (!matches(selection, key, labels))
      yield broken('a list is its selection', `${client} swept ${key}, which is not selected`, { key, end })
    if (!deletions.has(uid) && !timeline.isUncertain(resourceOf(key), timeline.base, Number.POSITIVE_INFINITY))
      yield broken('an acknowledged write is kept', `${client} swept ${key} away, but no deletion was ever seen`, { key, end })
  }
}
