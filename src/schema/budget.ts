/**
 * The budget of work for one request, counted and never timed: whether a request succeeds depends on the request, not on the load of the
 * busy the machine is. The pace of the request (`lib/pace.ts`) reads off it how much has been done.
 *
 * A request has one budget (`RequestContext.budget`, or one for a table) that is passed to all code that a small schema and a small object
 * can make expensive in combination: structural validation, patterns, CEL rules, JSON paths of columns. Work that only grows with the size
 * of the body needs no budget; `lib/limits.ts` bounds bodies.
 */
import { LIMITS } from '../lib/limits.ts'
import { tooLarge } from './status-error.ts'

export class Budget {
  readonly #units: number
  #left: number
  #noted = 0
  #charged: Set<object> | undefined

  /** `units` is the limit of work; one unit is about one access to one value, some tens of nanoseconds. */
  constructor(units: number = LIMITS.requestWork) {
    this.#units = units
    this.#left = units
  }

  /** Restores the whole budget, for a write that is retried: whether it is accepted must not depend on the number of attempts. */
  renew(): void {
    this.#left = this.#units
    this.#charged = undefined
  }

  /** Subtracts units from the budget. Throws a StatusError with code 413 when it is exhausted: then the request changes nothing. */
  charge(units: number): void {
    this.#left -= units
    if (this.#left < 0) throw tooLarge('Request entity is too large: checking it takes more work than one request may cost')
  }

  /**
   * Subtracts units once for each thing, however often it is used: the cost of creating it, such as compiling a pattern. They are charged
   * even if an earlier request has created it, as the response must not depend on that.
   */
  chargeOnce(thing: object, units: number): void {
    this.#charged ??= new Set()
    if (this.#charged.has(thing)) return
    this.#charged.add(thing)
    this.charge(units)
  }

  /** Counts work that has a limit of its own, such as that of expressions. */
  note(units: number): void {
    this.#noted += units
  }

  /** The units of all work so far. */
  get used(): number {
    return this.#units - this.#left + this.#noted
  }

  /** The remaining units; negative once a charge was refused. */
  get left(): number {
    return this.#left
  }

  /** Whether a charge was refused. */
  get isSpent(): boolean {
    return this.#left < 0
  }
}
