/** Rules on the expressions of schemas: they compile, are true or false, and are cheap enough for as many values as there can be. */
import type { FieldError, Ref } from '../../schema/refs.ts'
import type { Schema } from './json-schema.ts'
import type { Strictness } from './strictness.ts'

/** What is known of the values that expressions at a place are about. */
export type ExpressionScope = {
  member(name: string, schema: Schema): ExpressionScope
  values(schema: Schema): ExpressionScope
  items(schema: Schema): ExpressionScope
}

/** The scope of a whole object. */
export function rootScope(_schema: Schema): ExpressionScope {
  const scope: ExpressionScope = { member: () => scope, values: () => scope, items: () => scope }
  return scope
}

type Looking = { readonly scope: ExpressionScope; readonly strict: Strictness; readonly uncorrelated: string | undefined }

/** Rules on the expressions of one schema. */
export function* validateExpressions(_schema: Schema, _at: Ref<Schema>, _looking: Looking): Iterable<FieldError> {}

/** Rules on the cost of all expressions together. */
export function* validateTotalCost(_scope: ExpressionScope, _at: Ref<Schema>): Iterable<FieldError> {}
