/**
 * What makes a schema structural: outside of allOf, anyOf, oneOf and not it says of every value what it is, and inside of these it
 * only restricts what is described outside. Only then do pruning and defaults know what they are doing.
 */

import { compareText } from '../../lib/go-text.ts'
import { getOwn } from '../../lib/json-value.ts'
import { linearRegex } from '../../lib/linear-regex.ts'
import { atOnce } from '../../lib/turns.ts'
import { entry, type FieldError, forbidden, invalid, PAUSE, pathOf, pause, type Ref, refTo, required } from '../../schema/refs.ts'
import type { Schema } from './json-schema.ts'
import { itemSchema } from './schema-walk.ts'

/** Why a schema cannot even be read as a structural one; undefined when it can. */
export function structuralFault(schema: Schema): string | undefined {
  const unsupported = UNSUPPORTED.find(([isSet]) => isSet(schema))
  if (unsupported) return `OpenAPIV3Schema '${unsupported[1]}' is not supported`
  const { not, allOf = [], anyOf = [], oneOf = [], items, properties, additionalProperties } = schema
  const nested = firstFault([...(not ? [not] : []), ...allOf, ...anyOf, ...oneOf])
  if (nested !== undefined) return nested
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  if (Array.isArray(items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  const parts = [...(items ? [items] : []), ...Object.values(properties ?? {})]
  return firstFault(typeof additionalProperties === 'object' ? [...parts, additionalProperties] : parts)
}

function firstFault(schemas: readonly Schema[]): string | undefined {
  for (const schema of schemas) {
    const fault = structuralFault(schema)
    if (fault !== undefined) return fault
  }
  return undefined
}

const UNSUPPORTED: readonly (readonly [(schema: Schema) => boolean, string])[] = [
  [({ id }) => !!id, 'id'],
  [({ $schema }) => !!$schema, 'schema'],
  [({ $ref }) => !!$ref, '$ref'],
  [({ patternProperties }) => patternProperties !== undefined, 'patternProperties'],
  [({ dependencies }) => dependencies !== undefined, 'dependencies'],
  [({ additionalItems }) => additionalItems !== undefined, 'additionalItems'],
  [({ definitions }) => definitions !== undefined, 'definitions'],
]

/** Whether a schema is structural. */
export function isStructural(schema: Schema): boolean {
  return structuralFault(schema) === undefined && validateStructural(schema, refTo(schema) as Ref<Schema>).length === 0
}

/** What keeps a schema from being structural, in the order of the texts. The schema must be one without `structuralFault`. */
export function validateStructural(schema: Schema, at: Ref<Schema>): FieldError[] {
  const { done, value } = atOnce(() => structuralErrors(schema, at).next())
  if (!done) throw new Error('the rules stopped though nobody asked them to')
  return value
}

/** The same as work that can be stopped: patterns take long to compile. */
export function* structuralErrors(schema: Schema, at: Ref<Schema>): Generator<FieldError, FieldError[]> {
  const errors: FieldError[] = []
  for (const error of validateInvariants(schema, at, 'root'))
    if (error === PAUSE) yield PAUSE
    else errors.push(error)
  for (const error of validateCompleteness(schema, schema, pathOf(at), pathOf(at))) errors.push(error)
  return errors.sort((a, b) => compareText(`${a.field}: ${a.message}`, `${b.field}: ${b.message}`))
}

/** Where a schema stands: at the top, as items of a list, or as a member. */
type Level = 'root' | 'item' | 'field'

const NO_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function* validateInvariants(schema: Schema, at: Ref<Schema>, level: Level): Iterable<FieldError> {
  const { type = '', properties = {}, additionalProperties } = schema
  const items = itemSchema(schema)
  if (type === 'array' && !items) yield required(at.items, 'must be specified')
  if (items) yield* validateInvariants(items, at.items as Ref<Schema>, 'item')
  for (const [name, member] of Object.entries(properties)) yield* validateInvariants(member, entry(at.properties, name), 'field')
  if (additionalProperties !== undefined && level === 'root') yield forbidden(at.additionalProperties, 'must not be used at the root')
  if (typeof additionalProperties === 'object')
    yield* validateInvariants(additionalProperties, at.additionalProperties as Ref<Schema>, 'field')
  if (schema['x-kubernetes-int-or-string']) yield* validateExtensions(schema, at)
  yield* validateRestrictions(schema, at, { first: isIntOrString(schema), firstOfAll: isIntOrString(schema.allOf?.[0]) })
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

/** What whole objects have in common has its own rules: schemas may say little about it. */
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

/** Whether a schema allows exactly an integer or a text by its anyOf: the one place where types may be given in there. */
function isIntOrString(schema: Schema | undefined): boolean {
  if (schema?.anyOf?.length !== 2) return false
  const [first, second] = schema.anyOf
  return isJust(first!, 'integer') && isJust(second!, 'string')
}

const isJust = (schema: Schema, type: string) => schema.type === type && Object.keys(schema).length === 1

type Skips = { readonly first?: boolean; readonly firstOfAll?: boolean }

/** Rules on what only restricts values: `first` leaves out the anyOf, `firstOfAll` that of the first allOf. */
function* validateRestrictions(schema: Schema, at: Ref<Schema>, { first, firstOfAll }: Skips = {}): Iterable<FieldError> {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern = '' } = schema
  if (!first) for (const [i, part] of anyOf.entries()) yield* validateNested(part, at.anyOf[i]!)
  for (const [i, part] of allOf.entries()) yield* validateNested(part, at.allOf[i]!, { first: i === 0 && firstOfAll === true })
  for (const [i, part] of oneOf.entries()) yield* validateNested(part, at.oneOf[i]!)
  if (not) yield* validateNested(not, at.not)
  const fault = pattern === '' ? undefined : patternFault(pattern)
  if (fault !== undefined) yield invalid(at.pattern, `must be a valid regular expression, but isn't: ${fault}`)
  yield* pause()
}

function patternFault(pattern: string): string | undefined {
  try {
    linearRegex(pattern)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/** What a schema that only restricts may not say, with the word for how it must be instead. */
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

function* validateNested(schema: Schema, at: Ref<Schema>, skips: Skips = {}): Iterable<FieldError> {
  const { properties = {}, additionalProperties, type } = schema
  const items = itemSchema(schema)
  yield* validateRestrictions(schema, at, skips)
  if (items) yield* validateNested(items, at.items as Ref<Schema>)
  for (const [name, member] of Object.entries(properties)) yield* validateNested(member, entry(at.properties, name))
  if (type) yield forbidden(at.type, 'must be empty to be structural')
  // Saying that there are no further members restricts nothing that is described.
  if (additionalProperties !== undefined && additionalProperties !== false)
    yield forbidden(at.additionalProperties, 'must be undefined to be structural')
  for (const [name, wanted] of NOT_NESTED) if (schema[name] !== undefined) yield forbidden(at[name], `must be ${wanted} to be structural`)
  if (Object.hasOwn(properties, 'metadata')) yield forbidden(entry(at.properties, 'metadata'), 'must not be specified in a nested context')
}

/** Everything that is restricted must be described: `restricting` says where, beside the schema that describes it. */
function* validateCompleteness(restricting: Schema, described: Schema | undefined, at: string, from: string): Iterable<FieldError> {
  if (!described) return yield required(refTo(undefined, at), `because it is defined in ${from}`)
  const { not, allOf = [], anyOf = [], oneOf = [] } = restricting
  if (not) yield* validateParts(not, described, at, `${from}.not`)
  for (const [name, parts] of Object.entries({ allOf, anyOf, oneOf }))
    for (const [i, part] of parts.entries()) yield* validateParts(part, described, at, `${from}.${name}[${i}]`)
}

function* validateParts(restricting: Schema, described: Schema, at: string, from: string): Iterable<FieldError> {
  yield* validateCompleteness(restricting, described, at, from)
  const items = itemSchema(restricting)
  if (items) yield* validatePart(items, itemSchema(described), `${at}.items`, `${from}.items`)
  for (const [name, member] of Object.entries(restricting.properties ?? {})) {
    const into = `properties[${name}]`
    yield* validatePart(member, getOwn(described.properties ?? {}, name), `${at}.${into}`, `${from}.${into}`)
  }
}

function validatePart(restricting: Schema, described: Schema | undefined, at: string, from: string): Iterable<FieldError> {
  if (!described) return [required(refTo(undefined, at), `because it is defined in ${from}`)]
  return validateParts(restricting, described, at, from)
}
