/** A patched document, read as an object again. */
import { goJsonChanged, goShown, goShownJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { ConformError } from '../schema/conform.ts'
import { conformObject } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { invalid, refTo } from '../schema/refs.ts'
import { invalidObject, StatusError } from '../schema/status-error.ts'
import { type FindKind, mistakenKind } from './claimed-kind.ts'
import { type Expected, otherCustomKind, warningsOf } from './decode.ts'
import { checkIdentity } from './identity.ts'
import type { FieldValidation } from './options.ts'
import type { Write } from './write-value.ts'

/** Problems of the patch itself, and how it is shown when the result is rejected. */
export type PatchProblems = { readonly problems: readonly string[]; readonly shown?: (() => string) | undefined }

/** Makes a patched document the object of a write. */
export function takePatched(write: Write, value: Json, { problems, shown }: PatchProblems): void {
  const { findKind } = write.deps
  const { old, options } = write
  const stored = old as unknown as JsonObject | undefined
  const reading = { validation: options.fieldValidation, findKind, stored, problems, shown }
  const { object, warnings } = conformPatched(write.kind, value, reading)
  write.warnings.push(...warnings)
  checkIdentity(write.call, object)
  write.object = object
}

type Reading = { readonly validation: FieldValidation; readonly findKind: FindKind | undefined; readonly stored: JsonObject | undefined }

/**
 * `problems` are those of the patch itself. Errors about the document show all of it, as in Kubernetes, or `shown`
 * instead where it was merged as values.
 */
function conformPatched(
  expected: Expected,
  value: Json,
  { problems, validation, findKind, stored, shown }: PatchProblems & Reading,
): { object: AnyObject; warnings: readonly string[] } {
  const refuse = (why: string) =>
    invalidObject({ group: '', kind: '' }, '', [invalid(refTo({ patch: shown ? shown() : textOf(value, stored, expected) }).patch, why)])
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

/** The mistake of a patched document that claims another kind; undefined where it claims the right one. */
function mistakenType(expected: Expected, value: JsonObject, findKind: FindKind | undefined): string | undefined {
  const mistyped = mistakenField(value)
  if (mistyped !== undefined) return mistyped
  const { apiVersion, kind } = value as { apiVersion?: string; kind?: string }
  return mistakenKind(expected, { apiVersion: apiVersion || expected.apiVersion, kind: kind || expected.kind }, findKind)
}

export function mistakenField(value: JsonObject): string | undefined {
  const field = ['apiVersion', 'kind'].find(name => typeof (value[name] ?? '') !== 'string')
  return field === undefined
    ? undefined
    : `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeName(value[field]!)} into Go struct field .${field} of type string`
}

/** The same for a custom object, which has to name its kind. */
function mistakenCustom(expected: Expected, value: JsonObject): StatusError | string | undefined {
  const mistyped = mistakenField(value)
  if (mistyped !== undefined) return mistyped
  const { apiVersion = '', kind = '', metadata } = value as { apiVersion?: string; kind?: string; metadata?: Json }
  if (kind === '') return `Object 'Kind' is missing in '${goShownJson(value)}'`
  if (kind !== expected.kind) return otherCustomKind(expected, kind, metadata)
  if (apiVersion === expected.apiVersion || apiVersion === '') return undefined
  const group = apiVersion.slice(0, Math.max(0, apiVersion.lastIndexOf('/')))
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''
  return invalidObject({ group, kind }, name, [invalid(refTo({ apiVersion }).apiVersion, `must be ${expected.apiVersion}`)])
}

/** The document as Kubernetes shows it; documents of custom kinds have their fields by name all the way. */
function textOf(value: Json, stored: JsonObject | undefined, { type, def }: Expected): string {
  return !isObject(value) || def?.custom ? goShownJson(value) : goShown(value, shown => goJsonChanged(shown, stored, type))
}
