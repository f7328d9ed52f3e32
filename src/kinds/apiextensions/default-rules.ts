/** Rules on defaults in schemas: each is a value that its schema describes and allows. */
import { deepEqual, type Json } from '../../lib/json-value.ts'
import { entry, type FieldError, invalid, type Ref } from '../../schema/refs.ts'
import { prune } from '../../structural/prune.ts'
import { compileSchema, type Structural } from '../../structural/schema.ts'
import type { Schema } from './json-schema.ts'
import { eachSchema, itemSchema } from './schema-walk.ts'
import { isStructural } from './structural-rules.ts'

/** What is wrong with the defaults of a structural schema. */
export function validateDefaults(schema: Schema, at: Ref<Schema>, pruned: boolean): FieldError[] {
  if (!hasDefaults(schema)) return []
  return [...validateBelow(schema, compileSchema({ ...schema, 'x-kubernetes-embedded-resource': true }), at, pruned)]
}

function* validateBelow(schema: Schema, compiled: Structural, at: Ref<Schema>, pruned: boolean): Iterable<FieldError> {
  if (schema.default !== undefined) yield* validateDefault(schema.default, compiled, { at, pruned })
  const item = itemSchema(schema)
  if (item) yield* validateBelow(item, compiled.items!, at.items as Ref<Schema>, pruned)
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    yield* validateBelow(member, compiled.properties.get(name)!, entry(at.properties, name), pruned)
}

function* validateDefault(value: Json, compiled: Structural, { at, pruned }: { at: Ref<Schema>; pruned: boolean }): Iterable<FieldError> {
  if (pruned && !deepEqual(prune(compiled, value, { root: compiled.embedded }), value))
    yield invalid(at.default as Ref<any>, 'must not have unknown fields')
}

const hasDefaults = (schema: Schema) => {
  for (const part of eachSchema(schema)) if (part.default !== undefined) return true
  return false
}

/** Whether a default has fields that its schema does not know. */
export function hasUnprunedDefaults(schema: Schema): boolean {
  if (!hasDefaults(schema) || !isStructural(schema)) return false
  return hasUnprunedBelow(schema, compileSchema(schema))
}

function hasUnprunedBelow(schema: Schema, compiled: Structural): boolean {
  const { default: value } = schema
  if (value !== undefined && !deepEqual(prune(compiled, value, { root: compiled.embedded }), value)) return true
  const item = itemSchema(schema)
  if (item && hasUnprunedBelow(item, compiled.items!)) return true
  return Object.entries(schema.properties ?? {}).some(([name, member]) => hasUnprunedBelow(member, compiled.properties.get(name)!))
}
