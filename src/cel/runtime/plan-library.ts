/** Plans calls of the functions that libraries bring. */

import type { Evaluate, Overload } from '../checker/library.ts'
import { type CelType, isDyn, sameType } from '../checker/types.ts'
import { builtins, noOverloadFor } from './builtins.ts'
import type { Frame, Step } from './frame.ts'
import type { Planned } from './planner.ts'
import { standardCost } from './runtime-cost.ts'
import { fitsAtRuntime } from './runtime-types.ts'
import { CelFault, type CelValue } from './values.ts'

export interface LibraryCall {
  readonly name: string
  readonly args: readonly Planned[]
  /** What the checker found the arguments to be. */
  readonly types: readonly (CelType | undefined)[]
  /** The overloads that the checker let pass. */
  readonly candidates: readonly Overload[]
  /** All overloads of the function. */
  readonly declared: readonly Overload[]
}

/** Plans a call of a function of which a library implements at least one overload. */
export function planLibraryCall(call: LibraryCall): Planned {
  const { name, args, types, candidates, declared } = call
  const [only] = candidates
  if (candidates.length !== 1 || !only?.evaluate) return remembered(args, callStep(args, dispatch(name, declared), candidates))
  const sure = types.every((type, i) => isSure(only.params[i], type))
  return remembered(args, callStep(args, sure ? only.evaluate : guarded(name, only), candidates))
}

/** Whether a value of the type that the checker found must be one that the parameter takes. */
const isSure = (param: CelType | undefined, type: CelType | undefined): boolean =>
  param !== undefined && type !== undefined && (isDyn(param) || (type.params.length === 0 && sameType(param, type) && !type.nullable))

/** An overload that the checker chose, where values of dyn may still turn out not to fit. */
function guarded(name: string, overload: Overload): Evaluate {
  const evaluate = overload.evaluate!
  return (args, context) => (fits(overload, args) ? evaluate(args, context) : noOverloadFor(name, args))
}

/** The first overload that takes the arguments, found when they are known. */
function dispatch(name: string, overloads: readonly Overload[]): Evaluate {
  const implemented = overloads.filter(overload => overload.evaluate)
  const builtin = builtins.get(name)
  return (args, context) => {
    const chosen = implemented.find(overload => overload.params.length === args.length && fits(overload, args))
    if (chosen) return chosen.evaluate!(args, context)
    if (args.length === 1 && builtin?.unary) return builtin.unary(args[0]!)
    if (args.length === 2 && builtin?.binary) return builtin.binary(args[0]!, args[1]!)
    return noOverloadFor(name, args)
  }
}

const fits = ({ params, nonStrict }: Overload, args: readonly CelValue[]): boolean =>
  args.every((arg, i) => (nonStrict === true && arg instanceof CelFault) || fitsAtRuntime(params[i]!, arg))

type Charge = (args: readonly CelValue[], result: CelValue) => number

/** What a call costs: as a candidate says, and as the standard says only if there is no other. */
function chargeOf(candidates: readonly Overload[]): Charge | undefined {
  const declared = candidates.find(overload => overload.cost)?.cost
  if (declared || candidates.length !== 1) return declared
  const standard = standardCost(candidates[0]!.id)
  return standard && (args => standard(args[0]!, args[1]!))
}

/** With up to two arguments all are evaluated and the call is paid for even if one fails; with more the first failure ends it. */
function callStep(args: readonly Planned[], evaluate: Evaluate, candidates: readonly Overload[]): Step {
  const charge = chargeOf(candidates)
  const steps = args.map(arg => arg.step)
  if (candidates.some(overload => overload.nonStrict)) return lenientStep(steps, evaluate, charge)
  if (steps.length === 0 || steps.length > 2) return manyStep(steps, evaluate, charge)
  const [first, second] = steps
  return frame => {
    const a = first!(frame)
    const b = second?.(frame)
    if (a instanceof CelFault || b instanceof CelFault) {
      frame.cost += 1
      return a instanceof CelFault ? a : b!
    }
    const values = b === undefined ? [a] : [a, b]
    return paid(frame, values, evaluate(values, frame), charge)
  }
}

function paid(frame: Frame, values: readonly CelValue[], result: CelValue, charge: Charge | undefined): CelValue {
  frame.charge(charge ? charge(values, result) : 1)
  return result
}

function manyStep(steps: readonly Step[], evaluate: Evaluate, charge: Charge | undefined): Step {
  return frame => {
    const values: CelValue[] = []
    for (const step of steps) {
      const value = step(frame)
      if (value instanceof CelFault) return value
      values.push(value)
    }
    return paid(frame, values, evaluate(values, frame), charge)
  }
}

/** Faults are arguments like others. */
function lenientStep(steps: readonly Step[], evaluate: Evaluate, charge: Charge | undefined): Step {
  return frame => {
    const values = steps.map(step => step(frame))
    return paid(frame, values, evaluate(values, frame), charge)
  }
}

/** A call whose arguments are all literals gives the same each time: it is made once, and paid for each time. */
function remembered(args: readonly Planned[], step: Step): Planned {
  if (args.length === 0 || args.some(arg => arg.constant === undefined)) return { step }
  let known: { readonly value: CelValue; readonly cost: number } | undefined
  return {
    step(frame) {
      if (known) {
        frame.charge(known.cost)
        return known.value
      }
      const before = frame.cost
      const value = step(frame)
      known = { value, cost: frame.cost - before }
      return value
    },
  }
}
