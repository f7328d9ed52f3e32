/**
 * Counts work that the cost of an expression does not include. Comparing values that share parts may take exponential time at a cost of 1;
 * the size of a long string costs as little as that of a short one, and can be computed in a loop.
 *
 * Values are compared, sized and formatted far below the planned expression, so the count of the running evaluation is kept here instead of
 * being passed through all of that. An evaluation never waits: the count is set when it begins and restored when it ends.
 */

/** An evaluation was stopped before its end: it exceeded its cost or work limit. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  readonly reason: 'cost' | 'work'
  constructor(reason: 'cost' | 'work') {
    super(reason === 'cost' ? 'operation cancelled: actual cost limit exceeded' : 'operation interrupted')
    this.reason = reason
  }
}

/** The default work limit of one evaluation; all of it takes a few tenths of a second. */
export const DEFAULT_WORK = 10_000_000

/** The remaining units of the running evaluation; outside of evaluations nothing is counted. */
let left = Number.POSITIVE_INFINITY
let evaluations = 0

/** Counts units, each about one access to one value. Throws an Interruption beyond the limit. */
export function countWork(units = 1): void {
  left -= units
  if (left < 0) throw new Interruption('work')
}

/** Counts the steps of a pattern that cannot be estimated; each takes as long as a few units. */
export const countMatchSteps = (steps: number): void => countWork(steps * WORK_PER_MATCH_STEP)
const WORK_PER_MATCH_STEP = 4

/** Begins an evaluation with this limit; returns the remaining units of the evaluation around it, for endWork. */
export function beginWork(limit: number): number {
  const outer = left
  left = limit
  evaluations++
  return outer
}

/** Ends an evaluation; returns its remaining units, which are negative when it was stopped. */
export function endWork(outer: number): number {
  const rest = left
  left = outer
  evaluations++
  return rest
}

/** A number that changes with each evaluation: input of expressions does not change while it stays the same. */
export const currentEvaluation = (): number => evaluations
