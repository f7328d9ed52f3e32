/** Match conditions: expressions that decide whether a webhook or a policy is about a request at all. */
import { MAX_CALL_COST } from '../cel/kubernetes/base-env.ts'
import type { Bindings } from '../cel/runtime/program.ts'
import { CelFault } from '../cel/runtime/values.ts'
import { aggregate } from '../lib/go-text.ts'
import type { Step } from '../lib/step.ts'
import type { Budget } from '../schema/budget.ts'
import { EVALUATION_WORK, type LazyProgram, type LazyPrograms } from './lazy-programs.ts'

export type Condition = { readonly name: string; readonly expression: string; readonly program: LazyProgram }

/** The conditions of one webhook or policy; webhooks with the same conditions share one object. */
export type Conditions = {
  readonly all: readonly Condition[]
  readonly programs: LazyPrograms
  /** Whether one of them may ask the authorizer. */
  readonly mayAuthorize: boolean
}

export const conditionsOf = (all: readonly Condition[], programs: LazyPrograms): Conditions => ({
  all,
  programs,
  mayAuthorize: all.some(({ expression }) => expression.includes('authorizer')),
})

/** Matched, not matched because of the named condition, or undecided because conditions failed. */
export type ConditionsOutcome =
  | { readonly outcome: 'match' }
  | { readonly outcome: 'no-match'; readonly condition: string }
  | { readonly outcome: 'error'; readonly message: string }

/** The cost of all conditions of one webhook or policy together. */
const MAX_CONDITIONS_COST = 2_500_000
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

const MATCH: ConditionsOutcome = { outcome: 'match' }

/**
 * Evaluates all conditions. One that is false decides, whatever others fail with; without one, failures leave the request to the
 * failure policy. The limit of their cost is that of this webhook or policy alone: adding another never exhausts it. Others may run after
 * each condition.
 */
export function* evaluateConditions({ all }: Conditions, bindings: Bindings, budget: Budget): Step<ConditionsOutcome> {
  if (all.length === 0) return MATCH
  const problems: string[] = []
  let excluding: string | undefined
  let costLeft = MAX_CONDITIONS_COST
  for (const { name, expression, program: programOf } of all) {
    const program = programOf()
    if ('problem' in program) {
      problems.push(`compilation error: ${program.problem}`)
      continue
    }
    const { value, cost } = program.evaluate(bindings, { maxCost: MAX_CALL_COST })
    budget.note(EVALUATION_WORK + cost)
    if (cost > costLeft) return { outcome: 'error', message: OUT_OF_BUDGET }
    costLeft -= cost
    if (value === false) excluding ??= name
    if (value instanceof CelFault) problems.push(`expression '${expression}' resulted in error: ${value.message}`)
    yield
  }
  if (excluding !== undefined) return { outcome: 'no-match', condition: excluding }
  if (problems.length === 0) return MATCH
  return { outcome: 'error', message: aggregate(problems) }
}
