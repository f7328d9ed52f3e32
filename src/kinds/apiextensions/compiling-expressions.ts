/** Compiles the expressions and patterns of a definition ahead of its validation: there can be thousands. */
import { expressionWork } from '../../schema/rule-work.ts'
import { compiledRules } from '../../structural/compile-rules.ts'
import type { Spec } from './definition-shapes.ts'
import { ageIn } from './expression-rules.ts'
import { type ExpressionScope, rootScope } from './expression-scope.ts'
import type { Schema } from './json-schema.ts'
import { PatternChecks } from './pattern-fault.ts'
import { expressionsOf } from './ratcheting.ts'
import { eachSchema, hasRules, itemSchema, schemasOf } from './schema-walk.ts'
import { structuralFault } from './structural-rules.ts'

/** Stops after each. Validation does not compile them again. */
export function* compilingExpressions(spec: Spec, old: Spec | undefined): Iterable<void> {
  const ageOf = ageIn(old ? expressionsOf(old) : { rules: new Set(), messages: new Set() })
  const patterns = new PatternChecks()
  for (const root of schemasOf(spec)) {
    for (const schema of eachSchema(root)) if (patterns.add(schema)) yield
    if (hasRules(root) && structuralFault(root) === undefined) yield* compilingRules(root, rootScope(root), ageOf)
  }
}

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

function* compilingRules(schema: Schema, scope: ExpressionScope, ageOf: ReturnType<typeof ageIn>): Iterable<void> {
  const { properties = {}, additionalProperties } = schema
  const typed = schema['x-kubernetes-validations'] && scope.typed()
  if (typed) for (const _ of compiledRules(schema, { ...typed, ageOf })) yield
  const items = itemSchema(schema)
  if (items) yield* compilingRules(items, scope.items(items), ageOf)
  if (typeof additionalProperties === 'object') yield* compilingRules(additionalProperties, scope.values(additionalProperties), ageOf)
  for (const [name, member] of Object.entries(properties)) yield* compilingRules(member, scope.member(name, member), ageOf)
}
