/** The shared state of the clients of one run: the servers, the record, the end. */
import { monotonicMs, sleep } from '../../src/lib/environment.ts'
import type { Connection, Protocol } from './connection.ts'
import type { Act, Key, Revision, Seen } from './history.ts'
import { keyOf, NAMESPACES } from './objects.ts'
import type { Random } from './random.ts'
import type { Selection } from './selection.ts'
import { SpreadConnection } from './spread.ts'

/** The history window of the server; short, so that it is exceeded during the run. */
export const WINDOW_MS = 3_000

const NAMES = Array.from({ length: 16 }, (_, i) => `k-${String(i).padStart(2, '0')}`)
export const COLORS = ['red', 'green', 'blue'] as const
export const TIERS = ['front', 'back'] as const
export const KEYS: readonly Key[] = [
  ...NAMESPACES.flatMap(namespace => NAMES.map(name => keyOf('configmaps', namespace, name))),
  ...NAMES.map(name => keyOf('deviceclasses', '', name)),
  ...NAMESPACES.flatMap(namespace => NAMES.slice(0, 8).map(name => keyOf('widgets', namespace, name))),
]
export const SELECTIONS: readonly Selection[] = [
  { resource: 'configmaps' },
  { resource: 'configmaps', namespace: 'east' },
  { resource: 'configmaps', labels: { label: 'color', operator: 'in', values: ['red'] } },
  { resource: 'configmaps', namespace: 'west', labels: { label: 'color', operator: 'in', values: ['red', 'blue'] } },
  { resource: 'configmaps', labels: { label: 'color', operator: 'notin', values: ['green'] } },
  { resource: 'configmaps', namespace: 'east', labels: { label: 'tier', operator: 'exists' } },
  { resource: 'configmaps', namespace: 'west', name: 'k-03' },
  { resource: 'configmaps', name: 'k-07' },
  { resource: 'configmaps', name: 'k-05', labels: { label: 'color', operator: 'in', values: ['green'] } },
  { resource: 'deviceclasses' },
  { resource: 'deviceclasses', labels: { label: 'tier', operator: 'absent' } },
  { resource: 'deviceclasses', labels: { label: 'color', operator: 'notin', values: ['red', 'blue'] } },
  { resource: 'deviceclasses', name: 'k-02' },
  { resource: 'widgets' },
  { resource: 'widgets', version: 'v2', namespace: 'west' },
  { resource: 'widgets', labels: { label: 'color', operator: 'in', values: ['red'], as: 'field' } },
  { resource: 'widgets', version: 'v2', namespace: 'east', labels: { label: 'color', operator: 'notin', values: ['blue'], as: 'field' } },
  { resource: 'widgets', version: 'v2', labels: { label: 'tier', operator: 'exists' } },
]

export type Run = {
  /** Opens connections to the servers, over which clients are spread. */
  readonly open: Open
  /** Whether a server may be behind, or without its store for a while. */
  readonly isShared: boolean
  /** Whether a store of one server may fail for a while. */
  readonly mayFail: boolean
  /** How many clients there are, and what they do. */
  readonly habits: Habits
  /** The revision at which the epoch begins. It is a part of every value, as objects of an epoch before may still be there. */
  readonly since: Revision
  /** The number of values that were written in this epoch. */
  writes: number
  readonly acts: Act[]
  /** Responses that no state of the server explains. */
  readonly failures: string[]
  /** The last revision of each key that any client observed. */
  readonly known: Map<Key, Seen>
  /** The newest revision that any client observed. */
  newest: Revision
  /** The key that was written last. */
  latest: Key | undefined
  /** Ends writers and readers. */
  readonly stop: AbortSignal
}

export type Habits = {
  readonly writers: number
  readonly readers: number
  readonly watchers: number
  /** The largest size of a large value. */
  readonly heavyBytes: number
  /** The factor by which the pauses of writers and readers are longer than usual. */
  readonly patience: number
}

/** A function for each server that opens a connection to it. */
export type Open = (protocol: Protocol) => readonly (() => Connection)[]

/** One client: a name, a connection and chance of its own. */
export type Client = { readonly name: string; readonly connection: Connection; readonly random: Random }

export const clientOf = ({ open }: Run, name: string, protocol: Protocol, random: Random): Client => ({
  name: `${name} (${protocol})`,
  connection: connectionTo(open(protocol), random),
  random: random.fork(),
})

function connectionTo([first, ...others]: ReturnType<Open>, random: Random): Connection {
  return others.length === 0 ? first!() : new SpreadConnection([first!, ...others], random.fork())
}

/** Whether a response only says that a server cannot reach its store now, so that nothing follows from it. */
export const isUnavailable = ({ isShared, mayFail }: Run, status: number): boolean =>
  (isShared || mayFail) && [500, 503, 504].includes(status)

/** Records an act and its observations. */
export function record(run: Run, act: Act): void {
  run.acts.push(act)
  if (act.type === 'put' || act.type === 'delete') run.latest = act.key
  if (act.type === 'put' && act.outcome.is === 'done') learn(run, act.outcome.object)
  if (act.type === 'get' && act.found) learn(run, act.found)
  if (act.type === 'page') {
    run.newest = Math.max(run.newest, act.revision)
    for (const item of act.items) learn(run, item)
  }
}

function learn(run: Run, object: Seen): void {
  run.newest = Math.max(run.newest, object.revision)
  if ((run.known.get(object.key)?.revision ?? 0) < object.revision) run.known.set(object.key, object)
}

/** A key: often the one that was written last, through whichever server, since a server that is behind is wrong about that one. */
export const chooseKey = ({ latest }: Run, { random }: Client): Key => (latest && random.oneIn(4) ? latest : random.pick(KEYS))

export const now = monotonicMs

export const INSIST_MS = 500
const INSIST = 60

/** Retries until there is a meaningful response: the first and last reads of a run must not be missing. */
export async function insist<A extends { readonly status: number } | undefined>(run: Run, ask: () => Promise<A>): Promise<A> {
  for (let tries = 1; ; tries++) {
    const answer = await ask().catch(error => {
      if (!run.isShared || tries === INSIST) throw error
      return undefined
    })
    if (answer && (!isUnavailable(run, answer.status) || tries === INSIST)) return answer
    if (!run.isShared || tries === INSIST) return answer as A
    await sleep(INSIST_MS)
  }
}

/** Waits about that long; ends early and quietly when the run stops. */
export const pause = (run: Run, ms: number): Promise<void> => sleep(ms * run.habits.patience, { signal: run.stop }).catch(() => {})
