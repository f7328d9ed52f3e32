/**
 * Divides the time of the process between workspaces. The requests of a workspace are handled as they come until the workspace has used
 * its slice of an iteration of the event loop. Its other requests wait, and workspaces with waiting requests begin one each in turns. So a
 * flood in one workspace delays another workspace by the slices of the busy ones, not by the number of requests.
 *
 * A request that has waited for its body also goes on in a turn of its workspace. Its work until it waits again counts for the slice: a
 * write does most of its work then.
 */
import type { Response } from '../http/message.ts'
import { afterMicrotasks, monotonicMs, nextIteration } from '../lib/environment.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { tooManyRequests } from '../schema/status-error.ts'

export type TurnLimits = {
  /** Requests of one workspace that are handled at once; watches count until they are open. */
  readonly inflight: number
  /** Requests of one workspace that wait. */
  readonly waiting: number
  /** Milliseconds of work in an iteration of the event loop. */
  readonly sliceMs: number
}

type Begin = () => MaybePromise<Response>

/** The requests of one workspace. */
export class Turn {
  readonly waiting: (() => void)[] = []
  /** Begun requests that can go on. They come before the requests in `waiting`. */
  readonly resuming: (() => void)[] = []
  active = 0
  /** Milliseconds of work in this iteration. */
  spentMs = 0
}

export class Turns {
  readonly #limits: TurnLimits
  /** The workspaces that have worked in this iteration or wait, the next one first. */
  readonly #busy = new Set<Turn>()
  #isScheduled = false
  /** Whether a request that continues in promises is at work: no other work is measured with it. */
  #isWorking = false

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  /** Handles a request now, or when its workspace has its turn. Throws StatusError when too many wait already. */
  run(turn: Turn, begin: Begin): MaybePromise<Response> {
    if (turn.waiting.length === 0 && this.#mayBegin(turn)) return this.#begin(turn, begin)
    if (turn.waiting.length >= this.#limits.waiting) throw tooManyRequests('too many requests of this workspace, please try again later', 1)
    return new Promise<Response>((resolve, reject) => {
      turn.waiting.push(() => {
        try {
          resolve(this.#begin(turn, begin))
        } catch (error) {
          reject(error)
        }
      })
      this.#note(turn)
    })
  }

  /** Lets a request that has waited for its client go on: now, or when its workspace has its turn. */
  resume(turn: Turn): MaybePromise<void> {
    if (turn.resuming.length === 0 && this.#mayWork(turn)) return this.#measure(turn, monotonicMs())
    return new Promise(resolve => {
      turn.resuming.push(() => {
        this.#measure(turn, monotonicMs())
        resolve()
      })
      this.#note(turn)
    })
  }

  #mayWork({ spentMs }: Turn): boolean {
    return !this.#isWorking && spentMs < this.#limits.sliceMs
  }

  #mayBegin(turn: Turn): boolean {
    return turn.active < this.#limits.inflight && this.#mayWork(turn)
  }

  #begin(turn: Turn, begin: Begin): MaybePromise<Response> {
    const began = monotonicMs()
    turn.active++
    let response: MaybePromise<Response> | undefined
    try {
      response = begin()
    } finally {
      if (!(response instanceof Promise)) {
        turn.spentMs += monotonicMs() - began
        turn.active--
        this.#note(turn)
      }
    }
    if (response instanceof Promise) {
      this.#measure(turn, began)
      const end = () => {
        turn.active--
        if (turn.waiting.length > 0) this.#note(turn)
      }
      response.then(end, end)
    }
    return response
  }

  /** Counts the work of a request until it waits, when all microtasks are done; then the next workspace has its turn. */
  #measure(turn: Turn, began: number): void {
    this.#isWorking = true
    this.#note(turn)
    afterMicrotasks(() => {
      turn.spentMs += monotonicMs() - began
      this.#isWorking = false
      this.#goOn()
    })
  }

  #note(turn: Turn): void {
    this.#busy.add(turn)
    if (this.#isScheduled) return
    this.#isScheduled = true
    nextIteration(() => this.#next())
  }

  /** Another iteration: every workspace has a new slice. */
  #next(): void {
    this.#isScheduled = false
    for (const turn of this.#busy) {
      turn.spentMs = 0
      // A workspace with too many requests under way is noted again when one of them is answered.
      if (!this.#hasNext(turn)) this.#busy.delete(turn)
    }
    this.#goOn()
    const [next] = this.#busy
    if (next) this.#note(next)
  }

  #hasNext({ resuming, waiting, active }: Turn): boolean {
    return resuming.length > 0 || (waiting.length > 0 && active < this.#limits.inflight)
  }

  /** Workspaces with waiting requests begin one each in turns, while their slices last. */
  #goOn(): void {
    for (let turn = this.#nextTurn(); turn; turn = this.#nextTurn()) {
      // The other workspaces come before this one is next again.
      this.#busy.delete(turn)
      this.#busy.add(turn)
      const begin = turn.resuming.shift() ?? turn.waiting.shift()!
      begin()
    }
  }

  #nextTurn(): Turn | undefined {
    if (!this.#isWorking) for (const turn of this.#busy) if (this.#hasNext(turn) && this.#mayWork(turn)) return turn
    return undefined
  }
}
