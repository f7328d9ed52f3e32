/** Turns a checked syntax tree into closures that evaluate it. Each node adds the cost that cel-go's interpreter counts. */

import type { CheckedAst } from '../checker/checked-ast.ts'
import type { Env } from '../checker/env.ts'
import type { CelType } from '../checker/types.ts'
import type { Constant, Expr, IdentExpr } from '../syntax/ast.ts'
import type { Step } from './frame.ts'
import { selectCost } from './runtime-cost.ts'
import { CelDouble, CelTypeValue, CelUint, type CelValue, fault, intOf } from './values.ts'

/** A planned expression; `constant` is its value if that is known ahead. */
export interface Planned {
  readonly step: Step
  readonly constant?: CelValue
}

export interface PlanOptions {
  /** Evaluates literals, conversions of literals and membership in lists of literals ahead, at no cost, as Kubernetes does. */
  readonly optimize: boolean
  /** Whether `has(…)` costs more than its selections. */
  readonly presenceTestHasCost: boolean
}

/** No program can be created for an expression although it type-checks: a conversion of a literal always fails. */
export class CelProgramError extends Error {
  override readonly name = 'CelProgramError'
}

/** Plans one kind of node. */
export type PlanNode = (planner: Planner, expr: Expr, counted: boolean) => Planned

/** The slot of a local variable; an accumulator is initialized with `init` when first read. */
interface Local {
  readonly slot: number
  readonly init: Step | undefined
}

export class Planner {
  readonly env: Env
  readonly ast: CheckedAst
  readonly options: PlanOptions
  /** The variables that the expression uses, and their slots. */
  readonly globals: { readonly name: string; readonly slot: number }[] = []
  readonly #locals = new Map<string, Local[]>()
  readonly #planNode: PlanNode
  #slots = 0
  readonly #globalSlots = new Map<string, number>()

  constructor(env: Env, ast: CheckedAst, options: PlanOptions, planNode: PlanNode) {
    this.env = env
    this.ast = ast
    this.options = options
    this.#planNode = planNode
  }

  /** The number of slots of a frame. */
  get slots(): number {
    return this.#slots
  }

  typeOf(expr: Expr): CelType | undefined {
    return this.ast.types[expr.id]
  }

  /** The full name that a name or selection resolves to, if it does. */
  resolvedName(expr: Expr): string | undefined {
    return this.ast.references[expr.id]?.name
  }

  plan(expr: Expr): Planned {
    return this.#planNode(this, expr, true)
  }

  /**
   * Plans an expression where a chain of selections is not charged for its variable: a branch of `?:`, or the position in square brackets.
   * cel-go resolves these without evaluating them as expressions.
   */
  planUncounted(expr: Expr): Planned {
    return this.#planNode(this, expr, false)
  }

  /** A new slot; `name` refers to it until closed. */
  open(name: string, init?: Step): number {
    const slot = this.#slots++
    const shadowed = this.#locals.get(name)
    if (shadowed) shadowed.push({ slot, init })
    else this.#locals.set(name, [{ slot, init }])
    return slot
  }

  close(name: string): void {
    this.#locals.get(name)?.pop()
  }

  /** Plans the use of a variable, type or constant by its full name. */
  name(name: string, expr: IdentExpr | Expr, counted: boolean): Planned {
    const local = this.#locals.get(name)?.at(-1)
    if (local) return { step: localStep(local, counted) }
    const value = this.ast.references[expr.id]?.value
    if (value) return constant(constantValue(value))
    const type = this.typeOf(expr)
    if (type?.kind === 'type') return constant(new CelTypeValue(type.params[0] ?? type))
    return { step: this.#globalStep(name.replace(/^\./, ''), counted) }
  }

  #globalStep(name: string, counted: boolean): Step {
    let slot = this.#globalSlots.get(name)
    if (slot === undefined) {
      slot = this.#slots++
      this.#globalSlots.set(name, slot)
      this.globals.push({ name, slot })
    }
    const index = slot
    const missing = fault(`no such attribute(s): ${name}`)
    const cost = counted ? selectCost : 0
    return frame => {
      frame.cost += cost
      const value = frame.slots[index]
      return value === undefined ? missing : value
    }
  }
}

function localStep({ slot, init }: Local, counted: boolean): Step {
  const cost = counted ? selectCost : 0
  if (!init) {
    return frame => {
      frame.cost += cost
      return frame.slots[slot]!
    }
  }
  return frame => {
    frame.cost += cost
    const value = frame.slots[slot]
    if (value !== undefined) return value
    const first = init(frame)
    frame.slots[slot] = first
    return first
  }
}

/** A value known ahead. */
export const constant = (value: CelValue): Planned => ({ step: () => value, constant: value })

/** The value of a literal. */
export function constantValue(literal: Constant): CelValue {
  switch (literal.type) {
    case 'null':
      return null
    case 'int':
      return intOf(literal.value)
    case 'uint':
      return new CelUint(literal.value)
    case 'double':
      return new CelDouble(literal.value)
  }
  return literal.value
}
