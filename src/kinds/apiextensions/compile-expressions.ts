/** Compiles the expressions and patterns of a definition ahead of its validation: there can be thousands. */
import type { Budget } from '../../schema/budget.ts'
import { expressionWork } from '../../schema/rule-work.ts'
import { type CompiledRule, compiledRules } from '../../structural/compile-rules.ts'
import type { Spec } from './definition-shapes.ts'
import { ageIn } from './expression-rules.ts'
import { type ExpressionScope, rootScope } from './expression-scope.ts'
import type { Schema } from './json-schema.ts'
import { PatternChecks } from './pattern-fault.ts'
import { expressionsOf } from './ratcheting.ts'
import { eachSchema, hasRules, itemSchema, schemasOf } from './schema-walk.ts'
import { structuralFault } from './structural-rules.ts'

/** Others may run after each. Validation does not compile again what it finds compiled. */
export function* compileExpressions(spec: Spec, old: Spec | undefined, budget: Budget): Iterable<undefined> {
  const ageOf = ageIn(old ? expressionsOf(old) : { rules: new Set(), messages: new Set() })
  const patterns = new PatternChecks()
  for (const root of schemasOf(spec)) {
    for (const schema of eachSchema(root)) {
      if (!patterns.add(schema)) continue
      budget.note(COMPILE_WORK)
      yield undefined
    }
    if (!hasRules(root) || structuralFault(root) !== undefined) continue
    for (const _ of compiledRulesIn(root, rootScope(root), ageOf)) {
      budget.note(COMPILE_WORK)
      yield undefined
    }
  }
}

/** Units of a request's budget that an expression or a pattern takes, roughly. */
const COMPILE_WORK = 5000

/** The approximate work of a definition's rules (`schema/rule-work.ts`). */
export function definitionWork(spec: Spec): number {
  let work = 0
  let defaults = 0
  let expressions = 0
  for (const root of schemasOf(spec))
    for (const { pattern, default: fallback, 'x-kubernetes-validations': rules = [] } of eachSchema(root)) {
      work += 1
      if (pattern) work += PATTERN_WORK
      if (fallback !== undefined) defaults++
      for (const { rule, messageExpression } of rules) expressions += expressionWork(rule) + expressionWork(messageExpression)
    }
  // Rules are evaluated on the defaults of their schemas.
  return work + expressions * (defaults > 0 ? 2 : 1)
}

const PATTERN_WORK = 10

function* compiledRulesIn(schema: Schema, scope: ExpressionScope, ageOf: ReturnType<typeof ageIn>): Iterable<CompiledRule> {
  const { properties = {}, additionalProperties } = schema
  const typed = schema['x-kubernetes-validations'] && scope.typed()
  if (typed) yield* compiledRules(schema, { ...typed, ageOf })
  const items = itemSchema(schema)
  if (items) yield* compiledRulesIn(items, scope.items(items), ageOf)
  if (typeof additionalProperties === 'object') yield* compiledRulesIn(additionalProperties, scope.values(additionalProperties), ageOf)
  for (const [name, member] of Object.entries(properties)) yield* compiledRulesIn(member, scope.member(name, member), ageOf)
}
