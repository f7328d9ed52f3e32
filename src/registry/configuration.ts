/** The configuration of an apply: a manager's whole intent, merged into the object. */
import { APPLY_CBOR_PATCH, CborError, CborTypeError } from '../codec/cbor.ts'
import { cborTypeName, decodeCbor } from '../codec/cbor-decode.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import { type Applied, applyConfiguration } from '../patch/apply.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { Body } from './api.ts'
import { transcodedOf } from './decode.ts'
import type { WriteOptions } from './options.ts'
import { ownedWrite } from './ownership.ts'
import { takePatched } from './patched-object.ts'
import { type Limited, valueLimitsOf } from './value-limits.ts'
import type { Write } from './write-value.ts'

/** Merges a configuration into the stored object, if there is one: the object of the write, and the managers of its fields. */
export function* mergeConfiguration(write: Write, { applied, strictError }: Configuration): Step<void> {
  const { kind, old, options } = write
  const live = old as unknown as JsonObject | undefined
  const { type, versions, blank, resetFields, writer } = ownedWrite(write)
  // No spread, for the reason that `ownedWrite` gives.
  const apply = { type, versions, blank, resetFields, writer, kind: kind.kind, live, applied, force: options.force === true }
  const outcome = yield* applyConfiguration(apply)
  if (!outcome.ok) throw refusedApply(outcome)
  write.managers = outcome.managedFields
  const problems = strictProblems(strictError, options)
  yield
  takePatched(write, outcome.object, { problems })
}

/** How a configuration that was not applied is answered. */
const refusedApply = (refused: Exclude<Applied, { ok: true }>): StatusError =>
  refused.reason === 'invalid' ? badRequest(refused.message) : new StatusError(409, 'Conflict', refused.message, { causes: refused.causes })

export type Configuration = { readonly applied: JsonObject; readonly strictError: string | undefined }

/** The configuration of an apply, in YAML, JSON or CBOR; nothing at all is an empty one. */
export function readConfiguration(kind: Limited, body: Body): Configuration {
  if (body.object) return { applied: body.object.take(), strictError: undefined }
  if (body.mediaType === APPLY_CBOR_PATCH) return { applied: readCborConfiguration(kind, body.bytes), strictError: undefined }
  const { value, strictError } = transcodedOf(kind, body, why => badRequest(`error encoding patch: ${why}`))
  if (value === null) return { applied: {}, strictError }
  if (!isObject(value))
    throw undecodable(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`,
    )
  return { applied: value, strictError }
}

function readCborConfiguration(kind: Limited, bytes: Uint8Array): JsonObject {
  const value = decodedCbor(kind, bytes)
  if (value === null) return {}
  if (isObject(value)) return value
  throw undecodable(new CborTypeError({ sent: cborTypeName(bytes), expected: 'map[string]interface {}' }).message)
}

function decodedCbor(kind: Limited, bytes: Uint8Array): Json {
  try {
    return decodeCbor(bytes, { limit: valueLimitsOf(kind).decoded })
  } catch (error) {
    if (error instanceof CborError) throw undecodable(error.message)
    throw error
  }
}

const undecodable = (why: string) => badRequest(`error decoding patch: ${why}`)

/** Duplicate fields of a configuration. Strict requests are rejected for them. */
function strictProblems(strictError: string | undefined, { fieldValidation }: WriteOptions): string[] {
  if (strictError === undefined) return []
  const problem = `error converting YAML to JSON: ${strictError}`
  if (fieldValidation === 'Strict') throw badRequest(`error strict decoding patch: ${problem}`)
  return [problem]
}
