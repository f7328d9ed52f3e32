/** Rules for defaults in schemas: each must be valid by its schema. */
import { deepEqual, type Json, type JsonObject, setOwn } from '../../lib/json-value.ts'
import type { Budget } from '../../schema/budget.ts'
import { ConformError } from '../../schema/conform.ts'
import { entry, errorsOf, type FieldError, invalid, pathOf, type Ref, refTo } from '../../schema/refs.ts'
import { RuleEvaluator } from '../../structural/cel-rules.ts'
import { coerceEmbedded, validateEmbedded } from '../../structural/embedded.ts'
import { prune } from '../../structural/prune.ts'
import { compileSchema, type Structural } from '../../structural/schema.ts'
import { validateValue } from '../../structural/validate.ts'
import type { Schema } from './json-schema.ts'
import { eachSchema, itemSchema } from './schema-walk.ts'
import { isStructural } from './structural-rules.ts'

export type DefaultChecks = {
  /** Defaults must have no fields that are unknown to their schema. */
  readonly pruned: boolean
  readonly budget: Budget
}

/** The errors of a structural schema's defaults. */
export function validateDefaults(schema: Schema, at: Ref<Schema>, { pruned, budget }: DefaultChecks): FieldError[] {
  if (!hasDefaults(schema)) return []
  const root = compileSchema({ ...schema, 'x-kubernetes-embedded-resource': true })
  const rules = new RuleEvaluator(budget)
  const position: Position = { pruned, budget, rules, inMetadata: undefined, root: { schema: root, around: wholeObject } }
  return [...validateBelow(schema, root, at, position)]
}

/** The position of a default in the schema. */
type Position = DefaultChecks & {
  /** Evaluates the CEL rules of its schema. */
  readonly rules: RuleEvaluator
  /**
   * The schema of the innermost whole object around it, and a function that wraps a value at the position of the default in such an object.
   */
  readonly root: { readonly schema: Structural; readonly around: (value: Json) => JsonObject }
  /** Within apiVersion, kind or metadata of that object. */
  readonly inMetadata: true | undefined
}

const wholeObject = (value: Json): JsonObject => ({ apiVersion: 'validation/v1', kind: 'Validation', ...(value as JsonObject) })

function* validateBelow(schema: Schema, compiled: Structural, at: Ref<Schema>, above: Position): Iterable<FieldError> {
  const position: Position = compiled.embedded
    ? { ...above, inMetadata: undefined, root: { schema: compiled, around: wholeObject } }
    : above
  if (schema.default !== undefined) yield* validateDefault(schema.default, compiled, at.default as Ref<any>, position)
  const { schema: root, around } = position.root
  const item = itemSchema(schema)
  const inItem = { ...position, root: { schema: root, around: (value: Json) => around([value]) } }
  if (item) yield* validateBelow(item, compiled.items!, at.items as Ref<Schema>, inItem)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const inMetadata = position.inMetadata ?? (compiled.embedded && ENVELOPE.has(name) ? true : undefined)
    const inMember: Position = { ...position, inMetadata, root: { schema: root, around: value => around(objectOf(name, value)) } }
    yield* validateBelow(member, compiled.properties.get(name)!, entry(at.properties, name), inMember)
  }
}

const ENVELOPE: ReadonlySet<string> = new Set(['metadata', 'apiVersion', 'kind'])

function objectOf(name: string, value: Json): JsonObject {
  const object: JsonObject = {}
  setOwn(object, name, value)
  return object
}

function* validateDefault(
  value: Json,
  schema: Structural,
  at: Ref<any>,
  { pruned, budget, rules, inMetadata, root }: Position,
): Iterable<FieldError> {
  if (!inMetadata && pruned && !isPruned(schema, value)) yield invalid(at, 'must not have unknown fields')
  const faults = inMetadata ? metadataFaults(value, root, at) : embeddedFaults(schema, value, at)
  if (faults.length > 0) return yield* faults
  const wrong = errorsOf(validateValue(schema, value, at, { budget }))
  if (wrong.length > 0) return yield* wrong
  // Rules are evaluated as for an unchanged value, and as for a new one.
  const broken = rules.evaluate(schema, value, { path: pathOf(at), old: value })
  yield* broken.length > 0 ? broken : rules.evaluate(schema, value, { path: pathOf(at), old: null })
}

const isPruned = (schema: Structural, value: Json) => deepEqual(prune(schema, value, { root: schema.embedded }), value)

/** A default in metadata is checked as part of an otherwise empty object. */
function metadataFaults(value: Json, { schema, around }: Position['root'], at: Ref<any>): FieldError[] {
  const object = around(value)
  const detail = 'must result in valid metadata: '
  try {
    coerceEmbedded(schema, object)
  } catch (error) {
    if (!(error instanceof ConformError)) throw error
    return [invalid(at, detail + error.message)]
  }
  const texts = [...new Set(validateEmbedded(schema, object, refTo(object)).map(({ field, message }) => `${field}: ${message}`))]
  return texts.length === 0 ? [] : [invalid(at, detail + (texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`))]
}

function embeddedFaults(schema: Structural, value: Json, at: Ref<any>): FieldError[] {
  try {
    coerceEmbedded(schema, value)
  } catch (error) {
    if (!(error instanceof ConformError)) throw error
    const [path = ''] = error.message.split(': ', 1)
    return [{ reason: 'FieldValueInvalid', field: `${pathOf(at)}.${path}`, message: error.message.slice(path.length + 2) }]
  }
  return validateEmbedded(schema, value, at)
}

function hasDefaults(schema: Schema): boolean {
  for (const part of eachSchema(schema)) if (part.default !== undefined) return true
  return false
}

/** Whether a default has fields that are unknown to its schema. */
export function hasUnprunedDefaults(schema: Schema): boolean {
  if (!hasDefaults(schema) || !isStructural(schema)) return false
  return hasUnprunedBelow(schema, compileSchema({ ...schema, 'x-kubernetes-embedded-resource': true }))
}

function hasUnprunedBelow(schema: Schema, compiled: Structural): boolean {
  if (schema.default !== undefined && !isPruned(compiled, schema.default)) return true
  const item = itemSchema(schema)
  if (item && hasUnprunedBelow(item, compiled.items!)) return true
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => !compiled.embedded || !ENVELOPE.has(name))
  return members.some(([name, member]) => hasUnprunedBelow(member, compiled.properties.get(name)!))
}
