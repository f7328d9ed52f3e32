/** The supervisor of simulated server processes: the real group of processes, with messages and pings in the time of the world. */
import { type Member, PING_MS, ProcessGroup } from '../../../src/commands/supervisor/process-group.ts'
import type { ToProcess } from '../../../src/server/processes/messages.ts'
import { type Channel, Siblings } from '../../../src/server/processes/siblings.ts'
import type { Random } from '../../robustness/random.ts'
import { type MachineClock, Process, type World } from '../world.ts'

const MAX_TRIP_MS = 0.5
export const STORE = { socket: 'simulated', secret: 'simulated' }

export type SupervisorParts = {
  readonly count: number
  readonly clock: MachineClock
  /** Ends a process; it is started again by whoever has started it. */
  readonly end: (process: Process) => void
}

export class SimulatedSupervisor {
  readonly process = new Process('supervisor')
  readonly #world: World
  readonly #random: Random
  readonly #group: ProcessGroup<SimulatedMember>

  constructor(world: World, { count, clock, end }: SupervisorParts) {
    this.#world = world
    this.#random = world.random.fork()
    this.process.clock = clock
    const ended = ({ process }: SimulatedMember, why: string) => {
      world.note(`${process.name}: ${why}`)
      end(process)
    }
    this.#group = new ProcessGroup({ count, id: 'simulated', store: STORE, end: ended })
    this.#pingLater()
  }

  /** Lets in a process that begins. */
  async join(life: Process, { number, pid }: { readonly number: number; readonly pid: number }): Promise<Siblings> {
    // The supervisor starts one when it has heard of the end of the one before.
    for (const former of this.#group.members) if (former.number === number) this.#group.remove(former)
    const member = new SimulatedMember(this.#world, { number, pid, process: life, toProcess: this.#way(life) })
    const toSupervisor = this.#way(this.process)
    const channel: Channel = {
      send: message => {
        toSupervisor(() => this.#group.take(message, member))
        return true
      },
      on: (event: 'message' | 'disconnect', take: (message: unknown, handle: unknown) => void) => {
        if (event === 'message') member.take = message => take(message, undefined)
      },
    }
    const joined = Siblings.join(channel)
    this.#group.add(member)
    return await joined
  }

  /** A process has ended. */
  gone(life: Process): void {
    const member = this.#group.members.find(({ process }) => process === life)
    if (member) this.#world.after(this.#random.next() * MAX_TRIP_MS, 'process gone', () => this.#group.remove(member), this.process)
  }

  /** The process that runs the duties of all. */
  get leader(): Process | undefined {
    return this.#group.leader?.process
  }

  #pingLater(): void {
    const ping = () => {
      this.#group.ping()
      this.#pingLater()
    }
    this.#world.after(PING_MS, 'ping', ping, this.process)
  }

  /** Has functions called in a process one after the other, each some time later. */
  #way(to: Process): (run: () => void) => void {
    let arrivesAt = 0
    return run => {
      arrivesAt = Math.max(arrivesAt, this.#world.now + this.#random.next() * MAX_TRIP_MS)
      this.#world.after(arrivesAt - this.#world.now, 'message', run, to)
    }
  }
}

type MemberParts = Pick<SimulatedMember, 'number' | 'pid' | 'process'> & { readonly toProcess: (run: () => void) => void }

/** One life of a process, as the supervisor knows it. */
class SimulatedMember implements Member {
  readonly number: number
  readonly pid: number
  readonly process: Process
  isReady = false
  isPrimary = false
  isDrained = false
  unanswered = 0
  take: (message: ToProcess) => void = () => {}
  readonly #world: World
  readonly #toProcess: (run: () => void) => void

  constructor(world: World, { number, pid, process, toProcess }: MemberParts) {
    this.#world = world
    this.number = number
    this.pid = pid
    this.process = process
    this.#toProcess = toProcess
  }

  send(message: ToProcess): void {
    if (message.type === 'appointed') this.#world.note(`${this.process.name} is appointed`)
    this.#toProcess(() => this.take(message))
  }
}
