/** The state of one evaluation: the values of its variables and the cost so far. */

import type { CelValue, EvaluationContext } from './values.ts'
import { Interruption } from './work.ts'

/** A planned expression: returns its value, which may be a fault; throws only an Interruption. */
export type Step = (frame: Frame) => CelValue

export class Frame implements EvaluationContext {
  /** Variables by the indexes that the planner assigned; undefined where there is no value (yet). */
  readonly slots: (CelValue | undefined)[]
  cost = 0
  readonly #maxCost: number

  constructor(slots: (CelValue | undefined)[], maxCost: number) {
    this.slots = slots
    this.#maxCost = maxCost
  }

  charge(cost: number): void {
    this.cost += cost
    this.checkCost()
  }

  /**
   * Ends the evaluation if it exceeds its cost limit. Costs may have been added without a check, so this is called at the end and in each
   * iteration of a loop: all evaluations are finite, but nested loops take long.
   */
  checkCost(): void {
    if (this.cost > this.#maxCost) throw new Interruption('cost')
  }
}
