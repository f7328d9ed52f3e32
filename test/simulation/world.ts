/**
 * A world in which time passes only when nothing is left to do at a moment. One queue holds every completion: timers, turns of the event
 * loop, messages, calls of the store. The next one by time is run, all its microtasks are done, and so on: a run follows from its seed.
 * Which of several processes comes first at the same moment is up to chance; inside a process the order is that of Node.
 */
import { type Environment, simulate, type Timer } from '../../src/lib/environment.ts'
import { Random } from '../robustness/random.ts'
import { guardRun } from './guard.ts'
import { IN_LINE } from './in-line.ts'
import { Trace } from './trace.ts'

/** The beginning of every run, in milliseconds since the epoch. */
const EPOCH_MS = Date.UTC(2026, 0, 1)
/** Reading the clock takes time, so that work in the same moment has an order. */
const READ_MS = 0.0005
/** The longest time between two iterations of an event loop. */
const ITERATION_MS = 0.05
/** How many completions run in one iteration of Node's event loop. */
const IMMEDIATES = 64
const systemImmediate = setImmediate
/** Completions at the beginning of a run, and for each of its milliseconds: ten times as many as a busy run has. */
const MAX_FIRST_COMPLETIONS = 200_000
const MAX_COMPLETIONS_PER_MS = 2

/** The clock of a machine, or of a process that has one to itself. */
export class MachineClock {
  /** How far its time of day is ahead. */
  aheadMs = 0
  /** How much faster than time it goes, and by how much it was ahead when that began. */
  #drift = { rate: 0, since: 0, aheadMs: 0 }

  /** From now on it goes so much faster than time, or slower. */
  drift(rate: number, now: number): void {
    this.#drift = { rate, since: now, aheadMs: this.driftedMs(now) }
  }

  /** How far it has drifted. */
  driftedMs(now: number): number {
    const { rate, since, aheadMs } = this.#drift
    return aheadMs + rate * (now - since)
  }

  /** The time that passes while it counts so many milliseconds. */
  trueMs(ms: number): number {
    return ms / (1 + this.#drift.rate)
  }
}

/** A process of the world, or all clients: completions belong to one, and end with it. */
export class Process {
  readonly name: string
  isDead = false
  /** Completions that came while it was paused; undefined while it runs. */
  held: Completion[] | undefined
  /** How often it was paused and has not gone on since. */
  pauses = 0
  /** Its own, unless it shares a machine with others. */
  clock = new MachineClock()
  /** The time of its next iteration of the event loop. */
  iteratesAt = 0

  constructor(name: string) {
    this.name = name
  }
}

type Completion = {
  at: number
  readonly order: number
  readonly of: Process
  readonly what: string
  run: (() => void) | undefined
}

class SimulatedTimer implements Timer {
  completion: Completion | undefined

  unref(): this {
    return this
  }
}

export type WorldOptions = {
  readonly seed: number
  readonly isTraced?: boolean
  /** How long before other worlds this one begins. */
  readonly earlierMs?: number
}

export class World {
  readonly random: Random
  readonly trace: Trace
  /** Reasons for which the run has failed, beside the observations of clients. */
  readonly failures: string[] = []
  /** The number of completions so far. */
  completions = 0
  /** While it is set, one reading of the clock in so many takes long, as on a busy machine. */
  busyOneIn = 0
  readonly #chance: () => number
  readonly #queue: Queue
  readonly #epochMs: number
  #now = 0
  #order = 0
  #running: Process

  constructor({ seed, isTraced = false, earlierMs = 0 }: WorldOptions) {
    this.#epochMs = EPOCH_MS - earlierMs
    this.random = new Random(seed)
    this.#chance = this.random.fork().next
    this.#queue = new Queue(this.random.fork())
    this.trace = new Trace(isTraced)
    this.#running = new Process('world')
  }

  /** Milliseconds since the beginning of the run. */
  get now(): number {
    return this.#now
  }

  /** The process that runs now. */
  get running(): Process {
    return this.#running
  }

  /** Calls a function after a time, in a process; it is not called if the process has died by then. */
  after(ms: number, what: string, run: () => void, of: Process = this.#running): Completion {
    const completion = { at: this.#now + Math.max(0, ms), order: this.#order++, of, what, run }
    this.#queue.push(completion)
    return completion
  }

  /** Resolves after a time. */
  sleep(ms: number, what: string, of: Process = this.#running): Promise<void> {
    return new Promise(resolve => this.after(ms, what, resolve, of))
  }

  /** Runs a function in a process, in a moment. */
  in<T>(of: Process, what: string, run: () => Promise<T>): Promise<T> {
    const asking = this.#running
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => this.after(0, `${what}: done`, then, asking)
      this.after(
        0,
        what,
        () =>
          void run().then(
            value => settle(() => resolve(value)),
            error => settle(() => reject(error)),
          ),
        of,
      )
    })
  }

  kill(process: Process): void {
    process.isDead = true
    process.held = undefined
    this.note(`${process.name} is killed`)
  }

  pause(process: Process): void {
    process.pauses++
    if (!process.isDead) process.held ??= []
    this.note(`${process.name} is paused`)
  }

  /** Ends one pause; the process goes on when it was the last. */
  resume(process: Process): void {
    if (--process.pauses > 0 || process.isDead) return
    const held = process.held ?? []
    process.held = undefined
    this.note(`${process.name} goes on`)
    for (const completion of held) {
      completion.at = Math.max(completion.at, this.#now)
      this.#queue.push(completion)
    }
  }

  /** Adds a line to the trace, and to the hash of the run. */
  note(text: string): void {
    this.trace.add(this.#now, text)
  }

  /** Runs until a piece of work is done. Throws if that does not happen in time, or if more and more happens instead. */
  async run<T>(work: () => Promise<T>, { untilMs }: { readonly untilMs: number }): Promise<T> {
    simulate(this.#environment())
    const onRejection = (error: unknown) => this.failures.push(`nobody handles the rejection ${(error as Error)?.stack ?? error}`)
    process.on('unhandledRejection', onRejection)
    const unguard = guardRun(problem => this.failures.push(problem))
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined
    try {
      this.after(0, 'begin', () => {
        work().then(
          value => (outcome = { value }),
          error => (outcome = { error }),
        )
      })
      await eachAlone(() => {
        if (outcome !== undefined) return false
        this.#runNext(untilMs)
        return true
      })
    } finally {
      unguard()
      process.off('unhandledRejection', onRejection)
      simulate(undefined)
    }
    if ('error' in outcome!) throw outcome.error
    return outcome!.value
  }

  /** Runs the next completion whose process is alive and goes on. */
  #runNext(untilMs: number): void {
    for (;;) {
      const next = this.#queue.pop()
      if (next === undefined) throw new Error('nothing is left to happen, and the run has not ended')
      if (next.at > untilMs) throw new Error(`the run has not ended after ${untilMs} ms`)
      if (next.run === undefined || next.of.isDead) continue
      if (next.of.held) {
        next.of.held.push(next)
        continue
      }
      if (next.at > this.#now) this.#now = next.at
      this.#running = next.of
      this.completions++
      if (this.completions > MAX_FIRST_COMPLETIONS + MAX_COMPLETIONS_PER_MS * this.#now)
        throw new Error(`the run does not come to rest: ${this.completions} completions in ${Math.round(this.#now)} ms`)
      this.trace.hash(next.what, this.#now)
      next.run()
      return
    }
  }

  #environment(): Environment {
    return {
      wallMs: () => Math.floor(this.#epochMs + this.#readClock() + this.#running.clock.aheadMs),
      monotonicMs: () => this.#readClock(),
      startTimer: (run, ms, repeats) => this.#startTimer(run, ms, repeats),
      stopTimer: timer => {
        const { completion } = timer as SimulatedTimer
        if (completion) completion.run = undefined
      },
      nextIteration: run => {
        const of = this.#running
        // In the order in which they were asked for, as Node has it.
        of.iteratesAt = Math.max(of.iteratesAt, this.#now + this.#chance() * ITERATION_MS)
        this.after(of.iteratesAt - this.#now, 'iteration', run)
      },
      chance: this.#chance,
      inLine: program => IN_LINE[program],
    }
  }

  /** The clock of the process that runs. */
  #readClock(): number {
    const now = this.#read()
    return now + this.#running.clock.driftedMs(now)
  }

  #read(): number {
    this.#now += READ_MS
    if (this.busyOneIn > 0 && this.random.oneIn(this.busyOneIn)) this.#now += 10
    return this.#now
  }

  #startTimer(run: () => void, ms: number, repeats: boolean): Timer {
    const timer = new SimulatedTimer()
    // As Node's timers do.
    const delay = ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
    const fire = () => {
      if (repeats) timer.completion = this.after(this.#running.clock.trueMs(delay), 'interval', fire)
      run()
    }
    timer.completion = this.after(this.#running.clock.trueMs(delay), repeats ? 'interval' : 'timer', fire)
    return timer
  }
}

/**
 * Calls a function until it returns false, each time when all promises are done that the time before has settled. Node sees to that between
 * two immediates as well as between two iterations of its event loop, which cost more.
 */
function eachAlone(run: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const end = (how: () => void) => {
      isOver = true
      how()
    }
    const once = () => {
      if (isOver) return
      try {
        if (!run()) end(resolve)
      } catch (error) {
        end(() => reject(error))
      }
    }
    const several = () => {
      once()
      if (isOver) return
      for (let i = 1; i < IMMEDIATES; i++) systemImmediate(once)
      systemImmediate(several)
    }
    systemImmediate(several)
  })
}

/** Completions by time. Of those of one moment, the next is of any process that has some, and the first that was added there. */
class Queue {
  readonly #random: Random
  readonly #later = new Heap()
  /** The moment that has begun, with its completions that are left. */
  #at = Number.NEGATIVE_INFINITY
  readonly #processes: Process[] = []
  readonly #moment = new Map<Process, Completion[]>()

  constructor(random: Random) {
    this.#random = random
  }

  push(completion: Completion): void {
    this.#later.push(completion)
  }

  pop(): Completion | undefined {
    if (this.#processes.length === 0) {
      const first = this.#later.first
      if (first === undefined) return undefined
      this.#at = first.at
    }
    while (this.#later.first?.at === this.#at) this.#add(this.#later.pop()!)
    const chosen = this.#processes.length === 1 ? 0 : this.#random.below(this.#processes.length)
    const process = this.#processes[chosen]!
    const completions = this.#moment.get(process)!
    const next = completions.shift()
    if (completions.length === 0) {
      this.#processes.splice(chosen, 1)
      this.#moment.delete(process)
    }
    return next
  }

  #add(completion: Completion): void {
    const known = this.#moment.get(completion.of)
    if (known) return void known.push(completion)
    this.#processes.push(completion.of)
    this.#moment.set(completion.of, [completion])
  }
}

/** Completions by time, then in the order in which they were added. */
class Heap {
  readonly #heap: Completion[] = []

  get first(): Completion | undefined {
    return this.#heap[0]
  }

  push(completion: Completion): void {
    const heap = this.#heap
    let at = heap.push(completion) - 1
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (!isBefore(completion, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = completion
  }

  pop(): Completion | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === last || last === undefined) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

const isBefore = (a: Completion, b: Completion): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
