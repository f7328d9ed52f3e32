/** Programs of checked expressions: planned once, evaluated many times. */

import type { CheckedAst } from '../checker/checked-ast.ts'
import type { Env } from '../checker/env.ts'
import type { CelType } from '../checker/types.ts'
import type { Expr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import { Frame, type Step } from './frame.ts'
import { planCall } from './plan-call.ts'
import { planComprehension, planList, planMap, planStruct } from './plan-construction.ts'
import { planConditional, planEquality, planLogic, planOr } from './plan-logic.ts'
import { planIndex, planOptionalSelection, planSelect } from './plan-selection.ts'
import { CelProgramError, constant, constantValue, type PlanNode, type Planned, Planner, type PlanOptions } from './planner.ts'
import { CelFault, type CelValue, fault } from './values.ts'
import { beginWork, DEFAULT_WORK, endWork, Interruption } from './work.ts'

/** The values of variables by name; unused ones are not read. */
export type Bindings = { readonly [name: string]: CelValue }

export interface EvaluateOptions {
  /** The cost limit of the evaluation; unlimited by default. */
  readonly maxCost?: number
  /** The limit of work that the cost does not include (work.ts). */
  readonly maxWork?: number
}

/** An evaluation that was ended because it exceeded its cost or work limit. */
export class CelCancellation extends CelFault {
  readonly reason: 'cost' | 'work'
  constructor({ reason, message }: Interruption) {
    super(message)
    this.reason = reason
  }
}

/**
 * The result of an evaluation: a value, which is a CelFault if it failed and a CelCancellation if it was ended, its cost, and the work that
 * the cost does not include.
 */
export interface Evaluation {
  readonly value: CelValue
  readonly cost: number
  readonly work: number
}

export interface Program {
  /** The type of its value. */
  readonly type: CelType
  readonly ast: CheckedAst
  evaluate(bindings: Bindings, options?: EvaluateOptions): Evaluation
}

const tooDeep = 'expression is nested too deeply'

/** A program for a checked expression. Throws CelProgramError with cel-go's message if none can be created. */
export function createProgram(env: Env, ast: CheckedAst, options: Partial<PlanOptions> = {}): Program {
  const planner = new Planner(env, ast, { optimize: true, presenceTestHasCost: false, ...options }, planNode)
  const { step } = planWhole(planner, ast.expr)
  const { slots, globals } = planner
  return {
    type: ast.type,
    ast,
    evaluate(bindings, options) {
      const values: (CelValue | undefined)[] = []
      for (let i = 0; i < slots; i++) values.push(undefined)
      for (let i = 0; i < globals.length; i++) values[globals[i]!.slot] = bindings[globals[i]!.name]
      const frame = new Frame(values, options?.maxCost ?? Number.POSITIVE_INFINITY)
      const maxWork = options?.maxWork ?? DEFAULT_WORK
      const outer = beginWork(maxWork)
      const value = evaluateStep(step, frame)
      return { value, cost: frame.cost, work: maxWork - endWork(outer) }
    },
  }
}

function evaluateStep(step: Step, frame: Frame): CelValue {
  try {
    const value = step(frame)
    frame.checkCost()
    return value
  } catch (error) {
    return faultOf(error)
  }
}

function planWhole(planner: Planner, expr: Expr): Planned {
  try {
    return planner.plan(expr)
  } catch (error) {
    if (error instanceof RangeError) throw new CelProgramError(tooDeep)
    throw error
  }
}

/** Other exceptions fail only the evaluation, as in cel-go: strings and stacks that exceed the engine's limits, bugs of a library. */
function faultOf(error: unknown): CelFault {
  if (error instanceof Interruption) return new CelCancellation(error)
  return fault(`internal error: ${error instanceof Error ? error.message : error}`)
}

const planNode: PlanNode = (planner, expr, counted) => {
  switch (expr.kind) {
    case 'literal':
      return constant(constantValue(expr.value))
    case 'ident':
      return planner.name(planner.resolvedName(expr) ?? expr.name, expr, counted)
    case 'select':
      return planSelect(planner, expr, counted)
    case 'list':
      return planList(planner, expr)
    case 'map':
      return planMap(planner, expr)
    case 'struct':
      return planStruct(planner, expr)
    case 'comprehension':
      return planComprehension(planner, expr)
  }
  if (expr.target && expr.args.length === 1 && (expr.function === 'or' || expr.function === 'orValue')) {
    return planOr(planner, expr, expr.function === 'orValue')
  }
  switch (expr.function) {
    case operators.and:
      return planLogic(planner, expr, false)
    case operators.or:
      return planLogic(planner, expr, true)
    case operators.conditional:
      return planConditional(planner, expr)
    case operators.equals:
      return planEquality(planner, expr, true)
    case operators.notEquals:
      return planEquality(planner, expr, false)
    case operators.index:
      return planIndex(planner, expr, counted)
    case operators.optIndex:
    case operators.optSelect:
      return planOptionalSelection(planner, expr, counted)
  }
  return planCall(planner, expr)
}
