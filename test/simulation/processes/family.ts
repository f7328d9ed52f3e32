/** The processes of one server on one embedded store, with their supervisor: the ground of servers that are one with each other. */
import type { KeyPair } from '../../../src/lib/x509/issue.ts'
import type { Change } from '../../../src/storage/store.ts'
import type { Random } from '../../robustness/random.ts'
import type { Footing, Ground, MadeWrite } from '../ground.ts'
import type { SimulatedServer } from '../server.ts'
import type { Process, World } from '../world.ts'
import { type Content, Folder, SimulatedMachine } from './folder.ts'
import { SimulatedSupervisor } from './supervisor.ts'

/** How soon a process that another one has ended is started again. */
const START_AGAIN_MS = 100

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
  /** The file is near. */
  readonly delays = new Set<(key: string, change: Change) => number>()
  readonly #world: World
  readonly #random: Random
  readonly #supervisor: SimulatedSupervisor
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
    this.#supervisor = new SimulatedSupervisor(world, { count, end: process => this.#end(process) })
  }

  async stored(prefix: string): Promise<readonly string[]> {
    return [...this.folder.present.keys()].filter(key => key.startsWith(prefix))
  }

  begin(life: Process, { number, server }: { readonly number: number; readonly server: SimulatedServer }): Footing {
    this.#servers.set(life, server)
    return {
      options: { store: 'embedded', dataDir: '/simulated' },
      parts: async () => ({ siblings: await this.#supervisor.join(life, number) }),
      machine: { store: new SimulatedMachine(this.folder, life) },
      crash: () => {
        this.folder.ended(life)
        this.#supervisor.gone(life)
      },
    }
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

  /** Breaks connections between processes: some of them, or all. */
  breakLinks(share: number): void {
    for (const wire of [...this.folder.wires]) if (!wire.destroyed && this.#random.next() < share) wire.destroy()
  }

  /** A process is ended by another one, and started again. */
  #end(process: Process): void {
    const server = this.#servers.get(process)
    if (server?.process !== process) return
    server.kill()
    this.#world.after(START_AGAIN_MS, 'start again', () => void server.start(), this.#supervisor.process)
  }
}
