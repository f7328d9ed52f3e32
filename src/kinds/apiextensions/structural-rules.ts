/**
 * Rules for structural schemas: outside of allOf, anyOf, oneOf and not, the schema has the type of every value, and inside of these it only
 * restricts values described outside. Only then are pruning and defaulting well-defined.
 */

import { compareText } from '../../lib/go-text.ts'
import { getOwn } from '../../lib/json-value.ts'
import { finish } from '../../lib/step.ts'
import { entry, type FieldError, forbidden, gatherErrors, invalid, pathOf, type Ref, refTo, required } from '../../schema/refs.ts'
import type { Schema } from './json-schema.ts'
import { patternFault } from './pattern-fault.ts'
import { itemSchema } from './schema-walk.ts'

/** Why a schema cannot be converted to a structural one; undefined when it can. */
export function structuralFault(schema: Schema): string | undefined {
  const unsupported = unsupportedKeyword(schema)
  if (unsupported !== undefined) return `OpenAPIV3Schema '${unsupported}' is not supported`
  const { not, allOf, anyOf, oneOf, items, properties, additionalProperties } = schema
  const nested = (not && structuralFault(not)) ?? firstFault(allOf) ?? firstFault(anyOf) ?? firstFault(oneOf)
  if (nested !== undefined) return nested
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  if (Array.isArray(items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  return (
    (items && structuralFault(items)) ??
    firstFault(properties && Object.values(properties)) ??
    (typeof additionalProperties === 'object' ? structuralFault(additionalProperties) : undefined)
  )
}

function firstFault(schemas: readonly Schema[] | undefined): string | undefined {
  for (const schema of schemas ?? []) {
    const fault = structuralFault(schema)
    if (fault !== undefined) return fault
  }
  return undefined
}

function unsupportedKeyword(schema: Schema): string | undefined {
  const { id, $schema, $ref, patternProperties, dependencies, additionalItems, definitions } = schema
  if (id) return 'id'
  if ($schema) return 'schema'
  if ($ref) return '$ref'
  if (patternProperties !== undefined) return 'patternProperties'
  if (dependencies !== undefined) return 'dependencies'
  if (additionalItems !== undefined) return 'additionalItems'
  return definitions === undefined ? undefined : 'definitions'
}

/** Whether a schema is structural. */
export function isStructural(schema: Schema): boolean {
  return structuralFault(schema) === undefined && validateStructural(schema, refTo(schema) as Ref<Schema>).length === 0
}

/** The reasons why a schema is not structural, sorted. The schema must have no `structuralFault`. */
export function validateStructural(schema: Schema, at: Ref<Schema>): FieldError[] {
  const errors = finish(
    gatherErrors(
      () => validateInvariants(schema, at),
      () => validateCompleteness(schema, at),
    ),
  )
  return errors
    .map(error => ({ error, text: `${error.field}: ${error.message}` }))
    .sort((a, b) => compareText(a.text, b.text))
    .map(({ error }) => error)
}

/** The level of a schema: root, items of a list, or member. */
type Level = 'root' | 'item' | 'field'

const NO_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

/** A schema that describes values at some level, or only restricts values described by others. */
type Part = { readonly schema: Schema; readonly at: Ref<Schema>; readonly level: Level | 'restriction'; readonly skips: Skips }

/** Rules for each single schema. Schemas nest deeper than the call stack, and errors are sorted later: the order of the walk is free. */
function* validateInvariants(root: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const open: Part[] = [described(root, at, 'root')]
  for (let part = open.pop(); part; part = open.pop()) {
    for (const inner of partsOf(part)) open.push(inner)
    yield* part.level === 'restriction' ? validateRestriction(part.schema, part.at) : validateDescribed(part.schema, part.at, part.level)
  }
}

const described = (schema: Schema, at: Ref<Schema>, level: Level): Part => ({
  schema,
  at,
  level,
  skips: { first: isIntOrString(schema), firstOfAll: isIntOrString(schema.allOf?.[0]) },
})
const restriction = (schema: Schema, at: Ref<Schema>, skips: Skips = {}): Part => ({ schema, at, level: 'restriction', skips })

function* partsOf({ schema, at, level, skips }: Part): Iterable<Part> {
  const { properties = {}, additionalProperties, anyOf = [], allOf = [], oneOf = [], not } = schema
  const items = itemSchema(schema)
  const inside = (part: Schema, there: Ref<Schema>, as: Level) =>
    level === 'restriction' ? restriction(part, there) : described(part, there, as)
  if (items) yield inside(items, at.items as Ref<Schema>, 'item')
  for (const [name, member] of Object.entries(properties)) yield inside(member, entry(at.properties, name), 'field')
  if (typeof additionalProperties === 'object' && level !== 'restriction')
    yield described(additionalProperties, at.additionalProperties as Ref<Schema>, 'field')
  if (!skips.first) for (const [i, part] of anyOf.entries()) yield restriction(part, at.anyOf[i]!)
  for (const [i, part] of allOf.entries()) yield restriction(part, at.allOf[i]!, { first: i === 0 && skips.firstOfAll === true })
  for (const [i, part] of oneOf.entries()) yield restriction(part, at.oneOf[i]!)
  if (not) yield restriction(not, at.not)
}

function* validateDescribed(schema: Schema, at: Ref<Schema>, level: Level): Iterable<FieldError> {
  if (schema.type === 'array' && !itemSchema(schema)) yield required(at.items, 'must be specified')
  if (schema.additionalProperties !== undefined && level === 'root')
    yield forbidden(at.additionalProperties, 'must not be used at the root')
  if (schema['x-kubernetes-int-or-string']) yield* validateExtensions(schema, at)
  yield* validatePattern(schema, at)
  yield* validateType(schema, at, level)
  if (level === 'root' || schema['x-kubernetes-embedded-resource']) yield* validateEnvelope(schema, at, level)
}

function* validateExtensions(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    if (schema[name]) yield invalid(at[name], 'must be false if x-kubernetes-int-or-string is true')
}

function* validateType(schema: Schema, at: Ref<Schema>, level: Level): Iterable<FieldError> {
  const { type = '' } = schema
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  const isOpen = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields']
  const detail = 'must be object if x-kubernetes-embedded-resource is true'
  if (embedded && type !== 'object') yield type === '' ? required(at.type, detail) : invalid(at.type, detail)
  else if (type === '' && !isOpen) yield required(at.type, NO_TYPE[level])
  if (embedded && schema.additionalProperties !== undefined)
    yield forbidden(at.additionalProperties, 'must not be used if x-kubernetes-embedded-resource is set')
  if (level === 'root' && type !== '' && type !== 'object') yield invalid(at.type, 'must be object at the root')
}

/** The common fields of whole objects have their own rules: schemas may only restrict the name. */
function* validateEnvelope(schema: Schema, at: Ref<Schema>, level: Level): Iterable<FieldError> {
  const { properties = {} } = schema
  for (const name of ['kind', 'apiVersion']) {
    const member = getOwn(properties, name)
    if (member && member.type !== 'string') yield invalid(entry(at.properties, name).type, 'must be string')
  }
  const metadata = getOwn(properties, 'metadata')
  if (metadata) {
    const there = entry(at.properties, 'metadata')
    if (metadata.type !== 'object') yield invalid(there.type, 'must be object')
    if (level === 'root' && !isPlainMetadata(metadata))
      yield forbidden(there, 'must not specify anything other than name and generateName, but metadata is implicitly specified')
  }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] || Object.keys(properties).length > 0
  if (schema['x-kubernetes-embedded-resource'] && !isOpen)
    yield required(
      at.properties,
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    )
}

function isPlainMetadata({ type: _, default: __, properties = {}, ...rest }: Schema): boolean {
  const names = Object.keys(properties)
  return Object.keys(rest).length === 0 && names.every(name => name === 'name' || name === 'generateName')
}

/** Whether a schema's anyOf allows exactly an integer or a string: the only case in which types may be set inside of it. */
function isIntOrString(schema: Schema | undefined): boolean {
  if (schema?.anyOf?.length !== 2) return false
  const [first, second] = schema.anyOf
  return isJust(first!, 'integer') && isJust(second!, 'string')
}

const isJust = (schema: Schema, type: string) => schema.type === type && Object.keys(schema).length === 1

/** `first` skips the anyOf of a schema, `firstOfAll` that of its first allOf. */
type Skips = { readonly first?: boolean; readonly firstOfAll?: boolean }

function* validatePattern(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const fault = patternFault(schema)
  if (fault !== undefined) yield invalid(at.pattern, `must be a valid regular expression, but isn't: ${fault}`)
}

/** Fields that a restricting schema must not set, and the required value in errors. */
const NOT_NESTED = [
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
] as const

function* validateRestriction(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const { properties = {}, additionalProperties, type } = schema
  yield* validatePattern(schema, at)
  if (type) yield forbidden(at.type, 'must be empty to be structural')
  // Forbidding further members restricts nothing that is described.
  if (additionalProperties !== undefined && additionalProperties !== false)
    yield forbidden(at.additionalProperties, 'must be undefined to be structural')
  for (const [name, wanted] of NOT_NESTED) if (schema[name] !== undefined) yield forbidden(at[name], `must be ${wanted} to be structural`)
  if (Object.hasOwn(properties, 'metadata')) yield forbidden(entry(at.properties, 'metadata'), 'must not be specified in a nested context')
}

/** A restricting schema, and the one that describes the same values; with the field paths of both. */
type Pair = { readonly restricting: Schema; readonly described: Schema | undefined; readonly at: Ref<Schema>; readonly from: Ref<Schema> }

/** Every restricted value must be described. */
function* validateCompleteness(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const open: Pair[] = [...restrictionsOf({ restricting: schema, described: schema, at, from: at })]
  for (let pair = open.pop(); pair; pair = open.pop()) {
    const { restricting, described, at, from } = pair
    if (!described) {
      yield required(at, `because it is defined in ${pathOf(from)}`)
      continue
    }
    const items = itemSchema(restricting)
    if (items)
      open.push({ restricting: items, described: itemSchema(described), at: at.items as Ref<Schema>, from: from.items as Ref<Schema> })
    for (const [name, member] of Object.entries(restricting.properties ?? {}))
      open.push({
        restricting: member,
        described: getOwn(described.properties ?? {}, name),
        at: entry(at.properties, name),
        from: entry(from.properties, name),
      })
    for (const restriction of restrictionsOf(pair)) open.push(restriction)
  }
}

/** The schemas that restrict the same values as this one. */
function* restrictionsOf({ restricting: { not, ...of }, described, at, from }: Pair): Iterable<Pair> {
  if (not) yield { restricting: not, described, at, from: from.not }
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [i, part] of (of[name] ?? []).entries()) yield { restricting: part, described, at, from: from[name][i]! }
}
