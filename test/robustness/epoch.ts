/** One epoch of a run: clients work on servers that are stopped and killed, then everything settles, then the record is complete. */
import { setMaxListeners } from 'node:events'
import { monotonicMs, sleep } from '../../src/lib/environment.ts'
import { openConnection, type Protocol } from './connection.ts'
import { define, redefine } from './definition.ts'
import type { Act, History, Key, Seen } from './history.ts'
import { keyOf, NAMESPACES } from './objects.ts'
import type { Random } from './random.ts'
import { list, read } from './reader.ts'
import { type Client, clientOf, type Habits, INSIST_MS, insist, type Run, SELECTIONS, WINDOW_MS } from './run.ts'
import { RESOURCES, type Selection } from './selection.ts'
import type { Subject } from './subject.ts'
import { Watcher } from './watcher.ts'
import { put, write } from './writer.ts'

const HABITS: Habits = { writers: 6, readers: 4, watchers: 12, heavyBytes: 200_000, patience: 1 }
const PATIENCE_MS = 30_000
const SETTLE_MS = 3_000
export const FLAGS = ['--history-window', `${WINDOW_MS}ms`, '--bookmark-interval', '400ms']
const EVERYTHING: readonly Selection[] = [{ resource: 'configmaps' }, { resource: 'deviceclasses' }, { resource: 'widgets' }]

export type EpochOptions = {
  readonly ms: number
  readonly random: Random
  readonly base?: History['base']
  readonly habits?: Habits
  /** Disturbs the servers for that time, instead of at random; they are undisturbed when it resolves. */
  readonly disturb?: (ms: number) => Promise<void>
}
export type Epoch = { readonly history: History; readonly failures: readonly string[]; readonly end: History['base'] }

/** Runs one epoch. The returned history is complete: nothing is in flight any more, and every watch has received everything. */
export async function runEpoch(
  subject: Subject,
  { ms, random, base, habits = HABITS, disturb: disturbAsPlanned }: EpochOptions,
): Promise<Epoch> {
  const stop = new AbortController()
  // All clients wait for it now and then.
  setMaxListeners(0, stop.signal)
  const acts: Act[] = []
  const run: Run = {
    open: subject.open ?? (protocol => subject.targets.map(target => () => openConnection(protocol, target))),
    isShared: subject.isShared,
    mayFail: subject.mayFail ?? false,
    habits,
    since: base?.revision ?? 0,
    writes: 0,
    acts,
    failures: [],
    known: new Map(),
    newest: 0,
    latest: undefined,
    stop: stop.signal,
  }
  const keeper = clientOf(run, 'keeper', 'http/1.1', random)
  await makeNamespaces(run, keeper)
  await define(run, keeper)
  const begin = base ?? (await wholeState(run, keeper))
  const clients = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => clientOf(run, `${name} ${i}`, protocolOf(i), random))
  const watchers = openWatchers(run, random, subject.protocols)
  const definer = clientOf(run, 'definer', 'http/2', random)
  const working = [
    redefine(run, definer).finally(() => definer.connection.close()),
    ...clients('writer', habits.writers).map(client => write(run, client).finally(() => client.connection.close())),
    ...clients('reader', habits.readers).map(client => read(run, client).finally(() => client.connection.close())),
  ]
  try {
    await (disturbAsPlanned?.(ms) ?? disturb(subject, { ms, random, watchers }))
  } finally {
    stop.abort()
    await Promise.all(working)
    // Requests to a paused server may still take effect.
    if (subject.isShared) await sleep(SETTLE_MS)
    if (subject.isUp()) await settle(run, keeper, watchers).catch(error => run.failures.push(error.message))
    await Promise.all(watchers.map(watcher => watcher.close()))
  }
  const end = await wholeState(run, keeper)
  keeper.connection.close()
  if (ms >= 10_000 && !acts.some(wasMarked)) run.failures.push('no watch ever received a bookmark')
  return { history: { base: begin, windowMs: WINDOW_MS, acts }, failures: run.failures, end }
}

const wasMarked = (act: Act) => act.type === 'watch' && act.events.some(event => event.type === 'BOOKMARK' && !event.endsInitial)

const protocolOf = (i: number): Protocol => (i % 2 === 0 ? 'http/2' : 'http/1.1')

async function makeNamespaces(run: Run, { connection }: Client): Promise<void> {
  const sent = (name: string) => ({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } })
  for (const name of NAMESPACES) await insist(run, () => connection.call(sent(name)))
}

function openWatchers(run: Run, random: Random, protocols: readonly Protocol[] = ['http/1.1', 'http/2']): Watcher[] {
  const observers = EVERYTHING.flatMap(selection => protocols.map(protocol => ({ selection, protocol })))
  return [
    ...observers.map(
      ({ selection, protocol }) =>
        new Watcher(run, clientOf(run, 'observer', protocol, random), { selection, isObserver: true, isSlow: false }),
    ),
    ...Array.from({ length: run.habits.watchers }, (_, i) => {
      const client = clientOf(run, `watcher ${i}`, protocolOf(i), random)
      // Only a watcher with many events can fall far behind.
      const isSlow = i % 4 === 0
      return new Watcher(run, client, { selection: isSlow ? EVERYTHING[0]! : random.pick(SELECTIONS), isObserver: false, isSlow })
    }),
  ]
}

/** Disturbs the servers now and then. */
async function disturb(
  subject: Subject,
  { ms, random, watchers }: { ms: number; random: Random; watchers: readonly Watcher[] },
): Promise<void> {
  const end = monotonicMs() + ms
  for (;;) {
    const wait = 1_000 + random.below(2_500)
    if (monotonicMs() + wait > end) break
    await sleep(wait)
    // A server that stops waits a while for clients that do not read; usually it need not, so that little history is lost.
    if (!random.oneIn(4)) for (const watcher of watchers) watcher.wake()
    await subject.disturb(random)
  }
  await sleep(Math.max(0, end - monotonicMs()))
}

/** Writes a last object that each watch must receive, and waits until it has. */
async function settle(run: Run, keeper: Client, watchers: readonly Watcher[]): Promise<void> {
  for (const watcher of watchers) watcher.settle()
  const waiting = new Map<Watcher, number>()
  for (const watcher of watchers) waiting.set(watcher, await writeLast(run, keeper, watcher.selection))
  const giveUp = monotonicMs() + PATIENCE_MS
  while (waiting.size > 0) {
    for (const [watcher, revision] of waiting) if (watcher.position >= revision) waiting.delete(watcher)
    if (monotonicMs() > giveUp) {
      const stuck = [...waiting].map(([watcher, revision]) => `${watcher.name} is at ${watcher.position}, not at ${revision}`)
      throw new Error(`watches are stuck: ${stuck.join('; ')}`)
    }
    await sleep(20)
  }
}

/** Writes an object that a selection selects; returns its revision. */
async function writeLast(run: Run, keeper: Client, selection: Selection): Promise<number> {
  const key = keyFor(selection)
  const labels = labelsFor(selection)
  // Custom objects are not replaced without a resourceVersion; a patch removes the labels that must be absent.
  const change = selection.resource === 'widgets' ? 'patch' : 'replace'
  const without = { color: null, tier: null, ...labels }
  const verbs = [change, 'create', change] as const
  // Some attempts may go to a server that has not found its store again.
  for (const verb of run.isShared ? [...verbs, ...verbs, ...verbs] : verbs) {
    await put(run, keeper, { verb, key, labels: verb === 'patch' ? without : labels, heavy: false })
    const act = run.acts.at(-1)
    if (act?.type === 'put' && act.outcome.is === 'done') return act.outcome.object.revision
    if (act?.type === 'put' && act.outcome.is === 'unknown') await sleep(INSIST_MS)
  }
  throw new Error(`${key} could not be written at the end`)
}

function keyFor({ resource, namespace, name = 'last' }: Selection): Key {
  return keyOf(resource, RESOURCES[resource].namespaced ? (namespace ?? NAMESPACES[0]) : '', name)
}

function labelsFor({ labels }: Selection): Record<string, string> {
  if (!labels) return { color: 'green' }
  const { label, operator, values = [] } = labels
  if (operator === 'in') return { [label]: values[0]! }
  return operator === 'exists' ? { [label]: 'back' } : {}
}

/** All objects of all resources, at one revision: the server itself may write even if no client does. */
async function wholeState(run: Run, keeper: Client): Promise<History['base']> {
  const objects: Seen[] = []
  let revision: number | undefined
  for (const selection of EVERYTHING) {
    const named = revision !== undefined && { resourceVersion: String(revision), resourceVersionMatch: 'Exact' }
    const answer = await insist(run, () => list(run, keeper, { selection, ...(named && { exactly: revision!, query: named }) }))
    const page = run.acts.at(-1)
    if (answer?.status !== 200 || page?.type !== 'page') throw new Error(`the ${selection.resource} could not be listed`)
    objects.push(...page.items)
    revision ??= page.revision
  }
  return { revision: revision!, objects }
}
