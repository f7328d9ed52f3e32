/**
 * Keeps track of work that the cost of an expression does not show. Comparing values that share parts may take exponential time at a
 * cost of 1; asking for the size of a long text costs as little as for that of a short one, and can be done in a loop.
 */

/** That an evaluation was stopped before its end. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  /** What stopped it: its cost, or its time. */
  readonly reason: 'budget' | 'time'
  constructor(reason: 'budget' | 'time') {
    super(reason === 'budget' ? 'operation cancelled: actual cost limit exceeded' : 'operation interrupted')
    this.reason = reason
  }
}

/** How many parts of values one evaluation may look at; it takes a few tenths of a second. */
const mostEffort = 10_000_000

/** Outside of evaluations nothing is counted. */
let left = Number.POSITIVE_INFINITY
let evaluations = 0

/** Counts steps; throws an Interruption when there were too many. */
export function makeEffort(steps = 1): void {
  left -= steps
  if (left < 0) throw new Interruption('time')
}

/** Begins an evaluation with effort of its own; gives what the evaluation around it has left, to be handed to restoreEffort. */
export function freshEffort(): number {
  const before = left
  left = mostEffort
  evaluations++
  return before
}

/** A number that changes with each evaluation: nothing that expressions read changes while it stays the same. */
export const currentEvaluation = (): number => evaluations

export function restoreEffort(before: number): void {
  evaluations++
  left = before
}
