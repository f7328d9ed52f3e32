/**
 * An OpenAPI 2 document as protobuf: gnostic's `openapi.v2.Document`, which kubectl before 1.27 reads. Each message of the format is a
 * table from its JSON fields to field numbers; only the fields of our documents are listed, and any other is an error, so that nothing is
 * lost silently.
 */

import { stringifyJson } from '../../codec/json.ts'
import { ProtobufWriter } from '../../codec/protobuf-writer.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json-value.ts'

/** Encodes an OpenAPI 2 document given as JSON. */
export function openApiV2Protobuf(document: JsonObject): Buffer {
  const out = new ProtobufWriter()
  DOCUMENT(out, document)
  return out.finish()
}

/** Writes the content of a message, last field first, as the writer requires. */
type Message = (out: ProtobufWriter, value: Json) => void
/** Writes one field, number included. */
type FieldWriter = (out: ProtobufWriter, number: number, value: Json) => void
type Table = { readonly [name: string]: readonly [number: number, write: FieldWriter] }

const text: FieldWriter = (out, number, value) => out.string(number, String(value))
const flag: FieldWriter = (out, number, value) => out.bool(number, value === true)
const integer: FieldWriter = (out, number, value) => out.integer(number, typeof value === 'bigint' ? value : Math.trunc(Number(value)))
const double: FieldWriter = (out, number, value) => out.double(number, Number(value))
const one =
  (message: Message): FieldWriter =>
  (out, number, value) =>
    out.message(number, () => message(out, value))
const many =
  (write: FieldWriter): FieldWriter =>
  (out, number, value) => {
    if (!Array.isArray(value)) throw new TypeError('a list was expected')
    for (let i = value.length - 1; i >= 0; i--) write(out, number, value[i]!)
  }

/** JSON is YAML. */
const any: Message = (out, value) => out.string(2, stringifyJson(value))

/** A message with fixed JSON fields, and extensions. */
function struct(table: Table, extensions?: number): Message {
  return (out, value) => {
    for (const [name, member] of membersFromLast(value)) {
      if (Object.hasOwn(table, name)) {
        const [number, write] = table[name]!
        write(out, number, member)
      } else if (extensions !== undefined && name.startsWith('x-')) named(any)(out, extensions, name, member)
      else throw new TypeError(`field ${JSON.stringify(name)} is not in the protobuf schema`)
    }
  }
}

/** A message that maps names to messages, as a list of pairs in its only field. */
const mapOf =
  (message: Message, number = 1): Message =>
  (out, value) => {
    for (const [name, member] of membersFromLast(value)) named(message)(out, number, name, member)
  }

const named = (message: Message) => (out: ProtobufWriter, number: number, name: string, value: Json) =>
  out.message(number, () => {
    out.message(2, () => message(out, value))
    out.string(1, name)
  })

/** A message with one of several variants inside. */
const variant =
  (number: number, message: Message): Message =>
  (out, value) =>
    out.message(number, () => message(out, value))

function membersFromLast(value: Json): [string, Json][] {
  if (!isObject(value)) throw new TypeError('an object was expected')
  return Object.entries(value).reverse()
}

const stringList: Message = (out, value) => many(text)(out, 1, value)
/** Schemas are recursive, so the table is reached through a function. */
const schema: Message = (out, value) => SCHEMA(out, value)
const schemaOrFlag: Message = (out, value) => (typeof value === 'boolean' ? out.bool(2, value) : variant(1, schema)(out, value))

const SCHEMA = struct(
  {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, one(any)],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, integer],
    minLength: [12, integer],
    pattern: [13, text],
    maxItems: [14, integer],
    minItems: [15, integer],
    uniqueItems: [16, flag],
    maxProperties: [17, integer],
    minProperties: [18, integer],
    required: [19, many(text)],
    enum: [20, many(one(any))],
    additionalProperties: [21, one(schemaOrFlag)],
    type: [22, one((out, value) => out.string(1, String(value)))],
    items: [23, one(variant(1, schema))],
    allOf: [24, many(one(schema))],
    properties: [25, one(mapOf(schema))],
    externalDocs: [29, one(struct({ description: [1, text], url: [2, text] }))],
    example: [30, one(any)],
  },
  31,
)

const BODY_PARAMETER = struct({ name: [2, text], in: [3, text], required: [4, flag], schema: [5, one(schema)] })
const QUERY_PARAMETER = struct({
  required: [1, flag],
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [6, text],
  uniqueItems: [20, flag],
})
const PATH_PARAMETER = struct({
  required: [1, flag],
  in: [2, text],
  description: [3, text],
  name: [4, text],
  type: [5, text],
  uniqueItems: [19, flag],
})

/** A parameter is wrapped three times: as a parameter instead of a reference, as not being a body, and for its location. */
const PARAMETER: Message = (out, value) => {
  const location = isObject(value) ? value['in'] : undefined
  const inner =
    location === 'body'
      ? variant(1, BODY_PARAMETER)
      : variant(2, location === 'path' ? variant(4, PATH_PARAMETER) : variant(3, QUERY_PARAMETER))
  variant(1, inner)(out, value)
}

const RESPONSE = struct({ description: [1, text], schema: [2, one(variant(1, schema))] })

const OPERATION = struct(
  {
    tags: [1, many(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, many(text)],
    consumes: [7, many(text)],
    parameters: [8, many(one(PARAMETER))],
    responses: [9, one(mapOf(variant(1, RESPONSE)))],
    schemes: [10, many(text)],
  },
  13,
)

const PATH_ITEM = struct({
  get: [2, one(OPERATION)],
  put: [3, one(OPERATION)],
  post: [4, one(OPERATION)],
  delete: [5, one(OPERATION)],
  options: [6, one(OPERATION)],
  head: [7, one(OPERATION)],
  patch: [8, one(OPERATION)],
  parameters: [9, many(one(PARAMETER))],
})

const API_KEY = struct({ type: [1, text], name: [2, text], in: [3, text], description: [4, text] })

const DOCUMENT = struct({
  swagger: [1, text],
  info: [2, one(struct({ title: [1, text], version: [2, text] }))],
  paths: [8, one(mapOf(PATH_ITEM, 2))],
  definitions: [9, one(mapOf(schema))],
  security: [12, many(one(mapOf(stringList)))],
  securityDefinitions: [13, one(mapOf(variant(2, API_KEY)))],
})
