/** The processes of one server on one embedded store, with their supervisor: the ground of servers that are one with each other. */
import type { KeyPair } from '../../../src/lib/x509/issue.ts'
import { encodeRevision } from '../../../src/storage/processes/frames.ts'
import { encodeHello } from '../../../src/storage/processes/handshake.ts'
import { Link } from '../../../src/storage/processes/link.ts'
import type { Change } from '../../../src/storage/store.ts'
import type { Random } from '../../robustness/random.ts'
import type { Footing, Ground, MadeWrite } from '../ground.ts'
import type { SimulatedServer } from '../server.ts'
import { MachineClock, type Process, type World } from '../world.ts'
import { type Content, Folder, SimulatedMachine } from './folder.ts'
import { SimulatedSupervisor, STORE } from './supervisor.ts'

/** How soon a process that another one has ended is started again. */
const START_AGAIN_MS = 100
/** A follower looks once a second whether a request has waited for ten. */
const GIVE_UP_MS = 11_000
/** One in so many of the writes that would be long on their way is: each holds up all others of its process. */
const HELD_ONE_IN = 4
/** The id of the only request over a connection. */
const ONLY = 1

export type FamilyOptions = {
  /** The number of processes. */
  readonly count: number
  readonly keys?: Iterable<readonly [string, KeyPair]>
  readonly content?: Content | undefined
}

export class Family implements Ground {
  readonly folder: Folder
  readonly keys: Map<string, KeyPair>
  readonly onWrite = new Set<(write: MadeWrite) => void>()
  /** A write that is long on its way holds up those that its process sends after it. */
  readonly delays = new Set<(key: string, change: Change) => number>()
  readonly giveUpMs = GIVE_UP_MS
  readonly #world: World
  readonly #random: Random
  readonly #supervisor: SimulatedSupervisor
  /** All processes are on one machine. */
  readonly #clock = new MachineClock()
  /** The servers, by the lives that they have had. */
  readonly #servers = new Map<Process, SimulatedServer>()

  constructor(world: World, { count, keys = [], content }: FamilyOptions) {
    this.#world = world
    this.#random = world.random.fork()
    this.keys = new Map(keys)
    this.folder = new Folder(world)
    if (content) this.folder.restore(content)
    this.folder.onWritten = ({ by, key, revision, value, expect }) => {
      world.note(`${by.name} writes ${key} at ${revision}`)
      for (const listener of this.onWrite) listener({ server: by, key, change: { expect, value }, revision })
    }
    this.folder.onKill = process => this.#end(process)
    this.folder.holdMs = (key, change) => this.#delayMs(key, change)
    this.#supervisor = new SimulatedSupervisor(world, { count, clock: this.#clock, end: process => this.#end(process) })
  }

  async stored(prefix: string): Promise<readonly string[]> {
    return [...this.folder.present.keys()].filter(key => key.startsWith(prefix))
  }

  begin(life: Process, { number, server }: { readonly number: number; readonly server: SimulatedServer }): Footing {
    this.#servers.set(life, server)
    life.clock = this.#clock
    const machine = new SimulatedMachine(this.folder, life)
    return {
      options: { store: 'embedded', dataDir: '/simulated' },
      parts: async () => ({ siblings: await this.#supervisor.join(life, { number, pid: machine.pid }) }),
      machine: { store: machine },
      crash: () => {
        this.folder.ended(life)
        this.#supervisor.gone(life)
      },
    }
  }

  fill(deletions: number): void {
    this.folder.fill(deletions)
  }

  /** Asks the primary, as a follower does; nothing happens where there is none, or it does not answer. */
  async compact(keep: number): Promise<void> {
    const { process } = this.#supervisor
    const before = Math.max(1, this.folder.newest - keep)
    this.#world.note(`the primary is asked to forget what is before ${before}`)
    await this.#world.in(process, 'compaction', async () => {
      const machine = new SimulatedMachine(this.folder, process)
      const wire = await machine.connect().catch(() => undefined)
      if (!wire) return
      const link = new Link(wire)
      link.send(encodeHello({ ...STORE, pid: machine.pid, member: `compaction ${machine.pid}`, hasOpened: true }))
      link.send(encodeRevision('compact', ONLY, before))
      await Promise.race([answered(link), this.#world.sleep(GIVE_UP_MS, 'compaction given up')])
      link.close()
    })
  }

  #delayMs(key: string, change: Change): number {
    let ms = 0
    for (const delay of this.delays) ms += delay(key, change)
    return ms > 0 && this.#random.oneIn(HELD_ONE_IN) ? ms : 0
  }

  /** The server whose process makes the commits, if there is one. */
  get primary(): SimulatedServer | undefined {
    const { owner } = this.folder
    return owner && !owner.isDead ? this.#servers.get(owner) : undefined
  }

  /** The server whose process runs the duties of all. */
  get appointed(): SimulatedServer | undefined {
    const { leader } = this.#supervisor
    return leader && !leader.isDead ? this.#servers.get(leader) : undefined
  }

  /** A process is ended by another one, and started again. */
  #end(process: Process): void {
    const server = this.#servers.get(process)
    if (server?.process !== process) return
    server.kill()
    this.#world.after(START_AGAIN_MS, 'start again', () => void server.start(), this.#supervisor.process)
  }
}

/** Resolves when the request has an answer, or cannot have one any more. */
async function answered(link: Link): Promise<void> {
  for (let frame = await link.next(); frame && frame.id !== ONLY; ) frame = await link.next()
}
