/**
 * The supervisor of simulated server processes, without the processes themselves: it hands out locks, passes questions on, appoints the
 * process that runs the duties of all, and ends one that does not answer. Locks and questions are those of the real one.
 */
import { Locks } from '../../../src/commands/supervisor/locks.ts'
import { Questions } from '../../../src/commands/supervisor/questions.ts'
import type { ToProcess, ToSupervisor } from '../../../src/server/processes/messages.ts'
import { type Channel, Siblings } from '../../../src/server/processes/siblings.ts'
import type { Random } from '../../robustness/random.ts'
import { Process, type World } from '../world.ts'

const MAX_TRIP_MS = 0.5
const PING_MS = 1_000
/** As the real one has it. */
const MAX_UNANSWERED = 15
const STORE = { socket: 'simulated', secret: 'simulated' }

export class SimulatedSupervisor {
  readonly process = new Process('supervisor')
  readonly #world: World
  readonly #random: Random
  readonly #count: number
  readonly #end: (process: Process) => void
  readonly #locks = new Locks()
  readonly #questions = new Questions()
  readonly #members = new Set<Member>()
  #leader: Member | undefined
  #isStarted = false

  /** `end` ends a process; it is started again by whoever has started it. */
  constructor(world: World, { count, end }: { readonly count: number; readonly end: (process: Process) => void }) {
    this.#world = world
    this.#random = world.random.fork()
    this.#count = count
    this.#end = end
    this.#pingLater()
  }

  /** Lets in a process that begins. */
  async join(life: Process, number: number): Promise<Siblings> {
    const member = new Member(number, life, this.#way(life))
    this.#members.add(member)
    const isAppointed = this.#leader === undefined && (this.#isStarted || number === this.#count)
    if (isAppointed) this.#leader = member
    const toSupervisor = this.#way(this.process)
    const channel: Channel = {
      send: message => {
        toSupervisor(() => this.#take(message, member))
        return true
      },
      on: (event: 'message' | 'disconnect', take: (message: unknown, handle: unknown) => void) => {
        if (event === 'message') member.take = message => take(message, undefined)
      },
    }
    const joined = Siblings.join(channel)
    member.send({ type: 'welcome', number, of: this.#count, id: 'simulated', store: STORE, isFirstStart: !this.#isStarted, isAppointed })
    return await joined
  }

  /** A process has ended. */
  gone(life: Process): void {
    const member = [...this.#members].find(({ process }) => process === life)
    if (!member) return
    this.#members.delete(member)
    const hear = () => {
      this.#locks.gone(member)
      this.#questions.gone(member)
      if (this.#leader === member) this.#appoint()
      this.#share()
    }
    this.#world.after(this.#random.next() * MAX_TRIP_MS, 'process gone', hear, this.process)
  }

  /** The process that runs the duties of all. */
  get leader(): Process | undefined {
    return this.#leader?.process
  }

  get #serving(): Member[] {
    return [...this.#members].filter(({ isReady }) => isReady)
  }

  #take(message: ToSupervisor, from: Member): void {
    if (!this.#members.has(from)) return
    switch (message.type) {
      case 'ready':
        from.isReady = true
        this.#share()
        if (this.#serving.length === this.#count) this.#isStarted = true
        return
      case 'question':
        this.#questions.ask(
          message,
          from,
          this.#serving.filter(each => each !== from),
        )
        return
      case 'answer':
        this.#questions.answer(message, from)
        return
      case 'lock':
        this.#locks.take(message.name, from)
        return
      case 'unlock':
        this.#locks.release(message.name, from, message.kept)
        return
      case 'pong':
        from.unanswered = 0
        return
      case 'primary':
        from.isPrimary = true
        return
      case 'drained':
        from.send({ type: 'close' })
    }
  }

  #appoint(): void {
    const candidates = this.#serving.reverse()
    this.#leader = candidates.find(({ isPrimary }) => !isPrimary) ?? candidates[0] ?? [...this.#members][0]
    this.#leader?.send({ type: 'appointed' })
    if (this.#leader) this.#world.note(`${this.#leader.process.name} is appointed`)
  }

  #share(): void {
    const serving = this.#serving
    for (const [place, each] of serving.entries()) each.send({ type: 'share', place, of: serving.length })
  }

  #pingLater(): void {
    const ping = () => {
      for (const each of this.#serving) {
        if (each.unanswered++ === MAX_UNANSWERED) {
          this.#world.note(`${each.process.name} does not answer`)
          this.#end(each.process)
        } else each.send({ type: 'ping' })
      }
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

/** One process, as the supervisor knows it. */
class Member {
  readonly number: number
  readonly process: Process
  isReady = false
  isPrimary = false
  unanswered = 0
  take: (message: ToProcess) => void = () => {}
  readonly #toProcess: (run: () => void) => void

  constructor(number: number, process: Process, toProcess: (run: () => void) => void) {
    this.number = number
    this.process = process
    this.#toProcess = toProcess
  }

  send(message: ToProcess): void {
    this.#toProcess(() => this.take(message))
  }
}
