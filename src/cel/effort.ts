/** Keeps track of work whose size an expression does not show: comparing values that share parts may take exponential time. */

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

/** How many parts of values one evaluation may look at beyond what its cost counts. */
const mostEffort = 20_000_000

let left = mostEffort

/** Counts one step; throws an Interruption when there were too many. */
export function makeEffort(): void {
  if (--left < 0) throw new Interruption('time')
}

/** Begins an evaluation with effort of its own; gives what the evaluation around it has left, to be handed to restoreEffort. */
export function freshEffort(): number {
  const before = left
  left = mostEffort
  return before
}

export function restoreEffort(before: number): void {
  left = before
}
