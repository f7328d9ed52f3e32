/**
 * One run of several processes on one embedded store: the real primary and followers over a simulated folder. Processes are killed, closed,
 * paused and started again, while clients of each read, swap and watch. The writes that the file got, in order, decide about all that they
 * have seen.
 */
import { openProcessStore, type ProcessStore } from '../../../src/storage/processes/process-store.ts'
import { Compacted, type Entry, OutcomeUnknown, type Revision, StoreUnavailable, type Swap } from '../../../src/storage/store.ts'
import type { Random } from '../../robustness/random.ts'
import { Process, World } from '../world.ts'
import { Folder, SimulatedMachine } from './folder.ts'

export type ProcessesOutcome = {
  readonly seed: number
  readonly problems: readonly string[]
  readonly digest: string
  readonly virtualMs: number
  readonly calls: number
  /** How often a process became the primary. */
  readonly primaries: number
  readonly trace: readonly string[]
}

const KEYS = ['/a', '/b', '/c', '/d']
const FAMILY = { socket: 'simulated', secret: 'simulated' }
const MEAN_FAULT_MS = 400
const MAX_AWAY_MS = 1_000
const MAX_PAUSE_MS = 3_000
const MAX_SLOW_MS = 100
const REST_MS = 20
const UNTIL_MS = 300_000
/** Clients work for so long after the last fault. */
const CALM_MS = 500
/** Longer than a request of a follower waits for an answer. */
const SETTLE_MS = 12_000

export async function simulateProcesses(
  seed: number,
  { ms, isTraced = false }: { readonly ms: number; readonly isTraced?: boolean },
): Promise<ProcessesOutcome> {
  const world = new World({ seed, isTraced })
  const run = new ProcessesRun(world)
  const problems: string[] = []
  try {
    await world.run(() => run.run(ms), { untilMs: ms + UNTIL_MS })
  } catch (error) {
    problems.push((error as Error).stack ?? String(error))
  }
  problems.push(...world.failures)
  const { calls, folder } = run
  const { digest, lines: trace } = world.trace
  return { seed, problems: problems.slice(0, 3), digest, virtualMs: world.now, calls, primaries: folder.fence, trace }
}

/** A value that was sent, with whether the store has said for certain that it was not written. */
type Sent = { readonly key: string; isRefused: boolean }

class ProcessesRun {
  readonly folder: Folder
  calls = 0
  readonly #world: World
  readonly #random: Random
  readonly #members: Member[]
  readonly #sent = new Map<string, Sent>()
  /** Every write that was ever committed, in the order of revisions. */
  readonly #written: { readonly key: string; readonly revision: Revision; readonly value: string | undefined }[] = []
  /** The newest revision that any client has seen. */
  #known: Revision = 1
  #isOver = false
  #values = 0

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
    this.folder = new Folder(world)
    this.folder.onWritten = ({ key, revision, value }) => {
      const text = value === null ? undefined : Buffer.from(value).toString()
      this.#written.push({ key, revision, value: text })
      world.note(`${key} is ${text ?? 'deleted'} at ${revision}`)
    }
    this.#members = Array.from({ length: 2 + this.#random.below(3) }, (_, i) => new Member(world, this.folder, `process ${i + 1}`))
  }

  async run(ms: number): Promise<void> {
    for (const member of this.#members) this.#start(member)
    const until = this.#world.now + ms
    while (this.#world.now < until) {
      await this.#world.sleep(this.#random.below(2 * MEAN_FAULT_MS), 'fault')
      this.#disturb(this.#random.pick(this.#members))
    }
    await this.#world.sleep(MAX_PAUSE_MS, 'faults end')
    this.folder.slowMs = 0
    for (const member of this.#members) this.#start(member)
    await this.#world.sleep(CALM_MS, 'calm')
    this.#isOver = true
    await this.#world.sleep(SETTLE_MS, 'settle')
    for (const member of this.#members) await this.#checkEnd(member)
    this.#checkRefused()
  }

  #start(member: Member): void {
    member.start(store => this.#work(member, store))
  }

  #disturb(member: Member): void {
    const { folder } = this
    const random = this.#random
    const primary = this.#members.find(({ process }) => process === folder.owner)
    const meant = primary && random.oneIn(2) ? primary : member
    const again = () => this.#world.after(random.below(MAX_AWAY_MS), 'start again', () => this.#start(meant))
    switch (random.below(6)) {
      case 0:
      case 1:
        meant.kill()
        return void again()
      case 2:
        meant.close().then(again)
        return
      case 3: {
        const { process } = meant
        this.#world.pause(process)
        this.#world.after(random.below(MAX_PAUSE_MS), 'go on', () => this.#world.resume(process))
        return
      }
      case 4:
        folder.slowMs = random.oneIn(2) ? 0 : random.below(MAX_SLOW_MS)
        return
      case 5:
        folder.breakLinks(random.next())
    }
  }

  /** The clients of one life of a process. */
  #work(member: Member, store: ProcessStore): void {
    const { process } = member
    const repeat = (work: () => Promise<void>) => async () => {
      while (!this.#isOver && member.isServing(process)) {
        await work().catch(error => this.#failed(error))
        await this.#world.sleep(this.#random.below(2 * REST_MS), 'rest')
      }
    }
    const clients = [() => this.#write(store), () => this.#write(store), () => this.#read(store), () => this.#compact(store)].map(repeat)
    for (const client of [...clients, () => this.#watch(member, store)])
      void client().catch(error => this.#world.failures.push(`${process.name}: ${(error as Error).stack}`))
  }

  /** The only errors of a store that is closed or out of reach, or whose history is compacted. */
  #failed(error: unknown): void {
    if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown || error instanceof Compacted) return
    this.#world.failures.push((error as Error).stack ?? String(error))
  }

  async #write(store: ProcessStore): Promise<void> {
    const random = this.#random
    const key = random.pick(KEYS)
    const { entry } = await this.#get(store, key)
    const expect = random.oneIn(8) ? 0 : (entry?.modified ?? 0)
    const isDeletion = expect > 0 && random.oneIn(3)
    const text = `value ${++this.#values}`
    const sent: Sent = { key, isRefused: false }
    if (!isDeletion) this.#sent.set(text, sent)
    const before = this.#known
    this.calls++
    const change = {
      expect,
      value: isDeletion ? null : Buffer.from(text),
      ...(!isDeletion && random.oneIn(2) && { unique: true as const }),
    }
    const swap = await store.swap(key, change).catch((error: unknown) => {
      sent.isRefused = error instanceof StoreUnavailable
      throw error
    })
    if (!swap.ok) {
      sent.isRefused = true
      return this.#checkLost(swap, { key, expect, before })
    }
    this.#learn(swap.revision)
    const made = this.#at(swap.revision)
    if (made?.key !== key || made.value !== (isDeletion ? undefined : text))
      this.#broken(`${text} of ${key} was acknowledged at ${swap.revision}, where the file has ${made?.value} of ${made?.key}`)
    const replaced = this.#stateAt(key, swap.revision - 1)
    if ((replaced?.revision ?? 0) !== expect)
      this.#broken(`${key} at ${swap.revision} has replaced ${replaced?.revision}, and not ${expect}`)
  }

  /** A swap has lost to a state that the key had after it was sent. */
  #checkLost(
    { current }: Extract<Swap, { ok: false }>,
    { key, expect, before }: { readonly key: string; readonly expect: Revision; readonly before: Revision },
  ): void {
    const shown = current?.modified ?? 0
    if (shown === expect && expect !== 0) this.#broken(`a swap of ${key} at ${expect} has lost to ${shown}`)
    const states = [this.#stateAt(key, before), ...this.#written.filter(write => write.key === key && write.revision > before)]
    if (!states.some(state => (state?.value === undefined ? 0 : state.revision) === shown))
      this.#broken(`a swap of ${key} has lost to ${shown}, which it did not have after ${before}`)
    this.#learn(shown)
  }

  async #get(store: ProcessStore, key: string) {
    const before = this.#known
    this.calls++
    const { revision, entry } = await store.get(key)
    this.#checkFresh(`a read of ${key}`, revision, before)
    this.#checkEntry(key, entry, revision)
    return { entry }
  }

  async #read(store: ProcessStore): Promise<void> {
    const before = this.#known
    if (this.#random.oneIn(2)) return this.#checkFresh('fresh', await store.fresh(), before)
    this.calls++
    const { revision, entries } = await store.list('/')
    this.#checkFresh('a list', revision, before)
    for (const key of KEYS)
      this.#checkEntry(
        key,
        entries.find(entry => entry.key === key),
        revision,
      )
  }

  async #compact(store: ProcessStore): Promise<void> {
    if (!this.#random.oneIn(20)) return
    const { oldest, newest } = await store.extent()
    this.calls++
    await store.compact(Math.max(oldest, newest - this.#random.below(20)))
  }

  /** Follows the store from a revision that it has; every event is the next write. */
  async #watch(member: Member, store: ProcessStore): Promise<void> {
    const { process } = member
    while (member.isServing(process)) {
      try {
        // From its own newest revision, or from the one that a client of any process has seen.
        let position = this.#random.oneIn(2) ? await store.fresh() : this.#known
        member.watchedUpTo = position
        const leaving = new AbortController()
        for await (const { revision, events } of store.watch('/', position, leaving.signal)) {
          for (const event of events) {
            const next = this.#at(position + 1)
            const value = event.after && Buffer.from(event.after.value).toString()
            if (event.revision !== position + 1 || next?.key !== event.key || next.value !== value)
              this.#broken(
                `a watch at ${position} has ${value} of ${event.key} at ${event.revision}, and the file ${next?.value} of ${next?.key}`,
              )
            position = event.revision
          }
          if (revision !== position) this.#broken(`a batch up to ${revision} ends at ${position}`)
          this.#learn(position)
          member.watchedUpTo = position
          if (this.#random.oneIn(30)) leaving.abort()
        }
      } catch (error) {
        this.#failed(error)
      }
      await this.#world.sleep(this.#random.below(REST_MS), 'watch again')
    }
  }

  #checkFresh(what: string, revision: Revision, before: Revision): void {
    if (revision < before) this.#broken(`${what} is at ${revision}, and ${before} was known`)
    this.#learn(revision)
  }

  #checkEntry(key: string, entry: Entry | undefined, at: Revision): void {
    const state = this.#stateAt(key, at)
    const value = entry && Buffer.from(entry.value).toString()
    if (value !== state?.value || (entry && entry.modified !== state!.revision))
      this.#broken(`${key} is ${value} of ${entry?.modified} at ${at}, and the file has ${state?.value} of ${state?.revision}`)
  }

  async #checkEnd(member: Member): Promise<void> {
    const { store } = member
    if (!store) return this.#broken(`${member.process.name} has no store in the end`)
    const newest = this.#written.length + 1
    await this.#read(store)
    if ((await store.fresh()) !== newest) this.#broken(`${member.process.name} is at ${await store.fresh()}, and not at ${newest}`)
    if (member.watchedUpTo !== newest) this.#broken(`a watch of ${member.process.name} is at ${member.watchedUpTo}, and not at ${newest}`)
  }

  /** A value that was refused for certain was never written, and none was written twice. */
  #checkRefused(): void {
    const seen = new Set<string>()
    for (const { value, key, revision } of this.#written) {
      if (value === undefined) continue
      if (seen.has(value)) this.#broken(`${value} was written twice, the last time at ${revision}`)
      seen.add(value)
      if (this.#sent.get(value)?.isRefused !== false) this.#broken(`${value} of ${key} was refused, and written at ${revision}`)
    }
  }

  #at(revision: Revision) {
    return this.#written[revision - 2]
  }

  /** The last write of a key up to a revision, if it was no deletion. */
  #stateAt(key: string, revision: Revision) {
    const last = this.#written.slice(0, Math.max(0, revision - 1)).findLast(write => write.key === key)
    return last?.value === undefined ? undefined : last
  }

  #learn(revision: Revision): void {
    this.#known = Math.max(this.#known, revision)
  }

  #broken(what: string): void {
    this.#world.note(`broken: ${what}`)
    this.#world.failures.push(what)
  }
}

/** A process that is started again and again. */
class Member {
  process: Process
  store: ProcessStore | undefined
  watchedUpTo: Revision = 0
  readonly #world: World
  readonly #folder: Folder

  constructor(world: World, folder: Folder, name: string) {
    this.#world = world
    this.#folder = folder
    this.process = new Process(name)
    this.process.isDead = true
  }

  isServing(process: Process): boolean {
    return this.process === process && !process.isDead && this.store !== undefined
  }

  start(serve: (store: ProcessStore) => void): void {
    if (!this.process.isDead) return
    const life = new Process(this.process.name)
    this.process = life
    const machine = new SimulatedMachine(this.#folder, life)
    const open = async () => {
      const store = await openProcessStore({ dir: 'simulated', family: FAMILY, machine })
      if (this.process !== life) return
      this.#world.note(`${life.name} is open`)
      this.store = store
      serve(store)
    }
    void this.#world.in(life, `${life.name} starts`, open).catch(error => {
      this.#world.failures.push(`${life.name} could not open the store: ${(error as Error).stack}`)
    })
  }

  kill(): void {
    if (this.process.isDead) return
    this.store = undefined
    this.#world.kill(this.process)
    this.#folder.ended(this.process)
  }

  /** Closes the store, and ends the process then. */
  async close(): Promise<void> {
    const { store, process } = this
    if (!store) return this.kill()
    this.store = undefined
    const closed = await Promise.race([
      this.#world.in(process, `${process.name} closes`, () => store.close()).then(() => true),
      this.#world.sleep(2 * SETTLE_MS, 'close in time').then(() => false),
    ])
    if (!closed && !process.isDead) this.#world.failures.push(`${process.name} did not close`)
    if (this.process === process) this.kill()
  }
}
