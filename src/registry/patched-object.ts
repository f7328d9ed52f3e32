/** A patched document, read as an object again. */
import { goJson } from '../lib/go-text.ts'
import { isObject, type Json } from '../lib/json-value.ts'
import { ConformError } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { invalidObject } from '../schema/status-error.ts'
import { type Expected, warningsOf } from './decode.ts'
import type { FieldValidation } from './options.ts'
import { checkIdentity } from './replace.ts'
import type { Write } from './write.ts'

/** Problems of the patch itself, and how it is shown when the result is rejected. */
export type PatchProblems = { readonly problems: readonly string[]; readonly shown?: () => string }

/** Makes a patched document the object of a write. */
export function takePatched(write: Write, value: Json, patch: PatchProblems): void {
  const { object, warnings } = conformPatched(write.kind, value, { validation: write.options.fieldValidation, ...patch })
  checkIdentity(write.call, object)
  write.object = object
  write.warnings.push(...warnings)
}

/**
 * `problems` are those of the patch itself. Errors about the document show all of it, as in Kubernetes, or `shown`
 * instead where it was merged as values.
 */
function conformPatched(
  expected: Expected,
  value: Json,
  { problems, validation, shown }: PatchProblems & { readonly validation: FieldValidation },
): { object: AnyObject; warnings: readonly string[] } {
  const refuse = (why: string) =>
    invalidObject({ group: '', kind: '' }, '', [invalid(refTo({ patch: shown ? shown() : goJson(sorted(value), 'given') }).patch, why)])
  try {
    const { value: object, problems: unknown } = conformObject(expected, value)
    const all = [...problems, ...unknown]
    if (all.length > 0 && validation === 'Strict') throw refuse(`strict decoding error: ${all.join(', ')}`)
    object.kind = expected.kind
    object.apiVersion = expected.apiVersion
    return { object, warnings: validation === 'Warn' ? warningsOf(all) : [] }
  } catch (error) {
    if (error instanceof ConformError) throw refuse(shown === undefined ? error.message : error.converting)
    throw error
  }
}

/** Top-level fields by name, as Kubernetes shows a patched document. */
const sorted = (value: Json): Json =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
