/**
 * The work that one request may cost, counted and never timed: whether a request is answered depends on what it asks for, not on how
 * busy the machine is.
 *
 * A request has one budget (`RequestContext.budget`, or one made for a table) that is handed down to whatever can be made expensive by
 * the combination of a small schema and a small object: structural validation, patterns, CEL rules, JSON paths of columns. Work that
 * only grows with the size of the body needs no budget; `lib/limits.ts` bounds bodies.
 */
import { LIMITS } from '../lib/limits.ts'
import { tooLarge } from './status-error.ts'

export class Budget {
  readonly #units: number
  #left: number
  #charged: Set<object> | undefined

  /** `units` is the work that may be done; one unit is about one look at one value, some tens of nanoseconds. */
  constructor(units: number = LIMITS.requestWork) {
    this.#units = units
    this.#left = units
  }

  /** Makes the whole budget available again, for a write that is tried again: whether it is accepted must not depend on how often. */
  renew(): void {
    this.#left = this.#units
    this.#charged = undefined
  }

  /** Takes units off the budget. Throws a StatusError of code 413 when it is spent: the request changes nothing then. */
  charge(units: number): void {
    this.#left -= units
    if (this.#left < 0) throw tooLarge('Request entity is too large: checking it takes more work than one request may cost')
  }

  /**
   * Takes units off the budget once for each thing, however often it is used: what it costs to make it, such as to compile a pattern.
   * They are taken though it was made for an earlier request, as the response must not depend on that.
   */
  chargeOnce(thing: object, units: number): void {
    this.#charged ??= new Set()
    if (this.#charged.has(thing)) return
    this.#charged.add(thing)
    this.charge(units)
  }

  /** The units that are left; below zero once a charge was refused. */
  get left(): number {
    return this.#left
  }

  /** Whether a charge was refused. */
  get isSpent(): boolean {
    return this.#left < 0
  }
}
