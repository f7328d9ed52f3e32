/**
 * A schema as the internal Go type of kube-apiserver, which some errors print. Elsewhere `internalRepresentation` derives that from the
 * declared type; the internal type of schemas has another order of fields, and structures where JSON has alternatives.
 */
import { type Json, setOwn } from '../../lib/json-value.ts'
import type { DefinitionVersion } from './definition-shapes.ts'
import type { ExpressionRule, Schema } from './json-schema.ts'

/** Converts a value; absent values have a representation as well. */
type Show = (value: any) => Json
type Fields = readonly (readonly [name: string, field: string, show: Show])[]

const text: Show = value => value ?? ''
const flag: Show = value => value ?? false
const whole: Show = value => value ?? 0
const orNull: Show = value => value ?? null
const each =
  (show: Show): Show =>
  value =>
    value?.map(show) ?? null
const byName =
  (show: Show): Show =>
  value => {
    if (value === undefined) return null
    const out: { [name: string]: Json } = {}
    for (const name of Object.keys(value).sort()) setOwn(out, name, show(value[name]))
    return out
  }
const struct =
  (fields: () => Fields): Show =>
  value =>
    value === undefined || value === null
      ? null
      : Object.fromEntries(fields().map(([name, field, show]) => [name, show(Object.hasOwn(value, field) ? value[field] : undefined)]))

const schema: Show = struct(() => SCHEMA)
const schemaOrBool: Show = value =>
  value === undefined ? null : { Allows: value !== false, Schema: typeof value === 'object' ? schema(value) : null }
const schemaOrList =
  (list: string, show: Show): Show =>
  value =>
    value === undefined
      ? null
      : { Schema: Array.isArray(value) ? null : schema(value), [list]: Array.isArray(value) ? value.map(show) : null }
const rule: Show = struct(() => RULE)

const RULE: Fields = [
  ['Rule', 'rule', text],
  ['Message', 'message', text],
  ['MessageExpression', 'messageExpression', text],
  ['Reason', 'reason', orNull],
  ['FieldPath', 'fieldPath', text],
  ['OptionalOldSelf', 'optionalOldSelf', orNull],
]

const SCHEMA: Fields = [
  ['ID', 'id', text],
  ['Schema', '$schema', text],
  ['Ref', '$ref', orNull],
  ['Description', 'description', text],
  ['Type', 'type', text],
  ['Nullable', 'nullable', flag],
  ['Format', 'format', text],
  ['Title', 'title', text],
  ['Default', 'default', orNull],
  ['Maximum', 'maximum', orNull],
  ['ExclusiveMaximum', 'exclusiveMaximum', flag],
  ['Minimum', 'minimum', orNull],
  ['ExclusiveMinimum', 'exclusiveMinimum', flag],
  ['MaxLength', 'maxLength', orNull],
  ['MinLength', 'minLength', orNull],
  ['Pattern', 'pattern', text],
  ['MaxItems', 'maxItems', orNull],
  ['MinItems', 'minItems', orNull],
  ['UniqueItems', 'uniqueItems', flag],
  ['MultipleOf', 'multipleOf', orNull],
  ['Enum', 'enum', orNull],
  ['MaxProperties', 'maxProperties', orNull],
  ['MinProperties', 'minProperties', orNull],
  ['Required', 'required', orNull],
  ['Items', 'items', schemaOrList('JSONSchemas', schema)],
  ['AllOf', 'allOf', each(schema)],
  ['OneOf', 'oneOf', each(schema)],
  ['AnyOf', 'anyOf', each(schema)],
  ['Not', 'not', schema],
  ['Properties', 'properties', byName(schema)],
  ['AdditionalProperties', 'additionalProperties', schemaOrBool],
  ['PatternProperties', 'patternProperties', byName(schema)],
  ['Dependencies', 'dependencies', byName(schemaOrList('Property', text))],
  ['AdditionalItems', 'additionalItems', schemaOrBool],
  ['Definitions', 'definitions', byName(schema)],
  [
    'ExternalDocs',
    'externalDocs',
    struct(() => [
      ['Description', 'description', text],
      ['URL', 'url', text],
    ]),
  ],
  ['Example', 'example', orNull],
  ['XPreserveUnknownFields', 'x-kubernetes-preserve-unknown-fields', orNull],
  ['XEmbeddedResource', 'x-kubernetes-embedded-resource', flag],
  ['XIntOrString', 'x-kubernetes-int-or-string', flag],
  ['XListMapKeys', 'x-kubernetes-list-map-keys', orNull],
  ['XListType', 'x-kubernetes-list-type', orNull],
  ['XMapType', 'x-kubernetes-map-type', orNull],
  ['XValidations', 'x-kubernetes-validations', each(rule)],
]

const SCALE: Fields = [
  ['SpecReplicasPath', 'specReplicasPath', text],
  ['StatusReplicasPath', 'statusReplicasPath', text],
  ['LabelSelectorPath', 'labelSelectorPath', orNull],
]

const COLUMN: Fields = [
  ['Name', 'name', text],
  ['Type', 'type', text],
  ['Format', 'format', text],
  ['Description', 'description', text],
  ['Priority', 'priority', whole],
  ['JSONPath', 'jsonPath', text],
]

const VERSION: Fields = [
  ['Name', 'name', text],
  ['Served', 'served', flag],
  ['Storage', 'storage', flag],
  ['Deprecated', 'deprecated', flag],
  ['DeprecationWarning', 'deprecationWarning', orNull],
  ['Schema', 'schema', struct(() => [['OpenAPIV3Schema', 'openAPIV3Schema', schema]])],
  [
    'Subresources',
    'subresources',
    struct(() => [
      ['Status', 'status', orNull],
      ['Scale', 'scale', struct(() => SCALE)],
    ]),
  ],
  ['AdditionalPrinterColumns', 'additionalPrinterColumns', each(struct(() => COLUMN))],
  ['SelectableFields', 'selectableFields', each(struct(() => [['JSONPath', 'jsonPath', text]]))],
]

/** A schema in errors. */
export const internalSchema = (value: Schema): Json => schema(value)
/** A CEL rule in errors. */
export const internalRule = (value: ExpressionRule): Json => rule(value)
/** A version of a definition in errors. */
export const internalVersion: (value: DefinitionVersion) => Json = struct(() => VERSION)
