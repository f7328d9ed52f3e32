/** The OpenAPI schema of a version, with its selectable fields. */
import type { JsonObject } from '../lib/json-value.ts'
import { publishedSchema } from '../structural/published.ts'
import type { VersionSchema } from './version-schema.ts'

export type Publishing = {
  readonly version: 2 | 3
  /** How the document refers to the metadata of objects. */
  readonly metadata: JsonObject
  readonly selectable: readonly { readonly jsonPath: string }[]
}

export function published({ structural, preserve }: VersionSchema, { version, metadata, selectable }: Publishing): JsonObject {
  if (preserve && version === 2) return { type: 'object' }
  const schema = publishedSchema(structural, { version, metadata })
  if (version === 2 || selectable.length === 0) return schema
  return { ...schema, 'x-kubernetes-selectable-fields': selectable.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, '') })) }
}
