/**
 * A custom kind's schema, compiled once per version of its definition into a compact immutable tree that pruning, defaulting,
 * validation and the rest walk. A definition's schema has been checked before it gets here: what that check would refuse is
 * read as if it were not there.
 */
import { isObject, type Json } from '../lib/json-value.ts'
import { EnumValues } from './enum-values.ts'
import { formatFor } from './formats.ts'
import { Pattern } from './pattern.ts'

/** JSONSchemaProps of apiextensions/v1 as plain JSON. */
export type JsonSchema = {
  readonly description?: string
  readonly type?: string
  readonly title?: string
  readonly format?: string
  readonly default?: Json
  readonly example?: Json
  readonly externalDocs?: { readonly description?: string; readonly url?: string }
  readonly nullable?: boolean
  readonly maximum?: number | bigint
  readonly exclusiveMaximum?: boolean
  readonly minimum?: number | bigint
  readonly exclusiveMinimum?: boolean
  readonly maxLength?: number | bigint
  readonly minLength?: number | bigint
  readonly pattern?: string
  readonly maxItems?: number | bigint
  readonly minItems?: number | bigint
  readonly uniqueItems?: boolean
  readonly multipleOf?: number | bigint
  readonly enum?: readonly Json[]
  readonly maxProperties?: number | bigint
  readonly minProperties?: number | bigint
  readonly required?: readonly string[]
  readonly items?: JsonSchema | readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly anyOf?: readonly JsonSchema[]
  readonly not?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly additionalProperties?: JsonSchema | boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[]
}

/** One rule of `x-kubernetes-validations`. */
export type ValidationRule = {
  readonly rule: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
  readonly fieldPath?: string
  readonly optionalOldSelf?: boolean
}

/** A compiled schema. The schemas within `allOf`, `anyOf`, `oneOf` and `not` have the same form and only restrict values. */
export type Structural = {
  /** The schema that it was compiled from. */
  readonly source: JsonSchema
  /** The types a value may have; none for any, two for an integer or a string. */
  readonly types: readonly string[]
  readonly nullable: boolean
  /** A default of null is no default. */
  readonly default: Json | undefined
  readonly properties: ReadonlyMap<string, Structural>
  /** The members that have a default. */
  readonly defaulted: readonly (readonly [name: string, schema: Structural])[]
  /** The schema of the other members; true or false where they may or may not be there, undefined where nothing is said. */
  readonly additional: Structural | boolean | undefined
  readonly items: Structural | undefined
  readonly preserve: boolean
  readonly embedded: boolean
  readonly intOrString: boolean
  readonly list: 'atomic' | 'set' | 'map' | undefined
  readonly listKeys: readonly string[]
  readonly atomicMap: boolean
  readonly limits: Limits
  readonly rules: readonly ValidationRule[]
  /** Keywords at this schema or below, so that a walk can skip schemas without them. */
  readonly has: Contents
}

/** The restrictions of one schema on a value. */
export type Limits = {
  /** The format as it is checked; empty for one that is not known for the type. */
  readonly format: string
  readonly maximum: number | undefined
  readonly exclusiveMaximum: boolean
  readonly minimum: number | undefined
  readonly exclusiveMinimum: boolean
  readonly multipleOf: number | undefined
  readonly maxLength: number | undefined
  readonly minLength: number | undefined
  readonly pattern: Pattern | undefined
  readonly maxItems: number | undefined
  readonly minItems: number | undefined
  readonly uniqueItems: boolean
  readonly maxProperties: number | undefined
  readonly minProperties: number | undefined
  readonly required: readonly string[]
  readonly enum: EnumValues | undefined
  readonly allOf: readonly Structural[]
  readonly anyOf: readonly Structural[]
  readonly oneOf: readonly Structural[]
  readonly not: Structural | undefined
}

export type Contents = {
  readonly defaults: boolean
  readonly embedded: boolean
  readonly lists: boolean
  /** Rules of the schemas that describe values. */
  readonly rules: boolean
  /** Rules of schemas within `allOf`, which count where there are others. */
  readonly nestedRules: boolean
  /** All of these as one number. */
  readonly bits: number
}

/** Compiles a schema; one that is missing allows anything and describes nothing. */
export function compileSchema(schema: JsonSchema | undefined): Structural {
  return compile(schema, new Map())
}

/** Patterns by their text: large schemas repeat a few of them very often. */
type Patterns = Map<string, Pattern>

function compile(schema: JsonSchema | undefined, patterns: Patterns): Structural {
  const source = isObject(schema) ? (schema as JsonSchema) : {}
  const properties = propertiesOf(source, patterns)
  const items = isObject(source.items) ? compile(source.items as JsonSchema, patterns) : undefined
  const additional = additionalOf(source, patterns)
  const rules = list(source['x-kubernetes-validations'])
  const listType = source['x-kubernetes-list-type']
  const intOrString = source['x-kubernetes-int-or-string'] === true
  const types = intOrString ? INT_OR_STRING : source.type ? [source.type] : ANY_TYPE
  const embedded = source['x-kubernetes-embedded-resource'] === true
  const limits = limitsOf(source, types, patterns)
  let contents = (embedded ? EMBEDDED : 0) | (listType === 'set' || listType === 'map' ? LISTS : 0) | (rules.length > 0 ? RULES : 0)
  for (const part of limits.allOf) if (part.has.rules || part.has.nestedRules) contents |= NESTED_RULES
  if (items) contents |= contentsOf(items)
  if (typeof additional === 'object') contents |= contentsOf(additional)
  let defaulted: [string, Structural][] | undefined
  for (const [name, part] of properties) {
    contents |= contentsOf(part)
    if (part.default !== undefined) (defaulted ??= []).push([name, part])
  }
  return Object.freeze({
    source,
    types,
    nullable: source.nullable === true,
    default: source.default ?? undefined,
    properties,
    defaulted: defaulted ?? NOTHING,
    additional,
    items,
    preserve: source['x-kubernetes-preserve-unknown-fields'] === true,
    embedded,
    intOrString,
    list: listType === 'set' || listType === 'map' || listType === 'atomic' ? listType : undefined,
    listKeys: list(source['x-kubernetes-list-map-keys']),
    atomicMap: source['x-kubernetes-map-type'] === 'atomic',
    limits,
    rules,
    has: CONTENTS[contents]!,
  })
}

/** The schema of a member by name, where one is given. */
export function memberSchema(schema: Structural, key: string): Structural | undefined {
  return schema.properties.get(key) ?? (typeof schema.additional === 'object' ? schema.additional : undefined)
}

const ANY_TYPE: readonly string[] = Object.freeze([])
const INT_OR_STRING: readonly string[] = Object.freeze(['integer', 'string'])

const DEFAULTS = 1
const EMBEDDED = 2
const LISTS = 4
const RULES = 8
const NESTED_RULES = 16

/** There are only so many combinations, and many schemas: each is one object, at the sum of its bits. */
const CONTENTS: readonly Contents[] = Array.from({ length: 2 * NESTED_RULES }, (_, bits) =>
  Object.freeze({
    defaults: (bits & DEFAULTS) !== 0,
    embedded: (bits & EMBEDDED) !== 0,
    lists: (bits & LISTS) !== 0,
    rules: (bits & RULES) !== 0,
    nestedRules: (bits & NESTED_RULES) !== 0,
    bits,
  }),
)

/** The bits of a part for the schema around it. */
const contentsOf = ({ default: fallback, has }: Structural): number => (fallback === undefined ? has.bits : has.bits | DEFAULTS)

/** Most schemas of a large definition set no limits: they share one object that says so. */
function limitsOf(source: JsonSchema, types: readonly string[], patterns: Patterns): Limits {
  // Most have one or two keywords, so those of the schema are visited.
  for (const key of Object.keys(source))
    if (LIMITING.has(key) && source[key as keyof JsonSchema] !== undefined) return readLimits(source, types, patterns)
  return (noLimits ??= readLimits({}, ANY_TYPE, patterns))
}

let noLimits: Limits | undefined

const LIMITING: ReadonlySet<string> = new Set([
  'format',
  'maximum',
  'minimum',
  'multipleOf',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxProperties',
  'minProperties',
  'required',
  'enum',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
] as const satisfies readonly (keyof JsonSchema)[])

function readLimits(source: JsonSchema, types: readonly string[], patterns: Patterns): Limits {
  const compileEach = (schemas: readonly JsonSchema[] | undefined) => list(schemas).map(each => compile(each, patterns))
  return Object.freeze({
    format: formatFor(source.format ?? '', types),
    maximum: number(source.maximum),
    exclusiveMaximum: source.exclusiveMaximum === true,
    minimum: number(source.minimum),
    exclusiveMinimum: source.exclusiveMinimum === true,
    multipleOf: number(source.multipleOf),
    maxLength: number(source.maxLength),
    minLength: number(source.minLength),
    pattern: source.pattern ? patternOf(source.pattern, patterns) : undefined,
    maxItems: number(source.maxItems),
    minItems: number(source.minItems),
    uniqueItems: source.uniqueItems === true,
    maxProperties: number(source.maxProperties),
    minProperties: number(source.minProperties),
    required: list(source.required),
    enum: list(source.enum).length > 0 ? new EnumValues(source.enum!) : undefined,
    allOf: compileEach(source.allOf),
    anyOf: compileEach(source.anyOf),
    oneOf: compileEach(source.oneOf),
    not: source.not ? compile(source.not, patterns) : undefined,
  })
}

function patternOf(text: string, patterns: Patterns): Pattern {
  let pattern = patterns.get(text)
  if (!pattern) patterns.set(text, (pattern = new Pattern(text)))
  return pattern
}

function propertiesOf({ properties }: JsonSchema, patterns: Patterns): ReadonlyMap<string, Structural> {
  if (!isObject(properties)) return NO_PROPERTIES
  const compiled = new Map<string, Structural>()
  for (const name of Object.keys(properties)) compiled.set(name, compile(properties[name] as JsonSchema, patterns))
  return compiled
}
const NO_PROPERTIES: ReadonlyMap<string, Structural> = new Map()

function additionalOf({ additionalProperties }: JsonSchema, patterns: Patterns): Structural | boolean | undefined {
  if (typeof additionalProperties === 'boolean') return additionalProperties
  return isObject(additionalProperties) ? compile(additionalProperties as JsonSchema, patterns) : undefined
}

function list<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? value : NOTHING
}
const NOTHING: readonly never[] = Object.freeze([])

/** Limits are doubles to kube-apiserver too: one beyond 2^53 is as near as a double comes. */
function number(value: number | bigint | undefined): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined
}
