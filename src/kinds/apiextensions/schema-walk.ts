/** Every schema inside a schema, and those of a definition. */
import { isObject } from '../../lib/json-value.ts'
import type { Spec } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'

/** The schema itself and every schema in it, however deep. */
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

/** Whether any schema of any version, however deep, is like that. */
export function anySchema(spec: Spec, isLikeThat: (schema: Schema) => boolean): boolean {
  for (const root of schemasOf(spec)) for (const schema of eachSchema(root)) if (isLikeThat(schema)) return true
  return false
}

/** Whether a schema, however deep, has rules. */
export function hasRules(root: Schema): boolean {
  for (const schema of eachSchema(root)) if (schema['x-kubernetes-validations']) return true
  return false
}

/** The one schema of all items, if there is one. */
export const itemSchema = ({ items }: Schema): Schema | undefined => (Array.isArray(items) ? undefined : items)

/** The schemas that only restrict what others describe. */
const restrictionsOf = ({ allOf = [], anyOf = [], oneOf = [], not }: Schema): Schema[] => [
  ...allOf,
  ...anyOf,
  ...oneOf,
  ...(not ? [not] : []),
]

function partsOf(schema: Schema): Schema[] {
  const { items, properties, additionalProperties, patternProperties, additionalItems, definitions, dependencies } = schema
  return [
    ...(Array.isArray(items) ? items : [items]),
    ...restrictionsOf(schema),
    ...Object.values(properties ?? {}),
    additionalProperties,
    ...Object.values(patternProperties ?? {}),
    additionalItems,
    ...Object.values(definitions ?? {}),
    ...Object.values(dependencies ?? {}),
  ].filter((part): part is Schema => isObject(part))
}
