/** Custom objects by their schema: pruned and coerced when they are decoded or read, validated when they are written. */
import type { JsonObject } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { type FieldError, type FieldErrors, refTo } from '../schema/refs.ts'
import { compileRules, evaluateRules } from './cel-rules.ts'
import { Correlation } from './correlation.ts'
import { type CoerceOptions, coerceEmbedded, validateEmbedded } from './embedded.ts'
import { NIL_PATH } from './failure.ts'
import { validateLists } from './list-types.ts'
import { dropNulls, prune } from './prune.ts'
import type { Structural } from './schema.ts'
import { validateValue } from './validate.ts'

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
  /** The stored object, on an update. */
  readonly old?: JsonObject | undefined
  /** Errors that were found before, in its metadata. */
  readonly found?: readonly FieldError[] | undefined
  /** Further errors, which come after those of the schema: the rules of the scale subresource. */
  readonly also?: readonly FieldError[]
  /** Takes the errors of unchanged parts, which are tolerated. */
  readonly warn?: (text: string) => void
  /** Whether only the status was written: then the schema is only applied to the status. */
  readonly subresource?: 'status' | undefined
  /** Whether the object may hold so much that others have to run during one kind of checks. */
  readonly isLarge?: boolean | undefined
}

/**
 * Yields the errors of a written custom object, in the order of kube-apiserver. Its own metadata is left to the caller. Others may run
 * between the kinds of checks, and between the values that rules are run on.
 */
export function* validateObject(
  structural: Structural,
  object: JsonObject,
  { budget, old, found: before = [], also = [], warn, subresource, isLarge }: ObjectChecks,
): FieldErrors {
  yield* compileRules(structural, object, budget)
  const correlation = old && new Correlation(structural, object, old)
  let isBlocked = before.some(blocksRules)
  for (const error of validateShape(structural, object, { budget, old, correlation, also, subresource, isLarge })) {
    if (error && blocksRules(error)) isBlocked = true
    yield error
  }
  if (!structural.has.rules) return
  if (isBlocked) yield RULES_BLOCKED
  else yield* evaluateRules(structural, object, { budget, old, correlation, warn })
}

type ShapeChecks = Pick<ObjectChecks, 'budget' | 'old' | 'subresource' | 'isLarge'> & {
  readonly also: readonly FieldError[]
  readonly correlation: Correlation | undefined
}

/** All checks but the rules. */
function* validateShape(structural: Structural, object: JsonObject, checks: ShapeChecks): FieldErrors {
  const { budget, old, correlation, also, subresource, isLarge } = checks
  const root = refTo<JsonObject>(object)
  if (subresource === 'status') yield* validateStatus(structural, object, checks)
  else yield* validateValue(structural, object, root, { budget, old: correlation, isLarge })
  yield* also
  if (subresource !== 'status') yield* validateEmbedded(structural, object, root)
  yield undefined
  yield* validateLists(structural, object, root, { budget, old })
  yield undefined
}

function* validateStatus(structural: Structural, object: JsonObject, { budget, correlation, isLarge }: ShapeChecks): FieldErrors {
  const schema = structural.properties.get('status')
  if (schema === undefined || !Object.hasOwn(object, 'status')) return
  const old = correlation?.key('status') ?? null
  yield* validateValue(schema, object.status!, refTo(object.status, 'status'), { budget, old, isLarge })
}

const blocksRules = ({ reason }: FieldError): boolean => BLOCKING.has(reason)

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
