/** JSON schemas in definitions of custom kinds: every field that clients may send, whether or not a rule then forbids it. */
import type { Json } from '../../lib/json-value.ts'
import { atomic, bool, double, either, int64, keyed, mapOf, message, rawAs, recursive, string, type Type } from '../../schema/types.ts'

/** A decoded schema. Zero values are absent, except where absent and zero differ. */
export type Schema = {
  id?: string
  $schema?: string
  $ref?: string
  description?: string
  type?: string
  format?: string
  title?: string
  default?: Json
  maximum?: number
  exclusiveMaximum?: boolean
  minimum?: number
  exclusiveMinimum?: boolean
  maxLength?: number | bigint
  minLength?: number | bigint
  pattern?: string
  maxItems?: number | bigint
  minItems?: number | bigint
  uniqueItems?: boolean
  multipleOf?: number
  enum?: Json[]
  maxProperties?: number | bigint
  minProperties?: number | bigint
  required?: string[]
  items?: Schema | Schema[]
  allOf?: Schema[]
  oneOf?: Schema[]
  anyOf?: Schema[]
  not?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  patternProperties?: Record<string, Schema>
  dependencies?: Record<string, Schema | string[] | null>
  additionalItems?: Schema | boolean
  definitions?: Record<string, Schema>
  externalDocs?: { description?: string; url?: string }
  example?: Json
  nullable?: boolean
  'x-kubernetes-preserve-unknown-fields'?: boolean
  'x-kubernetes-embedded-resource'?: boolean
  'x-kubernetes-int-or-string'?: boolean
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-list-type'?: string
  'x-kubernetes-map-type'?: string
  'x-kubernetes-validations'?: ExpressionRule[]
}

/** A CEL rule for the values of a schema. */
export type ExpressionRule = {
  rule: string
  message?: string
  messageExpression?: string
  reason?: string
  fieldPath?: string
  optionalOldSelf?: boolean
}

const ValidationRule = message('ValidationRule', {
  rule: [1, string.always(), 'A CEL expression that is true for valid values, which are bound to `self`.'],
  message: [2, string, 'The error message when the rule evaluates to false.'],
  messageExpression: [
    3,
    string,
    'A CEL expression for the error message when the rule evaluates to false; takes precedence over `message`.',
  ],
  reason: [
    4,
    string.listed('FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired').optional(),
    'The reason of the error; FieldValueInvalid if unset.',
  ],
  fieldPath: [5, string, 'The field that the error is about, as a path from here such as `.spec.size`.'],
  optionalOldSelf: [6, bool.optional(), 'Evaluates the rule even when there was no value before; `oldSelf` is an optional then.'],
})

const ExternalDocumentation = message('ExternalDocumentation', {
  description: [1, string, 'The content of the linked page.'],
  url: [2, string, 'Where it can be read.'],
})

const json = rawAs('JSON')

export const JSONSchemaProps: Type<Schema> = recursive<Schema>('JSONSchemaProps', self => {
  const schemaOrBool = either<Schema | boolean>('JSONSchemaPropsOrBool', {
    object: [2, self],
    bool: [1, bool.optional()],
    otherwise: 'boolean or JSON schema expected',
  })
  const schemaOrSchemas = either<Schema | Schema[]>('JSONSchemaPropsOrArray', { object: [1, self], list: [2, atomic(self)] })
  const schemaOrNames = either<Schema | string[]>('JSONSchemaPropsOrStringArray', { object: [1, self], list: [2, atomic(string)] })
  return {
    id: [1, string, 'Not supported.'],
    $schema: [2, string, 'Not supported.'],
    $ref: [3, string.optional(), 'Not supported.'],
    description: [4, string, 'The purpose of the value.'],
    type: [5, string, 'One of array, boolean, integer, number, object and string.'],
    format: [6, string, 'The format of a string or the size of a number, such as date-time or int32. Unknown formats are ignored.'],
    title: [7, string, 'A short name of the value.'],
    default: [8, json, 'The value that is used when none is given. It must be valid itself.'],
    maximum: [9, double.optional(), 'The greatest number.'],
    exclusiveMaximum: [10, bool, 'The number must be less than the maximum.'],
    minimum: [11, double.optional(), 'The least number.'],
    exclusiveMinimum: [12, bool, 'The number must be greater than the minimum.'],
    maxLength: [13, int64.optional(), 'The greatest number of characters.'],
    minLength: [14, int64.optional(), 'The least number of characters.'],
    pattern: [15, string, 'A regular expression that some part of the string must match.'],
    maxItems: [16, int64.optional(), 'The greatest number of items.'],
    minItems: [17, int64.optional(), 'The least number of items.'],
    uniqueItems: [18, bool, 'Not supported.'],
    multipleOf: [19, double.optional(), 'The number must be a multiple of this.'],
    enum: [20, atomic(json), 'All values that are allowed.'],
    maxProperties: [21, int64.optional(), 'The greatest number of members.'],
    minProperties: [22, int64.optional(), 'The least number of members.'],
    required: [23, atomic(string), 'Members that must be there.'],
    items: [24, schemaOrSchemas, 'The schema of the items.'],
    allOf: [25, atomic(self), 'Schemas that the value must satisfy, all of them.'],
    oneOf: [26, atomic(self), 'Schemas of which the value must satisfy exactly one.'],
    anyOf: [27, atomic(self), 'Schemas of which the value must satisfy at least one.'],
    not: [28, self, 'A schema that the value must not satisfy.'],
    properties: [29, mapOf(self), 'The schemas of members by name.'],
    additionalProperties: [30, schemaOrBool, 'The schema of all members of a map, or whether any are allowed.'],
    patternProperties: [31, mapOf(self), 'Not supported.'],
    dependencies: [32, mapOf(schemaOrNames), 'Not supported.'],
    additionalItems: [33, schemaOrBool, 'Not supported.'],
    definitions: [34, mapOf(self), 'Not supported.'],
    externalDocs: [35, ExternalDocumentation, 'Where to read more.'],
    example: [36, json, 'A value that could be there.'],
    nullable: [37, bool, 'Null is allowed, too.'],
    'x-kubernetes-preserve-unknown-fields': [38, bool.optional(), 'Keeps members that the schema does not describe.'],
    'x-kubernetes-embedded-resource': [39, bool, 'The value is a whole object with apiVersion, kind and metadata.'],
    'x-kubernetes-int-or-string': [40, bool, 'The value is an integer or a text.'],
    'x-kubernetes-list-map-keys': [41, atomic(string), 'The fields whose values identify the items of a list of type map.'],
    'x-kubernetes-list-type': [42, string.optional(), 'How apply merges the list: atomic, set or map.'],
    'x-kubernetes-map-type': [43, string.optional(), 'How apply merges the object: granular or atomic.'],
    'x-kubernetes-validations': [44, keyed(ValidationRule, 'rule').mergedBy('rule'), 'Rules in CEL that the value must satisfy.'],
  }
})
