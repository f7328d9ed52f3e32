/**
 * Divides the time of the process between workspaces: requests are handled as they come until a workspace has used its slice of an
 * iteration of the event loop; the rest of its requests wait, and those that wait are begun in turns. So a flood in one workspace delays
 * another by the slices of those that are busy, not by the number of requests.
 */
import type { Response } from '../http/message.ts'
import { monotonicMs, nextIteration } from '../lib/environment.ts'
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
  readonly waiting: Begin[] = []
  active = 0
  /** Milliseconds of work in this iteration. */
  spentMs = 0
}

export class Turns {
  readonly #limits: TurnLimits
  readonly #busy = new Set<Turn>()
  #isScheduled = false

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
          const response = this.#begin(turn, begin)
          resolve(response)
          return response
        } catch (error) {
          reject(error)
          throw error
        }
      })
      this.#note(turn)
    })
  }

  #mayBegin({ active, spentMs }: Turn): boolean {
    return active < this.#limits.inflight && spentMs < this.#limits.sliceMs
  }

  #begin(turn: Turn, begin: Begin): MaybePromise<Response> {
    const began = monotonicMs()
    turn.active++
    let response: MaybePromise<Response> | undefined
    try {
      response = begin()
    } finally {
      turn.spentMs += monotonicMs() - began
      this.#note(turn)
      if (!(response instanceof Promise)) turn.active--
    }
    if (response instanceof Promise) {
      const end = () => {
        turn.active--
        if (turn.waiting.length > 0) this.#note(turn)
      }
      response.then(end, end)
    }
    return response
  }

  #note(turn: Turn): void {
    this.#busy.add(turn)
    if (this.#isScheduled) return
    this.#isScheduled = true
    nextIteration(() => this.#next())
  }

  /** Another iteration: every workspace has a new slice, and those with waiting requests begin one each in turns. */
  #next(): void {
    this.#isScheduled = false
    const turns = [...this.#busy]
    this.#busy.clear()
    for (const turn of turns) turn.spentMs = 0
    for (let left = turns; left.length > 0; ) {
      left = left.filter(turn => turn.waiting.length > 0 && this.#mayBegin(turn))
      for (const turn of left) this.#beginNext(turn)
    }
    // A workspace that waits for its own responses is noted when one of them is done.
    for (const turn of turns) if (turn.waiting.length > 0 && turn.active < this.#limits.inflight) this.#note(turn)
    // The first of this iteration is the last of the next.
    const [first] = this.#busy
    if (first) {
      this.#busy.delete(first)
      this.#busy.add(first)
    }
  }

  #beginNext({ waiting }: Turn): void {
    try {
      void waiting.shift()!()
    } catch {
      // Its promise has been rejected.
    }
  }
}
