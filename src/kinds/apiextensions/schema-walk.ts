/** Traverses the schemas inside a schema, and those of a definition. */
import { isObject } from '../../lib/json-value.ts'
import type { Spec } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'

/** The schema itself and every nested one. */
export function* eachSchema(schema: Schema | undefined): Iterable<Schema> {
  const open: (Schema | undefined)[] = [schema]
  for (let next = open.pop(); open.length > 0 || next; next = open.pop()) {
    if (!next) continue
    yield next
    const parts = partsOf(next)
    for (let i = parts.length - 1; i >= 0; i--) open.push(parts[i])
  }
}

/** The schemas of all versions. */
export function* schemasOf({ versions }: Spec): Iterable<Schema> {
  for (const { schema } of versions ?? []) if (schema?.openAPIV3Schema) yield schema.openAPIV3Schema
}

/** Whether the predicate holds for any schema of any version, nested ones included. */
export function anySchema(spec: Spec, isLikeThat: (schema: Schema) => boolean): boolean {
  for (const root of schemasOf(spec)) for (const schema of eachSchema(root)) if (isLikeThat(schema)) return true
  return false
}

/** Whether a schema or a nested one has rules. */
export function hasRules(root: Schema): boolean {
  for (const schema of eachSchema(root)) if (schema['x-kubernetes-validations']) return true
  return false
}

/** The schema of all items, if there is one. */
export const itemSchema = ({ items }: Schema): Schema | undefined => (Array.isArray(items) ? undefined : items)

/** The schemas directly inside a schema. Most have none, and there can be tens of thousands, so only keywords that are set are visited. */
function partsOf(schema: Schema): readonly Schema[] {
  const { items, allOf, anyOf, oneOf, not, properties, additionalProperties } = schema
  const { patternProperties, additionalItems, definitions, dependencies } = schema
  const parts: unknown[] = []
  if (Array.isArray(items)) parts.push(...items)
  else if (items) parts.push(items)
  if (allOf) parts.push(...allOf)
  if (anyOf) parts.push(...anyOf)
  if (oneOf) parts.push(...oneOf)
  if (not) parts.push(not)
  if (properties) for (const name of Object.keys(properties)) parts.push(properties[name])
  if (additionalProperties) parts.push(additionalProperties)
  if (patternProperties) parts.push(...Object.values(patternProperties))
  if (additionalItems) parts.push(additionalItems)
  if (definitions) parts.push(...Object.values(definitions))
  if (dependencies) parts.push(...Object.values(dependencies))
  if (parts.length === 0) return NO_PARTS
  return parts.every(isObject) ? (parts as Schema[]) : (parts.filter(part => isObject(part)) as Schema[])
}

const NO_PARTS: readonly Schema[] = []
