/** Plans selections: `a.b`, `a[b]`, `has(a.b)`, `a.?b` and `a[?b]`. */

import type { CallExpr, Expr, SelectExpr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import type { Frame, Step } from './frame.ts'
import type { Planned, Planner } from './planner.ts'
import { selectCost } from './runtime-cost.ts'
import { showValue } from './show-value.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  fault,
  isInt,
  optionalNone,
  runtimeType,
} from './values.ts'

const selections: ReadonlySet<string> = new Set([operators.index, operators.optIndex, operators.optSelect, operators.conditional])

/** Whether cel-go makes the expression part of the chain of selections that starts from it. */
const isLink = (expr: Expr): boolean =>
  expr.kind === 'ident' || expr.kind === 'select' || (expr.kind === 'call' && expr.target === undefined && selections.has(expr.function))

/** Plans the operand of a selection: anything but a link of the chain is charged as its start. */
function planOperand(planner: Planner, expr: Expr, counted: boolean): Step {
  const planned = counted ? planner.plan(expr) : planner.planUncounted(expr)
  const { step } = planned
  if (!counted || (isLink(expr) && planned.constant === undefined)) return step
  return frame => {
    const value = step(frame)
    frame.cost += selectCost
    return value
  }
}

/** Plans `operand.field` and `has(operand.field)`. */
export function planSelect(planner: Planner, expr: SelectExpr, counted: boolean): Planned {
  const name = planner.resolvedName(expr)
  if (name !== undefined) return planner.name(name, expr, counted)
  if (expr.testOnly) return planPresence(planner, expr, counted)
  return { step: selectStep(planOperand(planner, expr.operand, counted), expr.field) }
}

function selectStep(operand: Step, key: CelValue): Step {
  const noKey = fault(`no such key: ${showValue(key)}`)
  return frame => {
    const container = operand(frame)
    if (container instanceof CelMap) {
      frame.cost += selectCost
      const value = container.find(key)
      return value === undefined ? noKey : value
    }
    if (container instanceof CelFault) return container
    if (container instanceof CelOptional) {
      return paid(frame, selectOptionally(container, key))
    }
    frame.cost += selectCost
    const value = lookUp(container, key)
    return value === undefined ? missing(container, key) : value
  }
}

/** An optional selection is charged only when it finds a value. */
function paid(frame: Frame, found: CelValue): CelValue {
  if (found instanceof CelOptional && found.value !== undefined) frame.cost += selectCost
  return found
}

/** The optional selection from the value of an optional. */
function selectOptionally(container: CelValue, key: CelValue): CelValue {
  const within = container instanceof CelOptional ? container.value : container
  if (within === undefined) return optionalNone
  const value = lookUp(within, key)
  if (value === undefined) return optionalNone
  return value instanceof CelFault ? value : new CelOptional(value)
}

function planPresence(planner: Planner, expr: SelectExpr, counted: boolean): Planned {
  const operand = planOperand(planner, expr.operand, counted && planner.options.presenceTestHasCost)
  const { field } = expr
  const step: Step = frame => {
    const container = operand(frame)
    if (container instanceof CelFault) return container
    const within = container instanceof CelOptional ? container.value : container
    if (within === undefined) return false
    frame.cost += selectCost
    const value = lookUp(within, field)
    return value instanceof CelFault ? value : value !== undefined
  }
  return { step }
}

/** Plans `operand[key]`. */
export function planIndex(planner: Planner, expr: CallExpr, counted: boolean): Planned {
  const operand = planOperand(planner, expr.args[0]!, counted)
  const key = planner.planUncounted(expr.args[1]!)
  if (key.constant !== undefined && !keyFault(key.constant)) return { step: selectStep(operand, key.constant) }
  const step: Step = frame => {
    const container = operand(frame)
    if (container instanceof CelFault) return container
    const index = key.step(frame)
    if (container instanceof CelOptional) {
      return index instanceof CelFault ? index : (keyFault(index) ?? paid(frame, selectOptionally(container, index)))
    }
    frame.cost += selectCost
    if (index instanceof CelFault) return index
    const value = keyFault(index) ?? lookUp(container, index)
    return value === undefined ? missing(container, index) : value
  }
  return { step }
}

/** Plans `operand.?field` and `operand[?key]`. */
export function planOptionalSelection(planner: Planner, expr: CallExpr, counted: boolean): Planned {
  const operand = planOperand(planner, expr.args[0]!, counted)
  const key = planner.planUncounted(expr.args[1]!)
  const step: Step = frame => {
    const container = operand(frame)
    if (container instanceof CelFault || (container instanceof CelOptional && container.value === undefined)) return container
    const index = key.step(frame)
    return index instanceof CelFault ? index : (keyFault(index) ?? paid(frame, selectOptionally(container, index)))
  }
  return { step }
}

/** The value at a key or position; undefined where there is none, a fault for an invalid key. */
function lookUp(container: CelValue, key: CelValue): CelValue | undefined {
  if (container instanceof CelMap) return container.find(key)
  if (!(container instanceof CelList)) return undefined
  const index = indexOf(key)
  if (typeof index !== 'number') return index
  return index >= 0 && index < container.size ? container.at(index) : undefined
}

/** The list position of a number; -1 for numbers that are too large. */
function indexOf(key: CelValue): number | CelFault {
  if (typeof key === 'number') return key
  if (typeof key === 'bigint') return -1
  if (key instanceof CelUint) {
    return key.value < 1n << 63n ? Number(key.value) : fault(`unsupported index value ${showValue(key)} in list`)
  }
  if (!(key instanceof CelDouble)) return fault(`unsupported index type '${runtimeType(key).name}' in list`)
  return Number.isInteger(key.value) && Math.abs(key.value) < 2 ** 63
    ? key.value
    : fault(`unsupported index value ${showValue(key)} in list`)
}

const missing = (container: CelValue, key: CelValue): CelFault =>
  fault(`${container instanceof CelList ? 'index out of bounds' : 'no such key'}: ${showValue(key)}`)

/** A fault for values that cannot be keys. */
function keyFault(key: CelValue): CelFault | undefined {
  if (typeof key === 'string' || isInt(key) || typeof key === 'boolean' || key instanceof CelUint || key instanceof CelDouble)
    return undefined
  return fault(`invalid qualifier type: ${goTypeOf(key)}`)
}

/** cel-go's Go type of a value. */
export function goTypeOf(value: CelValue): string {
  if (value === null) return 'types.Null'
  if (typeof value === 'boolean') return 'types.Bool'
  if (typeof value === 'string') return 'types.String'
  if (isInt(value)) return 'types.Int'
  if (value instanceof CelUint) return 'types.Uint'
  if (value instanceof CelDouble) return 'types.Double'
  if (value instanceof Uint8Array) return 'types.Bytes'
  if (value instanceof CelTimestamp) return 'types.Timestamp'
  if (value instanceof CelDuration) return 'types.Duration'
  if (value instanceof CelList) return '*types.baseList'
  if (value instanceof CelMap) return '*types.baseMap'
  if (value instanceof CelOptional) return '*types.Optional'
  return value instanceof CelTypeValue ? '*types.Type' : runtimeType(value).name
}
