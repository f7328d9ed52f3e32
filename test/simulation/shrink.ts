/** Makes the list of faults of a failed run as short as possible. */
import type { Fault } from './faults.ts'
import { type Outcome, type Plan, simulateRun } from './simulate.ts'

/** Repeats a run with fewer and fewer faults as long as it fails. Gives up after a number of tries. */
export async function shrink(failed: Outcome, { tries }: { readonly tries: number }): Promise<Outcome> {
  let smallest = failed
  let left = tries
  const fails = async (faults: readonly Fault[]): Promise<boolean> => {
    if (left-- <= 0) return false
    const outcome = await simulateRun({ ...smallest.plan, faults } satisfies Plan)
    if (outcome.problems.length > 0) smallest = outcome
    return outcome.problems.length > 0
  }
  // Halves first, then quarters, and so on down to single faults.
  for (let size = Math.ceil(failed.plan.faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = 0; at < smallest.plan.faults.length; ) {
      const { faults } = smallest.plan
      if (!(await fails([...faults.slice(0, at), ...faults.slice(at + size)]))) at += size
    }
  return smallest
}
