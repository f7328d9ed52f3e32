/**
 * Counts work that the cost of an expression does not show. Comparing values that share parts may take exponential time at a cost of
 * 1; asking for the size of a long string costs as little as for that of a short one, and can be done in a loop.
 *
 * Values are compared, sized and printed far below the planned expression, so the count of the running evaluation is kept here and
 * not handed through all of that. An evaluation never waits: the count is set when it begins and restored when it ends.
 */

/** That an evaluation was stopped before its end: it exceeded its cost limit, or the work that it may do. */
export class Interruption extends Error {
  override readonly name = 'Interruption'
  readonly reason: 'cost' | 'work'
  constructor(reason: 'cost' | 'work') {
    super(reason === 'cost' ? 'operation cancelled: actual cost limit exceeded' : 'operation interrupted')
    this.reason = reason
  }
}

/** The units that one evaluation may do unless its caller says otherwise; all of them take a few tenths of a second. */
export const DEFAULT_WORK = 10_000_000

/** What the running evaluation may still do; outside of evaluations nothing is counted. */
let left = Number.POSITIVE_INFINITY
let evaluations = 0

/** Counts units, each about one look at one value. Throws an Interruption when the evaluation did too much. */
export function countWork(units = 1): void {
  left -= units
  if (left < 0) throw new Interruption('work')
}

/** Counts the steps of a pattern that cannot be told beforehand; each takes as long as a few looks. */
export const countMatchSteps = (steps: number): void => countWork(steps * WORK_PER_MATCH_STEP)
const WORK_PER_MATCH_STEP = 4

/** Begins an evaluation that may do this much; returns what the evaluation around it has left, for endWork. */
export function beginWork(limit: number): number {
  const outer = left
  left = limit
  evaluations++
  return outer
}

/** Ends an evaluation; returns what it has left, which is negative when it was stopped. */
export function endWork(outer: number): number {
  const rest = left
  left = outer
  evaluations++
  return rest
}

/** A number that changes with each evaluation: nothing that expressions read changes while it stays the same. */
export const currentEvaluation = (): number => evaluations
