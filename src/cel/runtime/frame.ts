/** What one evaluation holds: the values of its variables and the cost so far. */

import { Interruption } from './effort.ts'
import type { CelValue, EvaluationContext } from './values.ts'

/** A planned expression: gives its value, which may be a fault; throws only an Interruption. */
export type Step = (frame: Frame) => CelValue

/** How many turns of loops go by between two looks at the clock. */
const turnsBetweenLooks = 128

export class Frame implements EvaluationContext {
  /** Variables by the places that the planner gave them; undefined where there is no value (yet). */
  readonly slots: (CelValue | undefined)[]
  cost = 0
  readonly #budget: number
  readonly #expired: (() => boolean) | undefined
  #turns = 0

  constructor(slots: (CelValue | undefined)[], budget: number, expired: (() => boolean) | undefined) {
    this.slots = slots
    this.#budget = budget
    this.#expired = expired
  }

  charge(cost: number): void {
    this.cost += cost
    if (this.cost > this.#budget) throw new Interruption('budget')
  }

  /** Ends the evaluation if it spent its budget; costs may have been added without looking. */
  settle(): void {
    if (this.cost > this.#budget) throw new Interruption('budget')
  }

  /** Called for each turn of a loop: all evaluations are finite, but loops within loops take long. */
  turn(): void {
    if (this.cost > this.#budget) throw new Interruption('budget')
    if (this.#expired && ++this.#turns % turnsBetweenLooks === 0 && this.#expired()) throw new Interruption('time')
  }
}
