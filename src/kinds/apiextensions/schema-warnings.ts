/** What is allowed in schemas of custom kinds and yet does not do what it seems to. */
import { compareText, goQuote } from '../../lib/go-text.ts'
import { isKnownFormat } from '../../structural/formats.ts'
import type { Spec } from './definition-shapes.ts'
import type { Schema } from './json-schema.ts'
import { layoutOf } from './layout.ts'
import { eachSchema, itemSchema } from './schema-walk.ts'

/** Warns about formats that nobody checks and sets that cannot be merged, unless the stored definition has them already. */
export function* warnAboutSchemas(spec: Spec, old: Spec | undefined): Iterable<string> {
  const known = new Set(old ? unknownFormats(old) : [])
  for (const format of unknownFormats(spec)) if (!known.has(format)) yield `unrecognized format ${goQuote(format)}`
  const unmerged = new Set(old ? unmergedSets(old) : [])
  for (const warning of unmergedSets(spec)) if (!unmerged.has(warning)) yield warning
}

function unknownFormats(spec: Spec): string[] {
  return everySchema(spec).flatMap(({ format, type }) => (format && !isKnownFormat(format, type ? [type] : []) ? [format] : []))
}

function unmergedSets(spec: Spec): string[] {
  const types = everySchema(spec).flatMap(schema => {
    const type = schema['x-kubernetes-list-type'] === 'set' ? itemSchema(schema)?.type : undefined
    return type === 'object' || type === 'array' ? [type] : []
  })
  const warnings = [...new Set(types)].map(
    type => `x-kubernetes-list-type: set for items of type "${type}" is not supported by server-side apply or CEL validation rules`,
  )
  return warnings.sort(compareText)
}

/** The schemas that all versions share count once. */
function everySchema(spec: Spec): Schema[] {
  const { shared, versions } = layoutOf(spec)
  return [shared, ...versions].flatMap(({ schema }) => [...eachSchema(schema?.openAPIV3Schema)])
}
