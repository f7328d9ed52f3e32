/** Rules for the expressions of schemas: they compile to the right type, and are cheap enough for the possible number of values. */
import { type FieldError, forbidden, internal, invalid, pathOf, type Ref, refTo, withValue } from '../../schema/refs.ts'
import { type AgeOf, type CompiledRule, compiledRules, mostValuesOf } from '../../structural/compile-rules.ts'
import { costMessage, type ExpressionScope, MAX_EXPRESSION_COST, MAX_SCHEMA_COST, timesAtMost } from './expression-scope.ts'
import { internalRule } from './internal-type.ts'
import type { ExpressionRule, Schema } from './json-schema.ts'
import type { StoredExpressions, Strictness } from './strictness.ts'

type Looking = {
  readonly scope: ExpressionScope
  readonly strict: Strictness
  /** The ancestor whose items cannot be correlated with those of the stored object. */
  readonly uncorrelated: string | undefined
}

/** Rules for the expressions of one schema that has no other errors. */
export function* validateExpressions(schema: Schema, at: Ref<Schema>, looking: Looking): Iterable<FieldError> {
  const { scope, strict } = looking
  const there = at['x-kubernetes-validations']
  const typed = scope.typed()
  if (!typed) return yield internal(there, NO_TYPE)
  const values = scope.cardinality ?? mostValuesOf(typed.type)
  let i = 0
  for (const rule of compiledRules(schema, { ...typed, ageOf: ageIn(strict.stored) })) {
    yield* validateCondition(rule, there[i]!, { ...looking, values })
    yield* validateMessage(rule, there[i]!, looking)
    yield* validateOldSelf(rule, there[i]!, looking)
    i++
  }
}

/** Stored expressions may use every feature of this server. */
export const ageIn =
  ({ rules, messages }: StoredExpressions): AgeOf =>
  (kind, text) =>
    (kind === 'rule' ? rules : messages).has(text) ? 'stored' : 'new'

const NO_TYPE =
  'internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations'

function* validateCondition(
  { rule, condition }: CompiledRule,
  at: Ref<ExpressionRule>,
  { scope, strict, values }: Looking & { readonly values: bigint },
): Iterable<FieldError> {
  if (!condition) return
  const cost = 'problem' in condition ? 0n : timesAtMost(condition.maxCost, values)
  if (!strict.anyCost && cost > MAX_EXPRESSION_COST) yield forbidden(at.rule, costMessage('estimated rule cost', cost, MAX_EXPRESSION_COST))
  scope.costs.add(pathOf(at.rule), cost)
  if ('problem' in condition) yield invalid(withValue(at.rule, internalRule(rule)), condition.problem)
}

function* validateMessage({ rule, message }: CompiledRule, at: Ref<ExpressionRule>, { scope, strict }: Looking): Iterable<FieldError> {
  if (!message) return
  const there = at.messageExpression
  if ('problem' in message) return yield invalid(withValue(there, internalRule(rule)), message.problem)
  const { maxCost } = message
  if (!strict.anyCost && maxCost > MAX_EXPRESSION_COST)
    yield forbidden(there, costMessage('estimated messageExpression cost', maxCost, MAX_EXPRESSION_COST))
  scope.costs.add(pathOf(there), maxCost)
}

function* validateOldSelf({ rule, condition }: CompiledRule, at: Ref<ExpressionRule>, { uncorrelated }: Looking): Iterable<FieldError> {
  if (condition?.usesOldSelf) {
    if (uncorrelated !== undefined)
      yield invalid(at.rule, `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`)
  } else if (rule.optionalOldSelf !== undefined) yield invalid(at.optionalOldSelf, 'may not be set if oldSelf is not used in rule')
}

/** Rules for the total cost of all expressions of a schema. */
export function* validateTotalCost({ costs }: ExpressionScope, at: Ref<Schema>): Iterable<FieldError> {
  if (costs.total <= MAX_SCHEMA_COST) return
  for (const path of costs.highest)
    yield forbidden(refTo(undefined, path), 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema')
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
  yield forbidden(at, costMessage(what, costs.total, MAX_SCHEMA_COST))
}
