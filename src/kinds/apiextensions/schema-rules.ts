/** Rules for the schemas of custom kinds: at the root, in metadata and elsewhere. */
import type { Budget } from '../../schema/budget.ts'
import { entry, type FieldError, forbidden, invalid, pathOf, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { faultOfPath } from '../../structural/field-path.ts'
import { validateDefaults } from './default-rules.ts'
import { validateExpressions, validateTotalCost } from './expression-rules.ts'
import { type ExpressionScope, rootScope } from './expression-scope.ts'
import { internalSchema } from './internal-type.ts'
import type { ExpressionRule, Schema } from './json-schema.ts'
import { hasTopology, validateMapListKeys, validateTopology } from './list-rules.ts'
import { hasRules } from './schema-walk.ts'
import type { Strictness } from './strictness.ts'
import { structuralFault, validateStructural } from './structural-rules.ts'

/** Rules for the schema of a version, or of all versions. */
export function* validateRootSchema(
  schema: Schema,
  at: Ref<Schema>,
  { hasStatus, strict, budget }: { hasStatus: boolean; strict: Strictness; budget: Budget },
): Iterable<FieldError> {
  const errors: FieldError[] = []
  if (hasStatus) append(errors, validateWithStatus(schema, at))
  if (schema.nullable) errors.push(forbidden(at.nullable, 'nullable cannot be true at the root'))
  const { problems, fault, scope } = structure(schema, at, { strict, budget })
  append(errors, problems)
  const found: Found = { schema: [], expressions: [] }
  validateSchema(schema, at, { strict, scope, isRoot: true, forbidsDefaults: undefined, inMetadata: false, uncorrelated: undefined }, found)
  append(errors, found.schema)
  append(errors, found.expressions)
  // The reason why a schema cannot be compiled has usually been reported by another rule.
  if (errors.length === 0 && fault !== undefined) errors.push(invalid(withValue(at, ''), fault))
  yield* errors
  if (scope) yield* validateTotalCost(scope, at)
}

type Outline = { readonly problems: FieldError[]; readonly fault?: string; readonly scope?: ExpressionScope }

/** Whether the schema is structural and its defaults are valid: expressions are checked only then. */
function structure(schema: Schema, at: Ref<Schema>, { strict, budget }: { strict: Strictness; budget: Budget }): Outline {
  if (!strict.structural) return { problems: [] }
  const fault = structuralFault(schema)
  if (fault !== undefined) return { problems: [], fault }
  const problems = validateStructural(schema, at)
  if (problems.length === 0) append(problems, validateDefaults(schema, at, { pruned: strict.prunedDefaults, budget }))
  return problems.length > 0 || !hasRules(schema) ? { problems } : { problems, scope: rootScope(schema) }
}

/** The keywords that the root schema may use beside a status subresource, as errors name them. */
const BESIDE_STATUS = new Map<string, keyof Schema>([
  ['Description', 'description'],
  ['Type', 'type'],
  ['Format', 'format'],
  ['Title', 'title'],
  ['Maximum', 'maximum'],
  ['ExclusiveMaximum', 'exclusiveMaximum'],
  ['Minimum', 'minimum'],
  ['ExclusiveMinimum', 'exclusiveMinimum'],
  ['MaxLength', 'maxLength'],
  ['MinLength', 'minLength'],
  ['Pattern', 'pattern'],
  ['MaxItems', 'maxItems'],
  ['MinItems', 'minItems'],
  ['UniqueItems', 'uniqueItems'],
  ['MultipleOf', 'multipleOf'],
  ['Required', 'required'],
  ['Items', 'items'],
  ['Properties', 'properties'],
  ['ExternalDocs', 'externalDocs'],
  ['Example', 'example'],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields'],
  ['XValidations', 'x-kubernetes-validations'],
])
const ALLOWED_BESIDE_STATUS: ReadonlySet<string> = new Set(BESIDE_STATUS.values())

/** The status must be validated independently: the root schema may not restrict it beyond its own schema. */
function* validateWithStatus(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const { type = '' } = schema
  const refused = Object.keys(schema).filter(name => !ALLOWED_BESIDE_STATUS.has(name))
  const comesFirst = refused.some(name => name === 'id' || name.startsWith('$'))
  if (type !== '' && type !== 'object' && !comesFirst)
    yield invalid(at.type, 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled')
  else if (refused.length > 0) {
    const allowed = [...BESIDE_STATUS.keys()].join(' ')
    const detail = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`
    yield invalid(withValue(at, internalSchema(schema)), detail)
  }
}

/** The position of a schema within the whole schema. */
type SchemaContext = {
  readonly strict: Strictness
  /** The scope of expressions; undefined where they are not checked. */
  readonly scope: ExpressionScope | undefined
  readonly isRoot: boolean
  /** Why defaults are forbidden here; undefined where they are allowed. */
  readonly forbidsDefaults: string | undefined
  /** Within apiVersion, kind or metadata of a whole object. */
  readonly inMetadata: boolean
  /** The ancestor whose items cannot be correlated between old and new objects. */
  readonly uncorrelated: string | undefined
}

/** The errors of a schema, and the errors of its expressions. */
type Found = { readonly schema: FieldError[]; readonly expressions: FieldError[] }

/** Adds errors to `found`. */
function validateSchema(schema: Schema, at: Ref<Schema>, context: SchemaContext, found: Found): void {
  const { strict, scope, uncorrelated } = context
  const before = found.schema.length
  append(found.schema, validateKeywords(schema, at, context))
  if (PARTS.some(name => schema[name] !== undefined))
    for (const [part, there, inside] of partsOf(schema, at, context)) validateSchema(part, there, inside, found)
  if (hasTopology(schema)) append(found.schema, validateTopology(schema, at, strict))
  if (strict.mapListKeys && schema['x-kubernetes-list-type']) append(found.schema, validateMapListKeys(schema, at))
  const rules = schema['x-kubernetes-validations'] ?? []
  const isReadable = rules.some(({ fieldPath }) => fieldPath) && structuralFault(schema) === undefined
  for (const [i, rule] of rules.entries())
    append(found.schema, validateRule(rule, at['x-kubernetes-validations'][i]!, isReadable ? schema : undefined))
  // An expression over an invalid schema would only report errors that are not its own.
  const isSound = found.schema.length === before
  if (rules.length > 0 && isSound && scope) append(found.expressions, validateExpressions(schema, at, { scope, strict, uncorrelated }))
}

/** There may be more errors than a call may have arguments. */
function append(errors: FieldError[], more: Iterable<FieldError>): void {
  for (const error of more) errors.push(error)
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string']

function* validateKeywords(schema: Schema, at: Ref<Schema>, { strict, forbidsDefaults, inMetadata }: SchemaContext): Iterable<FieldError> {
  const { type = '', items, additionalProperties, properties } = schema
  if (strict.types && type !== '' && !TYPES.includes(type)) yield unsupported(at.type, ...TYPES)
  if (schema.default !== undefined && forbidsDefaults !== undefined) yield forbidden(at.default, `must not be set ${forbidsDefaults}`)
  for (const name of ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const)
    if (schema[name] !== undefined) yield forbidden(at[name], `${name} is not supported`)
  if (type === 'null') yield forbidden(at.type, 'type cannot be set to null, use nullable as an alternative')
  if (Array.isArray(items)) yield forbidden(at.items, 'items must be a schema object and not an array')
  if (inMetadata && schema['x-kubernetes-embedded-resource'])
    yield forbidden(at['x-kubernetes-embedded-resource'], 'must not be used inside of resource meta')
  if (schema.uniqueItems)
    yield forbidden(at.uniqueItems, 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic')
  // properties and additionalProperties exclude each other; additionalProperties that allows anything is harmless.
  if (properties && additionalProperties !== undefined && additionalProperties !== true)
    yield forbidden(at.additionalProperties, 'additionalProperties and properties are mutual exclusive')
}

const PARTS = ['additionalProperties', 'properties', 'not', 'allOf', 'oneOf', 'anyOf', 'definitions', 'items', 'dependencies'] as const

type Part = readonly [schema: Schema, at: Ref<Schema>, context: SchemaContext]

/** The schemas directly inside, each with its context. */
function* partsOf(schema: Schema, at: Ref<Schema>, context: SchemaContext): Iterable<Part> {
  const { scope, inMetadata } = context
  const inside: SchemaContext = { ...context, isRoot: false }
  const { additionalProperties, properties = {}, items } = schema
  if (typeof additionalProperties === 'object') {
    const reason = inMetadata ? 'inside additionalProperties applying to object metadata' : context.forbidsDefaults
    const into = { ...inside, forbidsDefaults: reason, scope: scope?.values(additionalProperties) }
    yield [additionalProperties, at.additionalProperties as Ref<Schema>, into]
  }
  const plain = { ...inside, uncorrelated: context.uncorrelated ?? (isCorrelated(schema) ? undefined : pathOf(at)) }
  for (const [name, member] of Object.entries(properties))
    yield [member, entry(at.properties, name), memberContext(schema, name, member, { context, plain })]
  yield* restrictingParts(schema, at, { ...inside, scope: undefined })
  if (items) {
    // Only items with keys can be correlated with the stored ones.
    const uncorrelated = schema['x-kubernetes-list-type'] === 'map' ? context.uncorrelated : (context.uncorrelated ?? pathOf(at))
    const each = Array.isArray(items) ? items : [items]
    for (const [i, item] of each.entries()) {
      const there = (Array.isArray(items) ? (at.items as Ref<Schema[]>)[i]! : at.items) as Ref<Schema>
      yield [item, there, { ...inside, uncorrelated, scope: scope?.items(item) }]
    }
  }
  for (const [name, part] of Object.entries(schema.dependencies ?? {}))
    if (part !== null && !Array.isArray(part)) yield [part, entry(at.dependencies, name) as Ref<Schema>, { ...inside, scope: undefined }]
}

/** Members are correlated by name, in every type of map. */
const isCorrelated = ({ 'x-kubernetes-map-type': map = 'granular' }: Schema) => map === 'granular' || map === 'atomic'

const META_FIELDS: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion'])

/** The context of a property; most properties share one. */
function memberContext(
  schema: Schema,
  name: string,
  member: Schema,
  { context, plain }: { context: SchemaContext; plain: SchemaContext },
): SchemaContext {
  const isMeta = (context.isRoot || schema['x-kubernetes-embedded-resource'] === true) && META_FIELDS.has(name)
  if (!isMeta && !context.scope) return plain
  return {
    ...plain,
    scope: context.scope?.member(name, member),
    inMetadata: context.inMetadata || isMeta,
    forbidsDefaults: isMeta && context.isRoot ? `in top-level ${name}` : context.forbidsDefaults,
  }
}

function* restrictingParts(
  { not, allOf = [], oneOf = [], anyOf = [], definitions = {} }: Schema,
  at: Ref<Schema>,
  context: SchemaContext,
): Iterable<Part> {
  if (not) yield [not, at.not, context]
  for (const [i, part] of allOf.entries()) yield [part, at.allOf[i]!, context]
  for (const [i, part] of oneOf.entries()) yield [part, at.oneOf[i]!, context]
  for (const [i, part] of anyOf.entries()) yield [part, at.anyOf[i]!, context]
  for (const [name, part] of Object.entries(definitions)) yield [part, entry(at.definitions, name), context]
}

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

/** Rules for a CEL rule that do not compile its expressions. Paths lead into `schema`, if it is known. */
function* validateRule(rule: ExpressionRule, at: Ref<ExpressionRule>, schema: Schema | undefined): Iterable<FieldError> {
  const { message = '', messageExpression = '', reason, fieldPath = '' } = rule
  if (trim(rule.rule) === '') yield required(at.rule, 'rule is not specified')
  else if (message !== '' && trim(message) === '') yield invalid(at.message, 'must be non-empty if specified')
  else if (hasLineBreaks(trim(message))) yield invalid(at.message, 'must not contain line breaks')
  else if (hasLineBreaks(trim(rule.rule)) && trim(message) === '')
    yield required(at.message, 'message must be specified if rule contains line breaks')
  if (messageExpression !== '' && trim(messageExpression) === '')
    yield required(at.messageExpression, 'messageExpression must be non-empty if specified')
  if (reason !== undefined && !REASONS.includes(reason)) yield unsupported(at.reason, ...REASONS)
  if (fieldPath === '') return
  if (trim(fieldPath) === '') yield invalid(at.fieldPath, 'must be non-empty if specified')
  if (hasLineBreaks(fieldPath)) yield invalid(at.fieldPath, 'must not contain line breaks')
  if (schema && faultOfPath(fieldPath, schema) !== undefined) yield invalid(at.fieldPath, 'must be a valid path')
}

const hasLineBreaks = (text: string) => /[\n\r]/.test(text)
const trim = (text: string) => text.trim()
