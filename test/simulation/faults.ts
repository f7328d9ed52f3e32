/** The faults of a run: a list that a seed makes, and that can be made shorter to see which of them matter. */
import type { Random } from '../robustness/random.ts'
import type { Database } from './database.ts'
import type { Network } from './network.ts'
import { type Burst, isBusy } from './pace.ts'
import type { Family } from './processes/family.ts'
import type { SimulatedServer } from './server.ts'
import type { World } from './world.ts'

/** The kinds of faults; a run has some of them. */
export const FAULTS = [
  'kill',
  'stop',
  'pause',
  'long pause',
  'pause of a new leader',
  'slow commits',
  'failing commits',
  'unknown commits',
  'broken disk',
  'cut from the store',
  'cut beyond history',
  'cut from clients',
  'late events',
  'far store',
  'broken watches',
  'compaction',
  'slow network',
  'lossy network',
  'cut streams',
  'narrow network',
  'busy machine',
  'wrong clock',
  'drifting clock',
  'full store',
  'kill of the primary',
  'kill of all processes',
  'pause of the primary',
  'pause of the appointed',
  'broken links',
  'slow file',
  'slow links',
] as const
export type FaultKind = (typeof FAULTS)[number]

export type Fault = {
  readonly kind: FaultKind
  /** Milliseconds after the beginning of the work. */
  readonly atMs: number
  readonly forMs: number
  /** The server that it is about. */
  readonly server: number
  /** How bad it is, between 0 and 1. */
  readonly size: number
}

/** Faults that only a store which several servers share can have. */
const SHARED: ReadonlySet<FaultKind> = new Set([
  'long pause',
  'pause of a new leader',
  'unknown commits',
  'cut from the store',
  'cut beyond history',
  'far store',
  'broken watches',
])
/** Faults of the disk of one server. */
const OWN: ReadonlySet<FaultKind> = new Set(['broken disk'])
/** Faults of the processes of one server. */
const OF_FAMILIES: ReadonlySet<FaultKind> = new Set([
  'kill of the primary',
  'kill of all processes',
  'pause of the primary',
  'pause of the appointed',
  'broken links',
  'slow file',
  'slow links',
])
/** Other faults that processes on one machine can have. */
const ALSO_OF_FAMILIES: ReadonlySet<FaultKind> = new Set([
  'kill',
  'stop',
  'pause',
  'long pause',
  'cut from clients',
  'slow network',
  'lossy network',
  'cut streams',
  'narrow network',
  'busy machine',
  'failing commits',
  'compaction',
  'wrong clock',
  'drifting clock',
  'full store',
])
const LONG: ReadonlySet<FaultKind> = new Set(['long pause', 'pause of a new leader', 'pause of the appointed'])
/** Faults that matter only when they last for a while. */
const SUSTAINED: ReadonlySet<FaultKind> = new Set(['late events', 'far store', 'cut beyond history', 'narrow network', 'slow links'])
/** Longer than the lease of controllers, so that another server takes over. Such a pause may go on when the work is over. */
const LONG_MS = { least: 6_500, more: 6_000 }
const MEAN_WAIT_MS = 1_500
const MAX_MS = 4_000

/** The disk of one server, a store that several reach over a network, or a file of several processes of one server. */
export type StoreKind = 'disk' | 'shared' | 'processes'

function isPossible(kind: FaultKind, store: StoreKind): boolean {
  if (store === 'processes') return OF_FAMILIES.has(kind) || ALSO_OF_FAMILIES.has(kind)
  return !OF_FAMILIES.has(kind) && !(store === 'shared' ? OWN : SHARED).has(kind)
}

/** Which kinds of faults a run has is up to chance as well: some bugs are found only where others do not get in their way. */
export function planFaults(
  random: Random,
  {
    ms,
    servers,
    store,
    bursts,
  }: { readonly ms: number; readonly servers: number; readonly store: StoreKind; readonly bursts: readonly Burst[] },
): Fault[] {
  const kinds = FAULTS.filter(kind => isPossible(kind, store) && random.oneIn(2))
  const faults: Fault[] = []
  if (kinds.length === 0) return faults
  for (let atMs = random.below(MEAN_WAIT_MS); atMs < ms; atMs += random.below(2 * MEAN_WAIT_MS)) {
    // Faults are most where requests are.
    if (!isBusy(bursts, atMs) && !random.oneIn(4)) continue
    const kind = random.pick(kinds)
    const isLong = LONG.has(kind)
    const isShort = !SUSTAINED.has(kind) && !random.oneIn(3)
    const forMs = isLong ? LONG_MS.least + random.below(LONG_MS.more) : random.below(isShort ? MAX_MS / 8 : MAX_MS)
    faults.push({ kind, atMs, forMs: isLong ? forMs : Math.min(forMs, ms - atMs), server: random.below(servers), size: random.next() })
  }
  return faults
}

export type Stage = {
  readonly world: World
  /** The store, where it is one of these. */
  readonly database?: Database | undefined
  readonly family?: Family | undefined
  readonly network: Network
  readonly servers: readonly SimulatedServer[]
}

const GRACE_MS = 10_000
/** How much of a stream passes in a narrow network. */
const MIN_BYTES_PER_MS = 0.2
const MORE_BYTES_PER_MS = 5
/** The share by which a clock may go too fast or too slow. */
export const MAX_DRIFT = 0.05

/** Makes a fault happen, waits, and undoes it. */
export async function commit(fault: Fault, stage: Stage): Promise<void> {
  if (OF_FAMILIES.has(fault.kind)) return await commitToFamily(fault, stage)
  const { world, network, servers, family } = stage
  // Those that are about it happen only where it is.
  const database = stage.database!
  const store = family ?? database
  const server = servers[fault.server]!
  const { kind, forMs, size } = fault
  world.note(`fault: ${describeFault(fault)}`)
  const wait = (what: string = kind) => world.sleep(forMs, what)
  switch (kind) {
    case 'kill':
      server.kill()
      await wait()
      return server.start()
    case 'stop':
      await server.stop(GRACE_MS)
      await wait()
      return server.start()
    case 'pause':
    case 'long pause': {
      // Nothing happens in a process while it is paused. Should it be killed meanwhile, the next one is not.
      const { process } = server
      world.pause(process)
      await wait()
      return world.resume(process)
    }
    case 'pause of a new leader': {
      const process = await database.nextLeader(LONG_MS.least + LONG_MS.more)
      if (process === undefined) return
      world.pause(process)
      await wait()
      return world.resume(process)
    }
    case 'broken disk':
      await during(server.storeFaults, { isDiskBroken: true }, wait)
      server.kill()
      return server.start()
    case 'cut from clients':
      return during(server, { isCutOff: true }, wait)
    case 'compaction':
      return store.compact(Math.floor(size * 50))
    case 'broken watches':
      return database.breakWatches(size < 0.5 ? server.view : undefined)
    case 'slow commits':
      return during(server.storeFaults, { slowMs: size * 2_000 }, wait)
    case 'failing commits':
      return during(family?.folder ?? server.storeFaults, { failsBefore: size / 2 }, wait)
    case 'unknown commits':
      return during(server.storeFaults, { failsAfter: size / 2 }, wait)
    case 'cut from the store':
      // Connections end, or wait.
      if (size < 0.5) server.view!.breakWatches()
      return during(server.storeFaults, { isCut: true }, wait)
    case 'cut beyond history':
      // Events that were on their way are lost, and the store has forgotten some of them when the server can ask for them again.
      server.view!.breakWatches()
      return during(server.storeFaults, { isCut: true }, async () => {
        await wait()
        await database.compact(Math.floor(size * 4))
      })
    case 'late events':
      return during(server.storeFaults, { lagMs: slownessMs(size) }, wait)
    case 'far store':
      return during(server.storeFaults, { lagMs: slownessMs(size), readMs: slownessMs(size) }, wait)
    case 'slow network':
      return during(network.faults, { delayMs: size * 1_000 }, wait)
    case 'lossy network':
      return during(network.faults, { loses: size / 4 }, wait)
    case 'cut streams':
      return during(network.faults, { cuts: size / 10 }, wait)
    case 'narrow network':
      return during(network.faults, { bytesPerMs: MIN_BYTES_PER_MS + size * MORE_BYTES_PER_MS }, wait)
    case 'busy machine':
      return during(world, { busyOneIn: 20 + Math.floor(size * 200) }, wait)
    case 'wrong clock':
      return during(server.process.clock, { aheadMs: (size - 0.5) * 4_000 }, wait)
    case 'drifting clock': {
      const { clock } = server.process
      clock.drift((size - 0.5) * 2 * MAX_DRIFT, world.now)
      await wait()
      return clock.drift(0, world.now)
    }
    case 'full store':
      store.fill(1 + Math.floor(size * 10))
      await wait()
      return store.fill(0)
    default:
      throw new Error(`${kind} is a fault of processes`)
  }
}

async function commitToFamily(fault: Fault, { world, family, servers }: Stage): Promise<void> {
  const { kind, forMs, size } = fault
  const { folder } = family!
  world.note(`fault: ${describeFault(fault)}`)
  const wait = () => world.sleep(forMs, kind)
  const isAppointed = kind === 'pause of the appointed'
  const meant = (isAppointed ? family!.appointed : family!.primary) ?? servers[fault.server]!
  switch (kind) {
    case 'kill of the primary':
      meant.kill()
      await wait()
      return await meant.start()
    case 'kill of all processes':
      for (const server of servers) server.kill()
      await wait()
      await Promise.all(servers.map(server => server.start()))
      return
    case 'pause of the primary':
    case 'pause of the appointed': {
      const { process } = meant
      world.pause(process)
      await wait()
      return world.resume(process)
    }
    case 'broken links':
      return folder.breakLinks(size)
    case 'slow file':
      return during(folder, { slowMs: size * 500 }, wait)
    case 'slow links':
      return during(folder, { linkMs: slownessMs(size) }, wait)
  }
}

/** Mostly little, so that a server is behind, and has reason to believe that it is not. */
const slownessMs = (size: number): number => 2_000 * size ** 3

/** The values that faults give to the fields of something now, oldest first. */
const GIVEN = new WeakMap<object, Map<string, unknown[]>>()

/** Sets values for a while. Of several faults that last, the newest counts. */
async function during<T extends object>(target: T, values: Partial<T>, wait: () => Promise<void>): Promise<void> {
  const given = GIVEN.get(target) ?? new Map<string, unknown[]>()
  GIVEN.set(target, given)
  const fields = Object.entries(values).map(([name, value]) => {
    const usual = typeof value === 'boolean' ? false : 0
    const list = given.get(name) ?? [usual]
    given.set(name, list)
    return { name, list, value }
  })
  for (const { name, list, value } of fields) {
    list.push(value)
    Object.assign(target, { [name]: value })
  }
  await wait()
  for (const { name, list, value } of fields) {
    list.splice(list.lastIndexOf(value), 1)
    Object.assign(target, { [name]: list.at(-1) })
  }
}

export const describeFault = ({ kind, atMs, forMs, server, size }: Fault): string =>
  `${kind} at ${Math.round(atMs)} ms for ${Math.round(forMs)} ms, server ${server + 1}, size ${size.toFixed(2)}`
