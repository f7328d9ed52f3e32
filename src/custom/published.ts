/** A version's schema as OpenAPI tells it, with the envelope of all objects. */
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { VersionSchema } from './form.ts'

export type Publishing = {
  readonly dialect: 2 | 3
  readonly metadata: JsonObject
  readonly selectable: readonly { readonly jsonPath: string }[]
}

export function published({ structural }: VersionSchema, { metadata, selectable }: Publishing): JsonObject {
  const { properties = {}, ...source } = structural.source as unknown as JsonObject & { properties?: JsonObject }
  return {
    ...source,
    properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...properties, metadata },
    ...(selectable.length > 0 && {
      'x-kubernetes-selectable-fields': selectable.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, '') })) as unknown as Json,
    }),
  }
}
