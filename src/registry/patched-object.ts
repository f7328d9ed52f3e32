/** A patched document, read as an object again. */
import { goJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { ConformError } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { invalidObject, StatusError } from '../schema/status-error.ts'
import type { Fields } from '../schema/types.ts'
import { type Expected, otherCustomKind, warningsOf } from './decode.ts'
import { type FindKind, mistakenIdentity } from './identify.ts'
import type { FieldValidation } from './options.ts'
import { checkIdentity } from './replace.ts'
import type { Write } from './write-value.ts'

/** Problems of the patch itself, and how it is shown when the result is rejected. */
export type PatchProblems = { readonly problems: readonly string[]; readonly shown?: () => string }

/** Makes a patched document the object of a write. */
export function takePatched(write: Write, value: Json, patch: PatchProblems): void {
  const { findKind } = write.deps
  const { object, warnings } = conformPatched(write.kind, value, { validation: write.options.fieldValidation, findKind, ...patch })
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
  {
    problems,
    validation,
    findKind,
    shown,
  }: PatchProblems & { readonly validation: FieldValidation; readonly findKind: FindKind | undefined },
): { object: AnyObject; warnings: readonly string[] } {
  const refuse = (why: string) =>
    invalidObject({ group: '', kind: '' }, '', [invalid(refTo({ patch: shown ? shown() : textOf(value, expected) }).patch, why)])
  // Merged as values, the result is of the stored kind, whatever the patch says.
  if (shown === undefined && isObject(value)) {
    const mistake = expected.def?.custom ? mistakenCustom(expected, value) : mistakenType(expected, value, findKind)
    if (mistake instanceof StatusError) throw mistake
    if (mistake !== undefined) throw refuse(mistake)
  }
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

/** What is wrong with the type that a patched document says it is of. */
function mistakenType(expected: Expected, value: JsonObject, findKind: FindKind | undefined): string | undefined {
  for (const field of ['apiVersion', 'kind'])
    if (typeof (value[field] ?? '') !== 'string')
      return `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value[field]!)} into Go struct field .${field} of type string`
  const { apiVersion, kind } = value as { apiVersion?: string; kind?: string }
  return mistakenIdentity(expected, { apiVersion: apiVersion || expected.apiVersion, kind: kind || expected.kind }, findKind)
}

function mistakenCustom(expected: Expected, { kind, metadata }: JsonObject): StatusError | undefined {
  if (typeof kind !== 'string' || kind === '' || kind === expected.kind) return undefined
  return otherCustomKind(expected, kind, metadata)
}

/** The document as Kubernetes shows it: top-level fields by name, what is in them as declared; those of custom kinds by name all the way. */
function textOf(value: Json, { type, def }: Expected): string {
  if (!isObject(value) || def?.custom) return goJson(value)
  const { fields } = type.shape.kind === 'message' ? type.shape : NO_FIELDS
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${goJson(value[key]!, fields[key]?.[1] ?? 'given')}`)
  return `{${members.join(',')}}`
}
const NO_FIELDS: { readonly fields: Fields } = { fields: {} }
