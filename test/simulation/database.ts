/**
 * The store of a run, which outlives the servers: either the disk of one server, whose writes are durable once they are synced, or a
 * database that several servers reach over a network, as etcd is. The contract is that of `src/storage/store.ts`, and its state machine is
 * the store in memory; time, loss and faults are added here.
 */
import type { KeyPair } from '../../src/lib/x509/issue.ts'
import { MemoryStore } from '../../src/storage/memory.ts'
import {
  type Batch,
  type Change,
  type Extent,
  OutcomeUnknown,
  type Page,
  type PageRequest,
  type Read,
  type Revision,
  SpaceExceeded,
  type Store,
  type StoreSize,
  StoreUnavailable,
  type Swap,
} from '../../src/storage/store.ts'
import type { Random } from '../robustness/random.ts'
import type { Footing, Ground, MadeWrite } from './ground.ts'
import type { SimulatedServer } from './server.ts'
import { Process, type World } from './world.ts'

/** The faults of the way between a server and the store, and of the store itself, at this moment. */
export type StoreFaults = {
  /** Further milliseconds that a commit may take. */
  slowMs: number
  /** Further milliseconds by which events of watches may be late. */
  lagMs: number
  /** Further milliseconds that a question may take, and its answer. */
  readMs: number
  /** The share of writes that fail without effect. */
  failsBefore: number
  /** The share of writes that are made while the server learns that the outcome is unknown. */
  failsAfter: number
  /** The server cannot reach the store. */
  isCut: boolean
  /** The disk fails in the middle of a sync: only a restart shows which writes it has. */
  isDiskBroken: boolean
}

export const NO_STORE_FAULTS: StoreFaults = {
  slowMs: 0,
  lagMs: 0,
  readMs: 0,
  failsBefore: 0,
  failsAfter: 0,
  isCut: false,
  isDiskBroken: false,
}

/** A write that fails: without effect, with an unknown outcome, or with the server, which has made it or not. A read has no effect. */
export type Fate = 'error' | 'unknown' | 'crash' | 'crash before'
/** Which of the next calls of a store fails, and how. */
export type Nth = { readonly fate: Fate; readonly reached: () => void }

/** A request to a store that cannot be reached is given up after this time. */
const GIVE_UP_MS = 5_000
const LEASE_KEY = '/coordination.k8s.io/leases/kube-system/kube-controller-manager'
/** Few, so that watches which catch up do so in several steps. */
const EVENTS_PER_CHUNK = 8
const MAX_SYNC_MS = 3
const MAX_TRIP_MS = 1
const HELD_UP_MS = 20

export class Database implements Ground {
  readonly process = new Process('store')
  readonly world: World
  readonly random: Random
  readonly isShared: boolean
  readonly inner: MemoryStore
  /** Certificates and keys beside the store. */
  readonly keys: Map<string, KeyPair>
  /** Called for every write, in the order of revisions. */
  readonly onWrite = new Set<(write: MadeWrite) => void>()
  /** Each says for how many milliseconds more than usual a write is on its way to a shared store. */
  readonly delays = new Set<(key: string, change: Change) => number>()
  readonly giveUpMs = GIVE_UP_MS
  readonly #views = new Set<StoreView>()
  #deletionsUntilSpace = 0
  /** The server that wrote the lease of controllers last. */
  #leads: Process | undefined

  constructor(world: World, { isShared, keys = [] }: { readonly isShared: boolean; readonly keys?: Iterable<readonly [string, KeyPair]> }) {
    this.world = world
    this.random = world.random.fork()
    this.isShared = isShared
    this.inner = new MemoryStore({ eventsPerChunk: EVENTS_PER_CHUNK })
    this.keys = new Map(keys)
  }

  /** Makes writes of another store, which were made in that order. */
  async restore(writes: Iterable<readonly [key: string, change: Change]>): Promise<void> {
    for (const [key, change] of writes) await this.inner.swap(key, change)
  }

  async stored(prefix: string): Promise<readonly string[]> {
    return (await this.inner.list(prefix)).entries.map(({ key }) => key)
  }

  begin(life: Process, { server }: { readonly server: SimulatedServer }): Footing {
    const view = this.view(life, server.storeFaults)
    return { view, options: { store: 'memory' }, parts: async () => ({ store: view }), crash: () => view.crash() }
  }

  /** The store as a server sees it. */
  view(server: Process, faults: StoreFaults): StoreView {
    const view = new StoreView(this, server, faults)
    this.#views.add(view)
    return view
  }

  fill(deletions: number): void {
    this.world.note(deletions > 0 ? `the store is full until ${deletions} keys are deleted` : 'the store has space')
    this.#deletionsUntilSpace = deletions
  }

  /** Makes a write, unless there is no space for it. Writes that end something pass, as in the stores themselves. */
  swap(key: string, change: Change): Promise<Swap> {
    const isDeletion = change.value === null
    if (this.#deletionsUntilSpace > 0 && !isDeletion && !change.isEnding) return Promise.reject(new SpaceExceeded('the store is full'))
    if (this.#deletionsUntilSpace > 0 && isDeletion) this.#deletionsUntilSpace--
    return this.inner.swap(key, change)
  }

  async compact(keep: number): Promise<void> {
    const { oldest, newest } = await this.inner.extent()
    const before = Math.max(oldest, newest - keep)
    this.world.note(`the store forgets what is before ${before}`)
    await this.inner.compact(before)
  }

  /** Breaks the watches of one server, or of all. */
  breakWatches(server?: StoreView): void {
    for (const view of server ? [server] : this.#views) view.breakWatches()
  }

  delayMs(key: string, change: Change): number {
    let ms = 0
    for (const delay of this.delays) ms += delay(key, change)
    return ms
  }

  wrote(server: Process, key: string): void {
    if (key === LEASE_KEY) this.#leads = server
  }

  /** The server that takes the lease of controllers next, at that moment; undefined if none does in time. */
  nextLeader(withinMs: number): Promise<Process | undefined> {
    return new Promise(resolve => {
      const listener = ({ server, key, change }: MadeWrite) => {
        const isTaken = key === LEASE_KEY && change.value !== null && this.#leads !== server
        if (isTaken) done(server)
      }
      const done = (server: Process | undefined) => {
        this.onWrite.delete(listener)
        resolve(server)
      }
      this.onWrite.add(listener)
      this.world.after(withinMs, 'no new leader', () => done(undefined))
    })
  }

  left(view: StoreView): void {
    this.#views.delete(view)
  }
}

type Pending = { readonly key: string; readonly change: Change; readonly done: (outcome: Promise<Swap>) => void }

/** The store of one server. */
export class StoreView implements Store {
  readonly isShared: boolean
  readonly faults: StoreFaults
  readonly #database: Database
  readonly #server: Process
  readonly #watches = new Set<(error: Error) => void>()
  /** Writes that wait for the next sync, and those that are being synced, where the server has a disk of its own. */
  #waiting: Pending[] = []
  #syncing: Pending[] | undefined
  /** Writes of a sync that failed: they may be on the disk, and nothing more is written before a restart. */
  #failed: Pending[] | undefined
  #isClosed = false
  /** Whether a crash now leaves every write on the disk. */
  #keepsAll = false
  #nth: (Nth & { left: number }) | undefined

  constructor(database: Database, server: Process, faults: StoreFaults) {
    this.#database = database
    this.#server = server
    this.faults = faults
    this.isShared = database.isShared
    if (!this.isShared) this.readBack = (key, modified) => database.inner.readBack(key, modified)
  }

  readBack?: NonNullable<Store['readBack']>

  get(key: string, at?: Revision): Promise<Read> {
    return this.#read('get', () => this.#database.inner.get(key, at))
  }

  list(prefix: string, page?: PageRequest): Promise<Page> {
    return this.#read('list', () => this.#database.inner.list(prefix, page))
  }

  extent(): Promise<Extent> {
    return this.#read('extent', () => this.#database.inner.extent())
  }

  compact(before: Revision): Promise<void> {
    return this.#read('compact', () => this.#database.inner.compact(before))
  }

  probe(): Promise<void> {
    return this.#read('probe', () => this.#database.inner.probe())
  }

  fresh(): Revision | Promise<Revision> {
    if (!this.isShared) return this.#database.inner.fresh()
    return this.#read('fresh', async () => this.#database.inner.fresh())
  }

  size(): StoreSize {
    return this.#database.inner.size()
  }

  swap(key: string, change: Change): Promise<Swap> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
    const fate = this.#nthFate()
    if (fate === 'error') return Promise.reject(new StoreUnavailable('this write fails'))
    // Nobody is there for the outcome.
    if (fate === 'crash before') return new Promise(() => {})
    this.#keepsAll = fate === 'crash'
    const swapping = this.isShared ? this.#swapAfar(key, change) : this.#swapHere(key, change)
    if (fate !== 'unknown') return swapping
    const unknown = () => {
      throw new OutcomeUnknown('nobody knows whether it was written')
    }
    return swapping.then(unknown, unknown)
  }

  /** Callbacks of an iteration run in the server's process. */
  async *watch(prefix: string, after: Revision, signal: AbortSignal): AsyncGenerator<Batch> {
    const { world } = this.#database
    const arrived: (Batch | Error | 'end')[] = []
    let wake = () => {}
    const push = (item: Batch | Error | 'end') => {
      arrived.push(item)
      wake()
    }
    const stop = new AbortController()
    const broken = (error: Error) => {
      stop.abort()
      world.after(this.#tripMs(), 'watch broken', () => push(error), this.#server)
    }
    const end = () => {
      stop.abort()
      push('end')
    }
    signal.addEventListener('abort', end, { once: true })
    this.#watches.add(broken)
    const begin = () => {
      if (this.faults.isCut) broken(new StoreUnavailable('the store cannot be reached'))
      else void this.#send(prefix, after, { signal: stop.signal, push })
    }
    world.after(this.#tripMs(), 'watch begins', begin, this.#database.process)
    try {
      for (;;) {
        while (arrived.length === 0) await new Promise<void>(resolve => (wake = resolve))
        const next = arrived.shift()!
        if (next === 'end' || signal.aborted) return
        if (next instanceof Error) throw next
        yield next
      }
    } finally {
      stop.abort()
      signal.removeEventListener('abort', end)
      this.#watches.delete(broken)
    }
  }

  /** Sends batches in their order: each some time after it was made, several as one, or one as several. */
  async #send(prefix: string, after: Revision, watch: { readonly signal: AbortSignal; readonly push: (item: Batch | Error) => void }) {
    const { world, random, inner } = this.#database
    let arrives = world.now
    let unsent: Batch | undefined
    const underWay: (Batch | Error)[] = []
    // The oldest arrives first, also after the way was cut for a while.
    const arrive = () => {
      if (watch.signal.aborted) return
      if (this.faults.isCut) world.after(HELD_UP_MS, 'watch held up', arrive, this.#server)
      else watch.push(underWay.shift()!)
    }
    const deliver = (item: Batch | Error) => {
      arrives = Math.max(arrives, world.now + this.#tripMs() + (this.faults.lagMs > 0 ? random.below(this.faults.lagMs) : 0))
      underWay.push(item)
      world.after(arrives - world.now, 'watch batch', arrive, this.#server)
    }
    const flush = () => {
      for (const piece of unsent && this.isShared ? inPieces(unsent, random) : unsent ? [unsent] : []) deliver(piece)
      unsent = undefined
    }
    try {
      for await (const batch of inner.watch(prefix, after, watch.signal)) {
        const last: Batch | undefined = unsent
        unsent = last ? { revision: batch.revision, events: [...last.events, ...batch.events] } : batch
        if (last) continue
        if (!this.isShared || random.oneIn(2)) flush()
        else world.after(random.next(), 'watch flush', flush, this.#database.process)
      }
    } catch (error) {
      flush()
      deliver(error as Error)
    }
  }

  breakWatches(): void {
    if (!this.isShared) return
    for (const broken of this.#watches) broken(new StoreUnavailable('the stream of events was cut'))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#database.left(this)
  }

  /** Lets the nth call from now on fail. */
  failNth(n: number, nth: Nth): void {
    this.#nth = { left: n, ...nth }
  }

  #nthFate(): Fate | undefined {
    if (!this.#nth || --this.#nth.left !== 0) return undefined
    this.#nth.reached()
    return this.#nth.fate
  }

  /** The server is killed: writes that were not synced are there up to one of them, or not at all. */
  crash(): void {
    const { random, world } = this.#database
    const unsynced = [...(this.#failed ?? []), ...(this.#syncing ?? []), ...this.#waiting]
    const kept = this.#keepsAll ? unsynced.length : random.below(unsynced.length + 1)
    this.#failed = undefined
    this.#syncing = undefined
    this.#waiting = []
    this.#database.left(this)
    if (unsynced.length > 0) world.note(`${kept} of ${unsynced.length} writes that were not synced are on the disk`)
    for (const { key, change } of unsynced.slice(0, kept)) this.#made(key, change, this.#database.swap(key, change)).catch(() => {})
  }

  /** Writes of one sync are made one after the other when it ends: nobody sees them before they are durable. */
  #swapHere(key: string, change: Change): Promise<Swap> {
    if (this.#failed) return Promise.reject(new StoreUnavailable('the disk failed; restart'))
    return new Promise(resolve => {
      this.#waiting.push({ key, change, done: resolve })
      if (!this.#syncing) this.#sync()
    })
  }

  #sync(): void {
    const { world, random } = this.#database
    const batch = this.#waiting
    this.#waiting = []
    this.#syncing = batch
    const ms = random.next() * MAX_SYNC_MS + (this.faults.slowMs > 0 ? random.below(this.faults.slowMs) : 0)
    const isRefused = random.next() < this.faults.failsBefore
    world.after(ms, 'sync', () => {
      if (this.#syncing !== batch) return
      this.#syncing = undefined
      if (this.faults.isDiskBroken) return this.#fail(batch)
      for (const { key, change, done } of batch)
        done(
          isRefused
            ? Promise.reject(new StoreUnavailable('no space is left on the disk'))
            : this.#made(key, change, this.#database.swap(key, change)),
        )
      if (this.#waiting.length > 0) this.#sync()
    })
  }

  /** Writes of the sync may be on the disk; later ones are not. */
  #fail(batch: Pending[]): void {
    this.#failed = batch
    this.#database.world.note(`the disk of ${this.#server.name} fails`)
    for (const { done } of [...batch, ...this.#waiting.splice(0)]) done(Promise.reject(new StoreUnavailable('the disk failed; restart')))
  }

  /** A request and its response, each of which may be lost. */
  #swapAfar(key: string, change: Change): Promise<Swap> {
    const { world, random, process } = this.#database
    const { faults } = this
    return new Promise((resolve, reject) => {
      let isOver = false
      const settle = (then: () => void) => {
        if (!isOver) then()
        isOver = true
      }
      const giveUp = (ms: number) =>
        world.after(
          ms,
          'swap given up',
          () => settle(() => reject(new OutcomeUnknown('the connection to the store was lost'))),
          this.#server,
        )
      const answer = (outcome: Promise<Swap>) => {
        const then = (what: string, run: () => void) => {
          const arrive = () => (faults.isCut ? giveUp(random.below(GIVE_UP_MS)) : settle(run))
          world.after(this.#tripMs(), what, arrive, this.#server)
        }
        outcome.then(
          swap => then('swapped', () => resolve(swap)),
          error => then('swap refused', () => reject(error)),
        )
      }
      const fate = random.next()
      if (fate < faults.failsBefore) {
        world.after(this.#tripMs(), 'swap failed', () => settle(() => reject(new StoreUnavailable('the store cannot be reached'))))
        return
      }
      const isUnknown = fate < faults.failsBefore + faults.failsAfter
      if (isUnknown) giveUp(random.below(500))
      const arrive = () => {
        // A request that was on its way may arrive long after the server has given it up, or never.
        if (faults.isCut) {
          giveUp(random.below(GIVE_UP_MS))
          if (random.oneIn(2))
            world.after(
              random.below(2 * GIVE_UP_MS),
              'late swap',
              () => void this.#made(key, change, this.#database.swap(key, change)).catch(() => {}),
              process,
            )
          return
        }
        const outcome = this.#made(key, change, this.#database.swap(key, change))
        if (isUnknown) outcome.catch(() => {})
        else answer(outcome)
      }
      const delayMs = this.#database.delayMs(key, change)
      if (delayMs > GIVE_UP_MS) giveUp(random.below(GIVE_UP_MS))
      world.after(delayMs + this.#tripMs() + (faults.slowMs > 0 ? random.below(faults.slowMs) : 0), 'swap', arrive, process)
    })
  }

  #made(key: string, change: Change, swapping: Promise<Swap>): Promise<Swap> {
    const { world, onWrite } = this.#database
    return swapping.then(swap => {
      if (!swap.ok) return swap
      world.note(`${this.#server.name} writes ${key} at ${swap.revision}`)
      for (const listener of onWrite) listener({ server: this.#server, key, change, revision: swap.revision })
      this.#database.wrote(this.#server, key)
      return swap
    })
  }

  #read<T>(what: string, ask: () => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
    if (this.#nthFate()) return Promise.reject(new StoreUnavailable('this call fails'))
    if (!this.isShared) return ask()
    const { world, random, process } = this.#database
    return new Promise((resolve, reject) => {
      const { readMs } = this.faults
      const tripMs = () => this.#tripMs() + (readMs > 0 ? random.below(readMs) : 0)
      const answer = (then: () => void) => world.after(tripMs(), what, () => (this.faults.isCut ? lost() : then()), this.#server)
      const lost = () =>
        world.after(
          random.below(GIVE_UP_MS),
          `${what} given up`,
          () => reject(new StoreUnavailable('the store cannot be reached')),
          this.#server,
        )
      const arrive = () => {
        if (this.faults.isCut) return void lost()
        ask().then(
          value => answer(() => resolve(value)),
          error => answer(() => reject(error)),
        )
      }
      world.after(tripMs(), what, arrive, process)
    })
  }

  #tripMs(): number {
    return this.isShared ? this.#database.random.next() * MAX_TRIP_MS : 0
  }
}

/** A batch as one or several. Events of one revision stay together. */
function inPieces(batch: Batch, random: Random): Batch[] {
  const { events, revision } = batch
  if (events.length < 2 || random.oneIn(2)) return [batch]
  const at = 1 + random.below(events.length - 1)
  const last = events[at - 1]!.revision
  if (last === events[at]!.revision) return [batch]
  return [{ revision: last, events: events.slice(0, at) }, ...inPieces({ revision, events: events.slice(at) }, random)]
}
