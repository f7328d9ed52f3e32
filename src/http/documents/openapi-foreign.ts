/**
 * OpenAPI documents of other servers, as parts of this one's. Only the members in these tables are kept: the formats of the response have
 * no place for others.
 */
import { deepEqual, isObject, type Json, type JsonObject, setOwn } from '../../lib/json-value.ts'

/** The paths of an OpenAPI 2 document below a prefix and the definitions they need, with parameters inlined. */
export function partOfV2(document: JsonObject, prefix: string): JsonObject {
  const parameters = objectAt(document, 'parameters')
  const paths: JsonObject = {}
  for (const [path, item] of Object.entries(objectAt(document, 'paths')))
    if (path.startsWith(prefix) && isObject(item)) setOwn(paths, path, pathItem(item, parameters))
  const definitions: JsonObject = {}
  const known = objectAt(document, 'definitions')
  const pending = [...refsOf(paths)]
  while (pending.length > 0) {
    const name = pending.pop()!
    const found = Object.hasOwn(known, name) ? known[name] : undefined
    if (Object.hasOwn(definitions, name)) continue
    // A definition that is referred to must exist, whatever its type.
    const definition = isObject(found) ? schema(found) : {}
    setOwn(definitions, name, definition)
    pending.push(...refsOf(definition))
  }
  return { paths, definitions }
}

/** One document of several. Existing paths are kept; definitions with the name but not the content of an existing one are renamed. */
export function mergeV2(own: JsonObject, others: readonly JsonObject[]): JsonObject {
  if (others.length === 0) return own
  const paths: JsonObject = { ...objectAt(own, 'paths') }
  const definitions: JsonObject = { ...objectAt(own, 'definitions') }
  for (const other of others) {
    const added = Object.entries(objectAt(other, 'paths')).filter(([path]) => !Object.hasOwn(paths, path))
    const renamed = new Map<string, string>()
    const theirs = objectAt(other, 'definitions')
    for (const [name, definition] of Object.entries(theirs)) {
      const taken = Object.hasOwn(definitions, name) ? definitions[name] : undefined
      if (taken === undefined || deepEqual(taken, definition)) continue
      for (let i = 2; ; i++) {
        const free = `${name}_v${i}`
        if (Object.hasOwn(definitions, free) || Object.hasOwn(theirs, free)) continue
        renamed.set(name, free)
        break
      }
    }
    const named = (value: Json) => (renamed.size === 0 ? value : withRefs(value, name => `${DEFINITIONS}${renamed.get(name) ?? name}`))
    for (const [name, definition] of Object.entries(theirs)) setOwn(definitions, renamed.get(name) ?? name, named(definition))
    for (const [path, item] of added) setOwn(paths, path, named(item))
  }
  return { ...own, paths, definitions }
}

/** A part of an OpenAPI 2 document as an OpenAPI 3 document. */
export function v3OfV2(part: JsonObject): JsonObject {
  const paths: JsonObject = {}
  for (const [path, item] of Object.entries(objectAt(part, 'paths'))) if (isObject(item)) setOwn(paths, path, pathItemV3(item))
  const schemas = withRefs(objectAt(part, 'definitions'), name => `#/components/schemas/${name}`)
  return {
    openapi: '3.0.0',
    info: { title: 'Keelson', version: 'unversioned' },
    paths: withRefs(paths, name => `#/components/schemas/${name}`),
    components: { schemas },
  }
}

const DEFINITIONS = '#/definitions/'
const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

const isText = (value: Json) => typeof value === 'string'
const isNumber = (value: Json) => typeof value === 'number' && Number.isFinite(value)
const isCount = (value: Json) => Number.isSafeInteger(value)
const isFlag = (value: Json) => typeof value === 'boolean'
const isTexts = (value: Json) => Array.isArray(value) && value.every(isText)

/** The members of a schema that are kept, with a check of their type. */
const SCHEMA_FIELDS: Readonly<Record<string, (value: Json) => boolean>> = {
  $ref: isText,
  format: isText,
  title: isText,
  description: isText,
  pattern: isText,
  multipleOf: isNumber,
  maximum: isNumber,
  minimum: isNumber,
  exclusiveMaximum: isFlag,
  exclusiveMinimum: isFlag,
  uniqueItems: isFlag,
  maxLength: isCount,
  minLength: isCount,
  maxItems: isCount,
  minItems: isCount,
  maxProperties: isCount,
  minProperties: isCount,
  required: isTexts,
  enum: value => Array.isArray(value),
  default: () => true,
  example: () => true,
}

function schema(value: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    if (name.startsWith('x-') || (Object.hasOwn(SCHEMA_FIELDS, name) && SCHEMA_FIELDS[name]!(member))) setOwn(kept, name, member)
    else if (name === 'type') kept['type'] = String((Array.isArray(member) ? member[0] : member) ?? 'object')
    else if (name === 'properties' && isObject(member)) {
      const properties: JsonObject = {}
      for (const [property, type] of Object.entries(member)) if (isObject(type)) setOwn(properties, property, schema(type))
      kept['properties'] = properties
    } else if (name === 'items' && isObject(member)) kept['items'] = schema(member)
    else if (name === 'allOf' && Array.isArray(member)) kept['allOf'] = member.filter(isObject).map(schema)
    else if (name === 'additionalProperties') kept[name] = isObject(member) ? schema(member) : member === true
  }
  return kept
}

function pathItem(item: JsonObject, shared: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const method of METHODS) if (isObject(item[method])) kept[method] = operation(item[method], shared)
  const parameters = parametersOf(item, shared)
  if (parameters.length > 0) kept['parameters'] = parameters
  return kept
}

function operation(value: JsonObject, shared: JsonObject): JsonObject {
  const kept: JsonObject = {}
  for (const name of ['description', 'operationId']) if (typeof value[name] === 'string') kept[name] = value[name]
  for (const name of ['tags', 'produces', 'consumes', 'schemes'])
    if (Array.isArray(value[name])) kept[name] = value[name].filter(each => typeof each === 'string')
  const parameters = parametersOf(value, shared)
  if (parameters.length > 0) kept['parameters'] = parameters
  const responses: JsonObject = {}
  for (const [code, response] of Object.entries(objectAt(value, 'responses'))) {
    if (!isObject(response)) continue
    const { description, schema: type } = response
    const described = { description: typeof description === 'string' ? description : '' }
    setOwn(responses, code, isObject(type) ? { ...described, schema: schema(type) } : described)
  }
  kept['responses'] = responses
  for (const [name, member] of Object.entries(value)) if (name.startsWith('x-')) setOwn(kept, name, member)
  return kept
}

const PARAMETERS = '#/parameters/'

function parametersOf({ parameters }: JsonObject, shared: JsonObject): JsonObject[] {
  if (!Array.isArray(parameters)) return []
  return parameters.flatMap(each => {
    if (!isObject(each)) return []
    const { $ref } = each
    const name = typeof $ref === 'string' && $ref.startsWith(PARAMETERS) ? $ref.slice(PARAMETERS.length) : undefined
    const found = name === undefined ? each : Object.hasOwn(shared, name) ? shared[name] : undefined
    return isObject(found) ? [parameter(found)] : []
  })
}

function parameter({ name, in: location, description, required, type, schema: body }: JsonObject): JsonObject {
  const common = { name: String(name ?? ''), in: String(location ?? ''), ...(required === true && { required }) }
  if (location === 'body') return { ...common, ...(isObject(body) && { schema: schema(body) }) }
  const described = typeof description === 'string' ? { description } : {}
  return { ...common, ...described, type: typeof type === 'string' ? type : 'string' }
}

function pathItemV3(item: JsonObject): JsonObject {
  const made: JsonObject = {}
  for (const method of METHODS) if (isObject(item[method])) made[method] = operationV3(item[method])
  const parameters = (item['parameters'] as JsonObject[] | undefined)?.filter(each => each['in'] !== 'body').map(parameterV3)
  if (parameters?.length) made['parameters'] = parameters
  return made
}

function operationV3({ parameters, produces, consumes, schemes: _, responses, ...rest }: JsonObject): JsonObject {
  const all = (parameters ?? []) as JsonObject[]
  const body = all.find(each => each['in'] === 'body')
  const others = all.filter(each => each !== body).map(parameterV3)
  const contentOf = (media: Json | undefined, type: Json): JsonObject =>
    Object.fromEntries((Array.isArray(media) && media.length > 0 ? media : ['*/*']).map(each => [String(each), { schema: type }]))
  const answers: JsonObject = {}
  for (const [code, response] of Object.entries(isObject(responses) ? responses : {})) {
    const { schema: type, ...described } = response as JsonObject
    setOwn(answers, code, type === undefined ? described : { ...described, content: contentOf(produces, type) })
  }
  return {
    ...rest,
    ...(others.length > 0 && { parameters: others }),
    ...(body?.['schema'] !== undefined && {
      requestBody: { content: contentOf(consumes, body['schema']), ...(body['required'] === true && { required: true }) },
    }),
    responses: answers,
  }
}

const parameterV3 = ({ type, ...rest }: JsonObject): JsonObject => ({ ...rest, schema: { type: type ?? 'string' } })

const objectAt = (value: JsonObject, name: string): JsonObject => {
  const found = Object.hasOwn(value, name) ? value[name] : undefined
  return isObject(found) ? found : {}
}

/** The definitions that a value refers to. */
function* refsOf(value: Json): Iterable<string> {
  if (Array.isArray(value)) for (const each of value) yield* refsOf(each)
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      if (name === '$ref' && typeof member === 'string' && member.startsWith(DEFINITIONS)) yield member.slice(DEFINITIONS.length)
      else yield* refsOf(member)
    }
}

function withRefs<T extends Json>(value: T, refTo: (name: string) => string): T {
  if (Array.isArray(value)) return value.map(each => withRefs(each, refTo)) as unknown as T
  if (!isObject(value)) return value
  const made: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const isRef = name === '$ref' && typeof member === 'string' && member.startsWith(DEFINITIONS)
    setOwn(made, name, isRef ? refTo(member.slice(DEFINITIONS.length)) : withRefs(member, refTo))
  }
  return made as T
}
