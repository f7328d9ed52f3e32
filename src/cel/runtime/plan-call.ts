/** Plans calls of functions: those of CEL itself, and those of libraries. */
import type { Evaluate, Overload } from '../checker/library.ts'
import { type CelType, isDyn, isOptionalType, sameType } from '../checker/types.ts'
import type { CallExpr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import { builtins, conversionNames, isIn, noOverloadFor } from './builtins.ts'
import type { Frame, Step } from './frame.ts'
import { CelProgramError, constant, type Planned, type Planner } from './planner.ts'
import { regexOf } from './regex-cache.ts'
import { type ArgumentCost, standardCost } from './runtime-cost.ts'
import type { Builtin } from './values.ts'
import { CelDouble, CelFault, CelList, CelMap, CelOptional, CelUint, type CelValue, elementsOf, runtimeType } from './values.ts'
import { countMatchSteps, countWork } from './work.ts'

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
  /** The cost of a call; undefined is 1. */
  readonly cost: ArgumentCost | undefined
}

/** cel-go takes the cost of a call from its overload, if exactly one fits. */
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

/** Constant folding as Kubernetes configures cel-go; folded calls cost nothing, except for matching a pattern. */
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
    return regex.test(value, countMatchSteps)
  }
}

/** Membership in a list of literals that can be looked up without comparing. */
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

/** Passes faults as arguments. */
const lenientStep =
  (arg: Step, evaluate: (a: CelValue) => CelValue): Step =>
  frame => {
    const a = arg(frame)
    frame.cost += 1
    return evaluate(a)
  }

/** Both operands are evaluated, and the call is charged even if one fails. */
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

// Plans calls of library functions.

interface LibraryCall {
  readonly name: string
  readonly args: readonly Planned[]
  /** The types of the arguments by the checker. */
  readonly types: readonly (CelType | undefined)[]
  /** The overloads that the checker accepted. */
  readonly candidates: readonly Overload[]
  /** All overloads of the function. */
  readonly declared: readonly Overload[]
}

/** Plans a call of a function with at least one overload that a library implements. */
function planLibraryCall(call: LibraryCall): Planned {
  const { name, args, types, candidates, declared } = call
  const [only] = candidates
  if (candidates.length !== 1 || !only?.evaluate) return remembered(args, callStep(args, dispatch(name, declared), candidates))
  const sure = types.every((type, i) => isSure(only.params[i], type))
  return remembered(args, callStep(args, sure ? only.evaluate : guarded(name, only), candidates))
}

/** Whether a value of the checked type is always accepted by the parameter. */
const isSure = (param: CelType | undefined, type: CelType | undefined): boolean =>
  param !== undefined && type !== undefined && (isDyn(param) || (type.params.length === 0 && sameType(param, type) && !type.nullable))

/** An overload that the checker chose, where values of type dyn may still turn out not to fit. */
function guarded(name: string, overload: Overload): Evaluate {
  const evaluate = overload.evaluate!
  return (args, context) => (fits(overload, args) ? evaluate(args, context) : noOverloadFor(name, args))
}

/** The first overload that accepts the arguments, selected at run time. */
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

/** The cost of a call: that of a candidate, and the standard one only if there is no other. */
function chargeOf(candidates: readonly Overload[]): Charge | undefined {
  const declared = candidates.find(overload => overload.cost)?.cost
  if (declared || candidates.length !== 1) return declared
  const standard = standardCost(candidates[0]!.id)
  return standard && (args => standard(args[0]!, args[1]!))
}

/** With up to two arguments all are evaluated and the call is charged even if one fails; with more the first failure ends it. */
function callStep(args: readonly Planned[], evaluate: Evaluate, candidates: readonly Overload[]): Step {
  const charge = chargeOf(candidates)
  const steps = args.map(arg => arg.step)
  if (candidates.some(overload => overload.nonStrict)) return lenientLibraryStep(steps, evaluate, charge)
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

/** Passes faults as arguments. */
function lenientLibraryStep(steps: readonly Step[], evaluate: Evaluate, charge: Charge | undefined): Step {
  return frame => {
    const values = steps.map(step => step(frame))
    return paid(frame, values, evaluate(values, frame), charge)
  }
}

/** A call with only literal arguments always has the same result: it is computed once, and charged each time. */
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

// Checks at run time of types that could not be checked before.

/** Whether the value can be used where the type is declared; the first element of a list or map decides for all, as in cel-go. */
function fitsAtRuntime(type: CelType, value: CelValue): boolean {
  if (value instanceof CelFault) return false
  if (isDyn(type) || type.kind === 'typeParam' || (type.nullable && value === null)) return true
  if (isOptionalType(type)) {
    return value instanceof CelOptional && (value.value === undefined || fitsAtRuntime(type.params[0]!, value.value))
  }
  if (type.kind === 'list') return value instanceof CelList && (value.size === 0 || fitsAtRuntime(type.params[0]!, value.at(0)))
  if (type.kind !== 'map') return runtimeType(value).name === type.name || (type.kind === 'object' && value instanceof CelMap)
  if (!(value instanceof CelMap)) return false
  const key = value.keys()[0]
  return key === undefined || (fitsAtRuntime(type.params[0]!, key) && fitsAtRuntime(type.params[1]!, value.find(key)!))
}
