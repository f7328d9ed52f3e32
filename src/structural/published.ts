/** A custom kind's schema as OpenAPI publishes it: whole in version 3, without the keywords that version 2 lacks in version 2. */

import { deepEqual, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { API_VERSION_DOC, KIND_DOC, METADATA_DOC } from '../schema/object-meta.ts'
import type { JsonSchema, Structural } from './schema.ts'

export type Publishing = {
  readonly version: 2 | 3
  /** How the document refers to the metadata of objects: a lone `$ref`. */
  readonly metadata: JsonObject
}

/** The definition of a custom kind, without the kinds it stands for. */
export function publishedSchema(described: Pick<Structural, 'source' | 'preserve'>, publishing: Publishing): JsonObject {
  // Clients of OpenAPI v2 reject fields that the schema does not list, so an object with unknown fields is published without properties.
  if (publishing.version === 2 && described.preserve) return { type: 'object' }
  const schema = publish(described.source, publishing)
  addEnvelope(schema, publishing)
  return schema
}

function publish(source: JsonSchema, publishing: Publishing): JsonObject {
  const schema = publishing.version === 2 ? expressibleInV2(source) : withIntOrString(source)
  const out = keywordsOf(schema)
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) if (schema[key]?.length) out[key] = schema[key].map(part => publishNested(part))
  if (schema.not) out['not'] = publishNested(schema.not)
  if (isObject(schema.items)) out['items'] = publish(schema.items as JsonSchema, publishing)
  if (isObject(schema.properties)) out['properties'] = mapSchemas(schema.properties, part => publish(part, publishing))
  if (typeof schema.additionalProperties === 'boolean') out['additionalProperties'] = schema.additionalProperties
  else if (schema.additionalProperties) out['additionalProperties'] = publish(schema.additionalProperties, publishing)
  const hidden = publishing.version === 2 && schema['x-kubernetes-preserve-unknown-fields'] === true
  if (schema['x-kubernetes-embedded-resource'] && !hidden) {
    addEnvelope(out, publishing)
    out['required'] = [...new Set([...(schema.required ?? []), 'kind', 'apiVersion'])]
  }
  return out
}

/** Schemas that only restrict values are published as they are. */
function publishNested(source: JsonSchema): JsonObject {
  const out = keywordsOf(source)
  for (const key of ['allOf', 'anyOf', 'oneOf'] as const) if (source[key]?.length) out[key] = source[key].map(publishNested)
  if (source.not) out['not'] = publishNested(source.not)
  if (isObject(source.items)) out['items'] = publishNested(source.items as JsonSchema)
  if (isObject(source.properties)) out['properties'] = mapSchemas(source.properties, publishNested)
  return out
}

const KEYWORDS = [
  'description',
  'type',
  'nullable',
  'format',
  'title',
  'default',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'enum',
  'maxProperties',
  'minProperties',
  'required',
  'externalDocs',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const satisfies readonly (keyof JsonSchema)[]

const POSITIONS: ReadonlyMap<string, number> = new Map(KEYWORDS.map((key, i) => [key, i]))

/** The keywords of a schema that are set, in their order. Most have one or two, so those of the schema are visited. */
function keywordsOf(schema: JsonSchema): JsonObject {
  const positions: number[] = []
  for (const key of Object.keys(schema)) {
    const position = POSITIONS.get(key)
    if (position !== undefined && isSet(schema[key as (typeof KEYWORDS)[number]] as Json | undefined)) positions.push(position)
  }
  if (positions.length > 1) positions.sort((a, b) => a - b)
  const out: JsonObject = {}
  for (const position of positions) out[KEYWORDS[position]!] = schema[KEYWORDS[position]!] as Json
  return out
}

const isSet = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== false && value !== '' && !(Array.isArray(value) && value.length === 0)

const EITHER: readonly JsonSchema[] = [{ type: 'integer' }, { type: 'string' }]

/** An integer or a string is also described by keywords that every reader of schemas knows. */
function withIntOrString(source: JsonSchema): JsonSchema {
  if (source['x-kubernetes-int-or-string'] !== true) return source
  if (deepEqual(source.anyOf, EITHER) || deepEqual(source.allOf?.[0]?.anyOf, EITHER)) return source
  return source.anyOf?.length ? { ...source, allOf: [{ anyOf: EITHER }, ...(source.allOf ?? [])] } : { ...source, anyOf: EITHER }
}

/** Clients of version 2 know no alternatives and no null, and take a description for complete. */
function expressibleInV2(source: JsonSchema): JsonSchema {
  if (isExpressibleInV2(source)) return source
  const { allOf: _, anyOf: __, oneOf: ___, not: ____, default: _____, ...kept } = source
  const keeps = kept['x-kubernetes-preserve-unknown-fields'] === true
  const { items, properties, type, nullable, ...rest } = kept
  const open = nullable === true || keeps
  const untyped = nullable === true || (type === 'array' && (open || !items)) || (type === 'object' && keeps)
  const required = requiredInV2(kept, open)
  return {
    ...rest,
    ...(type && !untyped ? { type } : {}),
    ...(items && !open ? { items } : {}),
    ...(properties && !open ? { properties } : {}),
    required,
  }
}

/** Whether a schema is published in version 2 as it is, which most are: copying each would take most of the time. */
function isExpressibleInV2(source: JsonSchema): boolean {
  for (const key of Object.keys(source)) if (CHANGED_IN_V2.has(key)) return false
  return source.type !== 'array' || source.items !== undefined
}

const CHANGED_IN_V2: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'default',
  'nullable',
  'required',
  'x-kubernetes-preserve-unknown-fields',
] as const satisfies readonly (keyof JsonSchema)[])

/** A value that may be null may as well be absent. */
function requiredInV2({ required = [], properties, additionalProperties }: JsonSchema, open: boolean): readonly string[] {
  if (isObject(additionalProperties) && (additionalProperties as JsonSchema).nullable) return []
  if (open || !properties) return required
  return required.filter(name => !(Object.hasOwn(properties, name) && properties[name]!.nullable === true))
}

function addEnvelope(schema: JsonObject, { version, metadata }: Publishing): void {
  const own: JsonObject = isObject(schema['properties']) ? schema['properties'] : {}
  const envelope: JsonObject = {
    apiVersion: { description: API_VERSION_DOC, type: 'string' },
    kind: { description: KIND_DOC, type: 'string' },
    metadata: { description: METADATA_DOC, ...(version === 3 ? { allOf: [metadata] } : metadata) },
  }
  const properties: JsonObject = { ...envelope }
  for (const name of Object.keys(own)) if (!Object.hasOwn(envelope, name)) setOwn(properties, name, own[name]!)
  schema['properties'] = properties
}

function mapSchemas(schemas: { readonly [name: string]: JsonSchema }, each: (schema: JsonSchema) => JsonObject): JsonObject {
  const out: JsonObject = {}
  for (const name of Object.keys(schemas)) setOwn(out, name, each(schemas[name]!))
  return out
}
