/**
 * The budget of one run of a simulated command. Work is counted, not timed, so that a run ends the same way on every machine:
 * a run that exceeds its budget fails, and its message names the limit.
 */
import { LIMITS } from '../../lib/limits.ts'

export type BudgetLimits = {
  /** Commands, and iterations of loops. */
  readonly steps: number
  /** Bytes that are read, expanded or written; a line or a field counts `OVERHEAD` more. */
  readonly bytes: number
  /** Bytes that are printed. */
  readonly output: number
  /** Files that are written. */
  readonly files: number
  /** Bytes of the objects behind variables and files. */
  readonly inputs: number
}

/** The cost of each line or field beside its bytes. */
export const OVERHEAD = 16

const UNITS: Readonly<Record<keyof BudgetLimits, string>> = {
  steps: 'steps',
  bytes: 'bytes read and written',
  output: 'bytes of output',
  files: 'files written',
  inputs: 'bytes of ConfigMaps, Secrets and Services',
}

export class BudgetExceeded extends Error {}

/** The message of a command that exceeded its budget. It is short: a kubelet leaves little room in the status of a container. */
export const exceededText = (limit: string): string =>
  `command exceeds the limit of a simulated container (${limit}): simplify it, or script it with sim.keelson.dev/run-time and exit-code`

export class Budget {
  readonly #limits: BudgetLimits
  readonly #left: Record<keyof BudgetLimits, number>

  constructor(limits: BudgetLimits = LIMITS.commands.budget) {
    this.#limits = limits
    this.#left = { ...limits }
  }

  /** Throws BudgetExceeded when less than that is left. */
  spend(part: keyof BudgetLimits, amount: number): void {
    this.#left[part] -= amount
    if (this.#left[part] < 0) throw new BudgetExceeded(exceededText(`${this.#limits[part]} ${UNITS[part]}`))
  }
}
