/** Expressions of a policy evaluated for one request: variables when they are first used, all within one budget. */

import { type CelType, objectType } from '../../cel/checker/types.ts'
import { AdmissionCompiler, type AdmissionUse, type AdmissionVariables } from '../../cel/kubernetes/admission.ts'
import { MAX_CALL_COST } from '../../cel/kubernetes/base-env.ts'
import type { Bindings } from '../../cel/runtime/program.ts'
import { CelFault, CelMap, type CelValue, fault } from '../../cel/runtime/values.ts'
import { goQuote } from '../../lib/go-text.ts'
import type { Budget } from '../../schema/budget.ts'
import { EVALUATION_WORK, type LazyProgram, LazyPrograms } from '../lazy-programs.ts'

/** An expression and its program, which is made when it is first evaluated. */
export type CompiledExpression = { readonly text: string; readonly program: LazyProgram }
export type CompiledVariable = CompiledExpression & { readonly name: string }

/** The cost of all expressions of one binding together. */
export const MAX_POLICY_COST = 10_000_000

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** The limit of cost is exceeded: the decision is left to the failure policy. */
export class OutOfBudget extends Error {
  constructor() {
    super(OUT_OF_BUDGET)
  }
}

/** Compiles the expressions of one policy; its variables come first. Expressions are stored ones, which were checked when written. */
export class PolicyCompiler {
  readonly programs = new LazyPrograms()
  readonly #compiler = new AdmissionCompiler({ composes: true })
  readonly #hasParams: boolean
  #undeclared: LazyProgram[] = []

  constructor({ hasParams }: { readonly hasParams: boolean }) {
    this.#hasParams = hasParams
  }

  variable({ name = '', expression = '' }: { readonly name?: string; readonly expression?: string }): CompiledVariable {
    const variables = { hasParams: this.#hasParams, hasAuthorizer: true }
    const program = this.programs.of(() => this.#compiler.declare(name, { text: expression, variables, age: 'stored' }))
    this.#undeclared.push(program)
    return { name, text: expression, program }
  }

  expression(text: string, use: AdmissionUse, more: AdmissionVariables = {}): CompiledExpression {
    const variables = { hasParams: this.#hasParams, hasAuthorizer: true, ...more }
    const program = this.programs.of(() => {
      this.#declareVariables()
      return this.#compiler.compile({ text, use, variables, age: 'stored' })
    })
    return { text, program }
  }

  /** Expressions may use all variables, and these those before them. */
  #declareVariables(): void {
    for (const declare of this.#undeclared) declare()
    this.#undeclared = []
  }
}

/** A value, or an error message. */
export type Evaluated = { readonly value: CelValue } | { readonly error: string; readonly type: 'compile_error' | 'invalid_error' }

/** One pass over expressions that share a limit of cost and the values of variables. */
export class EvaluationPass {
  readonly #bindings: Bindings
  readonly #work: Budget
  #costLeft: number

  /** `work` counts the work of the request. */
  constructor(
    bindings: Bindings,
    variables: readonly CompiledVariable[],
    { maxCost, work }: { readonly maxCost: number; readonly work: Budget },
  ) {
    const spend = (cost: number) => this.#spend(cost)
    // Variables see each other and the same request.
    const all: Record<string, CelValue> = { ...bindings }
    all['variables'] = new LazyVariables(variables, all, spend)
    this.#bindings = all
    this.#costLeft = maxCost
    this.#work = work
  }

  get remaining(): number {
    return this.#costLeft
  }

  /** Throws OutOfBudget. */
  evaluate({ text, program: programOf }: CompiledExpression): Evaluated {
    const program = programOf()
    if ('problem' in program) return { error: `compilation error: ${program.problem}`, type: 'compile_error' }
    const { value, cost } = program.evaluate(this.#bindings, { maxCost: MAX_CALL_COST })
    this.#spend(cost)
    if (!(value instanceof CelFault)) return { value }
    return { error: `expression '${text}' resulted in error: ${value.message}`, type: 'invalid_error' }
  }

  #spend(cost: number): void {
    this.#work.note(EVALUATION_WORK + cost)
    if (cost > this.#costLeft) throw new OutOfBudget()
    this.#costLeft -= cost
  }
}

const VARIABLES = objectType('kubernetes.variables')

/** The value of `variables`: each is worked out when it is first asked for. */
class LazyVariables extends CelMap {
  readonly #variables: ReadonlyMap<string, CompiledVariable>
  readonly #bindings: Bindings
  readonly #spend: (cost: number) => void
  readonly #known = new Map<string, CelValue>()

  constructor(variables: readonly CompiledVariable[], bindings: Bindings, spend: (cost: number) => void) {
    super()
    this.#variables = new Map(variables.map(variable => [variable.name, variable]))
    this.#bindings = bindings
    this.#spend = spend
  }

  override get type(): CelType {
    return VARIABLES
  }

  get size(): number {
    return this.#variables.size
  }

  keys(): readonly CelValue[] {
    return [...this.#variables.keys()]
  }

  find(key: CelValue): CelValue | undefined {
    const variable = typeof key === 'string' ? this.#variables.get(key) : undefined
    if (!variable) return undefined
    let value = this.#known.get(variable.name)
    if (value === undefined) this.#known.set(variable.name, (value = this.#evaluate(variable)))
    return value
  }

  #evaluate({ name, program: programOf }: CompiledVariable): CelValue {
    const program = programOf()
    if ('problem' in program) return fault(`composited variable ${goQuote(name)} fails to compile: ${program.problem}`)
    const { value, cost } = program.evaluate(this.#bindings, { maxCost: MAX_CALL_COST })
    this.#spend(cost)
    return value instanceof CelFault ? fault(`composited variable ${goQuote(name)} fails to evaluate: ${value.message}`) : value
  }
}
