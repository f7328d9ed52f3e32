/** Plans calls of functions: those of CEL itself, and those that libraries bring. */

import type { Overload } from '../checker/library.ts'
import type { CallExpr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import { type Builtin, builtins, conversionNames, isIn, noOverloadFor } from './builtins.ts'
import type { Step } from './frame.ts'
import { planLibraryCall } from './plan-library.ts'
import { CelProgramError, constant, type Planned, type Planner } from './planner.ts'
import { regexOf } from './regex-cache.ts'
import { type ArgumentCost, standardCost } from './runtime-cost.ts'
import { CelDouble, CelFault, CelList, CelUint, type CelValue, elementsOf } from './values.ts'
import { countWork } from './work.ts'

/** Plans a call; its receiver is its first argument. */
export function planCall(planner: Planner, expr: CallExpr): Planned {
  const exprs = expr.target ? [expr.target, ...expr.args] : expr.args
  const args = exprs.map(arg => planner.plan(arg))
  const candidates = (planner.ast.references[expr.id]?.overloads ?? []).flatMap(id => planner.env.findOverload(id) ?? [])
  const declared = planner.env.findFunction(expr.function)?.overloads ?? candidates
  const builtin = builtins.get(expr.function)
  if (builtin && !(candidates.length === 1 ? candidates : declared).some(overload => overload.evaluate)) {
    return planBuiltin(planner, expr.function, builtin, { args, cost: costOf(candidates) })
  }
  const types = exprs.map(arg => planner.typeOf(arg))
  return planLibraryCall({ name: expr.function, args, types, candidates, declared })
}

interface Call {
  readonly args: readonly Planned[]
  /** What it costs; undefined is 1. */
  readonly cost: ArgumentCost | undefined
}

/** cel-go knows what a call costs by its overload, when just one fits. */
function costOf(candidates: readonly Overload[]): ArgumentCost | undefined {
  const [only] = candidates
  if (candidates.length !== 1 || !only) return undefined
  const { cost } = only
  return cost ? (a, b) => cost(b === undefined ? [a] : [a, b], null) : standardCost(only.id)
}

function planBuiltin(planner: Planner, name: string, builtin: Builtin, call: Call): Planned {
  const { args } = call
  const ahead = planner.options.optimize ? evaluatedAhead(name, builtin, call) : undefined
  if (ahead) return ahead
  const { nullary, unary, binary, ternary } = builtin
  if (args.length === 0 && nullary) return { step: nullaryStep(nullary) }
  if (args.length === 1 && unary) {
    return { step: name === operators.notStrictlyFalse ? lenientStep(args[0]!.step, unary) : unaryStep(args[0]!.step, unary, call.cost) }
  }
  if (args.length === 2 && binary) return { step: binaryStep(args[0]!.step, args[1]!.step, { binary, cost: call.cost }) }
  if (args.length === 3 && ternary) return { step: ternaryStep(args, ternary) }
  return { step: () => noOverloadFor(name, []) }
}

/** What Kubernetes has cel-go evaluate before anything runs; all of it is then free of cost but the match of a pattern. */
function evaluatedAhead(name: string, { unary }: Builtin, { args, cost }: Call): Planned | undefined {
  const [first, second] = args
  if (args.length === 1 && unary && conversionNames.has(name) && first!.constant !== undefined) {
    const value = unary(first!.constant)
    if (value instanceof CelFault) throw new CelProgramError(value.message)
    return constant(value)
  }
  if (name === 'matches' && typeof second?.constant === 'string') return { step: matchStep(first!.step, second.constant, cost) }
  return name === operators.in && cost === standardCost('in_list') && second?.constant instanceof CelList
    ? membership(first!.step, second.constant)
    : undefined
}

function matchStep(text: Step, pattern: string, cost: ArgumentCost | undefined): Step {
  const regex = regexOf(pattern)
  if (regex instanceof CelFault) throw new CelProgramError(regex.message)
  return frame => {
    const value = text(frame)
    if (value instanceof CelFault) return value
    frame.charge(cost ? cost(value, pattern) : 1)
    if (typeof value !== 'string') return noOverloadFor('matches', [value, pattern])
    countWork(regex.stepsFor(value) / 8)
    return regex.test(value)
  }
}

/** Membership in a list of literals that can be told apart without comparing. */
function membership(element: Step, list: CelList): Planned | undefined {
  if (list.size === 0) return constant(false)
  const elements = [...elementsOf(list)]
  if (!elements.every(value => typeof value !== 'object' || value instanceof CelUint || value instanceof CelDouble)) return undefined
  const texts = new Set<CelValue>(elements)
  const onlyTexts = elements.every(value => typeof value === 'string')
  return {
    step(frame) {
      const value = element(frame)
      if (value instanceof CelFault) return value
      if (typeof value === 'string' || onlyTexts) return texts.has(value)
      return isIn(value, list)
    },
  }
}

const nullaryStep =
  (evaluate: () => CelValue): Step =>
  frame => {
    frame.cost += 1
    return evaluate()
  }

const unaryStep =
  (arg: Step, evaluate: (a: CelValue) => CelValue, cost: ArgumentCost | undefined): Step =>
  frame => {
    const a = arg(frame)
    if (cost) frame.charge(cost(a, undefined as never))
    else frame.cost += 1
    return a instanceof CelFault ? a : evaluate(a)
  }

/** Faults are arguments like others. */
const lenientStep =
  (arg: Step, evaluate: (a: CelValue) => CelValue): Step =>
  frame => {
    const a = arg(frame)
    frame.cost += 1
    return evaluate(a)
  }

/** Both sides are evaluated, and the call is paid for, whatever becomes of them. */
function binaryStep(left: Step, right: Step, call: { binary: NonNullable<Builtin['binary']>; cost: ArgumentCost | undefined }): Step {
  const { binary, cost } = call
  return frame => {
    const a = left(frame)
    const b = right(frame)
    if (cost) frame.charge(cost(a, b))
    else frame.cost += 1
    if (a instanceof CelFault) return a
    return b instanceof CelFault ? b : binary(a, b)
  }
}

function ternaryStep([first, second, third]: readonly Planned[], evaluate: NonNullable<Builtin['ternary']>): Step {
  return frame => {
    const a = first!.step(frame)
    if (a instanceof CelFault) return a
    const b = second!.step(frame)
    if (b instanceof CelFault) return b
    const c = third!.step(frame)
    if (c instanceof CelFault) return c
    frame.cost += 1
    return evaluate(a, b, c)
  }
}
