/** Custom objects by their schema: pruned and coerced when they are decoded or read, validated when they are written. */
import type { InParts } from '../lib/in-parts.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { type FieldError, refTo } from '../schema/refs.ts'
import { evaluatingRules } from './cel-rules.ts'
import { Correlation } from './correlation.ts'
import { type CoerceOptions, coerceEmbedded, validateEmbedded } from './embedded.ts'
import { NIL_PATH } from './failure.ts'
import { validateLists } from './list-types.ts'
import { dropNulls, prune } from './prune.ts'
import type { Structural } from './schema.ts'
import { validatingValue } from './validate.ts'

/**
 * A custom object without unknown fields and without nulls that its schema does not allow, the metadata of embedded objects read as
 * ObjectMeta. Its own metadata is left to the caller. Throws ConformError for embedded metadata that cannot be read.
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
  /** The work that all checks may cost. */
  readonly budget: Budget
  /** What was stored, on an update. */
  readonly old?: JsonObject
  /** Errors that were found before, in its metadata. */
  readonly found?: readonly FieldError[] | undefined
  /** Further errors, which come after those of the schema: the rules of the scale subresource. */
  readonly also?: readonly FieldError[]
  /** Takes what is wrong with unchanged parts and tolerated. */
  readonly warn?: (text: string) => void
  /** Whether only the status was written: then the schema is only applied to the status. */
  readonly subresource?: 'status'
}

/**
 * All that is wrong with a written custom object, in the order of kube-apiserver. Its own metadata is left to the caller. Stops between
 * the kinds of checks, and between the values that rules are run on.
 */
export function* validatingObject(
  structural: Structural,
  object: JsonObject,
  { budget, old, found: before = [], also = [], warn, subresource }: ObjectChecks,
): InParts<FieldError[]> {
  const correlation = old && new Correlation(structural, object, old)
  const root = refTo<JsonObject>(object)
  const isStatus = subresource === 'status'
  const ofSchema = isStatus
    ? statusErrors(structural, object, { budget, correlation })
    : validatingValue(structural, object, root, { budget, old: correlation })
  const errors = [...(yield* ofSchema), ...also, ...(isStatus ? [] : validateEmbedded(structural, object, root))]
  yield
  errors.push(...validateLists(structural, object, root, { budget, old }))
  yield
  if (!structural.has.rules) return errors
  const blocks = ({ reason }: FieldError) => BLOCKING.has(reason)
  if (before.some(blocks) || errors.some(blocks)) return [...errors, RULES_BLOCKED]
  const found = yield* evaluatingRules(structural, object, { budget, old, correlation })
  if (warn) for (const warning of found.warnings) warn(warning)
  return [...errors, ...found.errors]
}

type StatusChecks = { readonly budget: Budget; readonly correlation: Correlation | undefined }

function* statusErrors(structural: Structural, object: JsonObject, { budget, correlation }: StatusChecks): InParts<FieldError[]> {
  const schema = structural.properties.get('status')
  if (schema === undefined || !Object.hasOwn(object, 'status')) return []
  const old = correlation?.key('status') ?? null
  return yield* validatingValue(schema, object.status!, refTo(object.status, 'status'), { budget, old })
}

const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

/** Reported instead of the rules where other errors keep them from running. */
const RULES_BLOCKED: FieldError = {
  reason: 'FieldValueInvalid',
  field: NIL_PATH,
  message:
    'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
}
