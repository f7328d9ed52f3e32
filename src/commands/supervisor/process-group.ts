/**
 * The processes of one server, as their supervisor leads them: which of them serve, which one runs the duties of all, the locks that they
 * hold and the questions that they ask each other. How processes are started and ended, and how they get connections, is not known here.
 */
import type { ToProcess, ToSupervisor } from '../../server/processes/messages.ts'
import type { Family } from '../../storage/processes/family.ts'
import { Locks } from './locks.ts'
import { Questions } from './questions.ts'

/**
 * A process that has not answered so many pings is stopped, or busy for good. It holds up its clients, and all of them if it owns the store
 * or runs the duties, so it is ended: nothing that it was about to do can happen any more, and another one takes its place. Pings are
 * counted rather than time, which also passes while the supervisor itself is stopped, as by Ctrl-Z.
 */
const MAX_UNANSWERED = 15
/** How often `ping` is to be called. */
export const PING_MS = 1_000

/** One process. Its state is what it has said of itself, and is set by the group alone. */
export interface Member {
  /** From 1. */
  readonly number: number
  readonly pid: number | undefined
  isReady: boolean
  isPrimary: boolean
  isDrained: boolean
  /** Pings that it has not answered since it last answered one. */
  unanswered: number
  send(message: ToProcess): void
}

export type GroupParts<P> = {
  /** The number of processes that are started. */
  readonly count: number
  /** Names all of them together, and no others that ever were or will be. */
  readonly id: string
  readonly store: Family
  /** Ends a process that holds up others; its `remove` follows. */
  readonly end: (process: P, why: string) => void
}

export class ProcessGroup<P extends Member> {
  readonly #parts: GroupParts<P>
  readonly #locks = new Locks()
  readonly #questions = new Questions()
  readonly #members = new Set<P>()
  #leader: P | undefined
  #isStarted = false
  #isStopping = false

  constructor(parts: GroupParts<P>) {
    this.#parts = parts
  }

  /** All that have begun and not ended. */
  get members(): readonly P[] {
    return [...this.#members]
  }

  get serving(): readonly P[] {
    return this.members.filter(({ isReady }) => isReady)
  }

  /** The process that runs the duties of all. */
  get leader(): P | undefined {
    return this.#leader
  }

  /** Whether a process has served. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  has(process: P): boolean {
    return this.#members.has(process)
  }

  /** A process begins. */
  add(process: P): void {
    const { number } = process
    const { count, id, store } = this.#parts
    this.#members.add(process)
    // At the start the first, as clients rely on duties as soon as it serves.
    const isAppointed = this.#leader === undefined && (this.#isStarted || number === 1)
    if (isAppointed) this.#leader = process
    const { socket, secret } = store
    const isFirstStart = !this.#isStarted
    process.send({ type: 'welcome', number, of: count, id, store: { socket, secret }, isFirstStart, isAppointed })
  }

  /** A process has ended. */
  remove(process: P): void {
    if (!this.#members.delete(process)) return
    this.#locks.gone(process)
    this.#questions.gone(process)
    if (this.#leader === process) this.#appoint()
    this.#share()
    if (this.#isStopping) this.#closeDrained()
  }

  /** Takes a message. Those about connections, and why a process could not start, are not for the group. */
  take(message: ToSupervisor, from: P): void {
    // It was still on its way when the process ended: a lock that is given now would never be released.
    if (!this.has(from)) return
    switch (message.type) {
      case 'ready':
        from.isReady = true
        this.#share()
        this.#isStarted = true
        return
      case 'question':
        this.#questions.ask(
          message,
          from,
          this.serving.filter(each => each !== from),
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
      case 'stuck':
        for (const each of this.#members)
          if (each.pid === message.pid) this.#parts.end(each, 'a server process does not take what it is sent; it is ended')
        return
      case 'drained':
        from.isDrained = true
        this.#closeDrained()
    }
  }

  ping(): void {
    if (this.#isStopping) return
    for (const each of this.serving) {
      if (each.unanswered === MAX_UNANSWERED) this.#parts.end(each, 'a server process does not answer; it is ended')
      each.unanswered++
      each.send({ type: 'ping' })
    }
  }

  /** Lets all processes finish their requests and exit. */
  stop(reason: string): void {
    this.#isStopping = true
    for (const each of this.#members) each.send({ type: 'stop', reason })
  }

  /** Each process gets its part of the limits that hold for all together. */
  #share(): void {
    const { serving } = this
    for (const [place, each] of serving.entries()) each.send({ type: 'share', place, of: serving.length })
  }

  /** Appoints another process to run the duties. From the first write of the next one on, the store refuses writes of the last one. */
  #appoint(): void {
    const candidates = this.serving.toReversed()
    this.#leader = candidates.find(({ isPrimary }) => !isPrimary) ?? candidates[0] ?? this.members[0]
    this.#leader?.send({ type: 'appointed' })
  }

  /** The owner of an embedded store closes it when the others have ended. */
  #closeDrained(): void {
    const { members } = this
    if (!this.#isStopping) {
      for (const each of members) if (each.isDrained) each.send({ type: 'close' })
      return
    }
    if (!members.every(({ isDrained }) => isDrained)) return
    const others = members.filter(({ isPrimary }) => !isPrimary)
    for (const each of others.length > 0 ? others : members) each.send({ type: 'close' })
  }
}
