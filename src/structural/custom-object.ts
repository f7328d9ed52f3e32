/** What a custom object goes through: its form when it is decoded or read, its defaults, and all that is asked of it when written. */
import type { JsonObject } from '../lib/json-value.ts'
import { type FieldError, refTo } from '../schema/refs.ts'
import { judgeByRules } from './cel-rules.ts'
import { Correlation } from './correlation.ts'
import { type CoerceOptions, coerceEmbedded, validateEmbedded } from './embedded.ts'
import { NIL_PATH } from './failure.ts'
import { validateLists } from './list-types.ts'
import { dropNulls, prune } from './prune.ts'
import type { Structural } from './schema.ts'
import { validateValue } from './validate.ts'

/**
 * A custom object in the form its schema gives it: without unknown fields and nulls that mean nothing, embedded objects in proper
 * form. Its own metadata is left to the caller. Throws ConformError for an embedded envelope that cannot be read.
 */
export function conformObject(
  structural: Structural,
  object: JsonObject,
  { problems, malformed, preserve = false }: CoerceOptions & { readonly preserve?: boolean } = {},
): JsonObject {
  const known = preserve ? object : dropNulls(structural, prune(structural, object, problems ? { problems } : {}))
  return coerceEmbedded(structural, known, { ...(problems ? { problems } : {}), ...(malformed ? { malformed } : {}) })
}

export type ObjectChecks = {
  /** What was stored, on an update. */
  readonly old?: JsonObject
  /** What else is wrong, told after the schema's findings: the rules of the scale subresource. */
  readonly also?: readonly FieldError[]
  /** Takes what is wrong with unchanged parts and tolerated. */
  readonly warn?: (text: string) => void
  /** Whether only the status was written: then the schema speaks about the status alone. */
  readonly subresource?: 'status'
}

/** All that is wrong with a written custom object, in the order in which Kubernetes tells it. Its own metadata is left to the caller. */
export const validateObject = (structural: Structural, object: JsonObject, checks: ObjectChecks = {}): FieldError[] => [
  ...objectErrors(structural, object, checks),
]

/** The same, rule by rule. */
export function* objectErrors(
  structural: Structural,
  object: JsonObject,
  { old, also = [], warn, subresource }: ObjectChecks = {},
): Iterable<FieldError> {
  const correlation = old && new Correlation(structural, object, old)
  const root = refTo<JsonObject>(object)
  const isStatus = subresource === 'status'
  const errors = [
    ...(isStatus ? statusErrors(structural, object, correlation) : validateValue(structural, object, root, correlation)),
    ...also,
    ...(isStatus ? [] : validateEmbedded(structural, object, root)),
    ...validateLists(structural, object, root, old),
  ]
  yield* errors
  if (!structural.has.rules) return
  if (errors.some(error => BLOCKING.has(error.reason))) return yield RULES_BLOCKED
  const found = judgeByRules(structural, object, old, correlation)
  if (warn) for (const warning of found.warnings) warn(warning)
  yield* found.errors
}

function statusErrors(structural: Structural, object: JsonObject, correlation: Correlation | undefined): FieldError[] {
  const schema = structural.properties.get('status')
  if (schema === undefined || !Object.hasOwn(object, 'status')) return []
  return validateValue(schema, object.status!, refTo(object.status, 'status'), correlation?.key('status') ?? null)
}

const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** Stands for rules which were not run, as what else is wrong keeps them from making sense. */
const RULES_BLOCKED: FieldError = {
  reason: 'FieldValueInvalid',
  field: NIL_PATH,
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
}
