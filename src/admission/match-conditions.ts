/** Match conditions: expressions that decide whether a webhook or a policy is about a request at all. */
import { PER_CALL_LIMIT } from '../cel/kubernetes/base-env.ts'
import type { Bindings } from '../cel/runtime/program.ts'
import { CelFault } from '../cel/runtime/values.ts'
import { aggregate } from '../lib/go-text.ts'
import type { InParts } from '../lib/in-parts.ts'
import type { LazyProgram, LazyPrograms } from './lazy-programs.ts'

export type Condition = { readonly name: string; readonly expression: string; readonly program: LazyProgram }

/** The conditions of one webhook or policy; what is the same for several of them is one object. */
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

/** What the conditions of one webhook or policy may cost together. */
const CONDITIONS_BUDGET = 2_500_000
const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

const MATCH: ConditionsOutcome = { outcome: 'match' }

/**
 * Evaluates all conditions. One that is false decides, whatever others fail with; without one, failures leave the request to the
 * failure policy. The budget is that of this webhook or policy alone: adding another never exhausts it.
 * Stops after each condition.
 */
export function* evaluatingConditions({ all }: Conditions, bindings: Bindings): InParts<ConditionsOutcome> {
  if (all.length === 0) return MATCH
  const problems: string[] = []
  let excluding: string | undefined
  let budget = CONDITIONS_BUDGET
  for (const { name, expression, program: programOf } of all) {
    const program = programOf()
    if ('problem' in program) {
      problems.push(`compilation error: ${program.problem}`)
      continue
    }
    const { value, cost } = program.evaluate(bindings, { maxCost: PER_CALL_LIMIT })
    if (cost > budget) return { outcome: 'error', message: OUT_OF_BUDGET }
    budget -= cost
    if (value === false) excluding ??= name
    if (value instanceof CelFault) problems.push(`expression '${expression}' resulted in error: ${value.message}`)
    yield
  }
  if (excluding !== undefined) return { outcome: 'no-match', condition: excluding }
  if (problems.length === 0) return MATCH
  return { outcome: 'error', message: aggregate(problems) }
}
