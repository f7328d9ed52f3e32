/** One run: a seed decides the servers, their store, the faults and the clients; the checker of the robustness run decides the outcome. */
import { setMaxListeners } from 'node:events'
import { LIMITS } from '../../src/lib/limits.ts'
import type { StartOptions } from '../../src/public.d.ts'
import { check } from '../robustness/check.ts'
import type { Connection } from '../robustness/connection.ts'
import { runEpoch } from '../robustness/epoch.ts'
import { Random } from '../robustness/random.ts'
import { describe } from '../robustness/report.ts'
import { type Habits, WINDOW_MS } from '../robustness/run.ts'
import { SpreadConnection } from '../robustness/spread.ts'
import type { Subject } from '../robustness/subject.ts'
import { CHORES, neededBy } from './chores/all.ts'
import type { Stage } from './chores/chore.ts'
import { Database } from './database.ts'
import { commit, type Fault, type FaultKind, planFaults, type StoreKind } from './faults.ts'
import type { Ground } from './ground.ts'
import { type Image, imageOf } from './image.ts'
import { HIGH_WATER_BYTES, Network, repeating, type User } from './network.ts'
import { type Burst, CALM, isBusy, planBursts } from './pace.ts'
import { Family } from './processes/family.ts'
import { SimulatedServer } from './server.ts'
import { StoreFollower } from './store-follower.ts'
import { Process, World } from './world.ts'

export type Plan = {
  readonly seed: number
  /** The time that clients work, in milliseconds. */
  readonly ms: number
  readonly servers: number
  readonly store: StoreKind
  readonly faults: readonly Fault[]
  /** The habits of clients in a burst. */
  readonly habits: Habits
  readonly bursts: readonly Burst[]
  /** Whether the first server finds an empty store. */
  readonly isNew: boolean
  /** Whether clients send requests again that had no response. */
  readonly repeats: boolean
  /** The feature gates of the servers. */
  readonly gates: string
  /** How many bytes of a stream a connection holds, and a server before it waits for its client. */
  readonly streams: Streams
  /** The names of the chores that run beside the clients of the robustness run. */
  readonly chores: readonly string[]
}

export type Streams = { readonly highWaterBytes: number; readonly backlogBytes: number }

export type Outcome = {
  readonly plan: Plan
  /** The problems that were found; empty if there were none. */
  readonly problems: readonly string[]
  /** The hash of everything that happened. */
  readonly digest: string
  readonly completions: number
  /** Requests that servers received. */
  readonly requests: number
  readonly acts: number
  readonly virtualMs: number
  readonly trace: readonly string[]
  /** To see whether something still holds the run. */
  readonly world: WeakRef<World>
}

const MAX_SHOWN = 3
const PROCESSES_CHANCE = 0x5eed
/** The options of a server that no chore needs anything of. */
const OPTIONS: StartOptions = {
  controllers: ['none'],
  nodes: 0,
  historyMs: WINDOW_MS,
  bookmarkMs: 400,
  authorizationMode: ['RBAC'],
  serviceClusterIpRange: ['10.0.0.0/28'],
  serviceNodePortRange: { from: 30_000, to: 30_003 },
}
/** Few, since the resources and the stores of servers are made once for each. */
const GATES = ['AllAlpha=true,AllBeta=true', 'AllBeta=false,WatchList=true']
/** The usual ones, and small ones: few clients are so slow that a server holds a megabyte for them. */
export const STREAMS: readonly Streams[] = [
  { highWaterBytes: HIGH_WATER_BYTES, backlogBytes: LIMITS.watchBacklogBytes },
  { highWaterBytes: 1_000, backlogBytes: 4_000 },
  { highWaterBytes: 1_000, backlogBytes: 20_000 },
]
const EMPTY: Image = { writes: [], keys: [] }
/** A run that takes this much longer than its clients work is stuck. */
const PATIENCE_MS = 900_000

/** Parts of a plan that are not up to the seed. */
export type PlanOptions = { readonly chores?: readonly string[] | undefined; readonly isOfProcesses?: boolean | undefined }

/** The plan of a seed; with chores of one's own choice, if they are named. */
export function planOf(seed: number, ms: number, options: PlanOptions = {}): Plan {
  const random = new Random(seed)
  const isShared = random.oneIn(2)
  const replicas = isShared ? 1 + random.below(3) : 1
  const { store, servers } = planProcesses(seed, options) ?? { store: isShared ? 'shared' : 'disk', servers: replicas }
  const bursts = planBursts(random.fork(), ms)
  const faults = planFaults(random.fork(), { ms, servers, store, bursts })
  const habits = {
    writers: 1 + random.below(6),
    readers: random.below(4),
    watchers: random.below(6),
    // Parsing large values takes most of the time of a run that has them.
    heavyBytes: random.oneIn(8) ? 200_000 : 2_000,
    patience: random.pick([0.5, 1, 2, 5]),
  }
  const isNew = random.oneIn(8)
  const repeats = random.oneIn(2)
  const gates = random.oneIn(4) ? random.pick(GATES) : ''
  const streams = random.pick(STREAMS)
  const chores = options.chores ?? planChores(random)
  return { seed, ms, servers, store, faults, habits, bursts, isNew, repeats, gates, streams, chores }
}

/** One run in eight is of several processes of one server. Its chance is its own, so that other seeds stay as they were. */
function planProcesses(seed: number, { isOfProcesses }: PlanOptions): Pick<Plan, 'store' | 'servers'> | undefined {
  const random = new Random(seed ^ PROCESSES_CHANCE)
  const isChosen = random.oneIn(8)
  return (isOfProcesses ?? isChosen) ? { store: 'processes', servers: 2 + random.below(2) } : undefined
}

/** Some chores at random. Many at once would take long, and get in each other's way. */
function planChores(random: Random): readonly string[] {
  if (random.oneIn(3)) return []
  const share = 1 + random.below(5)
  return CHORES.map(({ name }) => name).filter(() => random.below(CHORES.length) < share)
}

export async function simulateRun(plan: Plan, { isTraced = false }: { readonly isTraced?: boolean } = {}): Promise<Outcome> {
  const world = new World({ seed: plan.seed, isTraced })
  const problems: string[] = []
  let acts = 0
  const counts = { requests: 0 }
  const undoLimits = setLimits({ watchBacklogBytes: plan.streams.backlogBytes })
  try {
    const image = plan.isNew ? EMPTY : await imageOf(withGates(OPTIONS, plan), plan.store)
    const { history, failures } = await world.run(() => runClients(world, plan, { image, counts }), { untilMs: plan.ms + PATIENCE_MS })
    acts = history.acts.length
    // A store that forgets at any moment keeps nothing for long.
    const isForgetful = plan.faults.some(({ kind }) => FORGETTING.has(kind))
    problems.push(...failures, ...check(isForgetful ? { ...history, windowMs: 0 } : history).map(violation => describe(history, violation)))
  } catch (error) {
    problems.push((error as Error).stack ?? String(error))
  } finally {
    undoLimits()
  }
  problems.push(...world.failures)
  return {
    plan,
    problems: problems.slice(0, MAX_SHOWN),
    digest: world.trace.digest,
    completions: world.completions,
    requests: counts.requests,
    acts,
    virtualMs: world.now,
    trace: world.trace.lines,
    world: new WeakRef(world),
  }
}

/** Sets limits until the returned function is called. */
function setLimits(limits: { readonly [Name in keyof typeof LIMITS]?: number }): () => void {
  const former = { ...LIMITS }
  Object.assign(LIMITS, limits)
  return () => void Object.assign(LIMITS, former)
}

const withGates = (options: StartOptions, { gates }: Plan): StartOptions => (gates === '' ? options : { ...options, featureGates: gates })

/** Faults in which the store forgets history. */
const FORGETTING: ReadonlySet<FaultKind> = new Set(['compaction', 'cut beyond history'])
/** Faults in which writes to the only server fail. */
const FAILING: ReadonlySet<FaultKind> = new Set(['failing commits', 'full store', 'broken disk'])

async function runClients(world: World, plan: Plan, { image, counts }: { readonly image: Image; readonly counts: { requests: number } }) {
  const clients = new Process('clients')
  const { keys, content } = image
  const family = plan.store === 'processes' ? new Family(world, { count: plan.servers, keys, content }) : undefined
  const database = family ? undefined : new Database(world, { isShared: plan.store === 'shared', keys })
  await database?.restore(image.writes)
  const ground: Ground = family ?? database!
  const network = new Network(world, clients, {
    counts,
    repeatsReads: plan.repeats,
    highWaterBytes: plan.streams.highWaterBytes,
  })
  const options = withGates({ ...OPTIONS, ...neededBy(plan.chores) }, plan)
  const servers = Array.from({ length: plan.servers }, (_, i) => new SimulatedServer(world, ground, { number: i + 1, options }))
  for (const server of servers) await server.start()
  const follower = database && new StoreFollower(world, database, new Random(plan.seed))
  const subject: Subject = {
    targets: [],
    isShared: plan.store !== 'disk',
    mayFail: plan.faults.some(({ kind }) => FAILING.has(kind)),
    open: () => servers.map(server => () => network.connect(server)),
    // The network has no protocols.
    protocols: ['http/2'],
    async start() {},
    async disturb() {},
    isUp: () => servers.every(server => server.isUp),
    describe: () => '',
  }
  const workBegins = { atMs: 0 }
  const isCalm = () => !isBusy(plan.bursts, world.now - workBegins.atMs)
  const habits = {
    ...plan.habits,
    get patience() {
      return isCalm() ? CALM : plan.habits.patience
    },
  }
  const chores = CHORES.filter(({ name }) => plan.chores.includes(name)).map(({ make }) => make())
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const connect = (user?: User): Connection => {
    const [first, ...others] = servers.map(server => () => network.connect(server, user))
    return others.length === 0 ? first!() : new SpreadConnection([first!, ...others], random.fork())
  }
  const random = world.random.fork()
  const stages = chores.map(
    ({ name, mayRepeat = false }): Stage => ({
      connection: mayRepeat && plan.repeats ? repeating(connect()) : connect(),
      as: user => connect({ name: user, groups: [] }),
      random: random.fork(),
      onWrite: listener => ground.onWrite.add(listener),
      delay: ms => ground.delays.add(ms),
      giveUpMs: ground.giveUpMs,
      stored: prefix => ground.stored(prefix),
      stop: stop.signal,
      pace: () => (isCalm() ? CALM : 1),
      broken: what => world.failures.push(`${name}: ${what}`),
    }),
  )
  const disturb = async (ms: number) => {
    const begin = world.now
    workBegins.atMs = begin
    const working = chores.map((chore, i) => chore.work(stages[i]!))
    const happening = plan.faults.map(async fault => {
      await world.sleep(fault.atMs, 'fault')
      await commit(fault, { world, database, family, network, servers })
    })
    await Promise.all(happening)
    for (const server of servers) await server.start()
    await world.sleep(Math.max(0, begin + ms - world.now), 'work')
    stop.abort()
    await Promise.all(working)
  }
  return await world.in(clients, 'clients', async () => {
    // The checker takes objects that are there at the beginning for granted.
    await Promise.all(chores.map((chore, i) => chore.prepare(stages[i]!)))
    const epoch = await runEpoch(subject, { ms: plan.ms, habits, random: world.random.fork(), disturb })
    // Some promises take minutes to be kept. Clients that go on meanwhile would be most of such a run, and see nothing new.
    for (const [i, chore] of chores.entries()) await chore.check(stages[i]!)
    await follower?.end()
    return epoch
  })
}
