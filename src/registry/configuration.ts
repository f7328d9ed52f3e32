/** The configuration of an apply: a manager's whole intent, merged into the object. */
import { isObject, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import { type Applied, applyConfiguration } from '../patch/apply.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { Body } from './api.ts'
import { transcodedOf } from './decode.ts'
import type { WriteOptions } from './options.ts'
import { ownedWrite } from './ownership.ts'
import { takePatched } from './patched-object.ts'
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

/** The configuration of an apply, in YAML or JSON; nothing at all is an empty one. */
export function readConfiguration(body: Body): Configuration {
  const { value, strictError } = transcodedOf(body, why => badRequest(`error encoding patch: ${why}`))
  if (value === null) return { applied: {}, strictError }
  if (!isObject(value))
    throw undecodable(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`,
    )
  return { applied: value, strictError }
}

const undecodable = (why: string) => badRequest(`error decoding patch: ${why}`)

/** Duplicate fields of a configuration. Strict requests are rejected for them. */
function strictProblems(strictError: string | undefined, { fieldValidation }: WriteOptions): string[] {
  if (strictError === undefined) return []
  const problem = `error converting YAML to JSON: ${strictError}`
  if (fieldValidation === 'Strict') throw badRequest(`error strict decoding patch: ${problem}`)
  return [problem]
}
