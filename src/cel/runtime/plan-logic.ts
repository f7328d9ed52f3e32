/** Plans `&&`, `||`, `?:`, `==`, `!=` and the lazy functions of optional values. */

import type { CallExpr } from '../syntax/ast.ts'
import { equalValues } from './equality.ts'
import type { Step } from './frame.ts'
import type { Planned, Planner } from './planner.ts'
import { comparisonCost } from './runtime-cost.ts'
import { CelFault, CelOptional, type CelValue, noSuchOverload } from './values.ts'

/** Plans `&&` (decided by false) or `||` (decided by true): a fault counts only when no operand decides. */
export function planLogic(planner: Planner, expr: CallExpr, decides: boolean): Planned {
  const terms = expr.args.map(term => planner.plan(term).step)
  const [left, right] = terms as [Step, Step]
  if (terms.length === 2) {
    return {
      step(frame) {
        const a = left(frame)
        if (a === decides) return decides
        const b = right(frame)
        if (b === decides) return decides
        if (typeof a !== 'boolean') return undecided(a)
        return typeof b === 'boolean' ? !decides : undecided(b)
      },
    }
  }
  return {
    step(frame) {
      let failed: CelValue | undefined
      for (const term of terms) {
        const value = term(frame)
        if (value === decides) return decides
        if (typeof value !== 'boolean') failed ??= undecided(value)
      }
      return failed === undefined ? !decides : failed
    },
  }
}

const undecided = (value: CelValue): CelFault => (value instanceof CelFault ? value : noSuchOverload)

/** Plans `condition ? a : b`. */
export function planConditional(planner: Planner, expr: CallExpr): Planned {
  const condition = planner.plan(expr.args[0]!).step
  const [whenTrue, whenFalse] = [planner.planUncounted(expr.args[1]!).step, planner.planUncounted(expr.args[2]!).step]
  return {
    step(frame) {
      const holds = condition(frame)
      if (holds === true) return whenTrue(frame)
      return holds === false ? whenFalse(frame) : undecided(holds)
    },
  }
}

/** Plans `==` and, where `wanted` is false, `!=`. */
export function planEquality(planner: Planner, expr: CallExpr, wanted: boolean): Planned {
  const [left, right] = [planner.plan(expr.args[0]!), planner.plan(expr.args[1]!)]
  if (typeof right.constant === 'string') return { step: equalsText(left.step, right.constant, wanted) }
  return {
    step(frame) {
      const a = left.step(frame)
      const b = right.step(frame)
      if (typeof a === 'number' && typeof b === 'number') {
        frame.cost += 1
        return (a === b) === wanted
      }
      frame.charge(comparisonCost(a, b))
      if (a instanceof CelFault) return a
      if (b instanceof CelFault) return b
      const equal = equalValues(a, b)
      if (typeof equal === 'boolean') return equal === wanted
      return wanted ? equal : true
    },
  }
}

/** Most expressions compare with a string literal. */
function equalsText(left: Step, text: string, wanted: boolean): Step {
  const whenSame = comparisonCost(text, text)
  return frame => {
    const a = left(frame)
    if (a === text) {
      frame.cost += whenSame
      return wanted
    }
    frame.cost += comparisonCost(a, text)
    if (a instanceof CelFault) return a
    if (typeof a !== 'object' || a === null) return !wanted
    const equal = equalValues(a, text)
    if (typeof equal === 'boolean') return equal === wanted
    return wanted ? equal : true
  }
}

/** Plans `a.or(b)`, and `a.orValue(b)` where `unwraps`: b is only evaluated when a is empty. */
export function planOr(planner: Planner, expr: CallExpr, unwraps: boolean): Planned {
  const [left, right] = [planner.plan(expr.target!).step, planner.plan(expr.args[0]!).step]
  return {
    step(frame) {
      const a = left(frame)
      if (!(a instanceof CelOptional)) return undecided(a)
      if (a.value === undefined) return right(frame)
      return unwraps ? a.value : a
    },
  }
}
