/** The body of a patch, and the stored object with its changes made to it. `configuration.ts` does the same for an apply. */
import { APPLY_CBOR_PATCH } from '../codec/cbor.ts'
import type { ValueLimit } from '../codec/decoded-size.ts'
import { JsonError, parseJson, stringifyJson } from '../codec/json.ts'
import { goPrint, goQuote } from '../lib/go-text.ts'
import { type Duplicate, isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'
import { NumberRangeError, settleNumbers } from '../lib/written-number.ts'
import { applyJsonPatch, PatchError, parseJsonPatch } from '../patch/json-patch.ts'
import { applyMergePatch } from '../patch/merge-patch.ts'
import { strategicMerge } from '../patch/strategic-merge.ts'
import { badRequest, StatusError, tooLarge, unprocessable, unsupportedMediaType } from '../schema/status-error.ts'
import type { Body } from './api.ts'
import type { Expected } from './decode.ts'
import { type PatchProblems, takePatched } from './patched-object.ts'
import type { Request } from './request.ts'
import { type Limited, valueLimitsOf } from './value-limits.ts'
import type { Write } from './write-value.ts'

const JSON_PATCH = 'application/json-patch+json'
const MERGE_PATCH = 'application/merge-patch+json'
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json'
const APPLY_PATCH = 'application/apply-patch+yaml'
export const PATCH_TYPES: readonly string[] = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]

/** Custom kinds have no strategic merge patch: their schemas declare no merge strategies. */
export const CUSTOM_PATCH_TYPES: readonly string[] = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]

/** The body of a patch, whose media type names the type of patch. Throws for unknown types; CBOR is behind a gate that http/ knows. */
export function patchBody({ call: { resource }, body = NO_PATCH }: Request): { readonly body: Body; readonly isApply: boolean } {
  const { mediaType } = body
  if (mediaType === APPLY_CBOR_PATCH) return { body, isApply: true }
  if (resource.def.custom && !CUSTOM_PATCH_TYPES.includes(mediaType)) throw unsupportedMediaType(CUSTOM_PATCH_TYPES)
  if (!PATCH_TYPES.includes(mediaType)) throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
  return { body, isApply: mediaType === APPLY_PATCH }
}
const NO_PATCH: Body = { mediaType: '', bytes: new Uint8Array() }

/** Makes a patch to the stored object, as an object of the write's kind. */
export function* mergePatch(write: Write, body: Body): Step<void> {
  const patched = yield* patchValue(write.kind, body, write.old as unknown as Json)
  yield
  takePatched(write, patched.value, patched)
}

type Patched = PatchProblems & { readonly value: Json }

function* patchValue(expected: Expected, body: Body, stored: Json): Step<Patched> {
  const { mediaType } = body
  if (mediaType === JSON_PATCH) return yield* patchByOperations(expected, body, stored)
  const { value: changes, duplicates } = parsePatch(body, valueLimitsOf(expected).decoded)
  yield
  if (changes === null && mediaType === MERGE_PATCH) throw badRequest('Invalid JSON Patch')
  if (changes === null) return { value: stored, problems: [], shown: () => goPrint({}) }
  if (!isObject(changes))
    throw badRequest(
      `${mediaType === MERGE_PATCH ? 'error decoding patch: ' : ''}json: cannot unmarshal ${jsonTypeName(changes)} into Go value of type map[string]interface {}`,
    )
  const problems = duplicates.map(d => `duplicate field ${goQuote(d.path)}`)
  const values = settled(changes, { prefix: mediaType === MERGE_PATCH ? 'error decoding patch: ' : '' })
  if (mediaType === MERGE_PATCH) return { value: applyMergePatch(stored, expected.def?.custom ? values : changes), problems }
  return { value: mergeStrategically(expected, stored, values), problems, shown: () => goPrint(values) }
}

function mergeStrategically({ type }: Expected, stored: Json, changes: JsonObject): Json {
  const merged = strategicMerge(type, stored as JsonObject, changes)
  if (merged.ok) return merged.object
  throw merged.code === 400 ? badRequest(merged.message) : unprocessable()
}

function* patchByOperations(expected: Expected, body: Body, stored: Json): Step<Patched> {
  const { value: document, duplicates } = parsePatch(body, operationsLimit(expected))
  yield
  const values = settled(document, { prefix: 'error decoding patch: ', into: 'Go struct field jsonPatchOp.value' })
  try {
    const { operations, unknownFields } = parseJsonPatch(expected.def?.custom ? values : document)
    if (operations.length > LIMITS.patchOperations)
      throw tooLarge(`The allowed maximum operations in a JSON patch is ${LIMITS.patchOperations}, got ${operations.length}`)
    const problems = [
      ...unknownFields.map(path => `json patch unknown field ${goQuote(path)}`),
      ...duplicates.map(d => `json patch duplicate field ${goQuote(d.path)}`),
    ]
    return { value: yield* applyOperations(stored, operations), problems }
  } catch (error) {
    if (error instanceof PatchError) throw badRequest(`error decoding patch: ${error.message}`)
    throw error
  }
}

function* applyOperations(stored: Json, operations: Parameters<typeof applyJsonPatch>[1]): Step<Json> {
  try {
    return yield* applyJsonPatch(stored, operations)
  } catch (error) {
    if (error instanceof PatchError) throw unprocessable()
    throw error
  }
}

/** A patch with values for its numbers, which must be ones that exist. Whether a field takes `1.0` is decided when the merged object is read. */
function settled<V extends Json>(changes: V, { prefix, into }: { prefix: string; into?: string }): V {
  try {
    return settleNumbers(changes, into) as V
  } catch (error) {
    if (error instanceof NumberRangeError) throw badRequest(`${prefix}${error.message}`)
    throw error
  }
}

/** A patch as JSON without the white space between its values. Throws for one that is no JSON. */
export const patchText = (kind: Limited, body: Body): string => stringifyJson(parsePatch(body, operationsLimit(kind)).value)

/** As many operations as there may be hold more values than other bodies. */
function operationsLimit(kind: Limited): ValueLimit {
  const { values, keyWeight } = valueLimitsOf(kind).decoded
  return { values: values + OPERATION_VALUES * LIMITS.patchOperations, keyWeight }
}
/** An operation with its members. */
const OPERATION_VALUES = 5

/** Each caller gets a value of its own, as the patched object is made of its parts. */
function parsePatch({ bytes, object }: Body, limit: ValueLimit): { readonly value: Json; readonly duplicates: readonly Duplicate[] } {
  if (object) return { value: object.take(), duplicates: [] }
  try {
    return parseJson(bytes, { numbers: 'written', limit })
  } catch (error) {
    if (error instanceof JsonError) throw badRequest('invalid JSON patch')
    throw error
  }
}
