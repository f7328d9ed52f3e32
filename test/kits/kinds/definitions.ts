/** Definitions for tests, in the style of those that people install. */
import type { Schema } from '../../../src/kinds/apiextensions/json-schema.ts'

/** A definition of widgets with one version. */
export function widgets(schema: object = {}, more: { spec?: object; version?: object; metadata?: object } = {}) {
  return {
    metadata: { name: 'widgets.example.com', ...more.metadata },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', ...schema } }, ...more.version }],
      ...more.spec,
    },
  }
}

/** As widgets, with a schema of the spec. */
export const widgetsWith = (spec: Schema, more: Parameters<typeof widgets>[1] = {}) => widgets({ properties: { spec } }, more)
